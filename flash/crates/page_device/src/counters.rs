//! Counters of a structure since its opening. They are independent, so relaxed ordering is enough.

use std::sync::atomic::{AtomicU64, Ordering};

/// One counter.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Counts `n` more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// What was counted.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Declares the statistics of a structure, and the [`Counter`]s behind them. What was written to logs is counted there.
#[macro_export]
macro_rules! counters {
    ($(#[$of:meta])* pub struct $Stats:ident, $Counters:ident { $($(#[$about:meta])* $name:ident,)* }) => {
        $(#[$of])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $Stats {
            $($(#[$about])* pub $name: u64,)*
            /// Bytes written to the log.
            pub log_bytes_written: u64,
            /// Syncs of the log.
            pub log_syncs: u64,
        }

        #[derive(Debug, Default)]
        pub(crate) struct $Counters { $(pub(crate) $name: $crate::Counter),* }

        impl $Counters {
            /// With bytes written to the log and its syncs.
            pub(crate) fn snapshot(&self, (log_bytes_written, log_syncs): (u64, u64)) -> $Stats {
                $Stats { $($name: self.$name.get(),)* log_bytes_written, log_syncs }
            }
        }
    };
}
