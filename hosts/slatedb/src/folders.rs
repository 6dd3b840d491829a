//! The folders of a database.

use slatedb::manifest::SsTableId;
use slatedb::object_store::path::{Path, PathPart};
use slatedb::{PathResolver, VersionedManifest};
use ulid::Ulid;

const UNITS: &str = "springbloom";

/// The folder of a database's units, as heads of tables name it; [`path_of`] makes a path of it.
pub(crate) fn units_text(database: &Path) -> String {
    match database.as_ref() {
        "" => UNITS.to_owned(),
        database => format!("{database}/{UNITS}"),
    }
}

/// The path of a folder that a head names. As SlateDB does with its tables, this escapes a second time what the database's path escapes.
pub(crate) fn path_of(text: &str) -> Path {
    Path::from(text)
}

/// The folder of a database's own tables. SlateDB says where they are, so that another release may put them elsewhere.
pub(crate) fn tables(database: &Path, manifest: &VersionedManifest) -> Path {
    let some_table = PathResolver::new(database.clone(), manifest).sst_path(&SsTableId::from(Ulid::nil()));
    let parts: Vec<PathPart<'_>> = some_table.parts().collect();
    parts[..parts.len() - 1].iter().cloned().collect()
}
