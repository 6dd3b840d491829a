//! Byte strings one behind the other, so that each costs 8 bytes in addition to its own.

/// Concatenated byte strings.
#[derive(Debug)]
pub(crate) struct PackedKeys {
    bytes: Vec<u8>,
    /// Start of each key, and the end of the last one.
    starts: Vec<u64>,
}

impl Default for PackedKeys {
    fn default() -> Self {
        PackedKeys { bytes: Vec::new(), starts: vec![0] }
    }
}

impl PackedKeys {
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.starts.push(self.bytes.len() as u64);
    }

    pub(crate) fn len(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    pub(crate) fn get(&self, index: u64) -> &[u8] {
        let index = index as usize;
        &self.bytes[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// Bytes of all of them.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
}
