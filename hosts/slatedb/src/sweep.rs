//! Deletes units whose table is gone. SlateDB deletes tables without telling their filters.

use std::{collections::HashSet, sync::Arc, time::Duration};

use futures::{StreamExt, TryStreamExt};
use slatedb::{
    SstReader,
    object_store::{self, ObjectMeta, ObjectStore, ObjectStoreExt, path::Path},
};
use ulid::Ulid;

use crate::head::UnitsName;

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

/// Why a [`sweep`] ended early. What it had deleted by then had no table.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SweepError {
    /// A request failed.
    #[error("the object store failed")]
    Store(#[from] object_store::Error),
    /// A table could not be read.
    #[error("a table could not be read")]
    Table(#[from] slatedb::Error),
}

/// The folder of a database for units of its tables.
pub(crate) fn units_folder(database: &Path) -> Path {
    database.clone().join("springbloom")
}

/// Deletes the units in the folder of the database at `path` that are older than `min_age` and whose table is in its folder of tables no
/// more. Any process may do it, at any time, once a day for example. `min_age` must be longer than a table takes from the end of its filter
/// to the end of its upload: an hour is. Lists both folders and makes two GETs for each table.
pub async fn sweep(
    path: impl Into<Path>,
    store: Arc<dyn ObjectStore>,
    min_age: Duration,
) -> Result<Swept, SweepError> {
    let path = path.into();
    // Before the tables, so that none is missed that was written meanwhile.
    let units: Vec<ObjectMeta> = store.list(Some(&units_folder(&path))).try_collect().await?;
    let tables: Vec<ObjectMeta> = store.list(Some(&path.clone().join("compacted"))).try_collect().await?;
    let reader = &SstReader::new(path, store.clone(), None, None);
    let ids = tables.into_iter().filter_map(|table| {
        let id = Ulid::from_string(table.location.filename()?.strip_suffix(".sst")?).ok()?;
        Some((id, table.location))
    });
    let keys: HashSet<Option<u64>> = futures::stream::iter(ids)
        .map(async |(id, location)| match reader.open(id).await {
            Ok(table) => {
                let info = table.info();
                let ends = info.first_entry.as_ref().zip(info.last_entry.as_ref());
                Ok(ends.map(|(first, last)| UnitsName::keys_of(first, last)))
            }
            Err(error) => match store.head(&location).await {
                // It was deleted meanwhile.
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                _ => Err(error),
            },
        })
        .buffer_unordered(AT_ONCE)
        .try_collect()
        .await?;
    let mut swept = Swept::default();
    for object in units {
        let name = object.location.filename().and_then(UnitsName::of_text);
        let is_old = (chrono::Utc::now() - object.last_modified).to_std().is_ok_and(|age| age >= min_age);
        if is_old && name.is_some_and(|name| !keys.contains(&Some(name.keys))) {
            store.delete(&object.location).await?;
            swept.deleted += 1;
        } else {
            swept.kept += 1;
        }
    }
    Ok(swept)
}
