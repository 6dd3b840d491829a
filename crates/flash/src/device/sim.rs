//! Devices in memory that can lose power: what was synced stays, of what was not any subset of sectors may stay, in any
//! order, and a sector that was being written may hold garbage.
//!
//! All devices of one [`SimStorage`] hang on one [`SimPower`], so that a power loss hits them at the same moment.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{PageDevice, SECTOR_BYTES, Storage};

/// Counts operations that change devices and cuts the power after a set number of them.
#[derive(Debug)]
pub struct SimPower {
    writes_and_syncs: AtomicU64,
    cut_after: AtomicU64,
}

impl SimPower {
    /// Power that is never cut.
    pub fn steady() -> Arc<SimPower> {
        Arc::new(SimPower { writes_and_syncs: AtomicU64::new(0), cut_after: AtomicU64::new(u64::MAX) })
    }

    /// Cuts the power after `operations` more writes and syncs: the next one and all later ones fail. The failing write
    /// may still leave sectors behind.
    pub fn cut_after(&self, operations: u64) {
        let so_far = self.writes_and_syncs.load(Ordering::SeqCst);
        self.cut_after.store(so_far.saturating_add(operations), Ordering::SeqCst);
    }

    /// Writes and syncs asked for so far.
    pub fn operations(&self) -> u64 {
        self.writes_and_syncs.load(Ordering::SeqCst)
    }

    /// Whether the power is already gone.
    pub fn is_cut(&self) -> bool {
        self.operations() > self.cut_after.load(Ordering::SeqCst)
    }

    fn spend(&self) -> io::Result<()> {
        let spent = self.writes_and_syncs.fetch_add(1, Ordering::SeqCst);
        if spent >= self.cut_after.load(Ordering::SeqCst) {
            Err(io::Error::other("the power is cut"))
        } else {
            Ok(())
        }
    }
}

/// What a power loss leaves of what was written and not synced.
#[derive(Clone, Copy, Debug)]
pub struct PowerLoss {
    /// Chance that a piece holds what was written last.
    pub kept: f64,
    /// Chance that a piece holds garbage (else: what was there before).
    pub torn: f64,
    /// Pieces that share their fate: sectors, or whole writes.
    pub by_sector: bool,
}

impl PowerLoss {
    /// The process dies and the machine goes on: everything written is there.
    pub const KILLED: PowerLoss = PowerLoss { kept: 1.0, torn: 0.0, by_sector: false };
    /// Nothing that was not synced is there.
    pub const ALL_LOST: PowerLoss = PowerLoss { kept: 0.0, torn: 0.0, by_sector: false };
    /// Whole writes arrive or not: the worst for what relies on their order.
    pub const WHOLE_WRITES: PowerLoss = PowerLoss { kept: 0.5, torn: 0.0, by_sector: false };
    /// Whole sectors arrive or not.
    pub const WHOLE_SECTORS: PowerLoss = PowerLoss { kept: 0.5, torn: 0.0, by_sector: true };
    /// Sectors that were being written may hold garbage.
    pub const TORN_SECTORS: PowerLoss = PowerLoss { kept: 0.45, torn: 0.1, by_sector: true };
}

#[derive(Debug, Default, Clone)]
struct Image {
    live: Vec<u8>,
    durable: Vec<u8>,
    unsynced: Vec<(usize, Vec<u8>)>,
}

/// One device in memory.
struct SimDevice {
    image: Mutex<Image>,
    power: Arc<SimPower>,
}

impl SimDevice {
    fn image(&self) -> MutexGuard<'_, Image> {
        self.image.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageDevice for SimDevice {
    fn len_bytes(&self) -> u64 {
        self.image().live.len() as u64
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        let image = self.image();
        let from = offset as usize;
        let bytes = image.live.get(from..from.saturating_add(buf.len()));
        buf.copy_from_slice(bytes.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut image = self.image();
        let from = offset as usize;
        if image.live.len() < from + bytes.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let was_cut = self.power.is_cut();
        let allowed = self.power.spend();
        if !was_cut {
            // The write during which the power goes may leave sectors too.
            image.unsynced.push((from, bytes.to_vec()));
        }
        allowed?;
        image.live[from..from + bytes.len()].copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let mut image = self.image();
        self.power.spend()?;
        for (from, bytes) in std::mem::take(&mut image.unsynced) {
            image.durable[from..from + bytes.len()].copy_from_slice(&bytes);
        }
        Ok(())
    }

    fn grow(&self, len_bytes: u64) -> io::Result<()> {
        let mut image = self.image();
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
}

impl SimStorage {
    /// An empty storage.
    pub fn new(power: Arc<SimPower>) -> SimStorage {
        SimStorage { devices: Mutex::default(), power }
    }

    fn devices(&self) -> MutexGuard<'_, HashMap<String, Arc<SimDevice>>> {
        self.devices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The power that all its devices hang on.
    pub fn power(&self) -> &SimPower {
        &self.power
    }

    /// The storage as it is found after a power loss now, on steady power again. `seed` chooses what survived.
    pub fn after_power_loss(&self, loss: PowerLoss, seed: u64) -> SimStorage {
        let mut rng = StdRng::seed_from_u64(seed);
        let power = SimPower::steady();
        let devices = self.devices();
        let mut names: Vec<_> = devices.keys().collect();
        names.sort();
        let survived = names
            .into_iter()
            .map(|name| {
                let image = devices[name].image().clone();
                let mut found = image.durable;
                for (from, bytes) in image.unsynced {
                    let piece_bytes = if loss.by_sector { SECTOR_BYTES } else { bytes.len().max(1) };
                    for (i, piece) in bytes.chunks(piece_bytes).enumerate() {
                        let at = from + i * piece_bytes;
                        let draw: f64 = rng.random();
                        if draw < loss.kept {
                            found[at..at + piece.len()].copy_from_slice(piece);
                        } else if draw < loss.kept + loss.torn {
                            rng.fill(&mut found[at..at + piece.len()]);
                        }
                    }
                }
                let image = Image { live: found.clone(), durable: found, unsynced: Vec::new() };
                (name.clone(), Arc::new(SimDevice { image: Mutex::new(image), power: power.clone() }))
            })
            .collect();
        SimStorage { devices: Mutex::new(survived), power }
    }

    /// Changes stored bytes behind everybody's back, as a failing device does. Panics if `name` does not exist.
    pub fn damage(&self, name: &str, offset: usize, change: impl FnOnce(&mut [u8])) {
        let devices = self.devices();
        let mut image = devices[name].image();
        change(&mut image.live[offset..]);
        image.durable = image.live.clone();
    }
}

impl Storage for SimStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        self.power.spend()?;
        let zeros = vec![0; len_bytes as usize];
        let image = Image { live: zeros.clone(), durable: zeros, unsynced: Vec::new() };
        let device = Arc::new(SimDevice { image: Mutex::new(image), power: self.power.clone() });
        self.devices().insert(name.to_owned(), device.clone());
        Ok(device)
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>> {
        let device = self.devices().get(name).cloned().ok_or(io::ErrorKind::NotFound)?;
        Ok(device)
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
        for sector in page.chunks(SECTOR_BYTES) {
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
}
