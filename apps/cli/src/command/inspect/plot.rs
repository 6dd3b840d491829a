//! The picture of `inspect`: a heat map of segments.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;
use springbloom_console::picture::{draw_to, failed};

use super::heat_map::HeatMap;

/// Width and height of the picture, in pixels.
const SIZE: (u32, u32) = (900, 540);

/// Segments by level and key.
pub(crate) fn heat_map(path: &Path, map: &HeatMap) -> Result<()> {
    draw_to(path, SIZE, |backend| heat_map_on(backend, map), |backend| heat_map_on(backend, map))
}

/// White over yellow and red to black.
fn colour(share: f64) -> RGBColor {
    let channel = |from: f64| (255.0 * (1.0 - (share * 3.0 - from).clamp(0.0, 1.0))) as u8;
    RGBColor(channel(2.0), channel(1.0), channel(0.0))
}

fn heat_map_on<B: DrawingBackend>(backend: B, map: &HeatMap) -> Result<()>
where
    B::ErrorType: 'static,
{
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let panels = area.margin(8, 8, 8, 8).split_evenly((2, 1));
    let panel = [
        (&panels[0], "visits for absent keys, by key range (darker: more, on a logarithmic scale)", true),
        (&panels[1], "resident units, by key range (darker: more)", false),
    ];
    for (area, title, is_visits) in panel {
        let rows = map.rows.len().max(1);
        let columns = map.columns.max(1);
        let mut chart = ChartBuilder::on(area)
            .caption(title, ("sans-serif", 18))
            .x_label_area_size(28)
            .y_label_area_size(110)
            .margin(6)
            .build_cartesian_2d(0.0..columns as f64, 0.0..rows as f64)
            .map_err(failed)?;
        let names: Vec<String> = map.rows.iter().map(|row| row.name.clone()).collect();
        (chart.configure_mesh())
            .disable_mesh()
            .x_labels(0)
            .y_labels(0)
            .x_desc("keys in order")
            .label_style(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
        for (at, row) in map.rows.iter().enumerate() {
            let top = (rows - at) as f64;
            let cells = row.cells.iter().enumerate().filter_map(|(column, cell)| {
                let share = if is_visits {
                    map.visits_share(cell.as_ref()?)
                } else {
                    map.units_share(cell.as_ref()?)
                };
                let corners = [(column as f64, top - 0.95), (column as f64 + 1.0, top - 0.05)];
                Some(Rectangle::new(corners, colour(share).filled()))
            });
            chart.draw_series(cells).map_err(failed)?;
            let border = [(0.0, top - 0.95), (columns as f64, top - 0.05)];
            chart.draw_series([Rectangle::new(border, RGBColor(200, 200, 200))]).map_err(failed)?;
            let (x, y) = chart.backend_coord(&(0.0, top - 0.5));
            let (left, up) = area.get_base_pixel();
            let style = ("sans-serif", 15).into_font().color(&BLACK);
            area.draw_text(&names[at], &style, (x - left - 104, y - up - 8)).map_err(failed)?;
        }
    }
    area.present().map_err(failed)
}
