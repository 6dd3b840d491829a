//! Records, and the log pages that hold them. Layout: `docs/index.md`.
//!
//! A record that fits a page lies in one page. The first page of a longer record holds at least what names its key: the key itself, or the
//! hash of a long one. The record continues in the following pages.

use springbloom_filter::KeyDigest;
use springbloom_page_device::{FlashError, checksum_32, u16_at, u32_at, u64_at};

/// Bytes of a log page. A lookup reads one page.
pub const INDEX_PAGE_BYTES: usize = 4096;
/// Longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 64 << 10;
/// Longest value, in bytes.
pub const VALUE_BYTES_MAX: usize = 64 << 10;

/// Longest key whose length is one byte.
const SHORT_KEY_BYTES_MAX: usize = 255;
/// In place of the length of a longer key.
const LONG_KEY: u8 = 0;
const HASH_BYTES: usize = 32;
/// Bytes of the longest record: the mark, two lengths, a hash, a key and a value.
const RECORD_BYTES_MAX: usize = 1 + 3 + 3 + HASH_BYTES + KEY_BYTES_MAX + VALUE_BYTES_MAX;

pub(crate) const PAGE_HEAD_BYTES: usize = 24;
/// Bytes for records in a page.
pub(crate) const PAGE_BODY_BYTES: usize = INDEX_PAGE_BYTES - PAGE_HEAD_BYTES;
/// A record longer than a page begins only in a page with this much room: its head, and any short key or a hash.
pub(crate) const LONG_START_BYTES: usize = 4 + SHORT_KEY_BYTES_MAX;

/// What tells a key from all others: a long one is named by its keyed BLAKE3 hash, which a record holds in its first page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KeyName<'k> {
    Short(&'k [u8]),
    Long([u8; HASH_BYTES]),
}

impl<'k> KeyName<'k> {
    /// The name of `key` in the index with this salt.
    pub(crate) fn of(key: &'k [u8], salt: u64) -> KeyName<'k> {
        if key.len() <= SHORT_KEY_BYTES_MAX {
            return KeyName::Short(key);
        }
        let mut hash_key = [0; HASH_BYTES];
        hash_key[..8].copy_from_slice(&salt.to_le_bytes());
        KeyName::Long(blake3::keyed_hash(&hash_key, key).into())
    }

    pub(crate) fn digest(&self, salt: u64) -> KeyDigest {
        match self {
            KeyName::Short(key) => KeyDigest::seeded(key, salt),
            KeyName::Long(hash) => KeyDigest { lo: u64_at(hash, 0), hi: u64_at(hash, 8) },
        }
    }

    /// Whether it is a hash, and its bytes.
    pub(crate) fn to_owned(self) -> (bool, Vec<u8>) {
        match self {
            KeyName::Short(key) => (false, key.to_vec()),
            KeyName::Long(hash) => (true, hash.to_vec()),
        }
    }

    fn is(&self, other: &KeyName<'_>) -> bool {
        match (self, other) {
            // Most other keys differ in the first or last byte.
            (KeyName::Short(a), KeyName::Short(b)) => {
                a.len() == b.len() && a.first() == b.first() && a.last() == b.last() && a == b
            }
            _ => self == other,
        }
    }
}

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
    pub(crate) name: KeyName<'a>,
    pub(crate) key_bytes: usize,
    /// `None` for a tombstone: the key is deleted.
    pub(crate) value_bytes: Option<usize>,
    /// The key and the value, as far as they are in this page.
    pub(crate) here: &'a [u8],
}

impl<'a> Record<'a> {
    /// Bytes of key and value in later pages.
    pub(crate) fn missing_bytes(&self) -> usize {
        self.key_bytes + self.value_bytes.unwrap_or(0) - self.here.len()
    }

    /// The value, if there is one and all of it is in this page.
    pub(crate) fn whole_value(&self) -> Option<&'a [u8]> {
        self.value_bytes.filter(|_| self.missing_bytes() == 0).map(|_| &self.here[self.key_bytes..])
    }
}

impl<'a> Page<'a> {
    /// Checks a page. `None` if `bytes` are not page `page` of this index. Total.
    pub(crate) fn open(salt: u64, page: u64, bytes: &'a [u8]) -> Option<Page<'a>> {
        if bytes.len() != INDEX_PAGE_BYTES || u32_at(bytes, 0) != check(salt, page, bytes) {
            return None;
        }
        let head = PageHead {
            epoch: u32_at(bytes, 4),
            page: u64_at(bytes, 8),
            first: u16_at(bytes, 20),
            used: u16_at(bytes, 22),
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

    /// The newest record of a key that begins in this page.
    pub(crate) fn find(&self, name: &KeyName<'_>) -> Option<Record<'a>> {
        self.records().filter(|record| record.name.is(name)).last()
    }

    /// The bytes of a record that began in an earlier page.
    pub(crate) fn continuation(&self) -> &'a [u8] {
        &self.bytes[PAGE_HEAD_BYTES..usize::from(self.head.first)]
    }
}

/// The record at `at`, and its length in this page.
fn parse(records: &[u8], at: usize) -> Option<(Record<'_>, usize)> {
    let rest = records.get(at..)?;
    let (&first, mut tail) = rest.split_first()?;
    let mut varint = || {
        let (number, len_bytes) = read_varint(tail)?;
        tail = &tail[len_bytes..];
        Some(number as usize)
    };
    let is_long = first == LONG_KEY;
    let key_bytes = if is_long { varint()? } else { usize::from(first) };
    let value_bytes = varint()?.checked_sub(1);
    let name = if is_long {
        let (hash, behind) = tail.split_first_chunk()?;
        tail = behind;
        KeyName::Long(*hash)
    } else {
        KeyName::Short(tail.get(..key_bytes)?)
    };
    let is_sane = !is_long || (SHORT_KEY_BYTES_MAX < key_bytes && key_bytes <= KEY_BYTES_MAX);
    if !is_sane || value_bytes.is_some_and(|len| len > VALUE_BYTES_MAX) {
        return None;
    }
    let here = &tail[..tail.len().min(key_bytes + value_bytes.unwrap_or(0))];
    let len = rest.len() - tail.len() + here.len();
    Some((Record { offset: at as u16, name, key_bytes, value_bytes, here }, len))
}

/// Encodes a record of the key with this name.
pub(crate) fn encode(name: &KeyName<'_>, key: &[u8], value: Option<&[u8]>, out: &mut Vec<u8>) {
    out.clear();
    match name {
        KeyName::Short(key) => out.push(key.len() as u8),
        KeyName::Long(_) => {
            out.push(LONG_KEY);
            push_varint(key.len(), out);
        }
    }
    push_varint(value.map_or(0, |value| value.len() + 1), out);
    if let KeyName::Long(hash) = name {
        out.extend_from_slice(hash);
    }
    out.extend_from_slice(key);
    out.extend_from_slice(value.unwrap_or(&[]));
}

fn push_varint(mut rest: usize, out: &mut Vec<u8>) {
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
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

/// Checks the lengths of key and value, for an index with zones of this many pages.
pub(crate) fn check_lengths(key: &[u8], value: &[u8], zone_pages: u32) -> Result<(), FlashError> {
    let refuse = |part, got_bytes, expected| Err(FlashError::RecordLength { part, got_bytes, expected });
    let zone_bytes = zone_pages as usize * PAGE_BODY_BYTES;
    let both_bytes = key.len() + value.len();
    match (key.len(), value.len()) {
        (len, _) if len == 0 || len > KEY_BYTES_MAX => refuse("key", len, "1 to 65536 bytes"),
        (_, len) if len > VALUE_BYTES_MAX => refuse("value", len, "at most 65536 bytes"),
        _ if both_bytes + RECORD_BYTES_MAX - KEY_BYTES_MAX - VALUE_BYTES_MAX > zone_bytes => {
            refuse("key with its value", both_bytes, "what a zone holds; an index with larger zones takes it")
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SALT: u64 = 1;

    fn page_of(records: &[(&[u8], Option<&[u8]>)]) -> Vec<u8> {
        let mut bytes = vec![0xee; INDEX_PAGE_BYTES];
        let (mut used, mut record) = (PAGE_HEAD_BYTES, Vec::new());
        for (key, value) in records {
            encode(&KeyName::of(key, SALT), key, *value, &mut record);
            let here = record.len().min(INDEX_PAGE_BYTES - used);
            bytes[used..used + here].copy_from_slice(&record[..here]);
            used += here;
        }
        let head = PageHead { epoch: 3, page: 7, first: PAGE_HEAD_BYTES as u16, used: used as u16 };
        seal(SALT, head, &mut bytes);
        bytes
    }

    fn find<'p>(page: &Page<'p>, key: &[u8]) -> Option<Record<'p>> {
        page.find(&KeyName::of(key, SALT))
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
        let page = Page::open(SALT, 7, &bytes).unwrap();
        assert_eq!(page.records().count(), 5);
        assert_eq!(find(&page, b"a").unwrap().whole_value(), Some(&b""[..]));
        assert_eq!(find(&page, b"b").unwrap().whole_value(), Some(&[9; 200][..]));
        let deleted = find(&page, b"c").unwrap();
        assert_eq!((deleted.value_bytes, deleted.missing_bytes()), (None, 0));
        let begun = find(&page, b"d").unwrap();
        assert_eq!((begun.value_bytes, begun.whole_value()), (Some(9000), None));
        assert!(begun.here.len() > 3000 && begun.here[1..].iter().all(|b| *b == 5));
        assert_eq!(begun.here.len() + begun.missing_bytes(), 9001);
        assert_eq!(find(&page, b"e"), None);
    }

    #[test]
    fn long_keys_are_found_by_their_hash_whether_they_end_in_the_page_or_not() {
        let (whole, begun) = ([vec![b'a'; 255], vec![b'b'; 600]].concat(), vec![b'c'; 20_000]);
        let shortest = &whole[..SHORT_KEY_BYTES_MAX + 1];
        let bytes = page_of(&[
            (&whole, Some(b"1")),
            (shortest, None),
            (&whole[..255], Some(b"2")),
            (&begun, Some(&[7; 30])),
        ]);
        let page = Page::open(SALT, 7, &bytes).unwrap();
        assert_eq!(find(&page, &whole).unwrap().whole_value(), Some(&b"1"[..]));
        assert_eq!(find(&page, shortest).unwrap().value_bytes, None);
        assert_eq!(find(&page, &whole[..255]).unwrap().whole_value(), Some(&b"2"[..]));
        let found = find(&page, &begun).unwrap();
        assert_eq!((found.key_bytes, found.value_bytes, found.whole_value()), (20_000, Some(30), None));
        assert_eq!(found.here.len() + found.missing_bytes(), 20_030);
        assert_eq!(find(&page, &begun[1..]), None);
        let salted = |salt| KeyName::of(&begun, salt).digest(salt);
        assert_ne!(salted(1), salted(2));
    }

    #[test]
    fn the_longest_record_fits_the_smallest_new_zone_and_not_a_smaller_one() {
        let (key, value) = (vec![1; KEY_BYTES_MAX], vec![2; VALUE_BYTES_MAX]);
        assert!(check_lengths(&key, &value, 33).is_ok());
        assert!(
            check_lengths(&key, &value, 32).is_err() && check_lengths(&key[..60_000], &value, 32).is_ok()
        );
        let mut record = Vec::new();
        encode(&KeyName::of(&key, SALT), &key, Some(&value), &mut record);
        assert_eq!(record.len(), RECORD_BYTES_MAX);
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
                let _ = (find(&page, b"key"), page.continuation());
            }
        }
    }
}
