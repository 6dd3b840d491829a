//! A table in a document has a header, and as many cells in each row.

use crate::{documents, expect_none};

fn cells(row: &str) -> usize {
    // What stands in backticks is no border.
    row.split('`').step_by(2).map(|text| text.replace("\\|", "").matches('|').count()).sum()
}

fn is_border(row: &str) -> bool {
    row.contains('-') && row.chars().all(|c| "|-: ".contains(c))
}

#[test]
fn tables_have_headers_and_full_rows() {
    let (mut complaints, mut tables) = (Vec::new(), 0);
    for document in documents() {
        let prose: String = document.text.split("```").step_by(2).collect();
        let lines: Vec<_> = prose.lines().collect();
        for table in lines.chunk_by(|a, b| a.starts_with('|') == b.starts_with('|')) {
            let [header, rest @ ..] = table else { continue };
            if !header.starts_with('|') {
                continue;
            }
            tables += 1;
            let has_border = rest.first().is_some_and(|row| is_border(row));
            if !has_border || rest.iter().any(|row| cells(row) != cells(header)) {
                complaints.push(format!("{}: not a table: {header}", document.path.display()));
            }
        }
    }
    assert!(tables > 20, "{tables}");
    expect_none(&complaints);
}
