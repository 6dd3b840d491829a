//! The base of Springbloom's structures on flash: pages on a device, and a write-ahead log.
//!
//! - [`FileStorage`] keeps each device in a file of one folder. It uses direct I/O with many operations in flight, through io_uring, or
//!   threads if the kernel has no io_uring or forbids it, also later.
//! - [`Wal`] makes small changes durable. It finds its own end even if any single block is damaged.
//!
//! A write is durable only after a later [`PageDevice::sync`]. Before that, a power loss may keep any subset of its sectors, in any order.
//! [`PageDevice::blocks`] gives the units that a device writes atomically.
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
compile_error!("Springbloom runs on Linux only: it reads and writes devices with O_DIRECT and io_uring");

mod aligned;
mod blocks;
mod copy;
mod counters;
mod device;
mod error;
mod fields;
mod file;
mod folder;
mod high;
mod lock;
mod memory;
mod mix;
mod named;
mod plan;
mod storage;
mod threads;
mod unsafe_uring;
mod wal;
mod watch;

pub use aligned::{ALIGNMENT_BYTES, AlignedBuf};
pub use blocks::{BlockSizes, SECTOR_BYTES};
pub use copy::{copy_devices, copy_folder};
pub use counters::Counter;
pub use device::PageDevice;
pub use error::{FlashError, require};
pub use fields::{field, u16_at, u32_at, u48_at, u64_at};
pub use file::{FileDevice, IoEngine};
pub use folder::{Access, FileStorage};
pub use lock::FolderLock;
pub use memory::{AnswerMemory, Purpose, reserved};
pub use mix::{GOLDEN, checksum, checksum_32, mix, scale};
pub use named::NamedDevice;
pub use plan::{PlannedRead, ReadPlan, Span};
pub use storage::{Storage, incomplete, or_incomplete, require_empty, require_space, require_writable};
pub use wal::{
    COMMIT_BYTES_MAX, CommitGuard, GroupCommit, INDEX_KIND, SET_KIND, START_BYTES_MAX, Wal, WalReport,
};
pub use watch::Watch;

/// Runs the example of the README as a test.
#[doc = include_str!("../README.md")]
#[cfg(doctest)]
struct Readme;
