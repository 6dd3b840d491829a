//! What the program says when it cannot go on, and the exit code that goes with it.

/// Exit code for input that the user can correct; what clap uses for its own findings.
pub(crate) const EXIT_BAD_INPUT: u8 = 2;
/// Exit code for everything else that goes wrong.
pub(crate) const EXIT_FAILED: u8 = 1;

/// An error in what the user gave: settings that contradict each other, a folder in the wrong state, an unusable file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct BadInput(pub String);

/// Shorthand for an error that is the user's to correct.
pub(crate) fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}

/// The exit code for `error`.
pub(crate) fn exit_code(error: &anyhow::Error) -> u8 {
    if error.chain().any(|cause| cause.is::<BadInput>()) { EXIT_BAD_INPUT } else { EXIT_FAILED }
}
