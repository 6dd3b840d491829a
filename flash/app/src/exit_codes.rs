//! Exit codes of commands that finish.

use std::process::ExitCode;

/// The exit codes of all commands, as every `--help` shows them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  damage was found, a set is full, or the machine failed (a full disk, say)
  2  wrong usage or input: a bad argument or line; a file or folder that is missing or unusable
  3  `set check`, `set add --print-new` or `index get` had nothing to print, `index delete` nothing to delete";

/// Exit code of commands that select keys and found none.
const EXIT_NOTHING_FOUND: u8 = 3;

/// The exit code of a command that prints or deletes the keys it selects.
pub(crate) fn selected(found: u64) -> ExitCode {
    if found > 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_NOTHING_FOUND) }
}
