//! Text tables: columns without lines, figures aligned right.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

/// Rows of cells below a header.
pub struct TextTable(Table);

impl TextTable {
    /// A table whose first column holds names, which are aligned left.
    pub fn new<'a>(header: impl IntoIterator<Item = &'a str>) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header.into_iter().collect::<Vec<_>>());
        Self(table).with_names(1)
    }

    /// Aligns the first `columns` columns left, as names.
    pub fn with_names(mut self, columns: usize) -> Self {
        for (at, column) in self.0.column_iter_mut().enumerate() {
            column.set_cell_alignment(if at < columns { CellAlignment::Left } else { CellAlignment::Right });
        }
        self
    }

    /// Adds a row at the end, of as many cells as there are columns.
    pub fn add_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().collect::<Vec<_>>());
    }
}

impl fmt::Display for TextTable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.trim_fmt())
    }
}
