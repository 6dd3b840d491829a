//! The first key of every segment of a table, packed: how a lookup finds its segment.
//!
//! Invariant: keys ascend in the table's [`KeyOrder`] (the caller's duty; a violation costs wasted reads in the wrong
//! segment's filter only if the host also *wrote* its segments by other fences, so hosts verify their directory).

use std::cmp::Ordering;

/// The order of user keys in one scope: a column family's comparator.
pub trait KeyOrder: Send + Sync {
    /// Compares two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;
}

/// Plain byte order.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytewiseOrder;

impl KeyOrder for BytewiseOrder {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }
}

/// First keys of a table's segments, and its last key if it is known, in one allocation: where each key ends, then the keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fences {
    packed: Box<[u8]>,
    segments: u32,
    /// Keys there are: one more than segments if the last key is known.
    keys: u32,
}

/// Bytes of the place where a key ends.
const END_BYTES: usize = size_of::<u32>();

impl Fences {
    /// Packs first keys given in key order. `None` if they take 4 GiB or more.
    pub fn from_keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Option<Self> {
        Self::pack(keys, None)
    }

    /// The same with the table's last key, which bounds its last segment when hotness is inherited.
    pub fn with_last_key(self, last_key: &[u8]) -> Option<Self> {
        Self::pack((0..self.segments).filter_map(|segment| self.get(segment)), Some(last_key))
    }

    fn pack<K: AsRef<[u8]>>(firsts: impl IntoIterator<Item = K>, last_key: Option<&[u8]>) -> Option<Self> {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        let mut push = |key: &[u8]| {
            bytes.extend_from_slice(key);
            ends.extend_from_slice(&u32::try_from(bytes.len()).ok()?.to_ne_bytes());
            Some((ends.len() / END_BYTES) as u32)
        };
        let mut segments = 0;
        for key in firsts {
            segments = push(key.as_ref())?;
        }
        let keys = match last_key {
            Some(last_key) => push(last_key)?,
            None => segments,
        };
        Some(Self { packed: [ends, bytes].concat().into_boxed_slice(), segments, keys })
    }

    /// Segments.
    pub fn len(&self) -> usize {
        self.segments as usize
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.segments == 0
    }

    /// First key of segment `segment`; `None` past the end.
    #[inline]
    pub fn get(&self, segment: u32) -> Option<&[u8]> {
        (segment < self.segments).then(|| self.key(segment))
    }

    /// The table's last key, if it is known.
    pub fn last_key(&self) -> Option<&[u8]> {
        (self.keys > self.segments).then(|| self.key(self.segments))
    }

    /// All keys, packed, and where the first key of each segment ends, as `u32` of the machine's byte order without alignment:
    /// for hosts that search with their own comparator. Neither moves while the fences live.
    pub fn packed(&self) -> (&[u8], &[u8]) {
        let (ends, bytes) = self.packed.split_at(self.keys as usize * END_BYTES);
        (bytes, &ends[..self.len() * END_BYTES])
    }

    /// `key` is below `self.keys`.
    #[inline]
    fn key(&self, key: u32) -> &[u8] {
        let (ends, bytes) = self.packed.split_at(self.keys as usize * END_BYTES);
        let (ends, _) = ends.as_chunks::<END_BYTES>();
        let end = |key: u32| u32::from_ne_bytes(ends[key as usize]) as usize;
        &bytes[key.checked_sub(1).map_or(0, end)..end(key)]
    }

    /// The segment whose run of keys would hold `key`: the last one that begins at or before it, the first one for
    /// keys before the first fence. `None` if there is no segment. O(log segments) comparisons, no allocation.
    #[inline]
    pub fn segment_of(&self, key: &[u8], order: &dyn KeyOrder) -> Option<u32> {
        self.segment_by(|fence| order.compare(fence, key))
    }

    /// [`segment_of`](Self::segment_of) with the comparison of a fence against the sought key as a closure.
    #[inline]
    pub fn segment_by(&self, mut compare_fence: impl FnMut(&[u8]) -> Ordering) -> Option<u32> {
        let (mut low, mut high) = (0u32, self.len() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            if compare_fence(self.get(middle)?) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (!self.is_empty()).then(|| low.saturating_sub(1))
    }

    /// Bytes of the allocation, the allocator's rounding included.
    pub fn memory_bytes(&self) -> usize {
        crate::memory::allocated_bytes(self.packed.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segment_of_is_the_last_fence_at_or_before_the_key() {
        let fences = Fences::from_keys(["b", "d", "d", "f"]).unwrap();
        let of = |key: &str| fences.segment_of(key.as_bytes(), &BytewiseOrder);
        assert_eq!(of("a"), Some(0));
        assert_eq!(of("b"), Some(0));
        assert_eq!(of("c"), Some(0));
        assert_eq!(of("d"), Some(2), "equal fences: the last one");
        assert_eq!(of("e"), Some(2));
        assert_eq!(of("zz"), Some(3));
        assert_eq!(Fences::default().segment_of(b"a", &BytewiseOrder), None);
        assert_eq!(fences.get(4), None);
    }

    #[test]
    fn empty_keys_are_keys() {
        let fences = Fences::from_keys(["", "x"]).unwrap();
        assert_eq!(fences.get(0), Some(&b""[..]));
        assert_eq!(fences.segment_of(b"", &BytewiseOrder), Some(0));
        assert_eq!(fences.segment_of(b"x", &BytewiseOrder), Some(1));
    }

    #[test]
    fn the_last_key_is_no_fence() {
        let plain = Fences::from_keys(["b", "d"]).unwrap();
        let fences = plain.clone().with_last_key(b"ff").unwrap();
        assert_eq!((plain.last_key(), fences.last_key()), (None, Some(&b"ff"[..])));
        assert_eq!((fences.len(), fences.get(1), fences.get(2)), (2, Some(&b"d"[..]), None));
        assert_eq!(fences.segment_of(b"zz", &BytewiseOrder), Some(1));
        assert_ne!(plain, fences);
        let (bytes, ends) = fences.packed();
        assert_eq!((bytes, ends.len()), (&b"bdff"[..], 8));
    }
}
