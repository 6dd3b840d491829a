//! Charts as SVG that is part of the page.

use anyhow::{Context, Result};
use maud::PreEscaped;
use plotters::coord::ranged1d::{AsRangedCoord, Ranged, ValueFormatter};
use plotters::prelude::*;
use springbloom_console::picture::failed;

/// Width in its own units, which the page stretches. Text stays readable on a phone.
const WIDTH: u32 = 460;
const HEIGHT: u32 = 300;
const GRID: RGBColor = RGBColor(230, 230, 230);
const FONT: (&str, u32) = ("sans-serif", 13);
/// Told from one another, and from black and white: as many as a simulation has filters.
pub(super) const COLOURS: [RGBColor; 9] = [
    RGBColor(228, 87, 46),
    RGBColor(59, 130, 246),
    RGBColor(42, 157, 92),
    RGBColor(168, 85, 199),
    RGBColor(13, 154, 168),
    RGBColor(190, 140, 20),
    RGBColor(128, 136, 144),
    RGBColor(214, 90, 150),
    RGBColor(140, 95, 65),
];

/// Filters that have the same colour in all charts. Those of one line never stand in one chart.
const NAMES: [&[&str]; 9] = [
    &["elastic", "benefit"],
    &["bloom"],
    &["ribbon", "uniform"],
    &["monkey-bloom"],
    &["monkey-ribbon"],
    &["partitioned", "monkey"],
    &["elasticbf", "multi-queue"],
    &["mbf", "at-compaction"],
    &["elasticbf-file", "optimum"],
];

/// The place of a filter's colour and mark; another name has that of its place in the chart.
pub(super) fn place_of(name: &str, at: usize) -> usize {
    NAMES.iter().position(|names| names.contains(&name)).unwrap_or(at % COLOURS.len())
}

/// A line of a chart.
#[derive(Clone, Debug)]
pub(super) struct Series {
    pub(super) name: String,
    /// In ascending order.
    pub(super) points: Vec<(f64, f64)>,
}

/// A colour as HTML writes it.
pub(super) fn hex(RGBColor(red, green, blue): RGBColor) -> String {
    format!("#{red:02X}{green:02X}{blue:02X}")
}

/// Less is drawn as so much, because the axis has logarithms.
const LEAST: f64 = 1e-4;

/// Lines over x, with the logarithm of y upwards.
pub(super) fn lines(title: &str, (x, y): (&str, &str), series: &[Series]) -> Result<PreEscaped<String>> {
    let values = || series.iter().flat_map(|series| series.points.iter().copied());
    let rightmost = values().map(|(x, _)| x).fold(0.0, f64::max);
    let (low, high) = values()
        .map(|(_, y)| y.max(LEAST))
        .fold((f64::MAX, LEAST), |(low, high), y| (low.min(y), high.max(y)));
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, (WIDTH, HEIGHT)).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin(6)
            .margin_right(20)
            .x_label_area_size(38)
            .y_label_area_size(54)
            .build_cartesian_2d(0.0..rightmost * 1.05, (low * 0.7..high * 1.4).log_scale())
            .map_err(failed)?;
        mesh(&mut chart, x, y)?;
        for (at, line) in series.iter().enumerate() {
            let place = place_of(&line.name, at);
            let colour = COLOURS[place];
            let points = || line.points.iter().map(|&(x, y)| (x, y.max(LEAST)));
            chart.draw_series(LineSeries::new(points(), colour.stroke_width(2))).map_err(failed)?;
            match place % 3 {
                0 => chart
                    .draw_series(points().map(|point| Circle::new(point, 4, colour.filled())))
                    .map_err(failed)?,
                1 => chart
                    .draw_series(points().map(|point| TriangleMarker::new(point, 5, colour.filled())))
                    .map_err(failed)?,
                _ => chart
                    .draw_series(points().map(|point| Cross::new(point, 4, colour.stroke_width(2))))
                    .map_err(failed)?,
            };
        }
        area.present().map_err(failed)?;
    }
    described(svg, title)
}

fn mesh<X, Y>(chart: &mut ChartContext<'_, SVGBackend<'_>, Cartesian2d<X, Y>>, x: &str, y: &str) -> Result<()>
where
    X: Ranged<ValueType = f64>,
    Y: Ranged<ValueType = f64>,
    X: ValueFormatter<f64>,
    Y: ValueFormatter<f64>,
{
    chart
        .configure_mesh()
        .x_desc(x)
        .y_desc(y)
        .label_style(FONT)
        .x_labels(6)
        .y_labels(6)
        .max_light_lines(0)
        .bold_line_style(GRID)
        .draw()
        .map_err(failed)
}

/// A name, its value, and the least and the most of several measurements.
pub(super) type Bar = (String, f64, Option<(f64, f64)>);

/// A horizontal bar for each name, from 0, with a line from the least to the most.
pub(super) fn bars(title: &str, x: &str, bars: &[Bar]) -> Result<PreEscaped<String>> {
    let most =
        bars.iter().map(|(_, value, spread)| spread.map_or(*value, |(_, most)| most)).fold(0.0, f64::max);
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH, 56 + 26 * bars.len() as u32)).into_drawing_area();
        let mut chart = rows(&area, 0.0..most * 1.05, bars.len())?;
        let names: Vec<_> = bars.iter().map(|(name, ..)| name.as_str()).collect();
        row_mesh(&mut chart, x, &names)?;
        for (at, (name, value, spread)) in bars.iter().enumerate() {
            let row = -(at as f64);
            let colour = COLOURS[if name.starts_with("elastic:") { 0 } else { 1 }];
            chart
                .draw_series([Rectangle::new([(0.0, row - 0.3), (*value, row + 0.3)], colour.filled())])
                .map_err(failed)?;
            let line = spread
                .map(|(least, most)| PathElement::new([(least, row), (most, row)], BLACK.stroke_width(2)));
            chart.draw_series(line).map_err(failed)?;
        }
        area.present().map_err(failed)?;
    }
    described(svg, title)
}

/// A row of points for each name, on a logarithmic axis around 1. Points that hold are filled.
pub(super) fn ratios(
    title: &str,
    x: &str,
    names: &[&str],
    points: &[(usize, f64, bool)],
) -> Result<PreEscaped<String>> {
    // Further away, points are drawn at the border.
    const FURTHEST: f64 = 16.0;
    let mut svg = String::new();
    {
        let area =
            SVGBackend::with_string(&mut svg, (WIDTH, 56 + 22 * names.len() as u32)).into_drawing_area();
        let mut chart = rows(&area, (1.0 / FURTHEST..FURTHEST).log_scale(), names.len())?;
        row_mesh(&mut chart, x, names)?;
        let one = PathElement::new([(1.0, 0.5), (1.0, 0.5 - names.len() as f64)], BLACK.stroke_width(1));
        chart.draw_series([one]).map_err(failed)?;
        for &(row, ratio, holds) in points {
            let at = (ratio.clamp(1.0 / FURTHEST, FURTHEST), -(row as f64));
            if holds {
                chart.draw_series([Circle::new(at, 4, COLOURS[2].filled())]).map_err(failed)?;
            } else {
                chart.draw_series([Cross::new(at, 4, COLOURS[0].stroke_width(2))]).map_err(failed)?;
            }
        }
        area.present().map_err(failed)?;
    }
    described(svg, title)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Rows<'a, 'b, X> =
    ChartContext<'a, SVGBackend<'b>, Cartesian2d<X, plotters::coord::types::RangedCoordf64>>;

fn rows<'a, 'b, X: AsRangedCoord<Value = f64>>(
    area: &'a Area<'b>,
    x: X,
    count: usize,
) -> Result<Rows<'a, 'b, X::CoordDescType>> {
    ChartBuilder::on(area)
        .margin(6)
        .margin_right(20)
        .x_label_area_size(38)
        .y_label_area_size(104)
        .build_cartesian_2d(x, 0.5 - count as f64..0.5)
        .map_err(failed)
}

/// The axis below, and names beside their rows.
fn row_mesh<X>(chart: &mut Rows<'_, '_, X>, x: &str, names: &[&str]) -> Result<()>
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let name = |row: &f64| {
        let at = (-row).round();
        if (at + row).abs() < 1e-6 {
            names.get(at as usize).map_or(String::new(), |name| (*name).to_owned())
        } else {
            String::new()
        }
    };
    let count = names.len();
    chart
        .configure_mesh()
        .x_desc(x)
        .label_style(FONT)
        .x_labels(6)
        .y_labels(2 * count + 1)
        .y_label_formatter(&name)
        .max_light_lines(0)
        .bold_line_style(GRID)
        .disable_y_mesh()
        .draw()
        .map_err(failed)
}

/// The picture with a title for those who do not see it.
fn described(svg: String, title: &str) -> Result<PreEscaped<String>> {
    let (_, picture) = svg.split_once("<svg ").context("an SVG")?;
    let (attributes, content) = picture.split_once('>').context("an SVG")?;
    let title = maud::html! { (title) }.into_string();
    Ok(PreEscaped(format!(
        "<svg role=\"img\" aria-label=\"{title}\" {attributes}><title>{title}</title>{content}"
    )))
}
