//! Every dependency has a licence that `deny.toml` allows. `make deny` checks more, and needs the network.

use std::{collections::BTreeSet, fs, iter::Peekable, path::Path, str::SplitWhitespace};

use cargo_metadata::MetadataCommand;

/// The strings of the list that `key` has in `deny.toml`.
fn list(text: &str, key: &str) -> BTreeSet<String> {
    let start = text.find(&format!("\n{key} = [")).unwrap_or_else(|| panic!("deny.toml has no list {key}"));
    let rest = &text[start..];
    // The first `]` after the key ends a list of strings, and the list within an exception.
    let end = rest.find(']').expect("the list ends");
    rest[..end].split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// `A OR B`: whether any of its parts is allowed.
fn any_of(words: &mut Peekable<SplitWhitespace<'_>>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut result = all_of(words, is_allowed);
    while words.next_if(|word| matches!(*word, "OR" | "/")).is_some() {
        result |= all_of(words, is_allowed);
    }
    result
}

/// `A AND B`: whether all of its parts are allowed.
fn all_of(words: &mut Peekable<SplitWhitespace<'_>>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut result = one(words, is_allowed);
    while words.next_if_eq(&"AND").is_some() {
        result &= one(words, is_allowed);
    }
    result
}

fn one(words: &mut Peekable<SplitWhitespace<'_>>, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let word = words.next().expect("a licence");
    if word == "(" {
        let result = any_of(words, is_allowed);
        assert_eq!(words.next(), Some(")"), "a parenthesis is not closed");
        return result;
    }
    match words.next_if_eq(&"WITH") {
        Some(_) => is_allowed(&format!("{word} WITH {}", words.next().expect("an exception"))),
        None => is_allowed(word),
    }
}

/// Whether a licence expression (SPDX, or with slashes as old crates have it) can be satisfied.
fn is_satisfied(expression: &str, is_allowed: &dyn Fn(&str) -> bool) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " / ");
    let mut words = spaced.split_whitespace().peekable();
    let result = any_of(&mut words, is_allowed);
    assert_eq!(words.next(), None, "cannot read the licence {expression:?}");
    result
}

#[test]
fn dependencies_have_licences_that_are_allowed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let (allowed, exceptions) = (list(&text, "allow"), list(&text, "exceptions"));
    // Springbloom runs on Linux only, so dependencies for other systems are never built.
    let platform = ["--filter-platform", "x86_64-unknown-linux-gnu"].map(str::to_owned);
    let metadata = MetadataCommand::new().other_options(platform).exec().expect("cargo metadata");
    let mut complaints = Vec::new();
    for package in metadata.packages.iter().filter(|package| package.source.is_some()) {
        let is_exception = exceptions.contains(package.name.as_str());
        let is_allowed = |name: &str| allowed.contains(name) || (is_exception && exceptions.contains(name));
        let licence = package.license.as_deref();
        if !licence.is_some_and(|expression| is_satisfied(expression, &is_allowed)) {
            complaints.push(format!(
                "{} {}: {}",
                package.name,
                package.version,
                licence.unwrap_or("none is given")
            ));
        }
    }
    assert!(complaints.is_empty(), "licences that deny.toml does not allow:\n{}", complaints.join("\n"));
}

#[test]
fn expressions_are_evaluated() {
    let is_mit = |name: &str| name == "MIT";
    for (expression, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("(MIT OR GPL-3.0) AND GPL-3.0", false),
        ("MIT AND (GPL-3.0 OR MIT)", true),
        ("MIT WITH LLVM-exception", false),
    ] {
        assert_eq!(is_satisfied(expression, &is_mit), expected, "{expression}");
    }
}
