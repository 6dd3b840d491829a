//! Exit codes, and errors as one sentence.

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use springbloom_console::BadInput;

/// The exit codes of all commands, as every `--help` shows them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  damage was found, a set is full, or the machine failed (a full disk, say)
  2  wrong usage or input: a bad argument or line; a file, folder or server that is missing or unusable
  3  `set check`, `set add --print-new` or `index get` had nothing to print
  4  done, but bad lines or unreadable files were skipped";

/// Exit code for damage, for a full set and for a machine that fails.
pub(crate) const EXIT_FAILED: u8 = 1;
/// Exit code for input that the user can correct; clap uses the same for its own findings.
pub(crate) const EXIT_BAD_INPUT: u8 = 2;
/// Exit code of commands that select keys and found none.
const EXIT_NOTHING_PRINTED: u8 = 3;
/// Exit code of commands that skipped some of their input.
const EXIT_LEFT_OUT: u8 = 4;

/// The exit code of a command that finished.
pub(crate) fn done(left_out: u64) -> ExitCode {
    if left_out > 0 { ExitCode::from(EXIT_LEFT_OUT) } else { ExitCode::SUCCESS }
}

/// The same for a command that prints the keys it selects.
pub(crate) fn selected(printed: u64, left_out: u64) -> ExitCode {
    match (printed, left_out) {
        (0, 0) => ExitCode::from(EXIT_NOTHING_PRINTED),
        _ => done(left_out),
    }
}

/// The exit code for `error`. A file, folder or database that cannot be opened as what the command needs is bad input; damage that is
/// found in what was opened is not, and neither is a machine that fails.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    let is_bad_input = error.chain().any(|cause| {
        cause.is::<BadInput>()
            || cause.downcast_ref().is_some_and(|io: &io::Error| is_unusable(io.kind()))
            || cause.downcast_ref().is_some_and(|error: &rocksdb::Error| is_refused(error.as_ref()))
    });
    if is_bad_input { EXIT_BAD_INPUT } else { EXIT_FAILED }
}

/// Whether RocksDB says that it refuses a database for what it is, and not because the machine fails. It repeats what the system said by
/// its text alone.
pub(crate) fn is_refused(said: &str) -> bool {
    let of_the_machine =
        ["Input/output error", "No space left", "Too many open files", "Cannot allocate memory"];
    !of_the_machine.iter().any(|text| said.contains(text))
}

/// Whether the error is about a file or folder that the user named.
fn is_unusable(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::PermissionDenied
            | ErrorKind::NotADirectory
            | ErrorKind::IsADirectory
            | ErrorKind::AlreadyExists
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::InvalidFilename
            | ErrorKind::InvalidInput
    )
}

/// `error` and its causes, each once. Many errors include their cause in the message and also have it as source.
pub(crate) fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.ends_with(&cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&cause);
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use springbloom_console::bad_input;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot read {name}: {source}")]
    struct Named {
        name: &'static str,
        source: io::Error,
    }

    #[test]
    fn each_cause_is_said_once() {
        let error = anyhow::Error::from(Named { name: "file", source: io::Error::other("it is broken") });
        assert_eq!(sentence(&error), "cannot read file: it is broken");
        let error = Err::<(), _>(error).context("the scan ended").unwrap_err();
        assert_eq!(sentence(&error), "the scan ended: cannot read file: it is broken");
        assert_eq!(exit_code(&error), EXIT_FAILED);
    }

    #[test]
    fn files_that_the_user_can_put_right_are_bad_input() {
        let code = |kind| exit_code(&Named { name: "file", source: io::Error::from(kind) }.into());
        assert_eq!(code(ErrorKind::PermissionDenied), EXIT_BAD_INPUT);
        assert_eq!(code(ErrorKind::IsADirectory), EXIT_BAD_INPUT);
        assert_eq!(code(ErrorKind::StorageFull), EXIT_FAILED);
        assert_eq!(exit_code(&bad_input("wrong").context("while asking")), EXIT_BAD_INPUT);
    }

    #[test]
    fn databases_that_are_refused_are_bad_input_and_machines_that_fail_are_not() {
        assert!(is_refused("Corruption: CURRENT file does not end with newline"));
        assert!(is_refused("IO error: No such file or directory: While opening a file: db/MANIFEST-7"));
        assert!(is_refused("Invalid argument: leveldb.Foo: does not match existing comparator"));
        assert!(!is_refused("IO error: While pread offset 0 len 7: db/000007.sst: Input/output error"));
        let error = rocksdb::DB::list_cf(&rocksdb::Options::default(), "/nonexistent").unwrap_err();
        assert_eq!(exit_code(&anyhow::Error::from(error).context("cannot open")), EXIT_BAD_INPUT);
    }
}
