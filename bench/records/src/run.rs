//! A measurement while it runs.

use std::env;
use std::io::Write;
use std::time::Instant;

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;

use crate::other_work::Processors;
use crate::record::fields;
use crate::{Build, Figure, Machine, Record, command_line};

/// Started with a measurement, and turned into its record at the end.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    started: Instant,
    date: Timestamp,
    processors: Processors,
}

impl Clock {
    /// Begins now.
    pub fn start() -> Self {
        Clock { started: Instant::now(), date: Timestamp::now(), processors: Processors::now() }
    }

    /// The record of what was measured since, by this program on this machine. `command` is that of [`command_line`](crate::command_line).
    pub fn finish(
        &self,
        command: Vec<String>,
        seed: u64,
        settings: &impl Serialize,
        figures: Vec<Figure>,
    ) -> Result<Record> {
        let machine = Machine::this();
        let other_work = self.processors.others_since(machine.cores);
        Ok(Record {
            format: crate::FORMAT,
            command,
            build: Build::this(),
            machine,
            seed,
            date: self.date.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            duration_s: (self.started.elapsed().as_secs_f64() * 10.0).round() / 10.0,
            other_work: other_work.map(|cores| (cores * 100.0).round() / 100.0),
            settings: fields(settings)?.into_iter().collect(),
            figures,
        })
    }

    /// Writes the record of what the program `springbloom` measured since with the arguments of this process.
    pub fn write_record(
        &self,
        out: &mut impl Write,
        seed: u64,
        settings: &impl Serialize,
        figures: Vec<Figure>,
    ) -> Result<()> {
        let command = command_line("springbloom", env::args().skip(1));
        self.finish(command, seed, settings, figures)?.write(out)
    }
}
