//! One filter of a chain: a file of pages, and an estimate of its set bits.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::fpr::{either_of, expected_fpr, keys_for_fill};
use crate::geometry::Layout;
use crate::header::{FilterHeader, HEADER_BYTES};
use crate::page::PageCodec;
use crate::page_cache::PageName;
use crate::stamp::{FIRST_GENERATION, STAMP, Stamp};
use crate::stats::LayerInfo;
use parking_lot::Mutex;
use springbloom_page_device::{AlignedBuf, FlashError, NamedDevice, SECTOR_BYTES, Span, Storage, Watch};

/// Pages sampled to estimate the share of bits set, if it is not stored. Pages differ by a percent or two, so the estimate is good to a
/// thousandth for a filter of any size.
const SAMPLE_PAGES: u32 = 1024;

pub(crate) struct Layer {
    pub(crate) device: NamedDevice,
    pub(crate) header: FilterHeader,
    pub(crate) codec: PageCodec,
    /// Held while pages are written. A reader that meets a half-written page waits for it and reads again.
    pub(crate) writing: Mutex<()>,
    /// Estimated number of bits set in all pages.
    ones: AtomicU64,
}

/// Name of the file of filter number `layer`.
pub(crate) fn file_name(layer: u32) -> String {
    format!("filter-{layer:04}")
}

impl Layer {
    fn new(device: NamedDevice, header: FilterHeader) -> Result<Layer, FlashError> {
        device.require_blocks(header.geometry.page_bytes as usize)?;
        let codec = PageCodec::new(header.salt, header.geometry.page_bytes);
        Ok(Layer { device, header, codec, writing: Mutex::new(()), ones: AtomicU64::new(0) })
    }

    /// Creates an empty filter. Durable on return. It joins the chain when the log names it. Tells `watch` the pages.
    pub(crate) fn create(
        storage: &dyn Storage,
        header: FilterHeader,
        watch: &mut Watch<'_>,
    ) -> Result<Layer, FlashError> {
        let layer = Layer::create_unwritten(storage, header)?;
        layer.format_pages(watch)?;
        layer.sync()?;
        Ok(layer)
    }

    /// Creates a filter whose pages are yet to be written. Replaces what an interrupted growth or merge of this set left, and no other
    /// file.
    pub(crate) fn create_unwritten(storage: &dyn Storage, header: FilterHeader) -> Result<Layer, FlashError> {
        Layer::refuse_foreign(storage, &header)?;
        let device = NamedDevice::create(storage, &file_name(header.layer), header.file_bytes())?;
        let layer = Layer::new(device, header)?;
        // First, as it tells whose file this is.
        layer.write_header(FIRST_GENERATION)?;
        Ok(layer)
    }

    /// Refuses to replace a file at the place of the filter described by `header`, unless it has the salt of this set, no header yet, or a
    /// torn one and the right length.
    fn refuse_foreign(storage: &dyn Storage, header: &FilterHeader) -> Result<(), FlashError> {
        let file = file_name(header.layer);
        let Ok(device) = storage.open(&file) else { return Ok(()) };
        let mut block = AlignedBuf::new(HEADER_BYTES);
        let is_read = device.len_bytes() == 0 || device.read_at(0, &mut block).is_ok();
        let is_ours = FilterHeader::has_salt(&block, header.salt)
            || block[..SECTOR_BYTES].iter().all(|byte| *byte == 0);
        if (is_read && is_ours) || device.len_bytes() == header.file_bytes() {
            return Ok(());
        }
        let got = format!("{file}, which this set did not make");
        Err(FlashError::NotEmpty { name: storage.describe(""), got })
    }

    fn write_header(&self, generation: u64) -> Result<(), FlashError> {
        let mut block = self.header.encode();
        Stamp::put(self.header.salt, generation, &mut block);
        self.device.write(0, &block)
    }

    /// Says that all pages are written that `generation` of the log leaves out. Durable after [`Layer::sync`].
    pub(crate) fn stamp(&self, generation: u64) -> Result<(), FlashError> {
        let mut block = self.header.encode();
        Stamp::put(self.header.salt, generation, &mut block);
        // No more than the sector if the device can: what is not written is not torn.
        let is_small = self.device.blocks().logical_bytes <= SECTOR_BYTES;
        let written = if is_small { STAMP } else { 0..HEADER_BYTES };
        // A buffer of its own, as direct I/O wants it aligned.
        let mut piece = AlignedBuf::new(written.len());
        piece.copy_from_slice(&block[written.clone()]);
        self.device.write(written.start as u64, &piece)
    }

    /// The generation of its stamp, if that can be read.
    ///
    /// # Errors [`FlashError::TornCopy`] if it is older than `generation` of the log: the file was copied while it was written, and the log
    /// later.
    pub(crate) fn stamped(&self, generation: u64) -> Result<Option<u64>, FlashError> {
        let mut block = AlignedBuf::new(HEADER_BYTES);
        if self.device.read_at(0, &mut block).is_err() {
            return Ok(None);
        }
        let found = match Stamp::of(self.header.salt, &block) {
            Stamp::Of(found) if found >= generation => return Ok(Some(found)),
            Stamp::Damaged => return Ok(None),
            // Zeros in place of the whole header are damage, but in a later filter they may be those of its making.
            Stamp::Blank if self.header.layer == 0 && block.iter().all(|byte| *byte == 0) => return Ok(None),
            Stamp::Of(found) => found,
            Stamp::Blank => 0,
        };
        let part = "pages";
        Err(FlashError::TornCopy {
            name: self.device.name().to_owned(),
            part,
            got: found,
            expected: generation,
        })
    }

    /// Opens the filter that the log describes by `header`, with `ones` bits set.
    pub(crate) fn open(storage: &dyn Storage, header: FilterHeader, ones: u64) -> Result<Layer, FlashError> {
        let layer = Layer::open_damaged(storage, header, ones)?;
        layer.device.require_len(header.file_bytes())?;
        Ok(layer)
    }

    /// The same for a file of any length.
    pub(crate) fn open_damaged(
        storage: &dyn Storage,
        header: FilterHeader,
        ones: u64,
    ) -> Result<Layer, FlashError> {
        let layer = Layer::new(NamedDevice::open(storage, &file_name(header.layer))?, header)?;
        layer.ones.store(ones, Ordering::Relaxed);
        Ok(layer)
    }

    /// Whether the file's own header equals the one in the log.
    pub(crate) fn has_sound_header(&self) -> Result<bool, FlashError> {
        match FilterHeader::read(&self.device) {
            Ok(header) => Ok(header == self.header),
            Err(error) if error.is_other_version() => Err(error),
            Err(_) => Ok(false),
        }
    }

    /// Writes the header again from the log if it is damaged, with the stamp of `generation`.
    pub(crate) fn mend_header(&self, generation: u64) -> Result<(), FlashError> {
        if !self.has_sound_header()? {
            log::warn!("{}: its header was damaged and is written again from the log", self.device.name());
            self.write_header(generation)?;
            self.sync()?;
        }
        Ok(())
    }

    /// Estimated number of bits set in all pages.
    pub(crate) fn ones(&self) -> u64 {
        self.ones.load(Ordering::Relaxed)
    }

    pub(crate) fn sync(&self) -> Result<(), FlashError> {
        self.device.sync()
    }

    pub(crate) fn page_name(&self, page: u32) -> PageName {
        PageName { layer: self.header.layer, page }
    }

    pub(crate) fn span(&self, page: u32) -> Span {
        Span { offset: self.header.page_offset(page), len_bytes: self.header.geometry.page_bytes as usize }
    }

    /// Numbers of the pages of a sample (all if there are few).
    fn sampled_pages(&self) -> impl Iterator<Item = u32> {
        let pages = self.header.geometry.page_count;
        let sample = pages.min(SAMPLE_PAGES);
        (0..sample).map(move |i| (u64::from(i) * u64::from(pages) / u64::from(sample)) as u32)
    }

    /// Bits set in all pages, by the `ones` in `seen` of them.
    fn ones_by_sample(&self, ones: u64, seen: u32) -> u64 {
        let pages = self.header.geometry.page_count;
        if seen == 0 { 0 } else { (ones as f64 * f64::from(pages) / f64::from(seen)) as u64 }
    }

    /// Estimates the number of bits set from a sample of the pages.
    pub(crate) fn estimate_fill(&self) -> Result<(), FlashError> {
        let spans: Vec<Span> = self.sampled_pages().map(|page| self.span(page)).collect();
        let (mut ones, mut seen) = (0, 0);
        self.device.read_each(&spans, &mut |_, page| {
            if let Ok(bytes) = page {
                ones += u64::from(self.codec.ones(bytes));
                seen += 1;
            }
        });
        self.set_ones(self.ones_by_sample(ones, seen));
        Ok(())
    }

    /// Bits set in the pages of either filter, which have the same shape, estimated from a sample of the pages.
    pub(crate) fn estimated_ones_of_both(&self, other: &Layer) -> u64 {
        let page_bytes = self.header.geometry.page_bytes as usize;
        let (mut bytes, mut other_bytes) = (AlignedBuf::new(page_bytes), AlignedBuf::new(page_bytes));
        let (mut ones, mut seen) = (0, 0);
        for page in self.sampled_pages() {
            let offset = self.header.page_offset(page);
            let read = self.device.read_at(offset, &mut bytes);
            if read.and_then(|()| other.device.read_at(offset, &mut other_bytes)).is_ok() {
                self.codec.unite(page.into(), &mut bytes, &other.codec, &other_bytes);
                ones += u64::from(self.codec.ones(&bytes));
                seen += 1;
            }
        }
        self.ones_by_sample(ones, seen)
    }

    /// Keys of every page, from its bits, for the choice between two pages. Reads the whole filter.
    pub(crate) fn loads(&self) -> Vec<u16> {
        let geometry = &self.header.geometry;
        let page_bits = f64::from(geometry.bits_per_page());
        let mut loads = vec![0; geometry.page_count as usize];
        for first in (0..geometry.page_count).step_by(SAMPLE_PAGES as usize) {
            let spans: Vec<Span> =
                (first..geometry.page_count.min(first + SAMPLE_PAGES)).map(|page| self.span(page)).collect();
            self.device.read_each(&spans, &mut |i, page| {
                let ones = page.map_or(0, |bytes| self.codec.ones(bytes));
                let keys = keys_for_fill(f64::from(ones) / page_bits, page_bits, geometry.probes);
                loads[first as usize + i] = keys.min(f64::from(u16::MAX)) as u16;
            });
        }
        loads
    }

    pub(crate) fn set_ones(&self, ones: u64) {
        self.ones.store(ones, Ordering::Relaxed);
    }

    pub(crate) fn add_ones(&self, ones: u64) {
        self.ones.fetch_add(ones, Ordering::Relaxed);
    }

    /// Distinct keys in the pages, estimated from the share of bits set.
    pub(crate) fn estimated_keys(&self) -> f64 {
        self.keys_of_ones(self.ones())
    }

    /// Distinct keys that set this many bits.
    pub(crate) fn keys_of_ones(&self, ones: u64) -> f64 {
        let geometry = &self.header.geometry;
        let fill = ones as f64 / geometry.bits() as f64;
        let page_bits = f64::from(geometry.bits_per_page());
        keys_for_fill(fill.min(1.0), page_bits, geometry.probes) * f64::from(geometry.page_count)
    }

    pub(crate) fn estimated_fpr(&self) -> f64 {
        let keys = self.estimated_keys();
        if keys.is_finite() { expected_fpr(&self.header.geometry, keys.round() as u64) } else { 1.0 }
    }

    /// The same plus `pending` updates, some of which may be in the pages already.
    fn estimated_keys_with(&self, pending: u64) -> f64 {
        self.estimated_keys() + pending as f64
    }

    /// Distinct keys that the filter holds for certain, `pending` updates included. The estimate may be too high by four standard
    /// deviations, at most the root of the capacity.
    pub(crate) fn surely_held_keys(&self, pending: u64) -> f64 {
        (self.estimated_keys_with(pending) - (self.header.capacity_keys as f64).sqrt()).max(0.0)
    }

    /// Whether the filter holds as many distinct keys as it was built for, `pending` updates included.
    pub(crate) fn is_full(&self, pending: u64) -> bool {
        self.estimated_keys_with(pending) >= self.header.capacity_keys as f64
    }

    /// `pending` is the number of its pending updates.
    pub(crate) fn info(&self, pending: u64) -> LayerInfo {
        LayerInfo {
            header: self.header,
            estimated_keys: self.estimated_keys_with(pending),
            estimated_fpr: self.estimated_fpr(),
        }
    }

    /// Rate of a lookup, given the mean rate of a page.
    pub(crate) fn fpr_of_pages(&self, page_fpr: f64) -> f64 {
        if self.header.geometry.layout == Layout::TwoChoices { either_of(page_fpr, 2) } else { page_fpr }
    }
}
