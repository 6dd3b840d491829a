//! Settings of a filter and of its memory.

use crate::fpr::{expected_fpr, fpr_at_load};
use crate::geometry::{Geometry, Layout, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX};
use crate::header::FilterHeader;
use springbloom_page_device::{FlashError, require};

/// Largest flush group, in pages. The position of a page in its group is one byte.
pub const GROUP_PAGES_MAX: u32 = 256;

/// Settings of a filter. Fixed at creation and stored in the file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterSettings {
    capacity_keys: u64,
    fpr: f64,
    layout: Layout,
    page_bytes: u32,
    probes: Option<u8>,
    bits_per_key: Option<f64>,
    grows: bool,
    is_logged: bool,
}

impl FilterSettings {
    /// A hierarchical filter of 4,096-byte pages for `capacity_keys` distinct keys, with a false positive rate of at most `fpr` and with a
    /// log.
    pub fn new(capacity_keys: u64, fpr: f64) -> FilterSettings {
        FilterSettings {
            capacity_keys,
            fpr,
            layout: Layout::Hierarchical,
            page_bytes: 4096,
            probes: None,
            bits_per_key: None,
            grows: false,
            is_logged: true,
        }
    }

    /// Sets the size in bits and probes per key, as papers do. The rate follows.
    pub fn with_bits_per_key(capacity_keys: u64, bits_per_key: f64, probes: u8) -> FilterSettings {
        FilterSettings {
            probes: Some(probes),
            bits_per_key: Some(bits_per_key),
            ..FilterSettings::new(capacity_keys, fpr_at_load(1.0, bits_per_key.max(1.0), probes))
        }
    }

    /// Distribution of bits over pages; see [`Layout`].
    pub fn layout(self, layout: Layout) -> FilterSettings {
        FilterSettings { layout, ..self }
    }

    /// Page size in bytes. A lookup reads one page.
    pub fn page_bytes(self, page_bytes: u32) -> FilterSettings {
        FilterSettings { page_bytes, ..self }
    }

    /// Bits set per key, instead of the number that makes the smallest filter.
    pub fn probes(self, probes: u8) -> FilterSettings {
        FilterSettings { probes: Some(probes), ..self }
    }

    /// Adds a filter of twice the capacity whenever the newest one is full. The rate of the chain stays below the requested one: the first
    /// filter is built for half of it, and each further one for half of the previous one's. A lookup of an absent key reads one page of
    /// each filter.
    pub fn growing(self, grows: bool) -> FilterSettings {
        FilterSettings { grows, ..self }
    }

    /// Whether insertions are logged. Without a log, only `flush` makes them durable, which saves writing 12 bytes per insertion.
    pub fn logged(self, is_logged: bool) -> FilterSettings {
        FilterSettings { is_logged, ..self }
    }

    /// The settings of further filters of the chain whose first filter is `first`.
    pub(crate) fn of_chain(first: &FilterHeader) -> FilterSettings {
        FilterSettings {
            layout: first.geometry.layout,
            page_bytes: first.geometry.page_bytes,
            grows: true,
            is_logged: first.is_logged,
            ..FilterSettings::new(first.capacity_keys, first.chain_fpr)
        }
    }

    /// The header of filter number `layer` of a chain with this salt. Its shape, capacity and rate are those after `smaller` filters that
    /// were not copied.
    pub(crate) fn header(&self, smaller: u32, salt: u64, layer: u32) -> Result<FilterHeader, FlashError> {
        self.check()?;
        let (capacity_keys, mut fpr) = if self.grows {
            (
                self.capacity_keys.saturating_mul(1 << smaller.min(40)),
                self.fpr / f64::from(2u32.pow(smaller.min(30) + 1)),
            )
        } else {
            (self.capacity_keys, self.fpr)
        };
        let probes = self.probes.unwrap_or_else(|| best_probes(fpr, self.layout));
        let mut geometry =
            Geometry { layout: self.layout, page_bytes: self.page_bytes, page_count: 1, probes };
        let page_bits = f64::from(geometry.bits_per_page());
        if let Some(bits_per_key) = self.bits_per_key {
            geometry.page_count = page_count(capacity_keys as f64 * bits_per_key / page_bits, capacity_keys)?;
            fpr = expected_fpr(&geometry, capacity_keys);
        } else {
            // The rate of a balanced filter gives a lower bound of the size. A few steps add the cost of imbalance.
            let per_lookup = if self.layout == Layout::TwoChoices { fpr / 2.0 } else { fpr };
            let k = f64::from(probes);
            let bits = -(capacity_keys as f64) * k / f64::ln_1p(-per_lookup.powf(1.0 / k));
            geometry.page_count = page_count(bits / page_bits, capacity_keys)?;
            while expected_fpr(&geometry, capacity_keys) > fpr {
                let more = geometry.page_count / 1000 + 1;
                geometry.page_count =
                    page_count(f64::from(geometry.page_count) + f64::from(more), capacity_keys)?;
            }
        }
        Ok(FilterHeader {
            geometry,
            salt,
            capacity_keys,
            fpr,
            chain_fpr: self.fpr,
            layer,
            grows: self.grows,
            is_logged: self.is_logged,
            is_copy: false,
        })
    }

    fn check(&self) -> Result<(), FlashError> {
        let page_sizes = PAGE_BYTES_MIN..=PAGE_BYTES_MAX;
        require(
            page_sizes.contains(&self.page_bytes) && self.page_bytes.is_power_of_two(),
            "page size",
            self.page_bytes,
            "2048, 4096, 8192 or 16384 bytes",
        )?;
        require(self.capacity_keys > 0, "capacity", self.capacity_keys, "at least one key")?;
        require(
            self.fpr > 0.0 && self.fpr < 1.0,
            "false positive rate",
            self.fpr,
            "between 0 and 1, both excluded",
        )?;
        // A chain chooses the probes for the rate of each filter.
        require(
            !(self.grows && self.probes.is_some()),
            "growth",
            "a fixed number of probes",
            "no number of probes",
        )?;
        if let Some(probes) = self.probes {
            require((1..=PROBES_MAX).contains(&probes), "probes", probes, "1 to 32")?;
        }
        if let Some(bits) = self.bits_per_key {
            require((1.0..=1024.0).contains(&bits), "bits per key", bits, "1 to 1024")?;
        }
        Ok(())
    }
}

fn best_probes(fpr: f64, layout: Layout) -> u8 {
    let per_page = if layout == Layout::TwoChoices { fpr / 2.0 } else { fpr };
    (-per_page.log2()).round().clamp(1.0, f64::from(PROBES_MAX)) as u8
}

/// `pages` as the number of pages for this many keys.
fn page_count(pages: f64, capacity_keys: u64) -> Result<u32, FlashError> {
    const MOST: f64 = u32::MAX as f64;
    let most_keys = capacity_keys as f64 * MOST / pages;
    let expected =
        format!("keys for less than 2^32 pages, about {most_keys:.1e} at this false positive rate");
    require(pages < MOST, "capacity", capacity_keys, &expected)?;
    Ok(pages.ceil().max(1.0) as u32)
}

/// The groups of pages to flush when the buffer is full (BloomFlash section III-E).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FlushPolicy {
    /// The group with the most pending updates: fewest writes.
    #[default]
    DirtiestGroupFirst,
    /// Groups in file order, with wraparound: sequential writes.
    Sequential,
}

/// Memory of an open filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySize {
    /// Total memory: pending updates, tables and buffers for writing.
    Bytes(u64),
    /// The measure of the paper: `factor` pending updates of one bit per page of the filter. One pending key here corresponds to `probes`
    /// of them and takes 8 bytes. Tables and buffers come on top.
    CacheSizeFactor(u32),
}

/// Settings of an open filter, chosen at each opening.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferSettings {
    /// Size of the memory.
    pub memory: MemorySize,
    /// Which groups to flush when it is full.
    pub policy: FlushPolicy,
    /// Contiguous pages that are written together (the paper's GroupSize), 1 to 256.
    pub group_pages: u32,
    /// Part of the memory that caches recently read pages, in bytes. Useful if lookups repeat keys.
    pub cache_bytes: u64,
}

impl BufferSettings {
    /// Groups of 16 pages, dirtiest first, within `memory_bytes`, without a page cache.
    pub fn with_memory_bytes(memory_bytes: u64) -> BufferSettings {
        BufferSettings {
            memory: MemorySize::Bytes(memory_bytes),
            policy: FlushPolicy::DirtiestGroupFirst,
            group_pages: 16,
            cache_bytes: 0,
        }
    }

    pub(crate) fn check(&self) -> Result<(), FlashError> {
        let allowed = 1..=GROUP_PAGES_MAX;
        require(allowed.contains(&self.group_pages), "group size", self.group_pages, "1 to 256 pages")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_meet_the_rate_asked_for_and_are_not_wasteful() {
        for layout in [Layout::Hierarchical, Layout::TwoChoices] {
            for fpr in [0.1, 0.0156, 0.001, 1e-6] {
                for capacity in [1, 1000, 1_000_000, 100_000_000] {
                    let plan = FilterSettings::new(capacity, fpr).layout(layout).header(0, 0, 0).unwrap();
                    let reached = expected_fpr(&plan.geometry, capacity);
                    assert!(reached <= fpr, "{layout:?} {capacity} keys: {reached} of {fpr}");
                    if plan.geometry.page_count > 100 {
                        let mut smaller = plan.geometry;
                        smaller.page_count = smaller.page_count / 50 * 49;
                        assert!(expected_fpr(&smaller, capacity) > fpr, "2% smaller would do: {plan:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_chain_doubles_and_its_rates_add_up_to_less_than_asked_for() {
        let settings = FilterSettings::new(10_000, 0.01).growing(true);
        let plans: Vec<FilterHeader> =
            (0..12).map(|layer| settings.header(layer, 0, layer).unwrap()).collect();
        assert!(plans.windows(2).all(|p| p[1].capacity_keys == 2 * p[0].capacity_keys));
        let total: f64 = plans.iter().map(|p| expected_fpr(&p.geometry, p.capacity_keys)).sum();
        assert!(total <= 0.01, "{total}");
    }

    #[test]
    fn insane_settings_are_refused() {
        let fine = FilterSettings::new(1000, 0.01);
        for wrong in [
            FilterSettings::new(0, 0.01),
            FilterSettings::new(1, 0.0),
            FilterSettings::new(1, f64::NAN),
            FilterSettings::new(u64::MAX, 1e-9),
            fine.page_bytes(1024),
            fine.page_bytes(5000),
            fine.probes(0),
            FilterSettings::with_bits_per_key(10, 0.0, 6),
            FilterSettings::with_bits_per_key(10, 8.0, 6).growing(true),
        ] {
            assert!(matches!(wrong.header(0, 0, 0), Err(FlashError::InvalidSetting { .. })), "{wrong:?}");
        }
    }
}
