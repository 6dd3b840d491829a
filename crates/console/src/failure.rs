//! Exit codes, and errors as one sentence.

use std::io::{self, ErrorKind};

/// Exit code for damage and for a machine that fails.
pub const EXIT_FAILED: u8 = 1;
/// Exit code for input that the user can correct; clap uses the same for its own findings.
pub const EXIT_BAD_INPUT: u8 = 2;

/// An error in the user's input: contradictory settings, a folder in the wrong state, an unusable file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// Shorthand for an error that the user can correct.
pub fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}

/// The exit code for `error`. A file or folder that cannot be opened as what the command needs is bad input; damage that is
/// found in what was opened is not, and neither is a machine that fails.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    let is_bad_input = error.chain().any(|cause| {
        cause.is::<BadInput>() || cause.downcast_ref().is_some_and(|io: &io::Error| is_unusable(io.kind()))
    });
    if is_bad_input { EXIT_BAD_INPUT } else { EXIT_FAILED }
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
pub fn sentence(error: &anyhow::Error) -> String {
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
    use super::*;
    use anyhow::Context;

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
}
