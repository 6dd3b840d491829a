//! Pictures: the memory curve, the heat map of segments. The file's name says which kind, `.svg` or `.png`.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::advice::Advice;
use super::heat_map::HeatMap;
use crate::failure::bad_input;

const SIZE: (u32, u32) = (900, 540);

/// Draws with the backend that the file's name asks for.
pub(super) fn draw_to(
    path: &Path,
    size: (u32, u32),
    svg: impl FnOnce(SVGBackend<'_>) -> Result<()>,
    png: impl FnOnce(BitMapBackend<'_>) -> Result<()>,
) -> Result<()> {
    match extension(path) {
        Some("svg") => svg(SVGBackend::new(path, size)),
        Some("png") => png(BitMapBackend::new(path, size)),
        _ => require_picture_name(path),
    }
}

/// Refuses a name that says no kind of picture, for callers that would draw only after minutes.
pub(crate) fn require_picture_name(path: &Path) -> Result<()> {
    match extension(path) {
        Some("svg" | "png") => Ok(()),
        _ => Err(bad_input(format!("{}: expected a name that ends in .svg or .png", path.display()))),
    }
}

fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(|extension| extension.to_str())
}

/// Wasted reads over the budget.
pub(crate) fn curve(path: &Path, advice: &Advice) -> Result<()> {
    draw_to(path, SIZE, |backend| curve_on(backend, advice), |backend| curve_on(backend, advice))
}

/// Segments by level and key.
pub(crate) fn heat_map(path: &Path, map: &HeatMap) -> Result<()> {
    draw_to(path, SIZE, |backend| heat_map_on(backend, map), |backend| heat_map_on(backend, map))
}

pub(super) fn failed<E: std::error::Error>(error: E) -> anyhow::Error {
    anyhow!("cannot draw: {error}")
}

fn curve_on<B: DrawingBackend>(backend: B, advice: &Advice) -> Result<()>
where
    B::ErrorType: 'static,
{
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let points: Vec<(f64, f64)> = (advice.curve.iter())
        .map(|point| (mebibytes(point.budget_bytes), point.wasted_reads.max(f64::MIN_POSITIVE)))
        .collect();
    let end = points.last().map_or(1.0, |point| point.0).max(1e-3);
    let most = points.iter().map(|point| point.1).fold(f64::MIN_POSITIVE, f64::max);
    let least = points.iter().map(|point| point.1).fold(most, f64::min).max(most / 1e6);
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("Wasted reads per {} by filter memory", advice.per), ("sans-serif", 24))
        .margin(16)
        .x_label_area_size(48)
        .y_label_area_size(80)
        .build_cartesian_2d(0.0..end, ((least / 1.5)..(most * 1.5)).log_scale())
        .map_err(failed)?;
    (chart.configure_mesh())
        .x_desc("filter budget, MiB")
        .y_desc(format!("wasted reads per {}", advice.per))
        .y_label_formatter(&|value| format!("{value:.1e}"))
        .label_style(("sans-serif", 15))
        .light_line_style(RGBColor(240, 240, 240))
        .draw()
        .map_err(failed)?;
    chart.draw_series(LineSeries::new(points, BLUE.stroke_width(2))).map_err(failed)?;
    let now = (mebibytes(advice.now.budget_bytes), advice.now.wasted_reads);
    if now.0 <= end && now.1 > 0.0 {
        chart.draw_series([Circle::new(now, 5, RED.filled())]).map_err(failed)?;
        let label = Text::new(
            "now".to_owned(),
            (now.0 + end / 80.0, now.1 * 1.4),
            ("sans-serif", 16).into_font().color(&RED),
        );
        chart.draw_series([label]).map_err(failed)?;
    }
    area.present().map_err(failed)
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
