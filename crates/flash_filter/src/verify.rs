//! Reads every page and says what is wrong with it.

use springbloom_page_device::{FlashError, Span, WalReport};

use crate::filter::FlashFilter;
use crate::header::FilterHeader;
use crate::layer::Layer;

/// Pages read by one batch.
const BATCH_PAGES: u32 = 4096;
/// Damaged pages listed by number; more are only counted.
const LISTED_PAGES_MAX: usize = 100;

/// What [`FlashFilter::verify`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// The log.
    pub log: WalReport,
    /// The filters of the chain, oldest first.
    pub layers: Vec<LayerReport>,
}

impl VerifyReport {
    /// Whether every sector is as it was written. One that was lost earlier and mended is: it answers "may match".
    pub fn is_sound(&self) -> bool {
        let of_pages = |layer: &LayerReport| layer.damaged_sectors + layer.unreadable_pages;
        self.log.is_sound() && self.layers.iter().all(|layer| of_pages(layer) == 0 && layer.has_sound_header)
    }
}

/// One filter of the chain.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerReport {
    /// Its file.
    pub name: String,
    /// What it was built as.
    pub header: FilterHeader,
    /// Whether the file's own header says so too; else the log's copy is used.
    pub has_sound_header: bool,
    /// Sectors that failed their checksum; they answer "may match".
    pub damaged_sectors: u64,
    /// Sectors that were lost earlier and replaced by ones: they answer "may match" for good.
    pub saturated_sectors: u64,
    /// Pages that the device did not give back.
    pub unreadable_pages: u64,
    /// The first pages with a fault.
    pub faulty_pages: Vec<u32>,
    /// Share of bits set.
    pub fill: f64,
    /// The rate of lookups of absent keys that these very pages have, damage included.
    pub fpr: f64,
}

impl FlashFilter {
    /// Reads the log, and every page of every filter of the chain. `progress` is told the pages done and their total. Insertions and
    /// lookups go on meanwhile.
    pub fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<VerifyReport, FlashError> {
        let log = self.wal().salvage(&mut |_| Ok(()))?;
        let state = self.state();
        let total: u64 = state.layers.iter().map(|layer| u64::from(layer.header.geometry.page_count)).sum();
        let mut done = 0;
        let layers = state
            .layers
            .iter()
            .map(|layer| {
                layer.verify(&mut |pages| {
                    done += pages;
                    progress(done, total);
                })
            })
            .collect::<Result<_, FlashError>>();
        Ok(VerifyReport { log, layers: layers? })
    }
}

impl Layer {
    fn verify(&self, progress: &mut dyn FnMut(u64)) -> Result<LayerReport, FlashError> {
        let geometry = self.header.geometry;
        let page_bits = f64::from(geometry.bits_per_page());
        let mut report = LayerReport {
            name: self.name.clone(),
            header: self.header,
            has_sound_header: self.has_sound_header()?,
            damaged_sectors: 0,
            saturated_sectors: 0,
            unreadable_pages: 0,
            faulty_pages: Vec::new(),
            fill: 0.0,
            fpr: 0.0,
        };
        let (mut ones, mut page_fprs) = (0.0, 0.0);
        let mut first = 0;
        while first < geometry.page_count {
            let end = geometry.page_count.min(first + BATCH_PAGES);
            let spans: Vec<Span> = (first..end).map(|page| self.span(page)).collect();
            // Nobody writes meanwhile, so a page that is half written is not taken for a damaged one.
            let _quiet = self.writing.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
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
            progress(u64::from(end - first));
            first = end;
        }
        report.faulty_pages.sort_unstable();
        report.fill = ones / geometry.bits() as f64;
        report.fpr = self.fpr_of_pages(page_fprs / f64::from(geometry.page_count));
        Ok(report)
    }
}
