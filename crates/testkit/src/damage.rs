//! Damage to a block of a file, for tests that try all of it.

use std::sync::Mutex;

/// Bytes of a block: the unit that a device returns or loses.
pub const BLOCK_BYTES: usize = 4096;

/// A kind of damage to a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    /// One bit is flipped.
    Bit,
    /// The block reads as zeros.
    Zeros,
    /// The block holds garbage.
    Garbage,
    /// The block and the next one are swapped.
    Swapped,
    /// The file ends before the block.
    Truncated,
}

impl Damage {
    /// All kinds.
    pub const ALL: [Damage; 5] =
        [Damage::Bit, Damage::Zeros, Damage::Garbage, Damage::Swapped, Damage::Truncated];

    /// Damages `bytes`, which begin with the block. `seed` selects the bit and the garbage. Does nothing for [`Damage::Truncated`]: the
    /// caller must truncate the file.
    pub fn apply(self, bytes: &mut [u8], seed: u64) {
        let block = BLOCK_BYTES.min(bytes.len());
        let mut state = seed;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        match self {
            Damage::Bit => bytes[random() as usize % block] ^= 1 << (random() % 8),
            Damage::Zeros => bytes[..block].fill(0),
            Damage::Garbage => bytes[..block].iter_mut().for_each(|byte| *byte = random() as u8),
            Damage::Swapped => {
                let (block, rest) = bytes.split_at_mut(block);
                let len = block.len().min(rest.len());
                block[..len].swap_with_slice(&mut rest[..len]);
            }
            Damage::Truncated => {}
        }
    }
}

/// Results of the trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of trials. Each damages one block in one way.
    pub trials: u64,
    /// Trials in which opening, a lookup or verification reported the damage.
    pub told: u64,
    /// Trials without a report and with right answers. The damage was repaired, or hit unused bytes.
    pub harmless: u64,
}

impl Tally {
    /// Tries every kind of damage on every block of `files`, given by name and length in bytes, on all processors. `is_told` applies the
    /// damage to a copy and returns whether it was reported.
    pub fn of_all(files: &[(String, usize)], is_told: impl Fn(&str, usize, Damage) -> bool + Sync) -> Tally {
        let trials = files.iter().flat_map(|(file, len_bytes)| {
            let blocks = 0..len_bytes.div_ceil(BLOCK_BYTES);
            blocks.flat_map(move |block| Damage::ALL.map(|damage| (file.as_str(), block, damage)))
        });
        let trials = Mutex::new(trials);
        let tally = || {
            let mut tally = Tally::default();
            loop {
                let next = trials.lock().expect("no trial runs under the lock").next();
                let Some((file, block, damage)) = next else { return tally };
                tally.trials += 1;
                if is_told(file, block, damage) {
                    tally.told += 1;
                } else {
                    tally.harmless += 1;
                }
            }
        };
        let mut total = Tally::default();
        std::thread::scope(|scope| {
            let threads = std::thread::available_parallelism().map_or(1, usize::from);
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(tally)).collect();
            for thread in threads {
                // With the message of the trial that failed.
                total += thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            }
        });
        total
    }
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.trials += other.trials;
        self.told += other.told;
        self.harmless += other.harmless;
    }
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { trials, told, harmless } = self;
        write!(f, "{trials} trials: {told} told, {harmless} repaired or harmless, 0 silent losses")
    }
}
