//! Memory that the system may not give. An allocation that fails ends the process, so what may be large is asked for first.

use std::hint::black_box;

use crate::FlashError;

/// Parts of an answer that are asked for together, and what a call takes in addition meanwhile.
const AHEAD_BYTES: usize = 4 << 20;
/// Asking takes some microseconds, more than few parts are worth.
const FEW_PARTS: usize = 256;

/// What memory is for, and how a caller gets along with less of it.
pub type Purpose = (&'static str, &'static str);

const ANSWERS: Purpose = ("the answers", "ask for less at a time");

/// An empty list with room for `len`, or an error.
pub fn reserved<T>(len: usize, (part, advice): Purpose) -> Result<Vec<T>, FlashError> {
    let mut list = Vec::new();
    let wanted_bytes = len.saturating_mul(size_of::<T>()) as u64;
    match list.try_reserve_exact(len) {
        Ok(()) => Ok(list),
        Err(_) => Err(FlashError::NoMemory { wanted_bytes, part, advice }),
    }
}

/// Memory for an answer of many parts. It is asked for ahead of them, so that the small allocations between succeed as well.
#[derive(Debug)]
pub struct AnswerMemory {
    /// Bytes that were asked for and not taken.
    ahead_bytes: usize,
}

impl AnswerMemory {
    /// For an answer of `parts`.
    pub fn new(parts: usize) -> Result<AnswerMemory, FlashError> {
        let mut memory = AnswerMemory { ahead_bytes: AHEAD_BYTES };
        if parts > FEW_PARTS {
            memory.ask(AHEAD_BYTES)?;
        }
        Ok(memory)
    }

    /// A copy of `bytes`, with room for `more` behind them.
    pub fn copied(&mut self, bytes: &[u8], more: usize) -> Result<Vec<u8>, FlashError> {
        let len = bytes.len() + more;
        if len > self.ahead_bytes {
            self.ask(len.max(AHEAD_BYTES))?;
        }
        self.ahead_bytes -= len;
        let mut copy = reserved(len, ANSWERS)?;
        copy.extend_from_slice(bytes);
        Ok(copy)
    }

    fn ask(&mut self, len_bytes: usize) -> Result<(), FlashError> {
        // Freed at once. Unused, it would not be asked for at all.
        black_box(reserved::<u8>(len_bytes + AHEAD_BYTES, ANSWERS)?);
        self.ahead_bytes = len_bytes;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_there_can_be_is_an_error_that_says_what_to_do() {
        let error = reserved::<u64>(usize::MAX, ANSWERS).unwrap_err().to_string();
        assert!(error.contains("bytes of the answers; ask for less at a time"), "{error}");
        let mut memory = AnswerMemory::new(1).unwrap();
        assert!(matches!(memory.copied(b"key", 1 << 60), Err(FlashError::NoMemory { .. })));
        for _ in 0..100 {
            assert_eq!(memory.copied(&[7; 100_000], 10).unwrap(), [7; 100_000]);
        }
    }
}
