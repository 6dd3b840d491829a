//! The text that a program serves its metrics in: OpenMetrics, and the older format of Prometheus.
//!
//! Parsed here, as values of labels are paths of folders: the parsers there are take no comma, no brace and no quote in them.

use anyhow::Result;
use springbloom_console::bad_input;

/// What 64 bits hold, to the precision of a value. No count of Springbloom is above it.
const BOUND: f64 = u64::MAX as f64;

/// One number with its name and labels.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    /// The value, if it is one that counts and sizes have.
    ///
    /// # Errors
    /// A value below 0, above 2^64, or that is no number.
    pub(super) fn within_bounds(&self) -> Result<f64> {
        let Self { name, value, .. } = self;
        if (0.0..=BOUND).contains(value) {
            return Ok(*value);
        }
        // As a debug value, 1e300 has no 300 digits.
        Err(bad_input(format!("{name} is {value:?}, expected a number from 0 to 2^64")))
    }

    /// The value as a count of something.
    ///
    /// # Errors
    /// Those of [`Self::within_bounds`].
    pub(super) fn count(&self) -> Result<u64> {
        Ok(self.within_bounds()? as u64)
    }

    /// The value of a label; empty if it has none of that name.
    pub(super) fn label(&self, name: &str) -> &str {
        self.labels.iter().find(|(of, _)| of == name).map_or("", |(_, value)| value)
    }
}

/// The samples of a text whose names begin with `prefix`; lines that are none are left out.
pub(super) fn samples<'a>(text: &'a str, prefix: &'a str) -> impl Iterator<Item = Sample> + 'a {
    text.lines().filter(move |line| line.starts_with(prefix)).filter_map(sample)
}

/// Whether a text has a line about a metric whose name begins with `prefix`.
pub(super) fn tells_of(text: &str, prefix: &str) -> bool {
    let is_about = |line: &str| {
        let about = ["# HELP ", "# TYPE ", "# UNIT "].iter().find_map(|start| line.strip_prefix(start));
        about.unwrap_or(line).starts_with(prefix)
    };
    text.lines().any(is_about)
}

/// Whether the end is missing. Texts of OpenMetrics have a last line that says so. They are known by what the server says, or by their
/// counters: Prometheus's older format gives the type of `NAME_total`, OpenMetrics that of `NAME`.
pub(super) fn is_cut_off(text: &str, is_said_to_be_open_metrics: bool) -> bool {
    let counter = |line: &str| {
        let name = line.strip_prefix("# TYPE ")?.strip_suffix(" counter")?;
        Some(!name.ends_with("_total"))
    };
    let is_open_metrics = is_said_to_be_open_metrics || text.lines().find_map(counter).unwrap_or(false);
    is_open_metrics && text.lines().next_back() != Some("# EOF")
}

fn sample(line: &str) -> Option<Sample> {
    let end = line.find(['{', ' ']).filter(|_| !line.starts_with('#'))?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Vec::new();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside;
        while !rest.starts_with('}') {
            let (label, quoted) = rest.split_once("=\"")?;
            let (value, behind) = unquoted(quoted)?;
            labels.push((label.trim().to_owned(), value));
            rest = behind.trim_start_matches([',', ' ']);
        }
        rest = &rest[1..];
    }
    // A time may follow.
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// A value in quotes, of which the first was taken away; and what comes behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_labels_with_anything_in_them() {
        let text = "# HELP a What it is\n# TYPE a gauge\na 1.5\nb_total{x=\"1\"} 2\n\
            c{path=\"/a,b={}\\\"\\\\ \\n\", other=\"\"} 3 1700000000\nd{} +Inf\n# EOF\n";
        let found: Vec<_> = samples(text, "").collect();
        let values: Vec<_> = found.iter().map(|sample| (&*sample.name, sample.value)).collect();
        assert_eq!(values, [("a", 1.5), ("b_total", 2.0), ("c", 3.0), ("d", f64::INFINITY)]);
        assert_eq!(found[1].label("x"), "1");
        assert_eq!((found[2].label("path"), found[2].label("other")), ("/a,b={}\"\\ \n", ""));
        assert_eq!(found[0].label("x"), "");
        assert_eq!(samples(text, "b_").count(), 1);
    }

    #[test]
    fn a_text_tells_of_metrics_in_samples_and_above_them() {
        for text in ["a_b 1", "c 1\na_b{x=\"1\"} 1", "# TYPE a_b gauge\n", "# HELP a_b x", "# UNIT a_b bytes"]
        {
            assert!(tells_of(text, "a_"), "{text}");
        }
        for text in ["", "b 1\n", "# a_b", "<html>a_b 1", "b{x=\"a_b\"} 1"] {
            assert!(!tells_of(text, "a_"), "{text}");
        }
    }

    #[test]
    fn a_text_of_open_metrics_without_its_end_is_cut_off() {
        let text = "# TYPE a counter\na_total 1\n";
        assert!(is_cut_off(text, false) && !is_cut_off(&format!("{text}# EOF\n"), false));
        assert!(is_cut_off("a 1\n", true) && is_cut_off("", true) && !is_cut_off("a 1\n# EOF", true));
        assert!(!is_cut_off("# TYPE a_total counter\na_total 1\n", false) && !is_cut_off("a 1\n", false));
    }

    #[test]
    fn what_is_no_sample_is_left_out() {
        for text in
            ["", "\n", "<html>", "a", "a b", "a{x=\"1\" 2", "a{x=1} 2", "a{x=\"\\", "{}", "é{ \"=\"\"} 1x"]
        {
            assert_eq!(samples(text, "").next(), None, "{text}");
        }
    }
}
