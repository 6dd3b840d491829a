//! Exit codes of commands that finish.

use std::process::ExitCode;

/// The exit codes of all commands, as every `--help` shows them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  damage was found, a set is full, or the machine failed (a full disk, say)
  2  wrong usage or input: a bad argument or line; a file or folder that is missing or unusable
  3  `set check`, `set add --print-new` or `index get` had nothing to print, `index delete` nothing to delete
  4  done, but bad lines were skipped";

/// Exit code of commands that select keys and found none.
const EXIT_NOTHING_FOUND: u8 = 3;
/// Exit code of commands that skipped some of their input.
const EXIT_LEFT_OUT: u8 = 4;

/// The exit code of a command that finished.
pub(crate) fn done(left_out: u64) -> ExitCode {
    if left_out > 0 { ExitCode::from(EXIT_LEFT_OUT) } else { ExitCode::SUCCESS }
}

/// The same for a command that prints or deletes the keys it selects.
pub(crate) fn selected(found: u64, left_out: u64) -> ExitCode {
    match (found, left_out) {
        (0, 0) => ExitCode::from(EXIT_NOTHING_FOUND),
        _ => done(left_out),
    }
}
