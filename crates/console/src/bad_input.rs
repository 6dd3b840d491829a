//! Errors that the user can correct.

/// An error in what the user gave: settings that contradict each other, a folder in the wrong state, an unusable file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// Shorthand for an error that is the user's to correct.
pub fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}
