//! The log of records: keys and values, in the order of arrival.
//!
//! One writer appends, under the writer lock of the index. Any number of readers read pages, of which the newest are still in memory. The
//! write-ahead log holds the end of this log (see [`crate::commits`]). Invariant: pages before the acknowledged end are durable and are
//! never written again.

use crate::commits::LogEnd;
use crate::record::{
    INDEX_PAGE_BYTES, KeyName, LONG_START_BYTES, PAGE_BODY_BYTES, PAGE_HEAD_BYTES, Page, PageHead, Record,
    encode, seal,
};
use crate::zones::Zones;
use parking_lot::{Mutex, RwLock, RwLockWriteGuard};
use springbloom_page_device::{AlignedBuf, FlashError, NamedDevice, Span};

/// Full pages that are kept in memory and written together.
const TAIL_PAGES: usize = 64;
/// Those pages and the page being filled.
const TAIL_BYTES: usize = (TAIL_PAGES + 1) * INDEX_PAGE_BYTES;

/// Pages read at once.
pub(crate) const RUN_PAGES: u64 = 64;

/// The reason why a page cannot be read.
#[derive(Debug)]
pub(crate) enum PageFault {
    /// Its zone has been reclaimed.
    Reclaimed,
    /// The bytes are not those of this page.
    Damaged,
    /// The device returned an error.
    Device(std::io::Error),
}

/// Receives the number of a page, and that page and those behind it.
type RunVisitor<'v> = dyn FnMut(u64, Vec<Result<Page<'_>, PageFault>>) -> Result<(), FlashError> + 'v;

/// Where a page is.
#[derive(Debug)]
pub(crate) enum PagePlace {
    /// Not written yet: its bytes.
    Memory(AlignedBuf),
    /// On the device.
    Device(Span),
    /// Its zone has been reclaimed.
    Gone,
}

pub(crate) struct RecordLog {
    pub(crate) device: NamedDevice,
    salt: u64,
    epoch: u32,
    tail: RwLock<Tail>,
    pub(crate) zones: RwLock<Zones>,
    /// Pages before this one are durable.
    synced: Mutex<u64>,
}

/// The pages not on the device yet. `page` is being filled.
struct Tail {
    first_page: u64,
    page: u64,
    buf: AlignedBuf,
    /// End of the records in the page being filled.
    used: usize,
    /// Offset of the first record that begins in the page being filled.
    first: Option<usize>,
    record: Vec<u8>,
}

impl Tail {
    fn slot(&self, page: u64) -> std::ops::Range<usize> {
        let at = (page - self.first_page) as usize * INDEX_PAGE_BYTES;
        at..at + INDEX_PAGE_BYTES
    }

    fn is_page_empty(&self) -> bool {
        self.used == PAGE_HEAD_BYTES
    }

    /// The head of the page being filled.
    fn head(&self, epoch: u32) -> PageHead {
        let first = self.first.unwrap_or(self.used) as u16;
        PageHead { epoch, page: self.page, first, used: self.used as u16 }
    }
}

impl RecordLog {
    /// A log that ends at `end`. The pages before it are durable.
    pub(crate) fn new(device: NamedDevice, salt: u64, epoch: u32, zones: Zones, end: &LogEnd) -> RecordLog {
        let mut buf = AlignedBuf::new(TAIL_BYTES);
        let used = PAGE_HEAD_BYTES + end.body.len();
        buf[PAGE_HEAD_BYTES..used].copy_from_slice(&end.body);
        // A page that only continues a record of the previous one has no first record.
        let first = Some(usize::from(end.first)).filter(|first| *first < used);
        let tail = Tail { first_page: end.page, page: end.page, buf, used, first, record: Vec::new() };
        RecordLog {
            device,
            salt,
            epoch,
            tail: RwLock::new(tail),
            zones: RwLock::new(zones),
            synced: Mutex::new(end.page),
        }
    }

    /// The page being filled.
    pub(crate) fn newest_page(&self) -> u64 {
        self.tail.read().page
    }

    /// The page after all pages that hold records.
    pub(crate) fn page_behind(&self) -> u64 {
        let tail = self.tail.read();
        tail.page + u64::from(!tail.is_page_empty())
    }

    /// Memory of the tail, in bytes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        AlignedBuf::memory_bytes_for(TAIL_BYTES) as u64
    }

    /// Appends a record (a tombstone if there is no value) and returns its page. Only the writer calls this, with valid lengths. Cost: a
    /// copy, and a write per 64 pages.
    pub(crate) fn append(
        &self,
        name: &KeyName<'_>,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<u64, FlashError> {
        self.device.check_alive()?;
        let mut tail = self.tail.write();
        let mut record = std::mem::take(&mut tail.record);
        encode(name, key, value, &mut record);
        let left = INDEX_PAGE_BYTES - tail.used;
        let is_long = record.len() > PAGE_BODY_BYTES;
        if (is_long && left < LONG_START_BYTES) || (!is_long && left < record.len()) {
            tail = self.next_page(tail)?;
        }
        if is_long {
            tail = self.keep_in_one_zone(tail, record.len())?;
        }
        if tail.is_page_empty() {
            self.open_zone(tail.page)?;
        }
        let page = tail.page;
        let at = tail.used;
        tail.first.get_or_insert(at);
        let mut rest = &record[..];
        loop {
            let here = rest.len().min(INDEX_PAGE_BYTES - tail.used);
            let at = tail.slot(tail.page).start + tail.used;
            tail.buf[at..at + here].copy_from_slice(&rest[..here]);
            tail.used += here;
            rest = &rest[here..];
            if rest.is_empty() {
                break;
            }
            tail = self.next_page(tail)?;
        }
        tail.record = record;
        drop(tail);
        self.zones.write().count_record(page);
        Ok(page)
    }

    /// Fills up the zone if a record of `len_bytes` would cross its end. Only pages of one zone are contiguous on the device.
    fn keep_in_one_zone<'a>(
        &'a self,
        mut tail: RwLockWriteGuard<'a, Tail>,
        len_bytes: usize,
    ) -> Result<RwLockWriteGuard<'a, Tail>, FlashError> {
        let beyond = len_bytes.saturating_sub(INDEX_PAGE_BYTES - tail.used);
        let last_page = tail.page + beyond.div_ceil(PAGE_BODY_BYTES) as u64;
        let (zone, last_zone) = {
            let zones = self.zones.read();
            (zones.zone_of(tail.page), zones.zone_of(last_page))
        };
        if zone != last_zone {
            let next = self.zones.read().first_page(zone + 1);
            while tail.page < next {
                tail = self.next_page(tail)?;
            }
        }
        Ok(tail)
    }

    /// Seals the page being filled and starts the next. Writes the tail if it is full or the zone ends.
    fn next_page<'a>(
        &'a self,
        mut tail: RwLockWriteGuard<'a, Tail>,
    ) -> Result<RwLockWriteGuard<'a, Tail>, FlashError> {
        let page = tail.page;
        if tail.is_page_empty() {
            self.open_zone(page)?;
        }
        let head = tail.head(self.epoch);
        let slot = tail.slot(page);
        seal(self.salt, head, &mut tail.buf[slot]);
        tail.page += 1;
        (tail.used, tail.first) = (PAGE_HEAD_BYTES, None);
        let is_full = (tail.page - tail.first_page) as usize == TAIL_PAGES;
        if is_full || self.zones.read().begins_at(tail.page) {
            drop(tail);
            self.write_sealed()?;
            tail = self.tail.write();
        }
        Ok(tail)
    }

    fn open_zone(&self, page: u64) -> Result<(), FlashError> {
        let mut zones = self.zones.write();
        if zones.device_page(page).is_some() {
            return Ok(());
        }
        let zone = zones.zone_of(page);
        zones.open(zone);
        let len_bytes = u64::from(zones.slots) * u64::from(zones.zone_pages) * INDEX_PAGE_BYTES as u64;
        self.device.grow(len_bytes)
    }

    /// Writes the sealed pages of the tail. Readers are not blocked.
    fn write_sealed(&self) -> Result<(), FlashError> {
        let page = {
            let tail = self.tail.read();
            if tail.page == tail.first_page {
                return Ok(());
            }
            let at =
                self.zones.read().device_page(tail.first_page).unwrap_or_default() * INDEX_PAGE_BYTES as u64;
            let bytes = &tail.buf[..(tail.page - tail.first_page) as usize * INDEX_PAGE_BYTES];
            self.device.write(at, bytes)?;
            tail.page
        };
        let mut tail = self.tail.write();
        // The page being filled stays, as the first of the tail.
        let filled = tail.slot(tail.page);
        tail.buf.copy_within(filled, 0);
        tail.first_page = page;
        Ok(())
    }

    /// Writes the full pages and returns the end of the log. Only the writer calls this.
    pub(crate) fn write_out(&self) -> Result<LogEnd, FlashError> {
        self.device.check_alive()?;
        self.write_sealed()?;
        let tail = self.tail.read();
        let filled = tail.slot(tail.page).start;
        let body = tail.buf[filled + PAGE_HEAD_BYTES..filled + tail.used].to_vec();
        Ok(LogEnd { page: tail.page, first: tail.head(self.epoch).first, body })
    }

    /// Seals the page being filled, writes everything and returns the end of the log. Only the writer calls this.
    pub(crate) fn seal(&self) -> Result<LogEnd, FlashError> {
        self.device.check_alive()?;
        let tail = self.tail.write();
        let tail = if tail.is_page_empty() { tail } else { self.next_page(tail)? };
        drop(tail);
        self.write_out()
    }

    /// Makes the pages before `page` durable. They have been written.
    pub(crate) fn sync_to(&self, page: u64) -> Result<(), FlashError> {
        // Held during the sync. If another thread's sync fails, a concurrent one may still report success.
        let mut synced = self.synced.lock();
        self.device.check_alive()?;
        if *synced < page {
            let written = self.tail.read().first_page;
            self.device.sync()?;
            *synced = written;
        }
        Ok(())
    }

    pub(crate) fn place(&self, page: u64) -> PagePlace {
        if let Some(bytes) = self.copied_from_tail(page) {
            return PagePlace::Memory(bytes);
        }
        let Some(at) = self.zones.read().device_page(page) else { return PagePlace::Gone };
        PagePlace::Device(Span { offset: at * INDEX_PAGE_BYTES as u64, len_bytes: INDEX_PAGE_BYTES })
    }

    pub(crate) fn checked<'b>(&self, page: u64, bytes: &'b [u8]) -> Result<Page<'b>, PageFault> {
        Page::open(self.salt, page, bytes).ok_or_else(|| {
            let is_live = self.zones.read().device_page(page).is_some();
            if is_live { PageFault::Damaged } else { PageFault::Reclaimed }
        })
    }

    /// A copy of `page` if it is in the tail. If the page is being filled, the copy is sealed.
    fn copied_from_tail(&self, page: u64) -> Option<AlignedBuf> {
        let tail = self.tail.read();
        if page < tail.first_page || page > tail.page {
            return None;
        }
        let mut into = AlignedBuf::new(INDEX_PAGE_BYTES);
        into.copy_from_slice(&tail.buf[tail.slot(page)]);
        if page == tail.page {
            seal(self.salt, tail.head(self.epoch), &mut into);
        }
        Some(into)
    }

    /// Reads contiguous pages of one zone, from `page` on, into `buf`. One device read, unless that fails or the writer writes the pages
    /// meanwhile.
    pub(crate) fn read_run<'b>(
        &self,
        page: u64,
        buf: &'b mut AlignedBuf,
    ) -> Vec<Result<Page<'b>, PageFault>> {
        let count = buf.len() / INDEX_PAGE_BYTES;
        let mut read: Vec<Result<(), PageFault>> = (0..count).map(|_| Ok(())).collect();
        let written = self.tail.read().first_page.saturating_sub(page).min(count as u64) as usize;
        let is_read = written > 0 && self.read_written(page, &mut buf[..written * INDEX_PAGE_BYTES]).is_ok();
        for n in if is_read { written } else { 0 }..count {
            let (page, bytes) = (page + n as u64, &mut buf[n * INDEX_PAGE_BYTES..][..INDEX_PAGE_BYTES]);
            match self.copied_from_tail(page) {
                Some(copy) => bytes.copy_from_slice(&copy),
                None => read[n] = self.read_written(page, bytes),
            }
        }
        let buf: &'b AlignedBuf = buf;
        let pages = buf.chunks(INDEX_PAGE_BYTES).zip(page..).zip(read);
        pages.map(|((bytes, page), read)| read.and_then(|()| self.checked(page, bytes))).collect()
    }

    /// Reads pages of one zone that are on the device.
    fn read_written(&self, page: u64, bytes: &mut [u8]) -> Result<(), PageFault> {
        let at = self.zones.read().device_page(page).ok_or(PageFault::Reclaimed)?;
        self.device.read_at(at * INDEX_PAGE_BYTES as u64, bytes).map_err(PageFault::Device)
    }

    /// Calls `visit` with runs of the pages from `first` to before `end`, all of one zone, in sequence, and with the number of the first of
    /// each.
    pub(crate) fn each_run(
        &self,
        first: u64,
        end: u64,
        visit: &mut RunVisitor<'_>,
    ) -> Result<(), FlashError> {
        let mut buf = AlignedBuf::new(0);
        for first in (first..end).step_by(RUN_PAGES as usize) {
            let run_bytes = RUN_PAGES.min(end - first) as usize * INDEX_PAGE_BYTES;
            if buf.len() != run_bytes {
                buf = AlignedBuf::new(run_bytes);
            }
            visit(first, self.read_run(first, &mut buf))?;
        }
        Ok(())
    }

    /// The key and the value (none for a tombstone) of a record that begins in `page`.
    pub(crate) fn read_whole(
        &self,
        page: u64,
        record: &Record<'_>,
    ) -> Result<(Vec<u8>, Option<Vec<u8>>), PageFault> {
        let mut key = record.here.to_vec();
        if record.missing_bytes() > 0 {
            self.read_rest(page + 1, record.missing_bytes(), &mut key)?;
        }
        let value = key.split_off(record.key_bytes);
        Ok((key, record.value_bytes.map(|_| value)))
    }

    /// Appends the missing `missing_bytes` of a record to `body`, from the pages from `page` on.
    pub(crate) fn read_rest(
        &self,
        page: u64,
        missing_bytes: usize,
        body: &mut Vec<u8>,
    ) -> Result<(), PageFault> {
        let whole_bytes = body.len() + missing_bytes;
        let mut buf = AlignedBuf::new(missing_bytes.div_ceil(PAGE_BODY_BYTES) * INDEX_PAGE_BYTES);
        for page in self.read_run(page, &mut buf) {
            body.extend_from_slice(page?.continuation());
        }
        if body.len() == whole_bytes { Ok(()) } else { Err(PageFault::Damaged) }
    }
}

/// The error for an acknowledged page that cannot be read.
pub(crate) fn lost_page(name: &str, page: u64) -> FlashError {
    let got = format!("an acknowledged page {page} that cannot be read");
    FlashError::damaged(name, "the log", got, "every acknowledged page")
}
