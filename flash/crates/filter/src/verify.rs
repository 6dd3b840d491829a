//! Reads every page and reports damage.

use springbloom_page_device::{FlashError, Span, WalReport, Watch};

use crate::filter::FlashFilter;
use crate::layer::Layer;

/// Pages read per batch.
const BATCH_PAGES: u32 = 4096;
/// Upper bound of the damaged pages listed by number. More are only counted.
const LISTED_PAGES_MAX: usize = 100;

/// Result of [`FlashFilter::verify`].
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// The log.
    pub log: WalReport,
    /// The filters of the chain, oldest first.
    pub layers: Vec<LayerReport>,
}

impl VerifyReport {
    /// Whether no damage was found. Sectors that were lost earlier and repaired do not count.
    pub fn is_sound(&self) -> bool {
        let of_pages = |layer: &LayerReport| layer.damaged_sectors + layer.unreadable_pages;
        self.log.is_sound() && self.layers.iter().all(|layer| of_pages(layer) == 0 && layer.has_sound_header)
    }
}

/// One filter of the chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// Name of its file.
    pub name: String,
    /// Whether the file's own header is intact. If not, the log's copy is used.
    pub has_sound_header: bool,
    /// Sectors that failed their checksum. They answer "may match".
    pub damaged_sectors: u64,
    /// Sectors that were lost earlier and are all ones. They always answer "may match".
    pub saturated_sectors: u64,
    /// Pages that the device could not read.
    pub unreadable_pages: u64,
    /// Numbers of the first damaged or unreadable pages.
    pub faulty_pages: Vec<u32>,
    /// Share of bits set.
    pub fill: f64,
    /// False positive rate of these pages, damage included.
    pub fpr: f64,
}

impl FlashFilter {
    /// Reads and checks the log and every page. `watch` is told the pages. Insertions and lookups continue meanwhile.
    pub fn verify(&self, watch: &mut Watch<'_>) -> Result<VerifyReport, FlashError> {
        let state = self.state();
        watch.expect(state.layers.iter().map(|layer| u64::from(layer.header.geometry.page_count)).sum());
        let log = self.wal.lock().salvage(&mut |_| watch.advance(0))?;
        let layers = state.layers.iter().map(|layer| layer.verify(watch)).collect::<Result<_, FlashError>>();
        Ok(VerifyReport { log, layers: layers? })
    }
}

impl Layer {
    fn verify(&self, watch: &mut Watch<'_>) -> Result<LayerReport, FlashError> {
        let geometry = self.header.geometry;
        let page_bits = f64::from(geometry.bits_per_page());
        let mut report = LayerReport {
            name: self.device.name().to_owned(),
            has_sound_header: self.has_sound_header()?,
            ..LayerReport::default()
        };
        let (mut ones, mut page_fprs) = (0.0, 0.0);
        for first in (0..geometry.page_count).step_by(BATCH_PAGES as usize) {
            let end = geometry.page_count.min(first.saturating_add(BATCH_PAGES));
            let spans: Vec<Span> = (first..end).map(|page| self.span(page)).collect();
            // Nobody writes meanwhile, so a half-written page does not count as damaged.
            let quiet = self.writing.lock();
            self.device.read_each(&spans, &mut |i, page| {
                let number = first + i as u32;
                let (page_ones, is_faulty) = match page {
                    Ok(bytes) => {
                        let census = self.codec.census(u64::from(number), bytes);
                        report.damaged_sectors += u64::from(census.damaged_sectors);
                        report.saturated_sectors += u64::from(census.saturated_sectors);
                        (f64::from(census.ones), census.damaged_sectors + census.saturated_sectors > 0)
                    }
                    Err(_) => {
                        report.unreadable_pages += 1;
                        (page_bits, true)
                    }
                };
                if is_faulty && report.faulty_pages.len() < LISTED_PAGES_MAX {
                    report.faulty_pages.push(number);
                }
                ones += page_ones;
                page_fprs += (page_ones / page_bits).powi(i32::from(geometry.probes));
            });
            drop(quiet);
            watch.advance(u64::from(end - first))?;
        }
        report.faulty_pages.sort_unstable();
        report.fill = ones / geometry.bits() as f64;
        report.fpr = self.fpr_of_pages(page_fprs / f64::from(geometry.page_count));
        Ok(report)
    }
}
