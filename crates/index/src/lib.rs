//! The index of a table in memory, in a few bytes a block, and how large blocks shall be.
//!
//! An index of an LSM table has an entry for each block of data: a separator, at least as large as the block's last key and smaller than
//! the next block's first, and where the block lies. [`Packer`] takes the entries and makes a [`PackedIndex`], which has the same entries
//! and nothing else: a [`Cursor`] finds them as they were. So what a lookup is told does not depend on how well an index is packed.
//!
//! Separators are compared byte by byte. Entries stand in groups of 32. A group begins with one entry as it is, for binary search. Each
//! other entry has, in bits: how many bits its separator shares with the one before, how many bytes follow the one in which they differ,
//! the rest of the separator, the bytes between the two blocks, and the block's size. A byte of a separator takes as many bits as the bytes
//! that occur need. Numbers have Rice codes around their median; those that are all the same take no bits.

mod alphabet;
mod bits;
mod block_size;
mod code;
mod cursor;
mod difference;
mod packed;
mod packer;
mod search;

pub use block_size::{LARGE_BLOCK_BYTES, wants_large_blocks};
pub use cursor::Cursor;
pub use packed::{Block, PackedIndex};
pub use packer::Packer;
