//! Records, and the log pages that hold them. Layout: `docs/flash-index.md`.
//!
//! A record that fits a page lies in one page. The first page of a longer record holds at least its head and key. The record continues in
//! the following pages.

use springbloom_page_device::FlashError;
use springbloom_page_device::checksum_32;
use springbloom_page_device::field;

/// Bytes of a log page. A lookup reads one page.
pub const INDEX_PAGE_BYTES: usize = 4096;
/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 255;
/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

pub(crate) const PAGE_HEAD_BYTES: usize = 24;
/// Bytes for records in a page.
pub(crate) const PAGE_BODY_BYTES: usize = INDEX_PAGE_BYTES - PAGE_HEAD_BYTES;
/// A record longer than a page begins only in a page with this much room: its head and any key.
pub(crate) const LONG_START_BYTES: usize = 4 + KEY_BYTES_MAX;

/// The fields of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PageHead {
    /// Number of the opening that wrote the page.
    pub(crate) epoch: u32,
    /// Logical number of the page.
    pub(crate) page: u64,
    /// Offset of the first record that begins in this page.
    pub(crate) first: u16,
    /// End of the last record.
    pub(crate) used: u16,
}

fn check(salt: u64, page: u64, bytes: &[u8]) -> u32 {
    checksum_32(salt, page, &bytes[4..])
}

/// Completes a page: writes head and checksum, and clears the bytes after the records.
pub(crate) fn seal(salt: u64, head: PageHead, bytes: &mut [u8]) {
    bytes[4..8].copy_from_slice(&head.epoch.to_le_bytes());
    bytes[8..16].copy_from_slice(&head.page.to_le_bytes());
    bytes[16..20].fill(0);
    bytes[20..22].copy_from_slice(&head.first.to_le_bytes());
    bytes[22..24].copy_from_slice(&head.used.to_le_bytes());
    bytes[usize::from(head.used)..].fill(0);
    let check = check(salt, head.page, bytes);
    bytes[..4].copy_from_slice(&check.to_le_bytes());
}

/// A page with a valid checksum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page<'a> {
    pub(crate) head: PageHead,
    bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record<'a> {
    /// Offset of the record in its page.
    pub(crate) offset: u16,
    pub(crate) key: &'a [u8],
    pub(crate) value: Value<'a>,
}

/// The content of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// The key is deleted.
    Tombstone,
    /// The whole value.
    Whole(&'a [u8]),
    /// The beginning of a value of `len_bytes` that continues in the next pages.
    Begun { len_bytes: usize, here: &'a [u8] },
}

impl<'a> Page<'a> {
    /// Checks a page. `None` if `bytes` are not page `page` of this index. Total.
    pub(crate) fn open(salt: u64, page: u64, bytes: &'a [u8]) -> Option<Page<'a>> {
        if bytes.len() != INDEX_PAGE_BYTES || field(bytes, 0) != check(salt, page, bytes).to_le_bytes() {
            return None;
        }
        let head = PageHead {
            epoch: u32::from_le_bytes(field(bytes, 4)),
            page: u64::from_le_bytes(field(bytes, 8)),
            first: u16::from_le_bytes(field(bytes, 20)),
            used: u16::from_le_bytes(field(bytes, 22)),
        };
        let (first, used) = (usize::from(head.first), usize::from(head.used));
        let is_sane =
            head.page == page && PAGE_HEAD_BYTES <= first && first <= used && used <= INDEX_PAGE_BYTES;
        is_sane.then_some(Page { head, bytes })
    }

    /// The records that begin in this page.
    pub(crate) fn records(&self) -> impl Iterator<Item = Record<'a>> + use<'a> {
        let records = &self.bytes[..usize::from(self.head.used)];
        let mut at = usize::from(self.head.first);
        std::iter::from_fn(move || {
            let (record, len) = parse(records, at)?;
            at += len;
            Some(record)
        })
    }

    /// The newest record of `key` that begins in this page.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Record<'a>> {
        // Most other keys differ in the first or last byte.
        let is_it = |other: &[u8]| {
            other.len() == key.len()
                && other.first() == key.first()
                && other.last() == key.last()
                && other == key
        };
        self.records().filter(|record| is_it(record.key)).last()
    }

    /// The bytes of a record that began in an earlier page.
    pub(crate) fn continuation(&self) -> &'a [u8] {
        &self.bytes[PAGE_HEAD_BYTES..usize::from(self.head.first)]
    }
}

/// The record at `at`, and its length in this page.
fn parse(records: &[u8], at: usize) -> Option<(Record<'_>, usize)> {
    let rest = records.get(at..)?;
    let (&key_len, tail) = rest.split_first()?;
    let (len_plus_one, len_bytes) = read_varint(tail)?;
    let key_at = 1 + len_bytes;
    let value_at = key_at + usize::from(key_len);
    let key = rest.get(key_at..value_at)?;
    let here = &rest[value_at..];
    let value = match (len_plus_one as usize).checked_sub(1) {
        _ if key_len == 0 => return None,
        None => Value::Tombstone,
        Some(len) if len <= here.len() => Value::Whole(&here[..len]),
        Some(len_bytes) if len_bytes <= VALUE_BYTES_MAX => Value::Begun { len_bytes, here },
        Some(_) => return None,
    };
    let len = match value {
        Value::Tombstone => value_at,
        Value::Whole(value) => value_at + value.len(),
        Value::Begun { .. } => rest.len(),
    };
    Some((Record { offset: at as u16, key, value }, len))
}

/// Encodes a record.
pub(crate) fn encode(key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    out.push(key.len() as u8);
    let mut rest = value.map_or(0, |value| value.len() + 1);
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out.extend_from_slice(key);
    out.extend_from_slice(value.unwrap_or(&[]));
}

fn read_varint(bytes: &[u8]) -> Option<(u32, usize)> {
    let mut value = 0;
    for (i, byte) in bytes.iter().take(3).enumerate() {
        value |= u32::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            return Some((value, i + 1));
        }
    }
    None
}

/// Checks the lengths of key and value.
pub(crate) fn check_lengths(key: &[u8], value: &[u8]) -> Result<(), FlashError> {
    let refuse = |part, got_bytes, expected| Err(FlashError::RecordLength { part, got_bytes, expected });
    match (key.len(), value.len()) {
        (len, _) if len == 0 || len > KEY_BYTES_MAX => refuse("key", len, "1 to 255 bytes"),
        (_, len) if len > VALUE_BYTES_MAX => refuse("value", len, "at most 65536 bytes"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page_of(records: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
        let mut bytes = vec![0xee; INDEX_PAGE_BYTES];
        let (mut used, mut record) = (PAGE_HEAD_BYTES, Vec::new());
        for (key, value) in records {
            encode(key, *value, &mut record);
            let here = record.len().min(INDEX_PAGE_BYTES - used);
            bytes[used..used + here].copy_from_slice(&record[..here]);
            used += here;
        }
        let head = PageHead { epoch: 3, page: 7, first: PAGE_HEAD_BYTES as u16, used: used as u16 };
        seal(1, head, &mut bytes);
        bytes
    }

    #[test]
    fn records_come_back_and_the_last_of_a_key_wins() {
        let long = vec![5u8; 9000];
        let bytes = page_of(&[
            (b"a", Some(b"1")),
            (b"b", Some(&[9; 200])),
            (b"a", Some(b"")),
            (b"c", None),
            (b"d", Some(&long)),
        ]);
        let page = Page::open(1, 7, &bytes).unwrap();
        assert_eq!(page.records().count(), 5);
        assert_eq!(page.find(b"a").unwrap().value, Value::Whole(b""));
        assert_eq!(page.find(b"b").unwrap().value, Value::Whole(&[9; 200]));
        assert_eq!(page.find(b"c").unwrap().value, Value::Tombstone);
        let Value::Begun { len_bytes: 9000, here } = page.find(b"d").unwrap().value else { panic!("whole?") };
        assert!(here.len() > 3000 && here.iter().all(|b| *b == 5));
        assert_eq!(page.find(b"e"), None);
    }

    #[test]
    fn wrong_pages_and_damage_are_noticed() {
        let bytes = page_of(&[(b"key", Some(b"value"))]);
        assert!(Page::open(1, 8, &bytes).is_none(), "another number");
        assert!(Page::open(2, 7, &bytes).is_none(), "another index");
        assert!(Page::open(1, 7, &bytes[..512]).is_none(), "cut short");
        for bit in (0..bytes.len() * 8).step_by(61) {
            let mut copy = bytes.clone();
            copy[bit / 8] ^= 1 << (bit % 8);
            assert!(Page::open(1, 7, &copy).is_none(), "bit {bit}");
        }
    }

    proptest! {
        #[test]
        fn decoding_is_total(at in 16usize..200, bytes in proptest::collection::vec(any::<u8>(), 1..100)) {
            // With a valid checksum, so that the checks after it are reached.
            let mut page = page_of(&[(b"key", Some(b"value")), (b"other", None)]);
            page[at..at + bytes.len()].copy_from_slice(&bytes);
            let sum = check(1, 7, &page);
            page[..4].copy_from_slice(&sum.to_le_bytes());
            if let Some(page) = Page::open(1, 7, &page) {
                prop_assert!(page.records().count() <= INDEX_PAGE_BYTES / 2);
                let _ = (page.find(b"key"), page.continuation());
            }
        }
    }
}
