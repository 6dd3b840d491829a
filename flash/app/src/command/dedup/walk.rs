//! Finds the files to scan, always in the same order.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use ignore::WalkBuilder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use springbloom_console::output::tell;
use springbloom_console::{Step, bad_input, escaped};

use super::files::{FileId, STREAM, Source, id_of};
use super::own_index::OwnIndex;
use super::pseudo_fs::{self, PseudoFileSystems};

/// Which files of a folder are scanned
#[derive(Args, Debug)]
pub(crate) struct WalkOptions {
    /// Skip files that match, with the syntax of a .gitignore line; can be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Stay on the file system of PATH
    #[arg(long)]
    one_file_system: bool,
}

/// The files that were found, and what was skipped.
#[derive(Default)]
pub(super) struct Found {
    pub(super) sources: Vec<Source>,
    /// Further names (hard links) of files.
    pub(super) hard_links: u64,
    pub(super) hard_link_bytes: u64,
    /// Folders that could not be read.
    pub(super) unreadable_folders: u64,
}

/// Checks the paths and options before the scan starts.
pub(super) fn check(paths: &[PathBuf], options: &WalkOptions, index: &Path) -> Result<()> {
    excluded(Path::new(""), &options.exclude)?;
    let own = index.exists().then(|| OwnIndex::of(index)).transpose();
    let own = own.with_context(|| format!("cannot look into {}", index.display()))?;
    for path in paths.iter().filter(|path| !is_stream(path)) {
        let metadata = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
        let refused = |why: &str| Err(bad_input(format!("{} cannot be scanned: {why}", path.display())));
        if own.as_ref().is_some_and(|own| own.holds(path)) {
            return refused("it belongs to the index itself");
        }
        if let Some(name) = pseudo_fs::name_of(path) {
            return refused(&format!("it is on a pseudo file system ({name}), which stores nothing"));
        }
        if !metadata.is_file() && !metadata.is_dir() {
            return refused("expected a file, a folder, or - for standard input");
        }
    }
    Ok(())
}

/// All regular files below `paths`, once each, ordered by name. Includes hidden files; does not follow links. Reports, counts and skips
/// unreadable folders.
pub(super) fn find(paths: &[PathBuf], options: &WalkOptions, index: &Path) -> Result<Found> {
    let own = Arc::new(OwnIndex::of(index).with_context(|| format!("cannot look into {}", index.display()))?);
    let mut found = Found::default();
    let step = Step::counting("files found");
    for path in paths {
        if is_stream(path) {
            let stream = Source::stream();
            if stream.id.is_some_and(|id| own.is(id)) {
                return Err(bad_input("standard input cannot be scanned: it belongs to the index itself"));
            }
            found.sources.push(stream);
            continue;
        }
        for entry in walk(path, options, own.clone())?.build() {
            let file = entry.and_then(|entry| {
                // A link that was named is followed, one that was met is not.
                let metadata =
                    if entry.depth() == 0 { entry.path().metadata()? } else { entry.metadata()? };
                Ok((metadata.is_file() && !own.is(id_of(&metadata)))
                    .then(|| Source::file(entry.into_path(), &metadata)))
            });
            match file {
                Ok(Some(source)) => {
                    found.sources.push(source);
                    step.advance(1);
                }
                Ok(None) => {}
                Err(error) => {
                    step.warn(&escaped(&explained(&error)));
                    found.unreadable_folders += 1;
                }
            }
        }
    }
    drop(step);
    found.sources.sort_by(|a, b| a.path.cmp(&b.path));
    found.count_each_once();
    Ok(found)
}

impl Found {
    /// Leaves the first name of every file. The others are its hard links, as far as it has so many: the same name can also be found
    /// below several paths.
    fn count_each_once(&mut self) {
        let mut names: HashMap<FileId, u64> = HashMap::new();
        let (mut hard_links, mut hard_link_bytes) = (0, 0);
        self.sources.dedup_by(|a, b| a.path == b.path);
        self.sources.retain(|source| {
            let Some(id) = source.id.filter(|_| !source.is_stream()) else { return true };
            let count = names.entry(id).or_default();
            *count += 1;
            if (2..=source.link_count).contains(count) {
                hard_links += 1;
                hard_link_bytes += source.len_bytes;
            }
            *count == 1
        });
        (self.hard_links, self.hard_link_bytes) = (hard_links, hard_link_bytes);
    }
}

fn is_stream(path: &Path) -> bool {
    path == Path::new(STREAM)
}

/// A walk below `path`. Skips excluded folders, pseudo file systems and the index.
fn walk(path: &Path, options: &WalkOptions, own: Arc<OwnIndex>) -> Result<WalkBuilder> {
    let excluded = excluded(path, &options.exclude)?;
    let pseudo = PseudoFileSystems::default();
    let mut walk = WalkBuilder::new(path);
    walk.standard_filters(false).same_file_system(options.one_file_system);
    walk.filter_entry(move |entry| {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if entry.depth() > 0 && excluded.matched(entry.path(), is_folder).is_ignore() {
            return false;
        }
        let metadata = if is_folder { entry.metadata().ok() } else { None };
        // A folder that has gone is told by the walk.
        let Some(metadata) = metadata else { return true };
        let passed_by = if own.is(id_of(&metadata)) {
            Some("it is the index itself".to_owned())
        } else {
            let name = pseudo.name_of(entry.path(), metadata.dev());
            name.map(|name| format!("it is a pseudo file system ({name})"))
        };
        if let Some(why) = &passed_by {
            tell(format_args!("skipping {}: {why}", escaped(&entry.path().to_string_lossy())));
        }
        passed_by.is_none()
    });
    Ok(walk)
}

/// The error, with its file mentioned once.
fn explained(error: &ignore::Error) -> String {
    let text = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    text.strip_prefix("IO error for operation on ").map_or(text.clone(), |rest| format!("cannot read {rest}"))
}

fn excluded(path: &Path, globs: &[String]) -> Result<Gitignore> {
    let mut builder = GitignoreBuilder::new(path);
    // By default, a `[` without a `]` would be a literal.
    builder.allow_unclosed_class(false);
    for glob in globs {
        builder.add_line(None, glob).map_err(|error| refused_glob(glob, &error))?;
    }
    builder.build().map_err(|error| bad_input(format!("--exclude: {error}")))
}

fn refused_glob(glob: &str, error: &ignore::Error) -> anyhow::Error {
    let why = match error {
        ignore::Error::Glob { err, .. } => err.clone(),
        error => error.to_string(),
    };
    bad_input(format!(
        "--exclude {glob}: {why}; expected a pattern with the syntax of a .gitignore line, such as *.log or target/ (a backslash before \
         a special character takes it as it is)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(found: &Found) -> Vec<String> {
        found.sources.iter().map(|s| s.path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    }

    /// A folder of files and an empty one for the index.
    fn folders(files: &[&str]) -> (tempfile::TempDir, PathBuf, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let [tree, index] = ["tree", "index"].map(|name| dir.path().join(name));
        std::fs::create_dir_all(&index).unwrap();
        for file in files {
            let file = tree.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(&file, file.to_str().unwrap()).unwrap();
        }
        (dir, tree, index)
    }

    fn options(exclude: &[&str]) -> WalkOptions {
        WalkOptions { exclude: exclude.iter().map(ToString::to_string).collect(), one_file_system: false }
    }

    #[test]
    fn files_come_in_order_and_once_and_changes_show() {
        let (_dir, tree, index) = folders(&["b.TXT", "sub/a.rs", ".hidden"]);
        let paths = [tree.clone(), tree.join("sub"), tree.join("../tree/b.TXT")];
        let find = || find(&paths, &options(&[]), &index).unwrap();
        let found = find();
        let mut sorted = names(&found);
        sorted.sort();
        assert_eq!((sorted, found.hard_links), (vec![".hidden".into(), "a.rs".into(), "b.TXT".into()], 0));
        let digest = |found: &Found| super::super::files::digest(&found.sources);
        let before = digest(&found);
        assert_eq!(before, digest(&find()));
        std::fs::write(tree.join("b.TXT"), "longer than before").unwrap();
        assert_ne!(before, digest(&find()));
        assert!(check(&[tree.join("missing")], &options(&[]), &index).is_err());
    }

    #[test]
    fn a_file_of_several_names_is_found_once() {
        let (_dir, tree, index) = folders(&["one", "other"]);
        std::fs::hard_link(tree.join("one"), tree.join("again")).unwrap();
        std::fs::hard_link(tree.join("one"), tree.join("two")).unwrap();
        let found = find(std::slice::from_ref(&tree), &options(&[]), &index).unwrap();
        assert_eq!(names(&found), ["again", "other"]);
        assert_eq!((found.hard_links, found.hard_link_bytes), (2, 2 * found.sources[0].len_bytes));
    }

    #[test]
    fn the_index_is_no_data_by_whatever_name() {
        let (_dir, tree, index) = folders(&["one", "below/two"]);
        let index = {
            let inside = tree.join("below/index");
            std::fs::rename(index, &inside).unwrap();
            inside
        };
        std::fs::write(index.join("records"), "of the index").unwrap();
        std::fs::hard_link(index.join("records"), tree.join("linked")).unwrap();
        let found = find(std::slice::from_ref(&tree), &options(&[]), &index).unwrap();
        assert_eq!(names(&found), ["two", "one"]);
        let link = tree.join("link");
        std::os::unix::fs::symlink(&index, &link).unwrap();
        for inside in [index.clone(), index.join("records"), link.clone(), link.join("records")] {
            let message = check(&[inside], &options(&[]), &index).unwrap_err().to_string();
            assert!(message.contains("belongs to the index itself"), "{message}");
        }
    }

    #[test]
    fn excluded_names_are_as_in_gitignore_files() {
        let (_dir, tree, index) =
            folders(&["a.log", "b.txt", "keep.log", "target/x", "sub/target/y", "sub/c"]);
        for (globs, left) in [
            (&["*.log", "!keep.log"][..], &["b.txt", "keep.log", "c", "y", "x"][..]),
            (&["/target/"], &["a.log", "b.txt", "keep.log", "c", "y"]),
            (&["target"], &["a.log", "b.txt", "keep.log", "c"]),
            (&["sub/**/y"], &["a.log", "b.txt", "keep.log", "c", "x"]),
        ] {
            let found = find(std::slice::from_ref(&tree), &options(globs), &index).unwrap();
            assert_eq!(names(&found), left, "{globs:?}");
        }
        let wrong = find(&[tree], &options(&["a{b"]), &index).err().unwrap();
        assert!(wrong.to_string().contains("--exclude a{b"), "{wrong}");
    }

    #[test]
    fn views_of_the_kernel_are_not_entered() {
        assert!(
            check(&["/proc".into()], &options(&[]), "/no/index".as_ref())
                .unwrap_err()
                .to_string()
                .contains("(proc)")
        );
        let (_dir, _, index) = folders(&[]);
        let own = Arc::new(OwnIndex::of(&index).unwrap());
        let mut walk = walk("/".as_ref(), &options(&[]), own).unwrap();
        let entered = walk.max_depth(Some(2)).build().flatten();
        assert_eq!(entered.filter(|entry| entry.path().starts_with("/proc")).count(), 0);
    }
}
