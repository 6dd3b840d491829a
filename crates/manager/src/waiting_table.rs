//! Open tables that the manager does not know yet.

/// Why a table waits for its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitsFor {
    /// Room for its bookkeeping.
    Room,
    /// Its directory cannot be read at present.
    File,
}

/// An open table without units. A thread that touches files opens it as soon as there may be room and its directory may be read.
pub trait WaitingTable: Send + Sync {
    /// Reads the directory and [registers](crate::Manager::register) the table. `Some`: it goes on waiting. `None`: it has its units, will
    /// never have any, or was closed. May block.
    fn open(&self) -> Option<WaitsFor>;
}
