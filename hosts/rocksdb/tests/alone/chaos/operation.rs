//! What is done on both sides.

/// One operation with all that it needs.
#[derive(Debug)]
pub(crate) enum Operation {
    Put { store: usize, key: Vec<u8>, value: Vec<u8> },
    Delete { store: usize, key: Vec<u8> },
    Merge { store: usize, key: Vec<u8>, operand: Vec<u8> },
    Get { store: usize, key: Vec<u8> },
    MultiGet { store: usize, keys: Vec<Vec<u8>> },
    BatchedMultiGet { store: usize, keys: Vec<Vec<u8>> },
    Walk { store: usize, from: Vec<u8>, steps: usize },
    KeyMayExist { store: usize, key: Vec<u8> },
    SecondaryGet { key: Vec<u8> },
    SecondaryMultiGet { keys: Vec<Vec<u8>> },
    CatchUp,
    Flush { store: usize },
    Compact { store: usize, from: Vec<u8>, to: Vec<u8> },
    Open { store: usize },
    Close { store: usize },
    SetBudget { bytes: u64 },
    ResizeCache { bytes: usize },
    Shake(Shake),
}

/// Lookups in the busy store by two threads, while budget and cache change under them.
#[derive(Debug)]
pub(crate) struct Shake {
    pub(crate) keys: [Vec<Vec<u8>>; 2],
    /// Budgets and capacities of the cache.
    pub(crate) changes: Vec<(u64, usize)>,
}

impl Operation {
    /// For the table of all that was done.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Put { .. } => "put",
            Self::Delete { .. } => "delete",
            Self::Merge { .. } => "merge",
            Self::Get { .. } => "get",
            Self::MultiGet { .. } => "multi_get",
            Self::BatchedMultiGet { .. } => "batched multi_get",
            Self::Walk { .. } => "iterator",
            Self::KeyMayExist { .. } => "key_may_exist",
            Self::SecondaryGet { .. } => "get from secondary",
            Self::SecondaryMultiGet { .. } => "multi_get from secondary",
            Self::CatchUp => "secondary catches up",
            Self::Flush { .. } => "flush",
            Self::Compact { .. } => "compaction of a range",
            Self::Open { .. } => "open",
            Self::Close { .. } => "close",
            Self::SetBudget { .. } => "budget is set",
            Self::ResizeCache { .. } => "cache is resized",
            Self::Shake(_) => "lookups during resizes",
        }
    }
}
