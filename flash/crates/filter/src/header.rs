//! The header: first block of a filter file, with its settings. Never changes after creation, but for its [`Stamp`](crate::stamp::Stamp).
//! The log holds a copy. Layout: `docs/filter-format.md`.

use springbloom_filter::KeyDigest;

use springbloom_page_device::{AlignedBuf, FlashError, NamedDevice, field, u32_at, u64_at};

use crate::geometry::{Geometry, Layout, PAGE_BYTES_MAX, PAGE_BYTES_MIN, PROBES_MAX};
use crate::stamp::STAMP;

/// First eight bytes of a filter file.
pub const FILTER_MAGIC: [u8; 8] = *b"SPBLFLSH";
/// The version that this program writes, and the newest that it reads.
pub const FILTER_VERSION: u32 = 3;
/// The oldest that it reads: without stamps.
const OLDEST_VERSION: u32 = 2;
/// Bytes of the header. The pages follow it.
pub const HEADER_BYTES: usize = 4096;

/// Bytes of the fields. A checksum at the end of the block follows them.
pub(crate) const HEADER_FIELDS_BYTES: usize = 64;

const CHECKSUM_AT: usize = HEADER_BYTES - 8;
const FLAG_GROWS: u32 = 1;
const FLAG_LOGGED: u32 = 2;
const FLAG_COPY: u32 = 4;

/// The fields of the header.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FilterHeader {
    /// Shape of the pages.
    pub geometry: Geometry,
    /// Key of the checksums of this filter, so that pages of another filter are detected.
    pub salt: u64,
    /// Number of distinct keys that it was built for.
    pub capacity_keys: u64,
    /// False positive rate with that many keys.
    pub fpr: f64,
    /// Requested false positive rate of the whole chain.
    pub chain_fpr: f64,
    /// Position in the chain, from 0.
    pub layer: u32,
    /// Whether the chain grows when this filter is full.
    pub grows: bool,
    /// Whether insertions are logged.
    pub is_logged: bool,
    /// Whether it is the copy of a filter of another chain, which was merged into this one.
    pub is_copy: bool,
}

impl FilterHeader {
    /// Bytes of the file.
    pub fn file_bytes(&self) -> u64 {
        HEADER_BYTES as u64 + self.geometry.pages_bytes()
    }

    /// Offset of a page in the file.
    pub(crate) fn page_offset(&self, page: u32) -> u64 {
        HEADER_BYTES as u64 + u64::from(page) * u64::from(self.geometry.page_bytes)
    }

    /// The stored header, without a stamp.
    pub fn encode(&self) -> AlignedBuf {
        let mut block = AlignedBuf::new(HEADER_BYTES);
        block[..HEADER_FIELDS_BYTES].copy_from_slice(&self.encode_fields());
        let sum = sum(&block);
        block[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
        block
    }

    /// The stored fields, for a checksum together with other data.
    pub(crate) fn encode_fields(&self) -> [u8; HEADER_FIELDS_BYTES] {
        let mut fields = [0; HEADER_FIELDS_BYTES];
        let geometry = &self.geometry;
        let flags = (u32::from(self.grows) * FLAG_GROWS)
            | (u32::from(self.is_logged) * FLAG_LOGGED)
            | (u32::from(self.is_copy) * FLAG_COPY);
        fields[0..8].copy_from_slice(&FILTER_MAGIC);
        fields[8..12].copy_from_slice(&FILTER_VERSION.to_le_bytes());
        fields[12] = geometry.layout as u8;
        fields[13] = geometry.probes;
        fields[16..20].copy_from_slice(&geometry.page_bytes.to_le_bytes());
        fields[20..24].copy_from_slice(&geometry.page_count.to_le_bytes());
        fields[24..32].copy_from_slice(&self.salt.to_le_bytes());
        fields[32..40].copy_from_slice(&self.capacity_keys.to_le_bytes());
        fields[40..48].copy_from_slice(&self.fpr.to_le_bytes());
        fields[48..56].copy_from_slice(&self.chain_fpr.to_le_bytes());
        fields[56..60].copy_from_slice(&self.layer.to_le_bytes());
        fields[60..64].copy_from_slice(&flags.to_le_bytes());
        fields
    }

    /// Decodes a stored header. Total: returns a usable header or an error for any bytes. `name` is for messages.
    pub fn decode(name: &str, block: &[u8]) -> Result<FilterHeader, FlashError> {
        if block.len() < HEADER_BYTES {
            return Err(FlashError::Truncated {
                name: name.to_owned(),
                got_bytes: block.len() as u64,
                expected_bytes: HEADER_BYTES as u64,
            });
        }
        let magic: [u8; 8] = field(block, 0);
        if magic != FILTER_MAGIC {
            return Err(FlashError::Foreign { name: name.to_owned(), got: magic, expected: FILTER_MAGIC });
        }
        let stored = u64_at(block, CHECKSUM_AT);
        let sum = sum(block);
        if stored != sum {
            let (got, expected) = (format!("{stored:016x}"), format!("{sum:016x}"));
            return Err(FlashError::damaged(name, "the header's checksum", got, expected));
        }
        FilterHeader::decode_fields(name, block)
    }

    /// Whether a block of which only a part may have been written is the header of a filter with this salt.
    pub(crate) fn has_salt(block: &[u8], salt: u64) -> bool {
        block[24..32] == salt.to_le_bytes()
    }

    /// Whether a filter with these fields of its header has stamps.
    pub(crate) fn is_stamped(fields: &[u8]) -> bool {
        u32_at(fields, 8) > OLDEST_VERSION
    }

    /// Decodes the fields of a header with a valid checksum. Total.
    pub(crate) fn decode_fields(name: &str, fields: &[u8]) -> Result<FilterHeader, FlashError> {
        let version = u32_at(fields, 8);
        let (got, expected) = (version, FILTER_VERSION);
        if got > expected {
            return Err(FlashError::NewerVersion { name: name.to_owned(), got, expected });
        }
        if got < OLDEST_VERSION {
            return Err(FlashError::OlderVersion { name: name.to_owned(), got, expected });
        }
        let flags = u32_at(fields, 60);
        let layout = match fields[12] {
            0 => Layout::Hierarchical,
            1 => Layout::TwoChoices,
            other => return Err(FlashError::damaged(name, "the layout", other.to_string(), "0 or 1")),
        };
        let header = FilterHeader {
            geometry: Geometry {
                layout,
                page_bytes: u32_at(fields, 16),
                page_count: u32_at(fields, 20),
                probes: fields[13],
            },
            salt: u64_at(fields, 24),
            capacity_keys: u64_at(fields, 32),
            fpr: f64::from_bits(u64_at(fields, 40)),
            chain_fpr: f64::from_bits(u64_at(fields, 48)),
            layer: u32_at(fields, 56),
            grows: flags & FLAG_GROWS != 0,
            is_logged: flags & FLAG_LOGGED != 0,
            is_copy: flags & FLAG_COPY != 0,
        };
        let geometry = &header.geometry;
        let is_sane = (PAGE_BYTES_MIN..=PAGE_BYTES_MAX).contains(&geometry.page_bytes)
            && geometry.page_bytes.is_power_of_two()
            && geometry.page_count > 0
            && (1..=PROBES_MAX).contains(&geometry.probes)
            && header.capacity_keys > 0
            && (0.0..=1.0).contains(&header.fpr)
            && (0.0..=1.0).contains(&header.chain_fpr)
            && flags & !(FLAG_GROWS | FLAG_LOGGED | FLAG_COPY) == 0;
        if is_sane {
            Ok(header)
        } else {
            let got = format!("{header:?}");
            Err(FlashError::damaged(name, "a parameter", got, "parameters within their ranges"))
        }
    }

    /// Reads the header of `device`.
    pub(crate) fn read(device: &NamedDevice) -> Result<FilterHeader, FlashError> {
        let mut block = AlignedBuf::new(HEADER_BYTES);
        device.read_at(0, &mut block).map_err(device.error("read the header of"))?;
        FilterHeader::decode(device.name(), &block)
    }
}

/// Checksum of the block of a header, whatever its stamp.
fn sum(block: &[u8]) -> u64 {
    let mut unstamped = block[..CHECKSUM_AT].to_vec();
    unstamped[STAMP].fill(0);
    KeyDigest::of(&unstamped).lo
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::settings::FilterSettings;

    fn header(layout: Layout) -> FilterHeader {
        let settings = FilterSettings::new(12_345, 0.01).layout(layout).growing(true);
        settings.header(3, 42, 3).unwrap()
    }

    #[test]
    fn headers_come_back_as_written() {
        for layout in [Layout::Hierarchical, Layout::TwoChoices] {
            let written = header(layout);
            assert_eq!(FilterHeader::decode("f", &written.encode()).unwrap(), written);
        }
    }

    #[test]
    fn every_kind_of_wrong_file_has_its_own_error() {
        let good = header(Layout::Hierarchical).encode();
        let with = |at: usize, byte: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            FilterHeader::decode("f", &bytes)
        };
        assert!(matches!(with(0, b'X'), Err(FlashError::Foreign { .. })));
        // With a valid checksum, so that the checks after it are reached.
        let sealed_with = |at: usize, byte: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = byte;
            let sum = KeyDigest::of(&bytes[..CHECKSUM_AT]).lo;
            bytes[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
            FilterHeader::decode("f", &bytes)
        };
        assert!(matches!(sealed_with(8, 9), Err(FlashError::NewerVersion { got: 9, expected: 3, .. })));
        assert!(matches!(sealed_with(8, 1), Err(FlashError::OlderVersion { got: 1, expected: 3, .. })));
        // Code 2 was the flat layout, which only the benchmarks still have.
        let Err(FlashError::Damaged { part: "the layout", got, expected, .. }) = sealed_with(12, 2) else {
            panic!("there is no layout 2")
        };
        assert_eq!((&got[..], &expected[..]), ("2", "0 or 1"));
        assert!(matches!(FilterHeader::decode("f", &good[..100]), Err(FlashError::Truncated { .. })));
        for at in (8..HEADER_BYTES).filter(|at| !STAMP.contains(at)) {
            assert!(matches!(with(at, !good[at]), Err(FlashError::Damaged { .. })), "byte {at}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 0usize..64, bytes in proptest::collection::vec(any::<u8>(), 1..64)) {
            // With a valid checksum, so that the checks after it are reached.
            let mut block = header(Layout::TwoChoices).encode();
            block[at..at + bytes.len()].copy_from_slice(&bytes);
            let sum = KeyDigest::of(&block[..CHECKSUM_AT]).lo;
            block[CHECKSUM_AT..].copy_from_slice(&sum.to_le_bytes());
            if let Ok(header) = FilterHeader::decode("f", &block) {
                prop_assert!(header.geometry.bits() > 0 && header.file_bytes() > HEADER_BYTES as u64);
            }
        }
    }
}
