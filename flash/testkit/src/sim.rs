//! Simulated devices in memory that can lose power. Synced data stays. Of unsynced data any subset of sectors stays, in any order, and a
//! sector being written may hold garbage. If physical blocks are larger than sectors, whole blocks stay or are lost, including neighbours
//! of the written sectors.
//!
//! All devices of one [`SimStorage`] share one [`SimPower`], so that a power loss hits them at the same moment.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use springbloom_page_device::{BlockSizes, PageDevice, Storage};

/// Counts writes and syncs. Cuts the power after a set number of them, or makes a single one fail.
#[derive(Debug)]
pub struct SimPower {
    writes_and_syncs: AtomicU64,
    bytes_read: AtomicU64,
    cut_after: AtomicU64,
    fails: AtomicU64,
}

impl SimPower {
    /// Power that is never cut.
    pub fn steady() -> Arc<SimPower> {
        let never = || AtomicU64::new(u64::MAX);
        Arc::new(SimPower {
            writes_and_syncs: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            cut_after: never(),
            fails: never(),
        })
    }

    /// Cuts the power after `operations` more writes and syncs: the next one and all later ones fail. The failing write may still leave
    /// some sectors.
    pub fn cut_after(&self, operations: u64) {
        let so_far = self.writes_and_syncs.load(Ordering::SeqCst);
        self.cut_after.store(so_far.saturating_add(operations), Ordering::SeqCst);
    }

    /// Makes one write or sync fail, after `operations` more. Later ones succeed. As on a real system, a later sync does not make durable
    /// what the failed one should have.
    pub fn fail_once_after(&self, operations: u64) {
        let so_far = self.writes_and_syncs.load(Ordering::SeqCst);
        self.fails.store(so_far.saturating_add(operations), Ordering::SeqCst);
    }

    /// Number of writes and syncs so far.
    pub fn operations(&self) -> u64 {
        self.writes_and_syncs.load(Ordering::SeqCst)
    }

    /// Whether the power has been cut.
    pub fn is_cut(&self) -> bool {
        self.operations() > self.cut_after.load(Ordering::SeqCst)
    }

    fn spend(&self) -> io::Result<()> {
        let spent = self.writes_and_syncs.fetch_add(1, Ordering::SeqCst);
        if spent >= self.cut_after.load(Ordering::SeqCst) {
            Err(io::Error::other("the power is cut"))
        } else if spent == self.fails.load(Ordering::SeqCst) {
            Err(io::Error::other("this operation was chosen to fail"))
        } else {
            Ok(())
        }
    }
}

/// The state of unsynced writes after a power loss.
#[derive(Clone, Copy, Debug)]
pub struct PowerLoss {
    /// Probability that a piece holds the last write.
    pub kept: f64,
    /// Probability that a piece holds garbage. Otherwise it holds the older data.
    pub torn: f64,
    /// The unit that is kept or lost: a physical block of the device (true), or a whole write (false).
    pub by_sector: bool,
}

impl PowerLoss {
    /// The process is killed and the machine goes on: all writes are kept.
    pub const KILLED: PowerLoss = PowerLoss { kept: 1.0, torn: 0.0, by_sector: false };
    /// All unsynced writes are lost.
    pub const ALL_LOST: PowerLoss = PowerLoss { kept: 0.0, torn: 0.0, by_sector: false };
    /// Whole writes are kept or lost: the worst case for code that relies on their order.
    pub const WHOLE_WRITES: PowerLoss = PowerLoss { kept: 0.5, torn: 0.0, by_sector: false };
    /// Whole sectors are kept or lost.
    pub const WHOLE_SECTORS: PowerLoss = PowerLoss { kept: 0.5, torn: 0.0, by_sector: true };
    /// Sectors being written may hold garbage.
    pub const TORN_SECTORS: PowerLoss = PowerLoss { kept: 0.45, torn: 0.1, by_sector: true };
}

#[derive(Debug, Default, Clone)]
struct Image {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
}

impl Image {
    /// The contents after a power loss.
    fn after(self, loss: PowerLoss, physical_bytes: usize, rng: &mut StdRng) -> Vec<u8> {
        let mut found = self.durable;
        for (from, bytes) in self.unsynced {
            let end = from + bytes.len();
            let mut at = from;
            while at < end {
                let piece = at / physical_bytes * physical_bytes;
                let next = if loss.by_sector { end.min(piece + physical_bytes) } else { end };
                let draw: f64 = rng.random();
                if draw < loss.kept {
                    found[at..next].copy_from_slice(&bytes[at - from..next - from]);
                } else if draw < loss.kept + loss.torn {
                    let piece_end = found.len().min(next.next_multiple_of(physical_bytes));
                    rng.fill(&mut found[piece..piece_end]);
                }
                at = next;
            }
        }
        found
    }
}

/// One device in memory.
struct SimDevice {
    image: Mutex<Image>,
    power: Arc<SimPower>,
    blocks: BlockSizes,
}

impl SimDevice {
    /// Refuses unaligned operations, like direct I/O.
    fn check(&self, offset: u64, len: usize) -> io::Result<()> {
        let block = self.blocks.logical_bytes;
        if offset.is_multiple_of(block as u64) && len.is_multiple_of(block) {
            return Ok(());
        }
        Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("{len} bytes at {offset}: no multiples of {block}"),
        ))
    }
}

impl PageDevice for SimDevice {
    fn len_bytes(&self) -> u64 {
        self.image.lock().live.len() as u64
    }

    fn blocks(&self) -> BlockSizes {
        self.blocks
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.check(offset, buf.len())?;
        let image = self.image.lock();
        let from = offset as usize;
        let bytes = image.live.get(from..from.saturating_add(buf.len()));
        buf.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        self.power.bytes_read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check(offset, bytes.len())?;
        let mut image = self.image.lock();
        let from = offset as usize;
        if image.live.len() < from + bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let was_cut = self.power.is_cut();
        let allowed = self.power.spend();
        if !was_cut {
            // The write that is interrupted may leave sectors too.
            image.unsynced.push((from, bytes.to_vec()));
        }
        allowed?;
        image.live[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut image = self.image.lock();
        let allowed = self.power.spend();
        if allowed.is_err() && !self.power.is_cut() {
            // Like the kernel, which marks pages clean even if writing them failed.
            image.unsynced.clear();
        }
        allowed?;
        for (from, bytes) in std::mem::take(&mut image.unsynced) {
            image.durable[from..from + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn grow(&self, len_bytes: u64) -> io::Result<()> {
        let mut image = self.image.lock();
        self.power.spend()?;
        let len = image.live.len().max(len_bytes as usize);
        image.live.resize(len, 0);
        image.durable.resize(len, 0);
        Ok(())
    }
}

/// Devices in memory, by name.
pub struct SimStorage {
    devices: Mutex<HashMap<String, Arc<SimDevice>>>,
    power: Arc<SimPower>,
    blocks: BlockSizes,
}

impl SimStorage {
    /// An empty storage with sectors of 512 bytes.
    pub fn new(power: Arc<SimPower>) -> SimStorage {
        SimStorage::with_blocks(power, BlockSizes::SMALL)
    }

    /// An empty storage with these block sizes.
    pub fn with_blocks(power: Arc<SimPower>, blocks: BlockSizes) -> SimStorage {
        SimStorage { devices: Mutex::default(), power, blocks }
    }

    /// The power of its devices.
    pub fn power(&self) -> &SimPower {
        &self.power
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.power.bytes_read.load(Ordering::Relaxed)
    }

    /// The storage after a power loss now, with steady power. `seed` selects what survives.
    pub fn after_power_loss(&self, loss: PowerLoss, seed: u64) -> SimStorage {
        let mut rng = StdRng::seed_from_u64(seed);
        let power = SimPower::steady();
        let devices = self.devices.lock();
        let mut names: Vec<_> = devices.keys().collect();
        names.sort();
        let survived = names
            .into_iter()
            .map(|name| {
                let image = devices[name].image.lock().clone();
                let found = image.after(loss, self.blocks.physical_bytes, &mut rng);
                let image = Image { live: found.clone(), durable: found, unsynced: Vec::new() };
                (name.clone(), self.device(image, power.clone()))
            })
            .collect();
        SimStorage { devices: Mutex::new(survived), power, blocks: self.blocks }
    }

    fn device(&self, image: Image, power: Arc<SimPower>) -> Arc<SimDevice> {
        Arc::new(SimDevice { image: Mutex::new(image), power, blocks: self.blocks })
    }

    /// Length of a device in bytes. 0 if there is none of that name.
    pub fn len_bytes(&self, name: &str) -> usize {
        self.devices.lock().get(name).map_or(0, |device| device.image.lock().live.len())
    }

    /// Truncates a device without a write of the program. Panics if `name` does not exist.
    pub fn truncate(&self, name: &str, len_bytes: usize) {
        let devices = self.devices.lock();
        let mut image = devices[name].image.lock();
        image.live.truncate(len_bytes);
        image.durable = image.live.clone();
    }

    /// Changes stored bytes without a write of the program, like a failing device. Panics if `name` does not exist.
    pub fn damage(&self, name: &str, offset: usize, change: impl FnOnce(&mut [u8])) {
        let devices = self.devices.lock();
        let mut image = devices[name].image.lock();
        change(&mut image.live[offset..]);
        image.durable = image.live.clone();
    }
}

impl Storage for SimStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        self.power.spend()?;
        let zeros = vec![0; len_bytes as usize];
        let image = Image { live: zeros.clone(), durable: zeros, unsynced: Vec::new() };
        let device = self.device(image, self.power.clone());
        self.devices.lock().insert(name.to_owned(), device.clone());
        Ok(device)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>> {
        let device = self.devices.lock().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(device)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.power.spend()?;
        self.devices.lock().remove(name).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn names(&self) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = self.devices.lock().keys().cloned().collect();
        names.sort();
        Ok(names)
    }

    fn describe(&self, name: &str) -> String {
        format!("memory:{name}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn synced_writes_stay_and_unsynced_ones_may_not() {
        let storage = SimStorage::new(SimPower::steady());
        let device = storage.create("d", 8192).unwrap();
        device.write_at(0, &[1; 4096]).unwrap();
        device.sync().unwrap();
        device.write_at(0, &[2; 4096]).unwrap();
        let mut seen = [false; 2];
        let found = storage.after_power_loss(PowerLoss::WHOLE_SECTORS, 7).open("d").unwrap();
        let mut page = [0; 4096];
        found.read_at(0, &mut page).unwrap();
        for sector in page.chunks(512) {
            assert!(sector.iter().all(|b| *b == sector[0]) && (sector[0] == 1 || sector[0] == 2));
            seen[usize::from(sector[0]) - 1] = true;
        }
        assert_eq!(seen, [true, true], "eight sectors at even odds, seed 7");
    }

    #[test]
    fn after_the_cut_nothing_more_arrives() {
        let power = SimPower::steady();
        let storage = SimStorage::new(power.clone());
        let device = storage.create("d", 4096).unwrap();
        power.cut_after(1);
        device.write_at(0, &[1; 512]).unwrap();
        assert!(device.write_at(512, &[1; 512]).is_err());
        assert!(device.write_at(1024, &[1; 512]).is_err());
        assert!(device.sync().is_err());
        let found = storage.after_power_loss(PowerLoss::KILLED, 1).open("d").unwrap();
        let mut page = [0; 4096];
        found.read_at(0, &mut page).unwrap();
        assert_eq!(
            (page[0], page[512], page[1024]),
            (1, 1, 0),
            "the write during the cut may arrive, later ones not"
        );
    }

    #[test]
    fn a_torn_sector_takes_its_piece_along_and_odd_operations_are_refused() {
        let torn = PowerLoss { kept: 0.0, torn: 1.0, by_sector: true };
        for (blocks, lost) in [(BlockSizes::SMALL, 512..1024), (BlockSizes::EMULATED, 0..4096)] {
            let storage = SimStorage::with_blocks(SimPower::steady(), blocks);
            let device = storage.create("d", 8192).unwrap();
            device.write_at(512, &[1; 512]).unwrap();
            let found = storage.after_power_loss(torn, 3).open("d").unwrap();
            let mut bytes = [0; 8192];
            found.read_at(0, &mut bytes).unwrap();
            let is_lost = |sector: &[u8]| sector.iter().any(|b| *b != 0);
            let sectors: Vec<bool> = bytes.chunks(512).map(is_lost).collect();
            assert!((0..16).all(|n| sectors[n] == lost.contains(&(n * 512))), "{blocks:?}: {sectors:?}");
        }
        let storage = SimStorage::with_blocks(SimPower::steady(), BlockSizes::LARGE);
        let device = storage.create("d", 8192).unwrap();
        for (offset, len) in [(512, 4096), (0, 512)] {
            let refused = device.write_at(offset, &vec![0; len]).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
            assert!(device.read_at(offset, &mut vec![0; len]).is_err());
        }
    }
}
