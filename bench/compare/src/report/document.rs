//! The JSON of a report: the record of the run, with all that was measured beside its figures.

use std::env;
use std::io::Write;

use anyhow::Result;
use serde::Serialize;
use springbloom_records::{Figure, command_line};

use crate::report::Header;

/// Writes the record of the run that `header` describes, then the fields of `detail`.
pub(super) fn write(
    out: &mut impl Write,
    header: &Header,
    figures: Vec<Figure>,
    detail: &impl Serialize,
) -> Result<()> {
    let command = command_line("springbloom", env::args().skip(1));
    header.clock.finish(command, header.seed, header, figures)?.write(out, detail)
}
