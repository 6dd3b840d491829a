//! The claims to show. Sections measure and collect them, and the run prints them as one table at the end.

/// A measured figure and its required value.
pub(crate) struct Claim {
    pub(crate) what: String,
    pub(crate) measured: f64,
    pub(crate) wanted: Wanted,
}

#[derive(Clone, Copy)]
pub(crate) enum Wanted {
    AtLeast(f64),
    AtMost(f64),
    /// No required value. The figure is reported all the same.
    Nothing,
}

impl Claim {
    pub(crate) fn new(what: impl Into<String>, measured: f64, wanted: Wanted) -> Claim {
        Claim { what: what.into(), measured, wanted }
    }

    fn verdict(&self) -> &'static str {
        let holds = match self.wanted {
            Wanted::AtLeast(bound) => self.measured >= bound,
            Wanted::AtMost(bound) => self.measured <= bound,
            Wanted::Nothing => return "",
        };
        if holds { "yes" } else { "**no**" }
    }
}

pub(crate) fn print(claims: &[Claim]) {
    println!("| claim | measured | wanted | holds |\n|---|---|---|---|");
    for claim in claims {
        let wanted = match claim.wanted {
            Wanted::AtLeast(bound) => format!("at least {bound}"),
            Wanted::AtMost(bound) => format!("at most {bound}"),
            Wanted::Nothing => String::new(),
        };
        println!("| {} | {} | {wanted} | {} |", claim.what, figure(claim.measured), claim.verdict());
    }
}

/// Four significant digits.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 2.0 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}
