//! Deletes units whose table is gone. SlateDB deletes tables without telling their filters.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::error::Error;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt, TryStreamExt};
use slatedb::admin::Admin;
use slatedb::manifest::SsTableId;
use slatedb::object_store::path::{Path, PathPart};
use slatedb::object_store::{self, ObjectMeta, ObjectStore, ObjectStoreExt};
use slatedb::{PathResolver, SstReader, VersionedManifest};
use ulid::Ulid;

use crate::head::{UnitsName, names_in};
use crate::unit_objects::{path_of, units_text};

/// Requests that are made at once.
const AT_ONCE: usize = 16;

/// What a [`sweep`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Objects with units that stay.
    pub kept: usize,
    /// Objects that were deleted.
    pub deleted: usize,
}

/// What SlateDB or the object store says.
type Cause = Box<dyn Error + Send + Sync>;

/// Why a [`sweep`] ended early. What it had deleted by then had no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A request failed.
    #[error("the object store failed")]
    Store(#[from] object_store::Error),
    /// A manifest could not be read. Nothing was deleted.
    #[error("a manifest of {database} could not be read")]
    Manifest {
        /// Path of the database.
        database: Path,
        /// What SlateDB says.
        source: Cause,
    },
    /// A table could not be read, so nobody knows which units are its own. Nothing was deleted.
    #[error("the table {table} could not be read")]
    Table {
        /// Path of the table.
        table: Path,
        /// What SlateDB or the object store says.
        source: Cause,
    },
    /// There are units, but no database. Nothing was deleted.
    #[error(
        "{units} has units, but there is no manifest of a database at {database}: give `sweep` its path and its store"
    )]
    NoDatabase {
        /// Folder of the units.
        units: Path,
        /// What was given as the path of the database.
        database: Path,
    },
}

/// Deletes the units in the folder of the database at `path` that are older than `min_age` and whose table is no longer in its folder of
/// tables. Any process may do it, at any time, once a day for example. `min_age` must be longer than a table takes from the end of its
/// filter to the end of its upload: an hour suffices. Lists both folders, reads the manifest and those of checkpoints, and makes two GETs
/// per table, three where several units may be its own.
///
/// Refuses to delete units where it finds no database: with another store or path, all units would look unused.
///
/// If a filter block does not say which units are its own, because it is encrypted, damaged, or compressed by a codec without a feature
/// here (`lz4`, `snappy`, `zlib`, `zstd`), all units with the table's first and last key stay. Only objects directly in the folder are
/// looked at: another database may lie deeper in it.
///
/// If the store does not let SlateDB read a manifest, SlateDB tries again, and this does not return.
pub async fn sweep(
    path: impl Into<Path>,
    store: Arc<dyn ObjectStore>,
    min_age: Duration,
) -> Result<Swept, SweepError> {
    let path = path.into();
    // Before the tables, so that none is missed that was written meanwhile.
    let units_folder = path_of(&units_text(&path));
    let objects = store.list_with_delimiter(Some(&units_folder)).await?.objects;
    let units: Vec<(UnitsName, ObjectMeta)> =
        objects.into_iter().filter_map(|object| Some((name_of(&object)?, object))).collect();
    if units.is_empty() {
        return Ok(Swept::default());
    }
    let manifests = manifests(&path, store.clone()).await;
    let manifests = manifests.map_err(|source| SweepError::Manifest { database: path.clone(), source })?;
    let Some(newest) = manifests.first() else {
        return Err(SweepError::NoDatabase { units: units_folder, database: path });
    };
    let tables_folder = &tables(&path, newest);
    let listed = store.list_with_delimiter(Some(tables_folder)).await?.objects;
    // The list has those that are being written or compacted, too. Manifests have theirs, whatever a list leaves out.
    let mut ids: BTreeSet<Ulid> = listed.iter().filter_map(id_of).collect();
    for manifest in &manifests {
        ids.extend(manifest.all_sst_views().map(|view| view.sst.id.value()));
    }
    let (reader, store) = (&SstReader::new(path, store.clone(), None, None), &*store);
    let mut by_keys = HashMap::<u64, Vec<UnitsName>>::new();
    for (name, _) in &units {
        by_keys.entry(name.keys).or_default().push(*name);
    }
    let by_keys = &by_keys;
    let kept = futures::stream::iter(ids)
        .map(async |id| {
            let table = tables_folder.clone().join(format!("{id}.sst"));
            match units_of(reader, store, id, &table, by_keys).await {
                Ok(units) => Ok(units),
                Err(source) => match store.head(&table).await {
                    // It was deleted meanwhile, or is in the folder of the database that this one is a clone of.
                    Err(object_store::Error::NotFound { .. }) => Ok(Vec::new()),
                    _ => Err(SweepError::Table { table, source }),
                },
            }
        })
        .buffer_unordered(AT_ONCE)
        .try_fold(HashSet::new(), async |mut kept, units| {
            kept.extend(units);
            Ok(kept)
        })
        .await?;
    let now = chrono::Utc::now();
    let is_old = |object: &ObjectMeta| (now - object.last_modified).to_std().is_ok_and(|age| age >= min_age);
    let dead = units.iter().filter(|(name, object)| is_old(object) && !kept.contains(name));
    let dead: Vec<_> = dead.map(|(_, object)| Ok(object.location.clone())).collect();
    let mut swept = Swept { kept: units.len() - dead.len(), deleted: 0 };
    let mut deletions = store.delete_stream(futures::stream::iter(dead).boxed());
    while let Some(deletion) = deletions.next().await {
        match deletion {
            Ok(_) => swept.deleted += 1,
            // Another sweep deleted it meanwhile, or this one at an attempt whose answer was lost.
            Err(object_store::Error::NotFound { .. }) => (),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(swept)
}

/// The folder of a database's own tables. SlateDB says where they are, so that another release may put them elsewhere.
fn tables(database: &Path, manifest: &VersionedManifest) -> Path {
    let some_table = PathResolver::new(database.clone(), manifest).sst_path(&SsTableId::from(Ulid::nil()));
    let parts: Vec<PathPart<'_>> = some_table.parts().collect();
    parts[..parts.len() - 1].iter().cloned().collect()
}

fn name_of(object: &ObjectMeta) -> Option<UnitsName> {
    UnitsName::of_text(object.location.filename()?)
}

fn id_of(object: &ObjectMeta) -> Option<Ulid> {
    Ulid::from_string(object.location.filename()?.strip_suffix(".sst")?).ok()
}

/// The newest one, then those of checkpoints, as clones have. Empty if there is no database.
async fn manifests(path: &Path, store: Arc<dyn ObjectStore>) -> Result<Vec<VersionedManifest>, Cause> {
    let admin = Admin::builder(path.clone(), store).build();
    let Some(newest) = caught(admin.read_manifest(None)).await? else { return Ok(Vec::new()) };
    let ids: BTreeSet<u64> = newest.checkpoints().iter().map(|checkpoint| checkpoint.manifest_id).collect();
    let mut manifests = vec![newest];
    for id in ids {
        // One is not there if its checkpoint was deleted meanwhile.
        manifests.extend(caught(admin.read_manifest(Some(id))).await?);
    }
    Ok(manifests)
}

/// What SlateDB reads. It panics at some damage.
async fn caught<T>(read: impl Future<Output = Result<T, slatedb::Error>>) -> Result<T, Cause> {
    Ok(AssertUnwindSafe(read).catch_unwind().await.map_err(|_| "SlateDB panicked")??)
}

/// The units that a table has, or may have.
async fn units_of(
    reader: &SstReader,
    store: &dyn ObjectStore,
    id: Ulid,
    location: &Path,
    by_keys: &HashMap<u64, Vec<UnitsName>>,
) -> Result<Vec<UnitsName>, Cause> {
    let table = caught(reader.open(id)).await?;
    let info = table.info();
    // It has no filter, as a small table has or one that another policy wrote, and an empty range cannot be read.
    if info.filter_len == 0 {
        return Ok(Vec::new());
    }
    let ends = info.first_entry.as_ref().zip(info.last_entry.as_ref());
    let units = ends.and_then(|(first, last)| by_keys.get(&UnitsName::keys_of(first, last)));
    let Some(units) = units else { return Ok(Vec::new()) };
    if units.len() < 2 {
        return Ok(units.clone());
    }
    let block = store.get_range(location, info.filter_offset..info.filter_offset + info.filter_len).await?;
    let Some(named) = names_in(&block, info.compression_codec) else { return Ok(units.clone()) };
    Ok(units.iter().filter(|name| named.contains(name)).copied().collect())
}
