//! Errors that the user can correct.

/// An error in the user's input: contradictory settings, a folder in the wrong state, an unusable file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct BadInput(pub String);

/// Shorthand for an error that the user can correct.
pub fn bad_input(message: impl Into<String>) -> anyhow::Error {
    BadInput(message.into()).into()
}
