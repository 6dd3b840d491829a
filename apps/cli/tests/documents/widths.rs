//! Lines of source files have at most 140 columns. rustfmt does not break comments, strings and macros.

use std::fs;

use crate::{expect_none, files, root};

const COLUMNS_MAX: usize = 140;

#[test]
fn lines_of_source_files_are_not_too_long() {
    let is_source = |extension: &str| ["rs", "cc", "h", "java"].contains(&extension);
    let sources: Vec<_> = files()
        .into_iter()
        .filter(|path| path.extension().and_then(|extension| extension.to_str()).is_some_and(is_source))
        .collect();
    assert!(sources.len() > 100, "{sources:?}");
    let mut complaints = Vec::new();
    for path in sources {
        let text = fs::read_to_string(root().join(&path)).expect("a source file");
        let widths = text.lines().enumerate().map(|(at, line)| (at + 1, line.chars().count()));
        complaints.extend(
            widths
                .filter(|(_, columns)| *columns > COLUMNS_MAX)
                .map(|(line, columns)| format!("{}:{line}: {columns} columns", path.display())),
        );
    }
    expect_none(&complaints);
}
