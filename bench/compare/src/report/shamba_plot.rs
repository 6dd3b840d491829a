//! The figure of SHaMBa's experiment: a panel for each kind of lookup, budgets from left to right.

use std::path::Path;

use anyhow::Result;
use plotters::coord::Shift;
use plotters::prelude::*;
use springbloom_console::distinct;
use springbloom_console::picture::{draw_to, failed};

use crate::run::shamba::{Cell, Experiment};

const SIZE: (u32, u32) = (1_300, 1_300);
const COLOURS: [RGBColor; 6] = [BLUE, RED, BLACK, GREEN, MAGENTA, CYAN];
/// Room above the highest point, for the legend.
const HEADROOM: f64 = 1.25;

/// What a row of panels shows.
#[derive(Clone, Copy)]
struct Quantity {
    name: &'static str,
    of: fn(&Cell) -> f64,
}

const QUANTITIES: [Quantity; 2] = [
    Quantity { name: "us per lookup", of: Cell::lookup_us },
    Quantity { name: "extra reads per lookup", of: Cell::extra_reads_per_get },
];

/// Draws `experiment` to `path`.
///
/// # Errors
/// A name that does not end in .svg or .png, a file that cannot be written.
pub(crate) fn draw(path: &Path, experiment: &Experiment) -> Result<()> {
    draw_to(path, SIZE, |backend| draw_on(backend, experiment), |backend| draw_on(backend, experiment))
}

fn draw_on<B: DrawingBackend>(backend: B, experiment: &Experiment) -> Result<()>
where
    B::ErrorType: 'static,
{
    let area = backend.into_drawing_area();
    area.fill(&WHITE).map_err(failed)?;
    let distributions = distinct(experiment.cells.iter().map(|cell| cell.distribution.as_str()));
    let shares = distinct(experiment.cells.iter().map(|cell| cell.existing_share));
    let panels = area.split_evenly((distributions.len() * QUANTITIES.len(), shares.len()));
    let mut panel = panels.iter();
    for distribution in distributions {
        for quantity in QUANTITIES {
            for &share in &shares {
                let of_panel =
                    |cell: &&Cell| cell.distribution == distribution && cell.existing_share == share;
                let cells: Vec<&Cell> = experiment.cells.iter().filter(of_panel).collect();
                let title = format!("{distribution}, {:.0}% existing", share * 100.0);
                panel.next().map_or(Ok(()), |area| draw_panel(area, &title, quantity, &cells))?;
            }
        }
    }
    area.present().map_err(failed)
}

fn draw_panel<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    quantity: Quantity,
    cells: &[&Cell],
) -> Result<()>
where
    B::ErrorType: 'static,
{
    let percent = |cell: &Cell| cell.budget_share.map(|share| share * 100.0);
    let last = cells.iter().filter_map(|cell| percent(cell)).fold(1.0, f64::max);
    let highest = cells.iter().map(|cell| (quantity.of)(cell)).fold(1e-3, f64::max);
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 16))
        .margin(8)
        .x_label_area_size(34)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..last, 0.0..highest * HEADROOM)
        .map_err(failed)?;
    (chart.configure_mesh())
        .x_desc("budget, % of full filters")
        .y_desc(quantity.name)
        .label_style(("sans-serif", 12))
        .max_light_lines(0)
        .bold_line_style(RGBColor(230, 230, 230))
        .draw()
        .map_err(failed)?;
    let configs = distinct(cells.iter().map(|cell| cell.row.config.as_str()));
    for (config, colour) in configs.into_iter().zip(COLOURS.into_iter().cycle()) {
        let points: Vec<(f64, f64)> = cells
            .iter()
            .filter(|cell| cell.row.config == config)
            .flat_map(|cell| {
                let height = (quantity.of)(cell);
                // What has no budget is the same at all of them.
                percent(cell).map_or(vec![(0.0, height), (last, height)], |share| vec![(share, height)])
            })
            .collect();
        chart
            .draw_series(LineSeries::new(points, colour.stroke_width(2)).point_size(3))
            .map_err(failed)?
            .label(config)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 14, y)], colour.stroke_width(2)));
    }
    (chart.configure_series_labels())
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.7))
        .label_font(("sans-serif", 12))
        .draw()
        .map_err(failed)
}
