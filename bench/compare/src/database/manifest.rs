//! Records the settings of a folder of databases, so that a run with other settings refuses to reuse it.
//!
//! `DIR/tree.json` describes the records and the shape, `DIR/<configuration>.json` one database. Each is written when its
//! database is complete; a folder without one is not reused.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use springbloom_console::{bad_input, output};

use crate::database::preset::TreeShape;
use crate::database::stores::Layout;

/// Version of these files and of everything that decides what is in a database.
pub(crate) const FORMAT_VERSION: u32 = 2;

/// What decides the contents and the shape of all databases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct TreeManifest {
    pub(crate) format_version: u32,
    pub(crate) rocksdb: String,
    pub(crate) keys: String,
    pub(crate) records: u64,
    pub(crate) value_bytes: usize,
    pub(crate) seed: u64,
    pub(crate) shape: TreeShape,
    #[serde(default)]
    pub(crate) layout: Layout,
}

/// What one database was built with: the settings of a configuration that are fixed at build, as text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct BuiltWith {
    pub(crate) config: String,
    pub(crate) settings: String,
}

/// Reads a manifest; `None` if there is none.
pub(crate) fn read<M: DeserializeOwned>(path: &Path) -> Result<Option<M>> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
            bad_input(format!(
                "{} is damaged ({error}): remove it and the folder {}, and the database is made anew",
                path.display(),
                path.with_extension("").display()
            ))
        }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// Writes a manifest atomically.
pub(crate) fn write<M: Serialize>(path: &Path, manifest: &M) -> Result<()> {
    let text = serde_json::to_string_pretty(manifest).context("manifest")?;
    output::write_whole(path, (text + "\n").as_bytes())
        .with_context(|| format!("cannot write {}", path.display()))
}

/// The settings in which `there` differs from `wanted`, as text for people; empty if they are equal.
pub(crate) fn differences<M: Serialize>(there: &M, wanted: &M) -> Result<String> {
    let (there, wanted) = (serde_json::to_value(there)?, serde_json::to_value(wanted)?);
    let mut found = Vec::new();
    collect_differences("", &there, &wanted, &mut found);
    Ok(found.join(", "))
}

fn collect_differences(
    name: &str,
    there: &serde_json::Value,
    wanted: &serde_json::Value,
    found: &mut Vec<String>,
) {
    match (there, wanted) {
        (serde_json::Value::Object(there), serde_json::Value::Object(wanted)) => {
            for (key, value) in wanted {
                collect_differences(key, there.get(key).unwrap_or(&serde_json::Value::Null), value, found);
            }
        }
        (there, wanted) if there != wanted => found.push(format!("{name} is {there}, asked for is {wanted}")),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built() -> BuiltWith {
        BuiltWith { config: "bloom:4".to_owned(), settings: "stock".to_owned() }
    }

    #[test]
    fn manifests_come_back_and_absent_ones_are_none() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("tree.json");
        assert_eq!(read::<BuiltWith>(&path).expect("read"), None);
        write(&path, &built()).expect("write");
        assert_eq!(read::<BuiltWith>(&path).expect("read"), Some(built()));
        fs::write(&path, "{").expect("damage");
        assert!(read::<BuiltWith>(&path).expect_err("damaged").to_string().contains("damaged"));
    }

    #[test]
    fn differences_name_the_settings() {
        assert_eq!(differences(&built(), &built()).expect("json"), "");
        let other = BuiltWith { settings: "other".to_owned(), ..built() };
        assert_eq!(
            differences(&built(), &other).expect("json"),
            "settings is \"stock\", asked for is \"other\""
        );
    }
}
