//! RocksDB's integers and strings in bytes.

/// What is left of some bytes.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn fixed32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn fixed64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Seven bits a byte, the lowest first; the last byte is below 128.
    pub(super) fn varint32(&mut self) -> Option<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte < 0x80 {
                return u32::try_from(value).ok();
            }
        }
        None
    }

    /// Bytes behind their length.
    pub(super) fn string(&mut self) -> Option<&'a [u8]> {
        let len = self.varint32()? as usize;
        let (string, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(string)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size() {
        for (bytes, value) in [
            (&[0][..], Some(0)),
            (&[0x7F], Some(127)),
            (&[0x80, 1], Some(128)),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F], Some(u32::MAX)),
            (&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F], None),
            (&[0x80; 6], None),
            (&[0x80], None),
            (&[], None),
        ] {
            assert_eq!(Bytes(bytes).varint32(), value, "{bytes:?}");
        }
        assert_eq!(Bytes(&[1, 0, 0, 0, 7]).fixed32(), Some(1));
        assert_eq!(Bytes(&[1, 0, 0]).fixed32(), None);
    }

    #[test]
    fn strings_do_not_reach_beyond_the_end() {
        let mut bytes = Bytes(b"\x03abc\x02z");
        assert_eq!(bytes.string(), Some(&b"abc"[..]));
        assert_eq!(bytes.string(), None);
    }
}
