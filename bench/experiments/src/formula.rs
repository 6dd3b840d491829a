//! Formulas over the figures of records.
//!
//! `1 - reads[elastic:4] / reads[bloom:4]`: numbers, `+ - * /`, parentheses, `range(A, B)` for the greatest divided by the least, and
//! figures with what they are of, separated by bars: a configuration, labels such as `threads=1`, and `run=NAME`. `settings.ops[]` is a
//! setting of a run.

use anyhow::{Context, Result, bail, ensure};

use crate::record_store::RecordStore;
use crate::run::run_name;

/// Computes a figure from records.
#[derive(Clone, Debug)]
pub(crate) enum Formula {
    Number(f64),
    Point(Point),
    Both(Box<Formula>, char, Box<Formula>),
    Range(Vec<Formula>),
}

/// A figure of a run.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) run: String,
    pub(crate) name: String,
    of: Vec<(String, String)>,
}

impl Formula {
    /// The formula in `text`, whose figures are of `run` and of the labels in `of` where they do not say it themselves.
    pub(crate) fn parse(text: &str, run: &str, of: &str) -> Result<Self> {
        let mut parser = Parser { rest: text, run, of };
        let formula = parser.sum().with_context(|| format!("in the formula {text:?}"))?;
        ensure!(parser.rest.trim().is_empty(), "expected the end of {text:?} at {:?}", parser.rest);
        Ok(formula)
    }

    /// Its value; none if a figure is missing.
    pub(crate) fn value(&self, store: &RecordStore) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::Point(Point { run, name, of }) => match name.strip_prefix("settings.") {
                Some(setting) => store.get(run)?.settings.get(setting)?.as_f64(),
                None => {
                    let of: Vec<_> = of.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
                    Some(store.get(run)?.figure(name, &of)?.value)
                }
            },
            Self::Both(one, sign, other) => {
                let (one, other) = (one.value(store)?, other.value(store)?);
                Some(match sign {
                    '+' => one + other,
                    '-' => one - other,
                    '*' => one * other,
                    _ => one / other,
                })
            }
            Self::Range(formulas) => {
                let values =
                    formulas.iter().map(|formula| formula.value(store)).collect::<Option<Vec<_>>>()?;
                let (least, most) = (
                    values.iter().copied().fold(f64::MAX, f64::min),
                    values.iter().copied().fold(0.0, f64::max),
                );
                Some(most / least)
            }
        }
    }

    /// The figures that it is computed from.
    pub(crate) fn points(&self) -> Vec<&Point> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Point(point) => vec![point],
            Self::Both(one, _, other) => [one.points(), other.points()].concat(),
            Self::Range(formulas) => formulas.iter().flat_map(Self::points).collect(),
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
    run: &'a str,
    of: &'a str,
}

impl<'a> Parser<'a> {
    /// Takes one of `signs`, if it is next.
    fn take(&mut self, signs: &[char]) -> Option<char> {
        let rest = self.rest.trim_start();
        let sign = rest.chars().next().filter(|sign| signs.contains(sign))?;
        self.rest = &rest[1..];
        Some(sign)
    }

    fn expect(&mut self, sign: char) -> Result<()> {
        self.take(&[sign]).map(drop).with_context(|| format!("expected {sign} at {:?}", self.rest))
    }

    fn sum(&mut self) -> Result<Formula> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Formula> {
        self.chain(&['*', '/'], Self::factor)
    }

    fn chain(&mut self, signs: &[char], part: fn(&mut Self) -> Result<Formula>) -> Result<Formula> {
        let mut formula = part(self)?;
        while let Some(sign) = self.take(signs) {
            formula = Formula::Both(Box::new(formula), sign, Box::new(part(self)?));
        }
        Ok(formula)
    }

    fn factor(&mut self) -> Result<Formula> {
        if self.take(&['(']).is_some() {
            let formula = self.sum()?;
            self.expect(')')?;
            return Ok(formula);
        }
        let rest = self.rest.trim_start();
        let end =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '.').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        if word == "range" {
            self.expect('(')?;
            let mut formulas = vec![self.sum()?];
            while self.take(&[',']).is_some() {
                formulas.push(self.sum()?);
            }
            self.expect(')')?;
            return Ok(Formula::Range(formulas));
        }
        if let Ok(number) = word.parse() {
            return Ok(Formula::Number(number));
        }
        self.expect('[')?;
        let (of, rest) = self.rest.split_once(']').context("expected ] after what a figure is of")?;
        self.rest = rest;
        self.point(word, of).map(Formula::Point)
    }

    fn point(&self, name: &str, of: &str) -> Result<Point> {
        ensure!(!name.is_empty(), "expected a number or the name of a figure at {of:?}");
        let (mut run, mut labels) = (self.run.to_owned(), Vec::new());
        for label in self.of.split('|').chain(of.split('|')).map(str::trim).filter(|label| !label.is_empty())
        {
            match label.split_once('=').filter(|(name, _)| !name.contains(':')) {
                Some(("run", value)) => value.clone_into(&mut run),
                Some((name, value)) => labels.push((name.to_owned(), value.to_owned())),
                None => labels.push(("config".to_owned(), label.to_owned())),
            }
        }
        if run.is_empty() {
            bail!("of which run is {name}?");
        }
        Ok(Point { run: run_name(run), name: name.to_owned(), of: labels })
    }
}

#[cfg(test)]
mod tests {
    use springbloom_records::{Clock, Figure, Unit, labels};

    use super::*;

    #[test]
    fn formulas_are_computed_from_figures() {
        let of = |config: &str| labels([("config", config.to_owned()), ("threads", "4".to_owned())]);
        let figures = [("a:1", 2.0), ("b:1@x=1", 8.0)]
            .map(|(config, value)| Figure::new("reads", of(config), value, Unit::Count));
        let mut store = RecordStore::default();
        store.put(
            "one",
            Clock::start()
                .finish(vec![], 1, &serde_json::json!({"ops": 10}), figures.into())
                .expect("a record"),
        );
        let value = |text| Formula::parse(text, "one", "threads=4").expect(text).value(&store);
        for (text, expected) in [
            ("1 - 2 * 3 / (4 - 1)", Some(-1.0)),
            ("reads[b:1@x=1] / reads[a:1]", Some(4.0)),
            ("reads[run=two | a:1]", None),
            ("reads[a:1 | threads=1]", None),
            ("reads[config=a:1] * settings.ops[]", Some(20.0)),
            ("range(3, reads[a:1], 5)", Some(2.5)),
        ] {
            assert_eq!(value(text), expected, "{text}");
        }
        for text in ["", "1 +", "reads", "reads[a", "(1", "1 2", "range(1", "[a]"] {
            assert!(Formula::parse(text, "one", "").is_err(), "{text}");
        }
        assert!(Formula::parse("reads[a:1]", "", "").is_err(), "no run");
    }
}
