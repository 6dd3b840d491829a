//! Hotness of the segments of a new table, from the segments that hold the same keys now (ATC'19 section 3.3).
//!
//! The outputs of a compaction are registered while its inputs are still known. So a new segment was made of the segments of its scope that
//! overlap its key range, and its use is the mean of theirs: of those in the same level, which are as dense as the new one; without these,
//! of those in the level above; without these, of any.

use crate::keys::{Comparator, FencesRef, KeyRange};
use crate::plan::Hotness;

/// A known table that new segments may inherit from.
pub(crate) struct Relative<'a, H> {
    pub level: Option<u8>,
    pub fences: FencesRef<'a>,
    /// Use of each segment.
    pub hotness: H,
}

#[derive(Clone, Copy, Default)]
struct Mean {
    sum: Hotness,
    count: u32,
}

impl Mean {
    fn add(&mut self, hotness: Hotness) {
        self.sum.access_count += hotness.access_count;
        self.sum.negatives += hotness.negatives;
        self.sum.wasted_reads += hotness.wasted_reads;
        self.count += 1;
    }

    fn value(self) -> Option<Hotness> {
        (self.count > 0).then(|| {
            let mut mean = self.sum;
            mean.scale(1.0 / self.count as f32);
            mean
        })
    }
}

/// Use of every segment of a new table; `None` where nothing overlaps. O((relatives + overlapping segments) x log(segments of a table)).
pub(crate) fn inherit<'a, H: Fn(u32) -> Hotness>(
    fences: FencesRef<'_>,
    level: Option<u8>,
    comparator: &dyn Comparator,
    relatives: impl Iterator<Item = Relative<'a, H>>,
) -> Vec<Hotness> {
    // Means by nearness: same level, level above, any.
    let mut means = vec![[Mean::default(); 3]; fences.len()];
    for relative in relatives {
        let nearness = match (relative.level, level) {
            (Some(theirs), Some(ours)) if theirs == ours => 0,
            (Some(theirs), Some(ours)) if theirs.checked_add(1) == Some(ours) => 1,
            _ => 2,
        };
        let Some(theirs) = KeyRange::of_table(relative.fences) else { continue };
        let begin = fences.segment_by(|fence| fence.compare(theirs.first, comparator)).unwrap_or(0);
        for (segment, means) in (0..).zip(&mut means).skip(begin as usize) {
            let Some(range) = KeyRange::of_segment(fences, segment) else { break };
            if !theirs.end.reaches(range.first, comparator) {
                break;
            }
            add_overlapping(&mut means[nearness], range, &relative, comparator);
        }
    }
    means.into_iter().map(|means| means.into_iter().find_map(Mean::value).unwrap_or_default()).collect()
}

fn add_overlapping(
    mean: &mut Mean,
    range: KeyRange,
    relative: &Relative<'_, impl Fn(u32) -> Hotness>,
    comparator: &dyn Comparator,
) {
    let begin = relative.fences.segment_by(|fence| fence.compare(range.first, comparator));
    let Some(begin) = begin else { return };
    for theirs in begin..relative.fences.len() as u32 {
        let Some(their_range) = KeyRange::of_segment(relative.fences, theirs) else { return };
        if !range.end.reaches(their_range.first, comparator) {
            return;
        }
        if their_range.end.reaches(range.first, comparator) {
            mean.add((relative.hotness)(theirs));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{BytewiseComparator, Fences};

    fn table_use(negatives: f32) -> Hotness {
        Hotness { access_count: negatives, negatives, wasted_reads: 0.0 }
    }

    type Known<'a> = (Option<u8>, &'a [&'a str], Option<&'a str>, &'a [f32]);

    fn inherited(new: &[&str], last_key: Option<&str>, level: Option<u8>, known: &[Known]) -> Vec<f32> {
        let packed = |firsts: &[&str], last_key: Option<&str>| {
            Fences::pack(firsts, last_key.map(str::as_bytes), true).unwrap()
        };
        let fences: Vec<Fences> =
            known.iter().map(|&(_, firsts, last_key, _)| packed(firsts, last_key)).collect();
        let hotness: Vec<Box<dyn Fn(u32) -> Hotness>> = known
            .iter()
            .map(|&(.., uses)| {
                let uses = uses.to_vec();
                Box::new(move |segment: u32| table_use(uses[segment as usize])) as Box<dyn Fn(u32) -> Hotness>
            })
            .collect();
        let relatives = known.iter().zip(&fences).zip(&hotness).map(|((known, fences), hotness)| Relative {
            level: known.0,
            fences: fences.as_ref(),
            hotness,
        });
        let inherited = inherit(packed(new, last_key).as_ref(), level, &BytewiseComparator, relatives);
        inherited.into_iter().map(|hotness| hotness.negatives).collect()
    }

    #[test]
    fn a_segment_gets_the_mean_of_those_it_overlaps() {
        let known: &[Known] = &[(Some(2), &["a", "f", "m"], Some("z"), &[1.0, 3.0, 8.0])];
        assert_eq!(inherited(&["a", "g"], Some("l"), Some(2), known), [2.0, 3.0]);
        assert_eq!(inherited(&["0"], Some("9"), Some(2), known), [0.0], "before all");
        assert_eq!(inherited(&["zz"], None, Some(2), known), [0.0], "after all");
        assert_eq!(inherited(&["0"], None, Some(2), known), [4.0], "over all");
        assert_eq!(inherited(&["z"], None, Some(2), known), [8.0], "the last key is inside");
    }

    #[test]
    fn the_same_level_is_asked_before_the_level_above_before_others() {
        let known: &[Known] = &[
            (Some(3), &["a"], Some("c"), &[30.0]),
            (Some(2), &["a"], Some("m"), &[20.0]),
            (None, &["a"], Some("z"), &[10.0]),
        ];
        assert_eq!(inherited(&["a", "d", "n"], Some("z"), Some(3), known), [30.0, 20.0, 10.0]);
        assert_eq!(inherited(&["a"], Some("b"), Some(2), known), [20.0]);
        assert_eq!(inherited(&["a"], Some("b"), None, known), [20.0], "level unknown: all are alike");
    }
}
