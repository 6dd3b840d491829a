//! A copy that is made of simulated devices while they are written, as `cp` and `rsync` do: device by device in any order, each from its
//! beginning to its end, at any pace.

use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use springbloom_page_device::{BlockSizes, PageDevice, Storage};

use crate::{SimPower, SimStorage};

/// Bytes that are copied at a time. Others write in between.
const PIECE_BYTES: usize = 4096;

/// A copy that is under way.
struct Copier {
    to: SimStorage,
    /// Devices still to be copied, the next one at the end.
    names: Vec<String>,
    /// Bytes of the device under way.
    bytes: Option<Vec<u8>>,
    /// Mean pieces that are copied before each write of others.
    pace: f64,
    rng: StdRng,
}

impl Copier {
    /// Copies a few pieces.
    fn go_on(&mut self, from: &SimStorage) -> io::Result<()> {
        while self.rng.random_bool(self.pace / (1.0 + self.pace)) && !self.names.is_empty() {
            self.copy_piece(from)?;
        }
        Ok(())
    }

    fn copy_piece(&mut self, from: &SimStorage) -> io::Result<()> {
        let Some(name) = self.names.last() else { return Ok(()) };
        let Ok(device) = from.open(name) else {
            // It was removed meanwhile, and programs that copy go on with the next one.
            (self.bytes, _) = (None, self.names.pop());
            return Ok(());
        };
        let bytes = self.bytes.get_or_insert_default();
        let len = (device.len_bytes() as usize).saturating_sub(bytes.len()).min(PIECE_BYTES);
        if len == 0 {
            let copy = self.to.create(name, bytes.len() as u64)?;
            copy.write_at(0, bytes)?;
            copy.sync()?;
            (self.bytes, _) = (None, self.names.pop());
            return Ok(());
        }
        if self.rng.random_bool(0.001) {
            // It is interrupted and begins this device again.
            bytes.clear();
            return Ok(());
        }
        let at = bytes.len();
        bytes.resize(at + len, 0);
        device.read_at(at as u64, &mut bytes[at..])
    }
}

/// Devices in memory that can be copied while they are written.
#[derive(Clone)]
pub struct CopiedStorage {
    inner: Arc<SimStorage>,
    copier: Arc<Mutex<Option<Copier>>>,
}

impl CopiedStorage {
    /// The devices of `inner`.
    pub fn new(inner: Arc<SimStorage>) -> CopiedStorage {
        CopiedStorage { inner, copier: Arc::default() }
    }

    /// Begins a copy of all devices. `pace` is the mean number of blocks of 4 KiB that are copied before each write of others.
    pub fn begin_copy(&self, pace: f64, seed: u64) -> io::Result<()> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut names = self.inner.names()?;
        names.shuffle(&mut rng);
        let to = SimStorage::new(SimPower::steady());
        *self.copier.lock() = Some(Copier { to, names, bytes: None, pace, rng });
        Ok(())
    }

    /// Whether a copy was begun that has not come to its end.
    pub fn is_copying(&self) -> bool {
        self.copier.lock().as_ref().is_some_and(|copier| !copier.names.is_empty())
    }

    /// Copies what is left. `None` if no copy was begun.
    pub fn end_copy(&self) -> io::Result<Option<SimStorage>> {
        let Some(mut copier) = self.copier.lock().take() else { return Ok(None) };
        while !copier.names.is_empty() {
            copier.copy_piece(&self.inner)?;
        }
        Ok(Some(copier.to))
    }

    fn watched(&self, device: Arc<dyn PageDevice>) -> Arc<dyn PageDevice> {
        Arc::new(Copied { device, storage: self.clone() })
    }
}

impl Storage for CopiedStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        Ok(self.watched(self.inner.create(name, len_bytes)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>> {
        Ok(self.watched(self.inner.open(name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.inner.remove(name)
    }

    fn names(&self) -> io::Result<Vec<String>> {
        self.inner.names()
    }

    fn describe(&self, name: &str) -> String {
        self.inner.describe(name)
    }
}

/// A device that is copied a little before each write.
struct Copied {
    device: Arc<dyn PageDevice>,
    storage: CopiedStorage,
}

impl Copied {
    fn copy_a_little(&self) -> io::Result<()> {
        match &mut *self.storage.copier.lock() {
            Some(copier) => copier.go_on(&self.storage.inner),
            None => Ok(()),
        }
    }
}

impl PageDevice for Copied {
    fn len_bytes(&self) -> u64 {
        self.device.len_bytes()
    }

    fn blocks(&self) -> BlockSizes {
        self.device.blocks()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        self.device.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.copy_a_little()?;
        self.device.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.copy_a_little()?;
        self.device.sync()
    }

    fn grow(&self, len_bytes: u64) -> io::Result<()> {
        self.device.grow(len_bytes)
    }
}
