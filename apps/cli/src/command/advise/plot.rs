//! The picture of `advise`: wasted reads over the budget.

use std::path::Path;

use anyhow::Result;
use plotters::prelude::*;
use springbloom_console::picture::{draw_to, failed};

use super::advice::Advice;

/// Width and height of the picture, in pixels.
const SIZE: (u32, u32) = (900, 540);

/// Wasted reads over the budget.
pub(crate) fn curve(path: &Path, advice: &Advice) -> Result<()> {
    draw_to(path, SIZE, |backend| curve_on(backend, advice), |backend| curve_on(backend, advice))
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
