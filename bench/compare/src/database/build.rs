//! Builds the databases of a comparison.
//!
//! RocksDB's compaction picks files by size, and filters are part of files. Databases that are loaded separately get
//! different trees, and moving one hot key to another level changes wasted reads more than a filter does. So one tree is
//! loaded without filters, and every configuration gets a copy of it in which each table was rewritten in place with the
//! configuration's options. All copies have the same data blocks on the same levels. The cost of a load is measured on
//! other databases (`run::load`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use springbloom_console::Step;
use springbloom_console::bad_input;

use crate::database::config::Config;
use crate::database::load::{Records, load_tree};
use crate::database::manifest::TreeManifest;
use crate::database::options::{AutoCompaction, CommonSettings};
use crate::database::remove;
use crate::database::shape::Shape;
use crate::database::store::{Family, Store};
use crate::database::unsafe_rewrite::rewrite_table;

/// A folder of databases with one tree.
pub(crate) struct Folder {
    path: PathBuf,
    pub(crate) shape: Shape,
}

impl Folder {
    /// The folder `path` with the tree that `wanted` describes: loaded, or with `reuse` taken over if it is the same.
    ///
    /// # Errors
    /// [`BadInput`](springbloom_console::BadInput) if there are databases already and `reuse` is false, or they were made
    /// with other settings.
    pub(crate) fn open(
        path: &Path,
        reuse: bool,
        wanted: &TreeManifest,
        records: &Records,
        common: &CommonSettings,
    ) -> Result<Self> {
        let manifest_path = Self::manifest_path(path);
        let tree_path = path.join("tree");
        match TreeManifest::read(&manifest_path)? {
            Some(_) if !reuse => Err(bad_input(format!(
                "{} holds databases of an earlier run: use them with --reuse, or choose another --dir",
                path.display()
            ))),
            Some(there) if there.format_version != wanted.format_version => Err(bad_input(format!(
                "the databases in {} were made by another version of this program: remove the folder, or choose another --dir",
                path.display()
            ))),
            Some(there) => {
                let differences = there.differences(wanted)?;
                if !differences.is_empty() {
                    return Err(bad_input(format!(
                        "the databases in {} were made with other settings: {differences}; give the same settings, or \
                         another --dir",
                        path.display()
                    )));
                }
                let tree = common
                    .open_tree(&tree_path)
                    .with_context(|| format!("remove {} to load the tree again", path.display()))?;
                Ok(Folder { path: path.to_owned(), shape: Shape::of(&tree)? })
            }
            None => {
                // Without a manifest it is what an interrupted load left.
                fs::create_dir_all(path).with_context(|| format!("cannot create {}", path.display()))?;
                let shape = remove::and_make(&tree_path, || {
                    let shape = load_tree(&tree_path, records, common)?;
                    wanted.write(&manifest_path)?;
                    Ok(shape)
                })?;
                Ok(Folder { path: path.to_owned(), shape })
            }
        }
    }

    fn manifest_path(path: &Path) -> PathBuf {
        path.join("tree.json")
    }

    /// Whether there are databases at `path`.
    pub(crate) fn is_there(path: &Path) -> bool {
        Self::manifest_path(path).exists()
    }

    /// The database that all others are copies of. It has no filters.
    pub(crate) fn tree(&self) -> PathBuf {
        self.path.join("tree")
    }

    /// Path of the database of `config`: the one that is there, else a new one. Its name tells the settings that its tables depend on.
    pub(crate) fn database(&self, config: &Config, common: &CommonSettings) -> Result<PathBuf> {
        let path = self.path.join(common.folder(config, &self.shape)?);
        if remove::is_finished(&path) {
            return Ok(path);
        }
        let tables = config.of_tables();
        if tables == *config {
            remove::and_make(&path, || self.rewrite(&path, config, common))?;
        } else {
            // The same tables, which one process opens in one place at a time.
            let there = self.database(&tables, common)?;
            remove::and_make(&path, || common.open_tree(&there)?.clone_to(&path))?;
        }
        Ok(path)
    }

    fn rewrite(&self, path: &Path, config: &Config, common: &CommonSettings) -> Result<()> {
        common.open_tree(&self.tree())?.clone_to(path)?;
        let prepared = common.prepare(config, &self.shape, AutoCompaction::Off)?;
        let store = Store::open(path, common.family_databases, &prepared.options)?;
        let step = Step::start(&format!("writing tables with {config}"), self.shape.bytes());
        for family in store.families()? {
            rewrite(family, &step).map_err(|error| error.context(format!("{}: {config}", path.display())))?;
        }
        let shape = Shape::of(&store)?;
        ensure!(
            shape.same_tables(&self.shape),
            "the tree of {config} ({}) is not the one that was loaded ({})",
            shape.summary(),
            self.shape.summary()
        );
        Ok(())
    }
}

/// Writes each table of a family again.
fn rewrite(family: Family<'_>, step: &Step) -> Result<()> {
    let files = family.db.live_files()?.into_iter();
    let mut files: Vec<_> = files.filter(|file| file.column_family_name == family.name).collect();
    // By level, deepest first, and by key: the order in which an ageing tree is rewritten.
    files.sort_by(|a, b| (b.level, &a.start_key).cmp(&(a.level, &b.start_key)));
    for file in &files {
        rewrite_table(family, &file.name, usize::try_from(file.level).unwrap_or_default())
            .map_err(|message| anyhow::anyhow!("cannot rewrite {}: {message}", file.name))?;
        step.advance(file.size as u64);
    }
    Ok(())
}
