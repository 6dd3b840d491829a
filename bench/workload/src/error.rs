//! Errors of workload settings.

use std::fmt::Display;
use std::path::Path;

/// A setting or a file that makes no workload: what it is, and what was expected.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WorkloadError(pub(crate) String);

impl WorkloadError {
    pub(crate) fn out_of_range(what: &str, got: impl Display, expected: &str) -> Self {
        Self(format!("{what}: got {got}, expected {expected}"))
    }

    pub(crate) fn unreadable(what: &str, path: &Path, source: &std::io::Error) -> Self {
        Self(format!("cannot read {what} {}: {source}", path.display()))
    }
}
