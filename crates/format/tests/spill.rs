//! Units that go to a file while a table is written: the block is the same, memory is bounded, and a file that fails loses no key.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rand::RngExt;
use springbloom_filter::UnitSettings;
use springbloom_format::{BlockWriter, SpillFile};
use springbloom_testkit::seed;

/// A file in memory that fails after so many appends or reads.
#[derive(Default)]
struct Spill {
    bytes: Vec<u8>,
    appends_left: usize,
    reads_left: usize,
    appended: Arc<AtomicUsize>,
}

impl Spill {
    fn sound() -> Self {
        Self { appends_left: usize::MAX, reads_left: usize::MAX, ..Self::default() }
    }
}

fn spend(left: &mut usize) -> io::Result<()> {
    *left = left.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
    Ok(())
}

impl SpillFile for Spill {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Err(error) = spend(&mut self.appends_left) {
            self.bytes.extend_from_slice(&bytes[..bytes.len() / 2]); // torn, as by a full disk
            return Err(error);
        }
        self.bytes.extend_from_slice(bytes);
        self.appended.fetch_add(bytes.len(), Ordering::Relaxed);
        Ok(())
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> io::Result<()> {
        spend(&mut self.reads_left)?;
        into.copy_from_slice(&self.bytes[offset as usize..][..into.len()]);
        Ok(())
    }
}

fn fill(mut writer: BlockWriter, keys: u64) -> BlockWriter {
    for key in 0..keys {
        writer.add(&key.to_be_bytes(), 100);
    }
    writer
}

#[test]
fn the_block_is_the_same_wherever_its_units_were() {
    let mut rng = seed::rng("the_block_is_the_same_wherever_its_units_were");
    for _ in 0..200 {
        let settings = if rng.random() {
            UnitSettings::ribbon(rng.random_range(1..=32)).unwrap()
        } else {
            UnitSettings::bloom(rng.random_range(1..=8), rng.random_range(1..=8)).unwrap()
        };
        let new = || BlockWriter::new(settings, 2_000).with_identity(7).with_bytewise_keys();
        let keys = rng.random_range(0..3_000);
        let window_bytes = 1 << rng.random_range(0..16);
        let expected = fill(new(), keys).finish();

        let spilled = fill(new().with_spill(Box::new(Spill::sound()), window_bytes), keys);
        let mut block = spilled.end();
        let mut written = Vec::new();
        block.write_to(&mut written).unwrap();
        assert_eq!(written, expected);
        assert_eq!(block.into_bytes().unwrap(), expected);

        let torn = Spill { appends_left: rng.random_range(0..100), ..Spill::sound() };
        assert_eq!(fill(new().with_spill(Box::new(torn), window_bytes), keys).finish(), expected);

        let unreadable = Spill { reads_left: 0, ..Spill::sound() };
        let block = fill(new().with_spill(Box::new(unreadable), window_bytes), keys).end();
        if block.is_spilled() {
            assert!(block.into_bytes().is_err(), "units that cannot be read");
        } else {
            assert_eq!(block.into_bytes().unwrap(), expected);
        }
    }
}

#[test]
fn memory_does_not_grow_with_the_table() {
    const WINDOW_BYTES: usize = 64 << 10;
    let spill = Spill::sound();
    let appended = spill.appended.clone();
    let mut writer =
        BlockWriter::new(UnitSettings::default(), 100_000).with_spill(Box::new(spill), WINDOW_BYTES);
    let (mut at_first, mut most) = (0, 0);
    for key in 0..500_000u64 {
        writer.add(&key.to_be_bytes(), 100);
        most = most.max(writer.memory_bytes());
        if key == 50_000 {
            at_first = most;
        }
    }
    let directory_bytes = 500 * 64;
    assert!(most <= at_first + directory_bytes, "{most} bytes, {at_first} after a tenth of the keys");
    assert!(most <= 4 * WINDOW_BYTES, "{most}");
    assert!(appended.load(Ordering::Relaxed) > 900_000, "the units are elsewhere");
    let block = writer.end();
    assert!(block.memory_bytes() <= 4 * WINDOW_BYTES, "{}", block.memory_bytes());
}
