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

/// First keys of a table's segments in one allocation for the bytes and one for their ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fences {
    bytes: Box<[u8]>,
    ends: Box<[u32]>,
}

impl Fences {
    /// Packs first keys given in key order. `None` if they take 4 GiB or more.
    pub fn from_keys<K: AsRef<[u8]>>(keys: impl IntoIterator<Item = K>) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        for key in keys {
            bytes.extend_from_slice(key.as_ref());
            ends.push(u32::try_from(bytes.len()).ok()?);
        }
        Some(Self { bytes: bytes.into_boxed_slice(), ends: ends.into_boxed_slice() })
    }

    /// Segments.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no segment.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// First key of segment `segment`; `None` past the end.
    #[inline]
    pub fn get(&self, segment: u32) -> Option<&[u8]> {
        let segment = segment as usize;
        let end = *self.ends.get(segment)? as usize;
        let begin = if segment == 0 { 0 } else { self.ends[segment - 1] as usize };
        Some(&self.bytes[begin..end])
    }

    /// All first keys, packed, and where each one ends: for hosts that search with their own comparator. Neither moves
    /// while the fences live.
    pub fn packed(&self) -> (&[u8], &[u32]) {
        (&self.bytes, &self.ends)
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

    /// Bytes of the two allocations, the allocator's rounding included.
    pub fn memory_bytes(&self) -> usize {
        crate::memory::allocated_bytes(self.bytes.len())
            + crate::memory::allocated_bytes(size_of_val(&*self.ends))
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
}
