//! Folders of records and databases.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, anyhow};
use springbloom_console::{bad_input, folder};

/// `given`, or the usual folder of records.
pub(crate) fn records_folder(given: Option<&Path>) -> Result<PathBuf> {
    given.map_or_else(|| Ok(cache("--records DIR")?.join("records")), |given| Ok(given.to_owned()))
}

/// The same, made if it is missing.
pub(super) fn make_records_folder(given: Option<&Path>) -> Result<PathBuf> {
    make(given, records_folder(given)?)
}

/// The same, refused if it is missing: with nothing to run, a mistyped one would look like records of nothing.
pub(super) fn existing_records_folder(given: Option<&Path>) -> Result<PathBuf> {
    let records = records_folder(given)?;
    if records.is_dir() {
        return Ok(records);
    }
    Err(bad_input(format!(
        "{} is no folder: expected one of records, as `springbloom reproduce` without --no-run makes it",
        records.display()
    )))
}

/// Refuses a folder in which no record can be written, before hours of measuring.
pub(super) fn require_writable(folder: &Path) -> Result<()> {
    let probe = folder.join(".probe");
    let written = fs::write(&probe, "probe");
    // Its creation may be what failed.
    _ = fs::remove_file(&probe);
    written.map_err(|error| {
        let why = format!("cannot write records to {}: {error}", folder.display());
        // A full disk is no wrong input.
        if error.kind() == ErrorKind::StorageFull { anyhow!(why) } else { bad_input(why) }
    })
}

/// `given`, or the usual folder for databases, made if it is missing.
pub(super) fn make_databases_folder(given: Option<&Path>) -> Result<PathBuf> {
    let folder = match given {
        Some(given) => given.to_owned(),
        None => cache("--dir DIR")?.join("reproduce"),
    };
    make(given, folder)
}

/// Makes `folder`; those above it only if nobody has given it.
fn make(given: Option<&Path>, folder: PathBuf) -> Result<PathBuf> {
    match given {
        Some(_) => folder::make(&folder)?,
        None => {
            fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
    }
    Ok(folder)
}

/// Where `make` compiles to.
pub(super) fn target_folder() -> Result<PathBuf> {
    Ok(cache("CARGO_TARGET_DIR")?.join("target"))
}

/// Where `make` keeps what it builds, too.
fn cache(instead: &str) -> Result<PathBuf> {
    // A relative one counts as none, as the XDG base directory specification says.
    let folder = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME");
    let home = || folder("HOME").map(|home| home.join(".cache"));
    cache.or_else(home).map(|cache| cache.join("springbloom")).ok_or_else(|| {
        bad_input(format!("neither XDG_CACHE_HOME nor HOME is the path of a folder: expected {instead}"))
    })
}
