//! Exit codes.

use springbloom_console::failure::{self, EXIT_BAD_INPUT};

/// The exit codes of all commands, as every `--help` shows them.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  damage was found, or the machine failed (a full disk, say)
  2  wrong usage or input: a bad argument; a file or folder that is missing or unusable";

/// The exit code for `error`. A database that RocksDB refuses is bad input.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    let is_refused_database = error
        .chain()
        .any(|cause| cause.downcast_ref().is_some_and(|error: &rocksdb::Error| is_refused(error.as_ref())));
    if is_refused_database { EXIT_BAD_INPUT } else { failure::exit_code(error) }
}

/// Whether RocksDB says that it refuses a database for what it is, and not because the machine fails. It repeats what the system said by
/// its text alone.
pub(crate) fn is_refused(said: &str) -> bool {
    let of_the_machine =
        ["Input/output error", "No space left", "Too many open files", "Cannot allocate memory"];
    !of_the_machine.iter().any(|text| said.contains(text))
}

/// Whether RocksDB says that the user may not read a file.
pub(crate) fn is_forbidden(said: &str) -> bool {
    said.contains("Permission denied")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn databases_that_are_refused_are_bad_input_and_machines_that_fail_are_not() {
        assert!(is_refused("Corruption: CURRENT file does not end with newline"));
        assert!(is_refused("IO error: No such file or directory: While opening a file: db/MANIFEST-7"));
        assert!(is_refused("Invalid argument: leveldb.Foo: does not match existing comparator"));
        assert!(!is_refused("IO error: While pread offset 0 len 7: db/000007.sst: Input/output error"));
        assert!(is_forbidden(
            "IO error: While open a file for random read: db/000007.sst: Permission denied"
        ));
        assert!(!is_forbidden("Corruption: bad table magic number"));
        let error = rocksdb::DB::list_cf(&rocksdb::Options::default(), "/nonexistent").unwrap_err();
        assert_eq!(exit_code(&anyhow::Error::from(error).context("cannot open")), EXIT_BAD_INPUT);
    }
}
