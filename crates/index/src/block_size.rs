//! How large the blocks of data shall be, so that their index leaves memory to data.

/// Of the usual block.
const BLOCK_BYTES: u64 = 4096;
/// Memory for each usual block, below which larger ones read less: an index takes 2 to 9 bytes of it. At 10 bytes both read as much.
const MEMORY_BYTES_PER_BLOCK: u64 = 9;

/// Of a large block.
pub const LARGE_BLOCK_BYTES: u32 = 16 << 10;

/// Whether blocks shall be large: `memory_bytes` hold data, indexes and filters of `data_bytes` of tables.
pub fn wants_large_blocks(data_bytes: u64, memory_bytes: u64) -> bool {
    data_bytes / BLOCK_BYTES * MEMORY_BYTES_PER_BLOCK > memory_bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_large_where_memory_is_small() {
        assert!(!wants_large_blocks(0, 0));
        assert!(!wants_large_blocks(450 << 20, 1 << 20));
        assert!(wants_large_blocks(460 << 20, 1 << 20));
        assert!(wants_large_blocks(u64::MAX, 1 << 40));
    }
}
