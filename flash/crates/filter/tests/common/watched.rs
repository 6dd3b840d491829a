//! A storage that calls a hook in the middle of every write, to look at a filter while it changes. Its reads can be made to fail, and its
//! writes to be seen half done.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use springbloom_flash_testkit::SimStorage;
use springbloom_page_device::{AlignedBuf, BlockSizes, PageDevice, SECTOR_BYTES, Storage};

type Hook = Box<dyn FnMut() + Send>;

/// Devices in memory. `during_writes` runs before each write to a device whose name begins with `filter`.
pub struct WatchedStorage {
    inner: Arc<SimStorage>,
    hook: Arc<Mutex<Option<Hook>>>,
    fails_reads: Arc<AtomicBool>,
    tears_writes: Arc<AtomicBool>,
}

impl WatchedStorage {
    pub fn new(inner: Arc<SimStorage>) -> WatchedStorage {
        WatchedStorage {
            inner,
            hook: Arc::default(),
            fails_reads: Arc::default(),
            tears_writes: Arc::default(),
        }
    }

    pub fn during_writes(&self, hook: impl FnMut() + Send + 'static) {
        *self.hook.lock() = Some(Box::new(hook));
    }

    /// From now on, reads of devices whose names begin with `filter` fail.
    pub fn fail_reads(&self) {
        self.fails_reads.store(true, Ordering::Relaxed);
    }

    /// From now on, who reads while a filter is written finds checksums of other contents for a moment.
    pub fn tear_writes(&self) {
        self.tears_writes.store(true, Ordering::Relaxed);
    }

    fn watch(&self, name: &str, device: Arc<dyn PageDevice>) -> Arc<dyn PageDevice> {
        if name.starts_with("filter") {
            Arc::new(Watched {
                device,
                hook: self.hook.clone(),
                fails_reads: self.fails_reads.clone(),
                tears_writes: self.tears_writes.clone(),
            })
        } else {
            device
        }
    }
}

impl Storage for WatchedStorage {
    fn create(&self, name: &str, len_bytes: u64) -> io::Result<Arc<dyn PageDevice>> {
        Ok(self.watch(name, self.inner.create(name, len_bytes)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn PageDevice>> {
        Ok(self.watch(name, self.inner.open(name)?))
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

struct Watched {
    device: Arc<dyn PageDevice>,
    hook: Arc<Mutex<Option<Hook>>>,
    fails_reads: Arc<AtomicBool>,
    tears_writes: Arc<AtomicBool>,
}

impl PageDevice for Watched {
    fn len_bytes(&self) -> u64 {
        self.device.len_bytes()
    }

    fn blocks(&self) -> BlockSizes {
        self.device.blocks()
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<()> {
        if self.fails_reads.load(Ordering::Relaxed) {
            return Err(io::Error::other("the device does not answer"));
        }
        self.device.read_at(offset, buf)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if let Some(hook) = &mut *self.hook.lock() {
            hook();
        }
        if self.tears_writes.load(Ordering::Relaxed) {
            let mut torn = AlignedBuf::new(bytes.len());
            torn.copy_from_slice(bytes);
            torn.chunks_mut(SECTOR_BYTES).for_each(|sector| sector[SECTOR_BYTES - 4..].fill(0));
            self.device.write_at(offset, &torn)?;
            std::thread::sleep(std::time::Duration::from_micros(200));
        }
        self.device.write_at(offset, bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.device.sync()
    }

    fn grow(&self, len_bytes: u64) -> io::Result<()> {
        self.device.grow(len_bytes)
    }
}
