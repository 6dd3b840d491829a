//! The prefix that all keys of a range have.

use std::ops::Bound;

use bytes::Bytes;

/// The longest prefix of `lower` that each key between the bounds has. `None`: they have none in common.
pub(crate) fn shared_prefix(lower: &Bound<Bytes>, upper: &Bound<Bytes>) -> Option<Bytes> {
    let (Bound::Included(lower) | Bound::Excluded(lower)) = lower else { return None };
    let length = match upper {
        // Up to the key itself, so it is one of those that have the prefix.
        Bound::Included(upper) => common(lower, upper),
        // Behind the last key that has the prefix at most.
        Bound::Excluded(upper) => common(lower, upper).max(before(lower, upper)),
        // No key comes after those that begin with 0xff alone.
        Bound::Unbounded => lower.iter().take_while(|&&byte| byte == u8::MAX).count(),
    };
    (length > 0).then(|| lower.slice(..length))
}

fn common(lower: &[u8], upper: &[u8]) -> usize {
    lower.iter().zip(upper).take_while(|(a, b)| a == b).count()
}

/// The length of the prefix of `lower` whose successor is `upper`; 0 if there is none. The successor of a prefix is the least key after all
/// that have it: without the bytes 0xff at its end, its last byte is greater by one.
fn before(lower: &[u8], upper: &[u8]) -> usize {
    let Some((&last, parent)) = upper.split_last() else { return 0 };
    let Some(rest) = lower.strip_prefix(parent) else { return 0 };
    match rest.split_first() {
        Some((&first, rest)) if first.checked_add(1) == Some(last) => {
            parent.len() + 1 + rest.iter().take_while(|&&byte| byte == u8::MAX).count()
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::ops::RangeBounds;

    use super::*;

    const BYTES: [u8; 4] = [0, 1, 254, 255];

    /// All keys of up to `length` of these bytes.
    fn keys(length: usize) -> Vec<Vec<u8>> {
        let mut keys = vec![Vec::new()];
        let mut from = 0;
        for _ in 0..length {
            let longer: Vec<_> =
                keys[from..].iter().flat_map(|key| BYTES.map(|byte| [&key[..], &[byte]].concat())).collect();
            from = keys.len();
            keys.extend(longer);
        }
        keys
    }

    fn bounds(keys: &[Vec<u8>]) -> Vec<Bound<Bytes>> {
        let bytes = |key: &Vec<u8>| Bytes::from(key.clone());
        let bounded = keys.iter().flat_map(|key| [Bound::Included(bytes(key)), Bound::Excluded(bytes(key))]);
        bounded.chain([Bound::Unbounded]).collect()
    }

    /// Of all ranges between such keys.
    #[test]
    fn every_key_of_a_range_has_the_prefix_and_not_all_have_a_longer_one() {
        let all_bytes =
            |key: &Vec<u8>| (0..=255).map(|byte| [&key[..], &[byte]].concat()).collect::<Vec<_>>();
        let of_all_bytes = keys(1).iter().flat_map(all_bytes).collect::<Vec<_>>();
        let candidates: Vec<_> = keys(4).into_iter().chain(of_all_bytes).map(Bytes::from).collect();
        let ends = bounds(&keys(2));
        for (lower, upper) in ends.iter().flat_map(|lower| ends.iter().map(move |upper| (lower, upper))) {
            let prefix = shared_prefix(lower, upper).unwrap_or_default();
            let inside: Vec<_> =
                candidates.iter().filter(|key| (lower.clone(), upper.clone()).contains(*key)).collect();
            assert!(inside.iter().all(|key| key.starts_with(&prefix)), "{lower:?} {upper:?}: {prefix:?}");
            let (Bound::Included(from) | Bound::Excluded(from)) = lower else { continue };
            if let Some(longer) = from.get(..prefix.len() + 1)
                && inside.len() > 1
            {
                assert!(
                    !inside.iter().all(|key| key.starts_with(longer)),
                    "{lower:?} {upper:?}: {prefix:?} and not {longer:?}"
                );
            }
        }
    }
}
