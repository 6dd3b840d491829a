//! Records the settings of a folder of databases, so that a run with other settings refuses to reuse it.
//!
//! `DIR/tree.json` describes the records and the shape. It is written when the tree is complete; a folder without it is not reused.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use springbloom_console::bad_input;
use springbloom_records::write_whole;

use crate::database::preset::TreeShape;

/// Version of these files and of everything that decides what is in a database.
pub(crate) const FORMAT_VERSION: u32 = 3;

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
    pub(crate) families: u32,
    #[serde(default)]
    pub(crate) family_databases: bool,
}

impl TreeManifest {
    /// Reads that of the databases in a folder; `None` if there is none.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        match fs::read_to_string(path) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
                bad_input(format!(
                    "{} is damaged ({error}): remove it and the folder {}, and the database is made again",
                    path.display(),
                    path.with_extension("").display()
                ))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes it atomically.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).context("manifest")?;
        write_whole(path, (text + "\n").as_bytes())
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// The settings in which it differs from `wanted`, as text for people; empty if they are equal.
    pub(crate) fn differences(&self, wanted: &Self) -> Result<String> {
        let mut found = Vec::new();
        collect_differences("", &serde_json::to_value(self)?, &serde_json::to_value(wanted)?, &mut found);
        Ok(found.join(", "))
    }
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
    use crate::database::preset::Preset;

    fn manifest() -> TreeManifest {
        TreeManifest {
            format_version: FORMAT_VERSION,
            rocksdb: "1.2.3".to_owned(),
            keys: "synthetic".to_owned(),
            records: 10,
            value_bytes: 100,
            seed: 1,
            shape: Preset::Small.shape(),
            families: 1,
            family_databases: false,
        }
    }

    #[test]
    fn manifests_come_back_and_absent_ones_are_none() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("tree.json");
        assert_eq!(TreeManifest::read(&path).expect("read"), None);
        manifest().write(&path).expect("write");
        assert_eq!(TreeManifest::read(&path).expect("read"), Some(manifest()));
        fs::write(&path, "{").expect("damage");
        assert!(TreeManifest::read(&path).expect_err("damaged").to_string().contains("damaged"));
    }

    #[test]
    fn differences_name_the_settings() {
        assert_eq!(manifest().differences(&manifest()).expect("json"), "");
        let other = TreeManifest { records: 20, ..manifest() };
        assert_eq!(manifest().differences(&other).expect("json"), "records is 10, asked for is 20");
    }
}
