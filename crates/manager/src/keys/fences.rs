//! The first key of every segment of a table, packed: how a lookup finds its segment.
//!
//! Under the bytewise order the common prefix of a table's keys is kept once. The first and last key only bound what is inherited, so they
//! are rounded outwards to a few bytes. Under other orders parts of keys mean nothing, so keys are kept whole.
//!
//! Invariant: keys ascend by the table's [`Comparator`] (the caller's duty; a violation costs wasted reads in the wrong
//! segment's filter only if the host also *wrote* its segments by other fences, so hosts verify their directory).

use std::cmp::Ordering;

/// The order of user keys in one scope: a column family's comparator.
pub trait Comparator: Send + Sync {
    /// Compares two user keys.
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering;

    /// Whether that is plain byte order.
    fn is_bytewise(&self) -> bool {
        false
    }
}

/// Plain byte order.
#[derive(Clone, Copy, Debug, Default)]
pub struct BytewiseComparator;

impl Comparator for BytewiseComparator {
    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        a.cmp(b)
    }

    fn is_bytewise(&self) -> bool {
        true
    }
}

/// First keys of a table's segments, and its last key if it is known, in one allocation: a header, the end of each key's rest, the common
/// prefix, and the rests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fences {
    packed: Box<[u8]>,
    segments: u32,
}

/// What the packed form begins with.
#[derive(Clone, Copy)]
struct Header {
    has_last_key: bool,
    /// Bytes of the place where a rest ends: 1, 2 or 4, as the rests together need.
    end_bytes: u8,
    prefix_bytes: u16,
}

const HEADER_BYTES: usize = 4;

impl Header {
    fn pack(self) -> [u8; HEADER_BYTES] {
        let [p0, p1] = self.prefix_bytes.to_ne_bytes();
        [self.has_last_key.into(), self.end_bytes, p0, p1]
    }

    fn unpack([has_last_key, end_bytes, p0, p1]: [u8; HEADER_BYTES]) -> Self {
        Self { has_last_key: has_last_key != 0, end_bytes, prefix_bytes: u16::from_ne_bytes([p0, p1]) }
    }
}

impl Fences {
    /// Packs first keys given in their order, and the table's last key, which bounds its last segment when hotness is inherited.
    /// `None` if they take 4 GiB or more.
    pub fn pack<K: AsRef<[u8]>>(
        firsts: impl IntoIterator<Item = K>,
        last_key: Option<&[u8]>,
        is_bytewise: bool,
    ) -> Option<Self> {
        let firsts: Vec<K> = firsts.into_iter().collect();
        let whole: Vec<&[u8]> = firsts.iter().map(AsRef::as_ref).chain(last_key).collect();
        let rounded_last;
        let mut keys = whole.clone();
        if let ([first, second, ..], true) = (&whole[..], is_bytewise) {
            keys[0] = rounded_down(first, second);
            if let (Some(last_key), [.., before, _]) = (last_key, &whole[..]) {
                rounded_last = rounded_up(last_key, before);
                keys[firsts.len()] = &rounded_last;
            }
        }
        let keys = || keys.iter().copied();
        let first = keys().next().filter(|_| is_bytewise).unwrap_or_default();
        let shared = keys().map(|key| common_bytes(first, key)).min().unwrap_or(0).min(u16::MAX.into());
        let rests_bytes: usize = keys().map(|key| key.len() - shared).sum();
        let end_bytes = match rests_bytes {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            _ => 4,
        };
        let header = Header { has_last_key: last_key.is_some(), end_bytes, prefix_bytes: shared as u16 };
        let ends_bytes = keys().count() * usize::from(end_bytes);
        let packed_bytes = HEADER_BYTES + ends_bytes + shared + rests_bytes;
        let (Ok(_), Ok(segments)) = (u32::try_from(packed_bytes), u32::try_from(firsts.len())) else {
            return None;
        };
        let mut packed = Vec::with_capacity(packed_bytes);
        packed.extend_from_slice(&header.pack());
        let mut end = 0;
        for key in keys() {
            end += key.len() - shared;
            match end_bytes {
                1 => packed.push(end as u8),
                2 => packed.extend_from_slice(&(end as u16).to_ne_bytes()),
                _ => packed.extend_from_slice(&(end as u32).to_ne_bytes()),
            }
        }
        packed.extend_from_slice(&first[..shared]);
        keys().for_each(|key| packed.extend_from_slice(&key[shared..]));
        Some(Self { packed: packed.into_boxed_slice(), segments })
    }

    /// Segments.
    pub(crate) fn len(&self) -> usize {
        self.segments as usize
    }

    /// For searching.
    pub(crate) fn as_ref(&self) -> FencesRef<'_> {
        FencesRef::new(&self.packed, self.segments)
    }

    pub(crate) fn packed(&self) -> &[u8] {
        &self.packed
    }
}

/// Bytes that are kept of a table's first or last key beyond what it shares with the nearest fence. Even if keys are decimal numbers, the
/// rounding is below a thousandth of a segment.
const END_KEY_BYTES: usize = 3;

fn common_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// A short key at or slightly before `first`, in byte order. `next` is the nearest fence.
fn rounded_down<'a>(first: &'a [u8], next: &[u8]) -> &'a [u8] {
    first.get(..common_bytes(first, next) + END_KEY_BYTES).unwrap_or(first)
}

/// A short key at or slightly behind `last`, in byte order. `before` is the nearest fence.
fn rounded_up(last: &[u8], before: &[u8]) -> Vec<u8> {
    let mut rounded = last.to_vec();
    rounded.truncate(common_bytes(last, before) + END_KEY_BYTES);
    match rounded.last_mut() {
        Some(byte) if *byte < u8::MAX && last.len() > common_bytes(last, before) + END_KEY_BYTES => {
            *byte += 1
        }
        _ => rounded = last.to_vec(),
    }
    rounded
}

/// A key in two parts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fence<'a> {
    prefix: &'a [u8],
    rest: &'a [u8],
}

impl Fence<'_> {
    /// Compares two fences of one order.
    pub(crate) fn compare(self, other: Self, comparator: &dyn Comparator) -> Ordering {
        if self.prefix.is_empty() && other.prefix.is_empty() {
            return comparator.compare(self.rest, other.rest);
        }
        // There are prefixes under the bytewise order alone.
        let common = self.prefix.len().min(other.prefix.len());
        let ((head, left), (other_head, other_left)) =
            (self.prefix.split_at(common), other.prefix.split_at(common));
        head.cmp(other_head).then_with(|| match left.is_empty() {
            true => compare_bytes(self.rest, other_left, other.rest),
            false => compare_bytes(other.rest, left, self.rest).reverse(),
        })
    }
}

/// A key against one in two parts, in byte order.
fn compare_bytes(key: &[u8], prefix: &[u8], rest: &[u8]) -> Ordering {
    let (head, left) = key.split_at(key.len().min(prefix.len()));
    head.cmp(prefix).then_with(|| left.cmp(rest))
}

/// [`Fences`] that somebody else holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FencesRef<'a> {
    segments: u32,
    /// Keys there are: one more than segments if the last key is known.
    keys: u32,
    end_bytes: u8,
    ends: &'a [u8],
    prefix: &'a [u8],
    rests: &'a [u8],
}

impl<'a> FencesRef<'a> {
    pub(crate) fn new(packed: &'a [u8], segments: u32) -> Self {
        let Some((header, packed)) = packed.split_first_chunk() else {
            return Self { segments: 0, keys: 0, end_bytes: 1, ends: &[], prefix: &[], rests: &[] };
        };
        let Header { has_last_key, end_bytes, prefix_bytes } = Header::unpack(*header);
        let keys = segments + u32::from(has_last_key);
        let (ends, keys_bytes) = packed.split_at(keys as usize * usize::from(end_bytes));
        let (prefix, rests) = keys_bytes.split_at(prefix_bytes.into());
        Self { segments, keys, end_bytes, ends, prefix, rests }
    }

    /// Segments.
    pub(crate) fn len(&self) -> usize {
        self.segments as usize
    }

    /// First key of segment `segment`; `None` past the end.
    #[inline]
    pub(crate) fn get(&self, segment: u32) -> Option<Fence<'a>> {
        (segment < self.segments).then(|| Fence { prefix: self.prefix, rest: self.rest(segment) })
    }

    /// The table's last key, if it is known.
    pub(crate) fn last_key(&self) -> Option<Fence<'a>> {
        (self.keys > self.segments).then(|| Fence { prefix: self.prefix, rest: self.rest(self.segments) })
    }

    /// `key` is below `self.keys`.
    #[inline]
    fn rest(&self, key: u32) -> &'a [u8] {
        &self.rests[key.checked_sub(1).map_or(0, |before| self.end(before))..self.end(key)]
    }

    #[inline]
    fn end(&self, key: u32) -> usize {
        let key = key as usize;
        match self.end_bytes {
            1 => self.ends[key].into(),
            2 => u16::from_ne_bytes(self.ends.as_chunks().0[key]).into(),
            _ => u32::from_ne_bytes(self.ends.as_chunks().0[key]) as usize,
        }
    }

    /// The segment whose run of keys would hold `key`: the last one that begins at or before it, the first one for
    /// keys before the first fence. `None` if there is no segment. O(log segments) comparisons, no allocation.
    #[inline]
    pub(crate) fn segment_of(&self, key: &[u8], comparator: &dyn Comparator) -> Option<u32> {
        let common = key.len().min(self.prefix.len());
        match key[..common].cmp(self.prefix) {
            Ordering::Less => self.segment_by(|_| Ordering::Greater),
            Ordering::Greater => self.segment_by(|_| Ordering::Less),
            Ordering::Equal => self.segment_by(|fence| comparator.compare(fence.rest, &key[common..])),
        }
    }

    /// The same with a closure that compares a fence against the sought key.
    #[inline]
    pub(crate) fn segment_by(&self, mut compare_fence: impl FnMut(Fence<'a>) -> Ordering) -> Option<u32> {
        let (mut low, mut high) = (0u32, self.segments);
        while low < high {
            let middle = low + (high - low) / 2;
            if compare_fence(self.get(middle)?) == Ordering::Greater {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        (self.segments > 0).then(|| low.saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Byte order that keeps quiet about it.
    struct Whole;

    impl Comparator for Whole {
        fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
            a.cmp(b)
        }
    }

    fn keys_of(fences: &FencesRef) -> Vec<Vec<u8>> {
        let all = (0..fences.segments).map_while(|segment| fences.get(segment)).chain(fences.last_key());
        all.map(|fence| [fence.prefix, fence.rest].concat()).collect()
    }

    #[test]
    fn segment_of_is_the_last_fence_at_or_before_the_key() {
        let fences = Fences::pack(["b", "d", "d", "f"], None, true).unwrap();
        let of = |key: &str| fences.as_ref().segment_of(key.as_bytes(), &BytewiseComparator);
        assert_eq!(of("a"), Some(0));
        assert_eq!(of("b"), Some(0));
        assert_eq!(of("c"), Some(0));
        assert_eq!(of("d"), Some(2), "equal fences: the last one");
        assert_eq!(of("e"), Some(2));
        assert_eq!(of("zz"), Some(3));
        assert_eq!(Fences::default().as_ref().segment_of(b"a", &BytewiseComparator), None);
        assert!(fences.as_ref().get(4).is_none());
    }

    #[test]
    fn the_last_key_is_no_fence() {
        let plain = Fences::pack(["b", "d"], None, true).unwrap();
        let fences = Fences::pack(["b", "d"], Some(b"ff"), true).unwrap();
        assert!(plain.as_ref().last_key().is_none() && fences.as_ref().last_key().is_some());
        assert_eq!((fences.len(), fences.as_ref().get(2).is_none()), (2, true));
        assert_eq!(fences.as_ref().segment_of(b"zz", &BytewiseComparator), Some(1));
        assert!(plain.as_ref() != fences.as_ref());
        let FencesRef { rests, ends, end_bytes, .. } = fences.as_ref();
        assert_eq!((rests, ends.len(), end_bytes), (&b"bdff"[..], 3, 1));
    }

    #[test]
    fn what_all_keys_begin_with_is_kept_once_under_the_bytewise_order() {
        let keys = ["user000017", "user000023", "user000041"];
        let bytewise = Fences::pack(keys, Some(b"user000059"), true).unwrap();
        let whole = Fences::pack(keys, Some(b"user000059"), false).unwrap();
        assert_eq!((bytewise.as_ref().prefix, whole.as_ref().prefix), (&b"user0000"[..], &b""[..]));
        assert_eq!(keys_of(&bytewise.as_ref()), keys_of(&whole.as_ref()));
        assert_eq!(bytewise.packed().len(), HEADER_BYTES + 4 + 8 + 4 * 2);
    }

    #[test]
    fn the_ends_of_a_table_are_rounded_outwards() {
        let keys = ["4f81aa07c1", "4f93b1d0e2", "4fa9ffffff"];
        let fences = Fences::pack(&keys[..2], Some(keys[2].as_bytes()), true).unwrap();
        assert_eq!(keys_of(&fences.as_ref()), [&b"4f81a"[..], b"4f93b1d0e2", b"4fa9g"]);
        assert_eq!(
            rounded_up(b"ab\xff\xff\xff\xff", b"ab"),
            b"ab\xff\xff\xff\xff",
            "there is no rounding up"
        );
        assert_eq!(
            (rounded_down(b"abc", b"abd"), rounded_up(b"abd", b"abc")),
            (&b"abc"[..], b"abd".to_vec())
        );
    }

    #[test]
    fn long_keys_have_wide_ends() {
        let wide: Vec<_> =
            [20, 2000, 20_000].map(|bytes| [[1u8], [2], [3], [4]].map(|key| key.repeat(bytes))).into();
        for (keys, end_bytes) in wide.iter().zip([1, 2, 4]) {
            let fences = Fences::pack(keys, None, false).unwrap();
            assert_eq!(fences.as_ref().end_bytes, end_bytes);
            assert_eq!(keys_of(&fences.as_ref()), keys);
            assert_eq!(fences.as_ref().segment_of(&keys[3], &BytewiseComparator), Some(3));
        }
        let alike: Vec<Vec<u8>> = (0..4u8).map(|n| [vec![7; 100_000], vec![n]].concat()).collect();
        let fences = Fences::pack(&alike, None, true).unwrap();
        assert_eq!(fences.as_ref().prefix.len(), usize::from(u16::MAX));
        assert_eq!(keys_of(&fences.as_ref()), alike);
    }

    proptest! {
        /// Whatever is kept once, a search finds what a search over whole keys finds.
        #[test]
        fn shared_beginnings_change_no_search(
            mut keys in prop::collection::vec("[ab]{0,5}", 1..12),
            sought in "[abc]{0,6}",
            has_last_key: bool,
        ) {
            keys.sort();
            let last_key = keys.last().filter(|_| has_last_key).map(|key| key.clone() + "b");
            let last_key = last_key.as_deref().map(str::as_bytes);
            let shared = Fences::pack(&keys, last_key, true).unwrap();
            let whole = Fences::pack(&keys, last_key, false).unwrap();
            let (shared, whole) = (shared.as_ref(), whole.as_ref());
            let (kept, all) = (keys_of(&shared), keys_of(&whole));
            let inner = 1..keys.len();
            prop_assert_eq!(&kept[inner.clone()], &all[inner]);
            prop_assert!(kept[0] <= all[0] && kept.last() >= all.last());
            let found = whole.segment_of(sought.as_bytes(), &Whole);
            prop_assert_eq!(shared.segment_of(sought.as_bytes(), &BytewiseComparator), found);
            let sought = Fence { prefix: &[], rest: sought.as_bytes() };
            let by_fence = shared.segment_by(|fence| fence.compare(sought, &BytewiseComparator));
            prop_assert_eq!(by_fence, found);
        }

        /// Fences of two tables compare as their keys do.
        #[test]
        fn shared_beginnings_change_no_order(
            ours in prop::collection::vec("[ab]{0,6}", 2..5),
            theirs in prop::collection::vec("[ab]{0,6}", 2..5),
        ) {
            let pack = |keys: &[String]| Fences::pack(keys, None, true).unwrap();
            let (ours, theirs) = (pack(&ours), pack(&theirs));
            let all = |fences: &Fences| (0..fences.segments).zip(keys_of(&fences.as_ref())).collect::<Vec<_>>();
            for ((a, our_key), (b, their_key)) in all(&ours).iter().flat_map(|a| all(&theirs).into_iter().map(move |b| (a.clone(), b))) {
                let (a, b) = (ours.as_ref().get(a).unwrap(), theirs.as_ref().get(b).unwrap());
                prop_assert_eq!(a.compare(b, &BytewiseComparator), our_key.cmp(&their_key));
            }
        }

        /// A caller that breaks its promise breaks nothing here.
        #[test]
        fn keys_that_do_not_ascend_are_kept_as_they_are(keys in prop::collection::vec("[ab]{0,5}", 0..6)) {
            let fences = Fences::pack(&keys, None, true).unwrap();
            let kept = keys_of(&fences.as_ref());
            let but_for_the_first = keys.iter().skip(1).map(String::as_bytes);
            prop_assert!(kept.iter().skip(1).map(Vec::as_slice).eq(but_for_the_first));
            for sought in &keys {
                fences.as_ref().segment_of(sought.as_bytes(), &BytewiseComparator);
            }
        }
    }
}
