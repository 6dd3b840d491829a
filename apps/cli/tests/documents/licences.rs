//! Every dependency has a licence that `deny.toml` allows. `make deny` checks more, and needs the network.

use std::{collections::BTreeSet, fs, path::Path};

use cargo_metadata::MetadataCommand;
use spdx::{Expression, ParseMode};
use toml::Table;

/// A list of strings in a table of `deny.toml`.
fn list<'a>(table: &'a Table, key: &str) -> BTreeSet<&'a str> {
    let values = table[key].as_array().unwrap_or_else(|| panic!("deny.toml: {key} is not a list"));
    values.iter().map(|value| value.as_str().expect("deny.toml: a licence is a string")).collect()
}

#[test]
fn dependencies_have_licences_that_are_allowed() {
    let root = Path::new("../..");
    let text = fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let deny: Table = text.parse().expect("deny.toml is TOML");
    let licences = deny["licenses"].as_table().expect("deny.toml has a table of licences");
    let allowed = list(licences, "allow");
    // Springbloom runs on Linux only, so dependencies for other systems are never built.
    let platform = ["--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned);
    let packages = ["Cargo.toml", "flash/Cargo.toml"].into_iter().flat_map(|manifest| {
        let mut command = MetadataCommand::new();
        command.manifest_path(root.join(manifest)).other_options(platform.clone());
        command.exec().expect("cargo metadata").packages
    });
    let mut complaints = Vec::new();
    for package in packages.filter(|package| package.source.is_some()) {
        let licence = package.license.as_deref().unwrap_or("none is given");
        // Old crates write a slash for "or".
        let expression = Expression::parse_mode(licence, ParseMode::LAX);
        let is_allowed =
            expression.is_ok_and(|it| it.evaluate(|asked| allowed.contains(asked.to_string().as_str())));
        if !is_allowed {
            complaints.push(format!("{} {}: {licence}", package.name, package.version));
        }
    }
    assert!(complaints.is_empty(), "licences that deny.toml does not allow:\n{}", complaints.join("\n"));
}
