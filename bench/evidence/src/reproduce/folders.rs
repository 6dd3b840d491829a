//! Folders of records and databases.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::Result;
use springbloom_console::bad_input;

/// `given`, or the usual folder of records.
pub(crate) fn records_folder(given: Option<&Path>) -> Result<PathBuf> {
    given.map_or_else(|| Ok(cache("--records DIR")?.join("records")), |given| Ok(given.to_owned()))
}

/// `given`, or the usual folder for databases.
pub(super) fn databases_folder(given: Option<&Path>) -> Result<PathBuf> {
    given.map_or_else(|| Ok(cache("--dir DIR")?.join("reproduce")), |given| Ok(given.to_owned()))
}

/// Where `make` compiles to.
pub(super) fn target_folder() -> Result<PathBuf> {
    Ok(cache("CARGO_TARGET_DIR")?.join("target"))
}

/// Where `make` keeps what it builds, too.
fn cache(instead: &str) -> Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
    cache
        .or_else(home)
        .map(|cache| cache.join("springbloom"))
        .ok_or_else(|| bad_input(format!("neither XDG_CACHE_HOME nor HOME is set: expected {instead}")))
}
