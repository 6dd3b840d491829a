//! `springflash set add`: puts keys into a set, and can tell which ones are new.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use springbloom_console::bad_input;
use springbloom_console::failure::{EXIT_BAD_INPUT, exit_code, sentence};
use springbloom_console::output::tell;
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{FlashError, FlashFilter, WhenFull};

use super::keys;
use super::open::{MemoryOptions, close};
use crate::exit_codes::selected;
use crate::flash::{explain, room_in_words};
use crate::lines::{Batch, LineOptions, LineWriter, before_it};
use crate::opening::SET;

/// Put keys into a set
///
/// Keys become durable in batches of at most 8,192 as they are read (with `--line-buffered`, one by one). If the command is
/// killed, the set keeps the batches that were durable.
///
/// A full set takes no further key: the command stops at the first one with its line and exit code 1. The keys before it are in the set. A
/// full disk has the same effect.
#[derive(Args, Debug)]
pub(crate) struct Add {
    /// Folder of the set
    set: PathBuf,
    #[command(flatten)]
    keys: LineOptions,
    /// Print each key that was not in the set before, once: a `sort -u` that does not sort and remembers earlier runs.
    /// A share of new keys, the set's false positive rate, counts as known and is not printed. Keys are printed before
    /// they are added: if the command is killed, the next run prints some of them again, and none is lost
    #[arg(long)]
    print_new: bool,
    /// Add and print keys one by one instead of in batches, for pipes that stay open
    #[arg(long)]
    line_buffered: bool,
    /// When the set is full, add a filter of twice the size, and let the set grow from then on. The false positive rate ends below
    /// 1.5 times the one that the set was made for
    #[arg(long)]
    grow: bool,
    /// When the set is full, continue: the false positive rate rises with every key, and is reported at the end
    #[arg(long, conflicts_with = "grow")]
    over_capacity: bool,
    #[command(flatten)]
    memory: MemoryOptions,
}

impl Add {
    pub(super) fn run(&self) -> Result<ExitCode> {
        let filter = SET.open(&self.set, self.memory.settings()?)?;
        filter.set_when_full(match (self.grow, self.over_capacity) {
            (true, _) => WhenFull::Grow,
            (_, true) => WhenFull::Exceed,
            _ => WhenFull::Refuse,
        });
        // Without a log, committing a batch would write all of its pages.
        let is_logged = filter.info().layers.iter().all(|layer| layer.header.is_logged);
        let mut output = self.print_new.then(|| self.keys.output());
        let mut before = 0;
        let taken = self.keys.each_batch(&keys::reading(self.line_buffered, self.print_new), &mut |batch| {
            let digests = keys::digests(batch);
            let added = match &mut output {
                Some(output) => add_new(&filter, batch, &digests, output)?,
                None => add(&filter, &digests),
            };
            // What is said of the lines before an error must be true.
            let committed = if is_logged || added.stop.is_some() { filter.commit() } else { Ok(()) };
            let (lines, stop) = match (committed, added.stop) {
                (Ok(()), None) => {
                    before += batch.len() as u64;
                    return Ok(ControlFlow::Continue(()));
                }
                (Ok(()), Some(stop)) => (added.lines, stop),
                (Err(_), Some(Stop::Failed(error))) | (Err(error), _) => {
                    before = if is_logged { before } else { 0 };
                    (0, Stop::Failed(error))
                }
            };
            Err(self.stopped(&filter, &batch.place(lines), before + lines as u64, stop))
        });
        // Whatever went wrong, the lines before it are kept.
        let closed = close(filter, &self.set);
        let taken = taken?;
        closed?;
        let read = taken.lines;
        let Some(output) = output else {
            taken.end("added to the set")?;
            return Ok(ExitCode::SUCCESS);
        };
        taken.end("added to the set, and printed if new")?;
        tell(format_args!("{} of {read} keys are new", output.printed));
        Ok(selected(output.printed))
    }

    /// The error for the line at `place`, whose key was not added. The `lines` before it were.
    fn stopped(&self, filter: &FlashFilter, place: &str, lines: u64, stop: Stop) -> anyhow::Error {
        let (set, before) = (self.set.display(), before_it(lines, "added to the set"));
        match stop {
            Stop::Full => {
                let capacity = filter.info().layers[0].header.capacity_keys;
                anyhow!(
                    "{place}: {set} is full: it holds the {capacity} keys that it was built for; {before}. Add the others with --grow (the \
                     set grows), with --over-capacity (its false positive rate rises), or to a larger set"
                )
            }
            Stop::Failed(FlashError::NoSpace { name, needed_bytes, free_bytes, .. }) => anyhow!(
                "{place}: {set} is full and cannot grow: {}; {before}. Free some space there, then add the others",
                room_in_words(&name, needed_bytes, free_bytes)
            ),
            Stop::Failed(error) => {
                let explained = explain(error);
                let text = format!("{place}: {}; {before}", sentence(&explained));
                if exit_code(&explained) == EXIT_BAD_INPUT { bad_input(text) } else { anyhow!(text) }
            }
        }
    }
}

/// Why a key was not added.
enum Stop {
    /// The set is full.
    Full,
    Failed(FlashError),
}

/// The lines of a batch that are in the set, and what stopped at the line after them.
struct Added {
    lines: usize,
    stop: Option<Stop>,
}

/// Inserts keys until one finds no room.
fn add(filter: &FlashFilter, digests: &[KeyDigest]) -> Added {
    match filter.insert_many(digests) {
        Ok(()) => Added { lines: digests.len(), stop: None },
        Err(FlashError::Full { inserted, .. }) => Added { lines: inserted, stop: Some(Stop::Full) },
        Err(error) => {
            let lines = if let FlashError::NoSpace { inserted, .. } = error { inserted } else { 0 };
            Added { lines, stop: Some(Stop::Failed(error)) }
        }
    }
}

/// Prints and inserts the keys of `batch` that are not in the set, each once. They are handed on before they are inserted: a key that
/// is in the set and was never seen by anybody would be lost for good.
fn add_new(
    filter: &FlashFilter,
    batch: &Batch,
    digests: &[KeyDigest],
    output: &mut LineWriter,
) -> Result<Added> {
    const NOT_ADDED: &str = "the remaining keys were not added";
    let known = filter.contains_many(digests);
    let mut seen = HashSet::new();
    let new: Vec<usize> = (0..digests.len()).filter(|n| !known[*n] && seen.insert(digests[*n])).collect();
    // Near its capacity, a set tells its room better with every key that it takes.
    let mut rest = &new[..];
    while let Some(&next) = rest.first() {
        let room = match filter.room_for(rest.len()) {
            Ok(room) => room,
            Err(error) => return Ok(Added { lines: next, stop: Some(Stop::Failed(error)) }),
        };
        if room == 0 {
            return Ok(Added { lines: next, stop: Some(Stop::Full) });
        }
        let (fitting, others) = rest.split_at(room);
        let printed =
            fitting.iter().try_for_each(|n| output.print(batch.line(*n))).and_then(|()| output.flush());
        if !printed.context(NOT_ADDED)? {
            bail!("the output was closed: {NOT_ADDED}; the next run counts them as new");
        }
        let fitting: Vec<_> = fitting.iter().map(|n| digests[*n]).collect();
        if let Added { lines, stop: Some(stop) } = add(filter, &fitting) {
            return Ok(Added { lines: rest[lines], stop: Some(stop) });
        }
        rest = others;
    }
    Ok(Added { lines: digests.len(), stop: None })
}
