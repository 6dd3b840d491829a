//! Which tables keep their whole index in memory.
//!
//! A block cache that has some part of an index saves that part of the reads which lookups of it make, since lookups see averages over
//! time. A resident index saves the other reads, and takes the other bytes from the cache. So it saves, per byte that it takes, as many
//! reads as lookups reach it per byte of it, however much of it the cache had: the share need not be measured. That is compared with what
//! the units save per byte that are worth least.

/// An index is worth this many times what it replaces, or what replaces it.
const HYSTERESIS: f32 = 1.4;

/// The index of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexState {
    pub(crate) slot: u32,
    pub(crate) bytes: usize,
    /// Weighted lookups that reached it, per byte.
    pub(crate) worth: f32,
    pub(crate) is_planned: bool,
    /// Whether it may be read: there is evidence, and a reader to read it with.
    pub(crate) is_loadable: bool,
}

/// What is to change.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct IndexChoice {
    pub(crate) evicted: Vec<u32>,
    pub(crate) loaded: Vec<u32>,
}

/// Decides. Indexes may have `most_bytes`, of which about `step_bytes` are given at a time. Leaves the indexes in the order of their worth,
/// the most first.
pub(crate) fn choose(
    indexes: &mut [IndexState],
    unit_worth: f32,
    most_bytes: usize,
    step_bytes: usize,
) -> IndexChoice {
    indexes.sort_unstable_by(|a, b| b.worth.total_cmp(&a.worth));
    let mut choice = IndexChoice::default();
    let mut bytes: usize = indexes.iter().filter(|index| index.is_planned).map(|index| index.bytes).sum();
    let mut evict = |index: &mut IndexState, bytes: &mut usize| {
        index.is_planned = false;
        *bytes -= index.bytes;
        choice.evicted.push(index.slot);
    };
    for index in indexes.iter_mut().rev().filter(|index| index.is_planned) {
        if bytes > most_bytes || index.worth * HYSTERESIS < unit_worth {
            evict(index, &mut bytes);
        }
    }
    let mut given_bytes = 0;
    // Those behind `last` are not planned.
    let mut last = indexes.len();
    for at in 0..indexes.len() {
        let IndexState { bytes: own, worth, is_planned, is_loadable, .. } = indexes[at];
        if worth <= unit_worth * HYSTERESIS || given_bytes >= step_bytes {
            break;
        }
        if is_planned || !is_loadable || own > most_bytes {
            continue;
        }
        while bytes + own > most_bytes && last > at + 1 {
            last -= 1;
            if indexes[last].is_planned && indexes[last].worth * HYSTERESIS < worth {
                evict(&mut indexes[last], &mut bytes);
            }
        }
        if bytes + own > most_bytes {
            break;
        }
        bytes += own;
        given_bytes += own;
        choice.loaded.push(indexes[at].slot);
    }
    choice
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(slot: u32, worth: f32, is_planned: bool) -> IndexState {
        IndexState { slot, bytes: 100, worth, is_planned, is_loadable: true }
    }

    fn chosen(mut indexes: Vec<IndexState>, unit_worth: f32, most: usize, step: usize) -> [Vec<u32>; 2] {
        let choice = choose(&mut indexes, unit_worth, most, step);
        [choice.evicted, choice.loaded]
    }

    #[test]
    fn those_come_first_that_lookups_reach_most() {
        let all =
            vec![index(0, 1.0, false), index(1, 3.0, false), index(2, 2.0, false), index(3, 0.0, false)];
        assert_eq!(chosen(all.clone(), 0.0, 1000, 1000), [vec![], vec![1, 2, 0]]);
        assert_eq!(chosen(all.clone(), 0.0, 1000, 150), [vec![], vec![1, 2]], "a step");
        assert_eq!(chosen(all.clone(), 0.0, 150, 1000), [vec![], vec![1]], "all that they may have");
        assert_eq!(chosen(all.clone(), 1.8, 1000, 1000), [vec![], vec![1]], "units are worth more");
        let unknown = all.into_iter().map(|index| IndexState { is_loadable: false, ..index }).collect();
        assert_eq!(chosen(unknown, 0.0, 1000, 1000), [vec![], vec![]]);
    }

    #[test]
    fn those_go_that_units_or_others_are_worth_clearly_more_than() {
        let all = vec![index(0, 1.0, true), index(1, 3.0, true), index(2, 2.0, true)];
        assert_eq!(chosen(all.clone(), 1.3, 1000, 0), [vec![], vec![]]);
        assert_eq!(chosen(all.clone(), 1.5, 1000, 0), [vec![0], vec![]]);
        assert_eq!(chosen(all.clone(), 0.0, 250, 0), [vec![0], vec![]], "they may have less");
        assert_eq!(chosen(all.clone(), 0.0, 0, 100), [vec![0, 2, 1], vec![]], "or nothing");
        let with = |worth| [all.clone(), vec![index(3, worth, false)]].concat();
        assert_eq!(chosen(with(1.3), 0.0, 300, 100), [vec![], vec![]]);
        assert_eq!(chosen(with(1.5), 0.0, 300, 100), [vec![0], vec![3]]);
    }
}
