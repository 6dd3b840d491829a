//! Text tables: columns without lines, figures aligned right.

use std::fmt;

use comfy_table::{CellAlignment, Table, presets};

/// Rows with one cell per column.
pub struct TextTable<const COLUMNS: usize>(Table);

impl<const COLUMNS: usize> TextTable<COLUMNS> {
    /// A table whose first column holds names, which are aligned left.
    pub fn new(header: [&str; COLUMNS]) -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        table.set_header(header);
        Self(table).with_names(1)
    }

    /// Aligns the first `columns` columns left, as names.
    pub fn with_names(mut self, columns: usize) -> Self {
        for (at, column) in self.0.column_iter_mut().enumerate() {
            column.set_cell_alignment(if at < columns { CellAlignment::Left } else { CellAlignment::Right });
        }
        self
    }

    /// Adds a row at the end.
    pub fn add_row(&mut self, cells: [String; COLUMNS]) {
        self.0.add_row(cells);
    }
}

impl<const COLUMNS: usize> fmt::Display for TextTable<COLUMNS> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0.trim_fmt())
    }
}
