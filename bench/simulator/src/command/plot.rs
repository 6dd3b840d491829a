//! The figure of a simulation: wasted reads against memory, a line for each filter.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;
use springbloom_console::picture::{draw_to, failed};

use crate::command::Cell;
use crate::command::report::{filters, points};

const SIZE: (u32, u32) = (1_000, 640);
const COLOURS: [RGBColor; 7] = [RGBColor(160, 160, 160), GREEN, MAGENTA, RED, BLUE, CYAN, BLACK];
/// Less is drawn as so much, because the axis has logarithms.
const LEAST: f64 = 1e-5;
const UNITS: [(&str, f64); 5] = [
    ("TiB", (1u64 << 40) as f64),
    ("GiB", (1u64 << 30) as f64),
    ("MiB", (1u64 << 20) as f64),
    ("KiB", 1024.0),
    ("B", 1.0),
];

/// Draws `cells` to `path`.
///
/// # Errors
/// A name that does not end in .svg or .png, a file that cannot be written.
pub(super) fn draw(path: &Path, cells: &[Cell]) -> Result<()> {
    draw_to(path, SIZE, |backend| draw_on(backend, cells), |backend| draw_on(backend, cells))
}

fn draw_on<B: DrawingBackend>(backend: B, cells: &[Cell]) -> Result<()>
where
    B::ErrorType: 'static,
{
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let medians = || cells.iter().filter_map(Cell::median).map(|wasted| wasted.max(LEAST));
    let (least, most) = (medians().fold(1.0, f64::min), medians().fold(LEAST, f64::max));
    let most_bytes = cells.iter().map(|cell| cell.memory_bytes as f64).fold(1.0, f64::max);
    let (unit, unit_bytes) =
        UNITS.into_iter().find(|&(_, bytes)| most_bytes >= 2.0 * bytes).unwrap_or(("B", 1.0));
    let mut chart = ChartBuilder::on(&area)
        .caption("Wasted reads per lookup against memory for filters", ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..most_bytes / unit_bytes * 1.05, (least * 0.8..most * 1.25).log_scale())
        .map_err(failed)?;
    (chart.configure_mesh())
        .x_desc(format!("memory, {unit}"))
        .y_desc("wasted reads per lookup")
        .label_style(("sans-serif", 13))
        .max_light_lines(0)
        .bold_line_style(RGBColor(230, 230, 230))
        .draw()
        .map_err(failed)?;
    for (filter, colour) in filters(cells).into_iter().zip(COLOURS.into_iter().cycle()) {
        let line =
            points(cells, filter).into_iter().map(|(bytes, wasted)| (bytes / unit_bytes, wasted.max(LEAST)));
        chart
            .draw_series(LineSeries::new(line, colour.stroke_width(2)).point_size(3))
            .map_err(failed)?
            .label(filter)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    (chart.configure_series_labels())
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .label_font(("sans-serif", 14))
        .draw()
        .map_err(failed)?;
    area.present().map_err(failed)
}
