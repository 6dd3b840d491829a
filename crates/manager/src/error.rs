//! What can be wrong with what a caller says.

/// Errors of this crate's interface.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// No policy has this name.
    #[error("no allocation policy is called {got:?}; expected one of {expected}")]
    UnknownPolicy {
        /// The name that was given.
        got: String,
        /// The names that there are.
        expected: String,
    },
}
