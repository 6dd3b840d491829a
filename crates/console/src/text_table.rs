//! Text tables: columns without lines, figures aligned right.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

use crate::escaped;

/// Columns of a terminal that a long name does not exceed, and which it has in any case.
const WIDTH_MAX: usize = 100;
const NAME_MIN: usize = 16;
/// Spaces around a cell.
const PADDING: usize = 2;

/// The title of a column, and its cell of a row.
pub type Column<R> = (&'static str, fn(&R) -> String);

/// Rows of cells below a header.
pub struct TextTable {
    rows: Vec<Vec<String>>,
    names: usize,
}

impl TextTable {
    /// A table whose first column holds names, which are aligned left.
    pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        Self { rows: vec![header.into_iter().map(str::to_owned).collect()], names: 1 }
    }

    /// A table with a line for each of `rows`.
    pub fn of<R>(columns: &[Column<R>], rows: impl IntoIterator<Item = R>) -> Self {
        let mut table = Self::new(columns.iter().map(|(title, _)| *title));
        rows.into_iter().for_each(|row| table.add_row(columns.iter().map(|(_, cell)| cell(&row))));
        table
    }

    /// Aligns the first `columns` columns left, as names.
    pub fn with_names(self, columns: usize) -> Self {
        Self { names: columns, ..self }
    }

    /// Adds a row at the end, of as many cells as there are columns. Names may be from elsewhere: they are shown [`escaped`].
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().map(|cell| escaped(&cell)).collect());
    }

    /// Room for the first column next to the others.
    fn name_width(&self) -> usize {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let width = |column| cells(column).map(|cell| cell.chars().count()).max();
        let others: usize = (1..self.rows[0].len()).map(|column| width(column).unwrap_or(0) + PADDING).sum();
        WIDTH_MAX.saturating_sub(others + PADDING).max(NAME_MIN)
    }
}

/// The name in lines of at most this many characters, which begin with the `@` of a setting where they can.
fn in_lines(name: &str, width: usize) -> String {
    let (mut lines, mut taken) = (String::new(), 0);
    for (at, part) in name.split('@').enumerate() {
        let part = if at > 0 { format!("@{part}") } else { part.to_owned() };
        let part_width = part.chars().count();
        if taken > 0 && taken + part_width > width {
            (lines, taken) = (lines + "\n", 0);
        }
        for one in part.chars() {
            if taken == width {
                (lines, taken) = (lines + "\n", 0);
            }
            lines.push(one);
            taken += 1;
        }
    }
    lines
}

impl fmt::Display for TextTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.name_width();
        let mut rows = self.rows.iter().map(|row| {
            let mut row = row.clone();
            row.first_mut().into_iter().for_each(|name| *name = in_lines(name, width));
            row
        });
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(rows.next().unwrap_or_default());
        table.add_rows(rows);
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_cell_alignment(if at < self.names {
                CellAlignment::Left
            } else {
                CellAlignment::Right
            });
        }
        out.write_str(&table.trim_fmt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_takes_several_lines_and_leaves_the_table_its_width() {
        let mut table = TextTable::new(["filters", "threads", "wasted reads per lookup of an absent key"]);
        let long = "elastic:4@units=bloom:6x4@segment_size=1MiB@inherit_hotness=false@policy=monkey";
        for name in ["ribbon:4", long, &"x".repeat(200)] {
            table.add_row([name.to_owned(), "1".to_owned(), "0.5".to_owned()]);
        }
        let text = table.to_string();
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH_MAX), "{text}");
        let names: String = text.lines().skip(2).filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(names, format!("{long}{}", "x".repeat(200)), "{text}");
        assert!(text.lines().any(|line| line.trim_start().starts_with("@inherit_hotness")), "{text}");
    }

    #[test]
    fn names_do_not_command_the_terminal() {
        let mut table = TextTable::new(["column family", "level"]);
        table.add_row(["\x1b[31mred\nnext é".to_owned(), "1".to_owned()]);
        let last = table.to_string().lines().last().map(str::to_owned);
        assert_eq!(last.as_deref(), Some(r" \u{1b}[31mred\nnext é      1"));
    }

    #[test]
    fn names_that_fit_stay_as_they_are() {
        assert_eq!(in_lines("elastic:4@policy=monkey", 23), "elastic:4@policy=monkey");
        assert_eq!(in_lines("elastic:4@policy=monkey", 22), "elastic:4\n@policy=monkey");
        assert_eq!(in_lines("", 5), "");
        let mut table = TextTable::new(["name", "figure"]);
        table.add_row(["a".to_owned(), "1".to_owned()]);
        assert_eq!(table.to_string(), " name  figure\n a          1");
    }
}
