//! Horizontal bars for the terminal.

use std::fmt;

/// Columns of the longest bar.
const WIDTH: usize = 40;
/// A column in eighths, from one to all eight.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

/// Bars with labels to their left and values to their right. The longest bar is as wide as the greatest value.
#[derive(Clone, Debug)]
pub(crate) struct Bars {
    title: String,
    decimals: usize,
    bars: Vec<(String, f64)>,
}

impl Bars {
    /// Bars below a title, whose values are shown with `decimals` digits after the point.
    pub(crate) fn new(title: impl Into<String>, decimals: usize) -> Self {
        Self { title: title.into(), decimals, bars: Vec::new() }
    }

    /// Adds a bar. A value that is negative or not finite gets no bar, only its text.
    pub(crate) fn push(&mut self, label: impl Into<String>, value: f64) {
        self.bars.push((label.into(), value));
    }
}

impl fmt::Display for Bars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let labels = self.bars.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0);
        let finite = |value: f64| if value.is_finite() { value.max(0.0) } else { 0.0 };
        let greatest = self.bars.iter().map(|&(_, value)| finite(value)).fold(0.0, f64::max);
        for (label, value) in &self.bars {
            let share = if greatest > 0.0 { finite(*value) / greatest } else { 0.0 };
            let eighths = (share * (WIDTH * EIGHTHS.len()) as f64).round() as usize;
            let (full, rest) = (eighths / EIGHTHS.len(), eighths % EIGHTHS.len());
            let mut bar: String = std::iter::repeat_n(EIGHTHS[EIGHTHS.len() - 1], full).collect();
            bar.extend(rest.checked_sub(1).map(|at| EIGHTHS[at]));
            let (decimals, gap) = (self.decimals, if bar.is_empty() { "" } else { " " });
            writeln!(f, "  {label:labels$}  {bar}{gap}{value:.decimals$}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_their_values() {
        let mut bars = Bars::new("reads", 2);
        for (label, value) in [("one", 1.0), ("three:10", 3.0), ("none", 0.0), ("odd", f64::NAN)] {
            bars.push(label, value);
        }
        let text = bars.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "reads");
        assert_eq!(lines[1], format!("  one       {}▍ 1.00", "█".repeat(13)));
        assert_eq!(lines[2], format!("  three:10  {} 3.00", "█".repeat(40)));
        assert_eq!(lines[3], "  none      0.00");
        assert_eq!(lines[4], "  odd       NaN");
        assert_eq!(Bars::new("nothing", 1).to_string(), "nothing\n");
    }
}
