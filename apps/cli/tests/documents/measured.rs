//! What was measured can be measured again: a section with figures names a commit or a record, or links to one that does.

use std::collections::BTreeSet;
use std::path::Path;

use crate::commits::commits_in;
use crate::links::{anchor, resolved, targets};
use crate::{Document, documents, expect_none, prose};

/// Documents whose figures are computed or chosen: bytes on disk and theory. Decisions have the figures of their day.
const COMPUTED: [&str; 6] = [
    "docs/decisions/",
    "docs/format.md",
    "docs/design.md",
    "flash/docs/decisions/",
    "flash/docs/filter-format.md",
    "flash/docs/wal-format.md",
];

/// Sections with figures that are computed or chosen.
const COMPUTED_SECTIONS: [(&str, &str); 4] = [
    ("flash/docs/filter.md", "structure"),
    ("flash/docs/index.md", "structure"),
    ("docs/guide.md", "the-budget"),
    ("docs/guide.md", "threads"),
];

/// What is followed by a version or a constant.
const NAMES: [&str; 8] =
    ["zipf", "glibc", "leveldb", "prometheus", "python", "rust", "rocksdb", "rust-rocksdb"];

/// A heading with the lines up to the next one.
struct Section<'a> {
    /// 0 for what is before the first heading.
    depth: usize,
    anchor: String,
    lines: Vec<(usize, &'a str)>,
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections = vec![Section { depth: 0, anchor: String::new(), lines: Vec::new() }];
    let headings: BTreeSet<usize> =
        prose(text).filter(|(_, line)| line.starts_with('#')).map(|(at, _)| at).collect();
    for (at, line) in (1..).zip(text.lines()) {
        if headings.contains(&at) {
            let depth = line.chars().take_while(|c| *c == '#').count();
            sections.push(Section { depth, anchor: anchor(&line[depth..]), lines: Vec::new() });
        } else if let Some(section) = sections.last_mut() {
            section.lines.push((at, line));
        }
    }
    sections
}

/// Whether the section itself says where its figures come from.
fn is_traced(section: &Section<'_>) -> bool {
    section.lines.iter().any(|(_, line)| line.contains("<!-- record: ") || commits_in(line).next().is_some())
}

/// Whether `text` has something that only a measurement gives: a share, a time, a multiple, a decimal fraction.
fn has_figure(text: &str) -> bool {
    let words: Vec<_> =
        text.split_whitespace().map(|word| word.trim_matches(|c| "()[]*,;:`|".contains(c))).collect();
    words.iter().enumerate().any(|(at, word)| {
        let word = word.trim_end_matches('.').replace(',', "");
        let number = word.trim_end_matches('%');
        let is_named = at > 0 && NAMES.contains(&words[at - 1].to_ascii_lowercase().as_str());
        if is_named || number.parse::<f64>().is_err() || number.starts_with(char::is_alphabetic) {
            return false;
        }
        let unit = words.get(at + 1).map_or("", |word| word.trim_end_matches('.'));
        let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        word.ends_with('%') || decimals >= 2 || ["times", "us", "ms", "ns", "MB/s"].contains(&unit)
    })
}

fn is_measured(Document { path, .. }: &Document) -> bool {
    let path = path.to_string_lossy();
    let is_public = ["docs/", "flash/docs/", "README.md", "flash/README.md"]
        .iter()
        .any(|public| path.starts_with(public));
    is_public && !COMPUTED.iter().any(|computed| path.starts_with(computed))
}

#[test]
fn figures_name_the_commit_that_was_measured() {
    let all = documents();
    let traced: BTreeSet<(String, String)> = all
        .iter()
        .flat_map(|document| {
            let path = document.path.to_string_lossy().into_owned();
            let traced = sections(&document.text).into_iter().filter(is_traced);
            traced.map(move |section| (path.clone(), section.anchor))
        })
        .collect();
    let links_to_traced = |path: &Path, line: &str| {
        targets(line).filter_map(|target| target.split_once('#')).any(|(file, fragment)| {
            let file = match file {
                "" => path.to_owned(),
                file => resolved(&path.parent().expect("a folder").join(file)),
            };
            traced.contains(&(file.to_string_lossy().into_owned(), fragment.to_owned()))
        })
    };
    let mut complaints = Vec::new();
    let mut figures = 0;
    for document in all.iter().filter(|document| is_measured(document)) {
        let path = document.path.to_string_lossy();
        let prose_lines: BTreeSet<usize> = prose(&document.text).map(|(at, _)| at).collect();
        let mut above: Vec<(usize, bool)> = Vec::new();
        for section in sections(&document.text) {
            above.retain(|(depth, _)| *depth < section.depth);
            let links = section.lines.iter().any(|(_, line)| links_to_traced(&document.path, line));
            let known = is_traced(&section) || links || above.iter().any(|(_, known)| *known);
            above.push((section.depth, known));
            let is_computed = COMPUTED_SECTIONS.contains(&(&*path, section.anchor.as_str()));
            let is_prose = |at: &usize| prose_lines.contains(at);
            let found: Vec<_> =
                section.lines.iter().filter(|(at, line)| is_prose(at) && has_figure(line)).collect();
            figures += found.len();
            if let Some((at, line)) = found.first().filter(|_| !known && !is_computed) {
                complaints.push(format!("{path}:{at}: which commit was measured? {line}"));
            }
        }
    }
    assert!(figures > 50, "{figures} lines with figures");
    expect_none(&complaints);
}

#[test]
fn figures_are_told_from_other_numbers() {
    for text in
        ["wastes .045 reads", "| 1.04 | x |", "in 18% of", "took 5 ms.", "4.3 times as many", "(0.5%)"]
    {
        assert!(has_figure(text), "{text}");
    }
    for text in
        ["RocksDB 11.8.1", "Zipf 0.99", "of 64 MiB", "1,000 records", "version 0.1.0", "4.5 bits", "a nan b"]
    {
        assert!(!has_figure(text), "{text}");
    }
}
