//! Devices as structures write them: errors say which one it is, and after a failed write it is known to be in an unknown state.

use std::io;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::{FlashError, PageDevice, Storage};

/// A device with its name in messages. Counts what is written.
pub struct NamedDevice {
    device: Arc<dyn PageDevice>,
    name: String,
    has_failed: AtomicBool,
    written_bytes: AtomicU64,
    syncs: AtomicU64,
}

/// For what needs no name: lengths, block sizes, and reads whose errors are the caller's.
impl Deref for NamedDevice {
    type Target = dyn PageDevice;
    fn deref(&self) -> &Self::Target {
        &*self.device
    }
}

impl NamedDevice {
    /// See [`Storage::create`].
    pub fn create(storage: &dyn Storage, file: &str, len_bytes: u64) -> Result<NamedDevice, FlashError> {
        NamedDevice::new(storage, file, "create", storage.create(file, len_bytes))
    }

    /// See [`Storage::open`].
    pub fn open(storage: &dyn Storage, file: &str) -> Result<NamedDevice, FlashError> {
        NamedDevice::new(storage, file, "open", storage.open(file))
    }

    fn new(
        storage: &dyn Storage,
        file: &str,
        action: &'static str,
        device: io::Result<Arc<dyn PageDevice>>,
    ) -> Result<NamedDevice, FlashError> {
        let name = storage.describe(file);
        let device = device.map_err(FlashError::io(action, &name))?;
        let (written_bytes, syncs) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(NamedDevice { device, name, has_failed: AtomicBool::new(false), written_bytes, syncs })
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For `map_err`: the error of an action on this device.
    pub fn error(&self, action: &'static str) -> impl FnOnce(io::Error) -> FlashError {
        FlashError::io(action, &self.name)
    }

    /// See [`PageDevice::read_at`].
    pub fn read(&self, offset: u64, buf: &mut [u8]) -> Result<(), FlashError> {
        self.device.read_at(offset, buf).map_err(self.error("read"))
    }

    /// See [`PageDevice::write_at`].
    pub fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), FlashError> {
        self.checked("write", self.device.write_at(offset, bytes))?;
        self.written_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// See [`PageDevice::write_each`].
    pub fn write_each(&self, writes: &[(u64, &[u8])]) -> Result<(), FlashError> {
        self.checked("write", self.device.write_each(writes))?;
        let bytes: usize = writes.iter().map(|(_, bytes)| bytes.len()).sum();
        self.written_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// See [`PageDevice::sync`].
    pub fn sync(&self) -> Result<(), FlashError> {
        self.checked("sync", self.device.sync())?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// See [`PageDevice::grow`].
    pub fn grow(&self, len_bytes: u64) -> Result<(), FlashError> {
        self.checked("grow", self.device.grow(len_bytes))
    }

    fn checked(&self, action: &'static str, result: io::Result<()>) -> Result<(), FlashError> {
        result.map_err(self.error(action)).inspect_err(|_| self.mark_failed())
    }

    /// Says that nothing more may be written, because the state of the structure on its devices is unknown.
    pub fn mark_failed(&self) {
        self.has_failed.store(true, Ordering::Release);
    }

    /// Returns an error after a failed write.
    pub fn check_alive(&self) -> Result<(), FlashError> {
        if self.has_failed.load(Ordering::Acquire) {
            return Err(FlashError::WriterFailed { name: self.name.clone() });
        }
        Ok(())
    }

    /// Bytes written and syncs since opening.
    pub fn written(&self) -> (u64, u64) {
        (self.written_bytes.load(Ordering::Relaxed), self.syncs.load(Ordering::Relaxed))
    }

    /// Returns an error if it is shorter than `expected_bytes`.
    pub fn require_len(&self, expected_bytes: u64) -> Result<(), FlashError> {
        let (name, got_bytes) = (self.name.clone(), self.len_bytes());
        if got_bytes < expected_bytes {
            return Err(FlashError::Truncated { name, got_bytes, expected_bytes });
        }
        Ok(())
    }

    /// Returns an error if it does not take operations of `page_bytes`.
    pub fn require_blocks(&self, page_bytes: usize) -> Result<(), FlashError> {
        let (name, got_bytes) = (self.name.clone(), page_bytes as u32);
        let expected_bytes = self.blocks().logical_bytes;
        if !page_bytes.is_multiple_of(expected_bytes) {
            return Err(FlashError::PageSize { name, got_bytes, expected_bytes });
        }
        Ok(())
    }
}
