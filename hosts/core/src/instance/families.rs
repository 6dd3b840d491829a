//! What a reading says of each column family, by its name and not by the manager's number.

use std::collections::{BTreeMap, HashMap};

use springbloom_manager::{LevelUnits, ScopeCounts, ScopeId, ScopeStats};

/// A reading of the tables of a column family.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FamilyStats {
    /// Folder of the database.
    pub database: String,
    /// Name of the column family; empty while no table has told it.
    pub family: String,
    /// Its tables that have units, open or closed.
    pub tables: usize,
    /// Residency by level, shallow levels first, tables of unknown level last.
    pub levels: Vec<LevelUnits>,
    /// What happened in its tables since the first one was opened. Visits are an estimate.
    pub counts: ScopeCounts,
}

/// The readings by name, in the order of the names. Where several openings of a database have the same name, they are added up.
pub(crate) fn by_name(
    scopes: &[ScopeStats],
    mut names: HashMap<ScopeId, (String, String)>,
) -> Vec<FamilyStats> {
    let mut families: BTreeMap<(String, String), FamilyStats> = BTreeMap::new();
    for ScopeStats { scope, tables, levels, counts } in scopes {
        // It was closed meanwhile.
        let Some(name) = names.remove(scope) else { continue };
        let family = families.entry(name).or_default();
        family.tables += tables;
        family.counts.add(*counts);
        for level in levels {
            match family.levels.iter_mut().find(|known| known.level == level.level) {
                Some(known) => known.add(level),
                None => family.levels.push(level.clone()),
            }
        }
        family.levels.sort_by_key(|level| level.level.map_or(u16::MAX, u16::from));
    }
    let named = |((database, family), stats)| FamilyStats { database, family, ..stats };
    families.into_iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openings_of_the_same_name_are_added_up_and_closed_ones_are_left_out() {
        let level = |level, segments: &[u64]| LevelUnits {
            level,
            segments: segments.to_vec(),
            keys: 10,
            unit_bytes: 64,
            indexes: 1,
            index_bytes: 100,
        };
        let scope = |scope, levels: &[LevelUnits]| ScopeStats {
            scope: ScopeId(scope),
            tables: 2,
            levels: levels.to_vec(),
            counts: ScopeCounts { rejected: 5, wasted_reads: 1, passed: 4, loads: 3 },
        };
        let scopes = vec![
            scope(1, &[level(Some(1), &[1, 1]), level(None, &[4])]),
            scope(2, &[level(Some(0), &[2]), level(Some(1), &[0, 0, 3])]),
            scope(3, &[]),
            scope(4, &[level(Some(6), &[1])]),
        ];
        let name = |database: &str, family: &str| (database.to_owned(), family.to_owned());
        let names = [
            (ScopeId(1), name("/db", "default")),
            (ScopeId(2), name("/db", "default")),
            (ScopeId(4), name("/db", "a")),
        ];
        let found = by_name(&scopes, names.into_iter().collect());
        assert_eq!(
            found.iter().map(|family| (&*family.family, family.tables)).collect::<Vec<_>>(),
            [("a", 2), ("default", 4)]
        );
        let both = &found[1];
        assert_eq!(both.counts, ScopeCounts { rejected: 10, wasted_reads: 2, passed: 8, loads: 6 });
        let levels: Vec<_> = both
            .levels
            .iter()
            .map(|level| (level.level, level.units(), level.unit_bytes, level.index_bytes))
            .collect();
        assert_eq!(levels, [(Some(0), 0, 64, 100), (Some(1), 7, 128, 200), (None, 0, 64, 100)]);
    }
}
