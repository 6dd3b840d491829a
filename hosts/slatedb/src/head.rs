//! What a table's filter block holds: where the units are, and header and directory of their block.

use std::borrow::Cow;

use slatedb::config::CompressionCodec;
use springbloom_format::{Contents, Directory};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

const MAGIC: [u8; 4] = *b"SBS1";
/// What names of policies with such heads begin with, of this version and others.
const POLICIES: &[u8] = b"springbloom:";

/// Where the units of a table are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// Folder of the object.
    pub(crate) folder: String,
    pub(crate) name: UnitsName,
}

/// Name of an object with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct UnitsName {
    /// Of the table's first and last key, which SlateDB stores with each table: so it is seen whether an object may still have a table.
    pub(crate) keys: u64,
    /// Random.
    pub(crate) id: u128,
}

impl UnitsName {
    pub(crate) fn keys_of(first: &[u8], last: &[u8]) -> u64 {
        let mut hash = Xxh3::new();
        hash.update(&(first.len() as u64).to_le_bytes());
        hash.update(first);
        hash.update(last);
        hash.digest()
    }

    pub(crate) fn to_text(self) -> String {
        format!("{:016x}-{:032x}", self.keys, self.id)
    }

    /// `None` for a name that [`to_text`](Self::to_text) did not give.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let (keys, id) = text.split_once('-')?;
        let name = Self { keys: u64::from_str_radix(keys, 16).ok()?, id: u128::from_str_radix(id, 16).ok()? };
        (name.to_text() == text).then_some(name)
    }

    /// What the checksums of the units cover, so that those of another table do not pass for them.
    pub(crate) fn identity(self) -> u32 {
        self.id as u32
    }

    pub(crate) fn to_bytes(self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..8].copy_from_slice(&self.keys.to_le_bytes());
        bytes[8..].copy_from_slice(&self.id.to_le_bytes());
        bytes
    }

    pub(crate) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        let (keys, id) = bytes.split_first_chunk()?;
        Some(Self { keys: u64::from_le_bytes(*keys), id: u128::from_le_bytes(id.try_into().ok()?) })
    }
}

/// `directory` is the beginning of the units' block.
pub(crate) fn encode(place: &Place, directory: &[u8]) -> Vec<u8> {
    let folder = place.folder.as_bytes();
    let place = [&(folder.len() as u32).to_le_bytes()[..], folder, &place.name.to_bytes()].concat();
    [&MAGIC[..], &place, &xxh3_64(&place).to_le_bytes(), directory].concat()
}

/// Where the units are, and the bytes of the directory. `None` for what is no head.
pub(crate) fn place(bytes: &[u8]) -> Option<(Place, &[u8])> {
    let bytes = bytes.strip_prefix(&MAGIC)?;
    let (length, rest) = bytes.split_first_chunk()?;
    let (folder, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let (name, rest) = rest.split_first_chunk::<24>()?;
    let (stored, directory) = rest.split_first_chunk()?;
    if xxh3_64(&bytes[..bytes.len() - rest.len()]) != u64::from_le_bytes(*stored) {
        return None;
    }
    let folder = std::str::from_utf8(folder).ok()?.to_owned();
    Some((Place { folder, name: UnitsName::of_bytes(name)? }, directory))
}

/// `None` for what cannot be used, such as a head over keys where it must be `over_prefixes`.
pub(crate) fn decode(bytes: &[u8], over_prefixes: bool) -> Option<(Place, Directory)> {
    let (place, directory) = place(bytes)?;
    let directory = Directory::parse(directory).ok()?;
    ((directory.contents() == Contents::Prefixes) == over_prefixes
        && directory.identity() == place.name.identity())
    .then_some((place, directory))
}

/// The names in the heads of a table's filter block, as SlateDB writes it: a number of filters, for each the length and name of its policy
/// and the length and bytes of the filter, compressed, and a checksum. `None` for any other bytes, as of a block that is encrypted or
/// damaged.
pub(crate) fn names_in(block: &[u8], codec: Option<CompressionCodec>) -> Option<Vec<UnitsName>> {
    let (filters, stored) = block.split_last_chunk()?;
    if crc32fast::hash(filters) != u32::from_be_bytes(*stored) {
        return None;
    }
    let filters = &*decompressed(filters, codec)?;
    let (count, mut rest) = filters.split_first_chunk()?;
    let mut names = Vec::new();
    for _ in 0..u16::from_be_bytes(*count) {
        let (policy, behind) = split_counted(rest, |length: [u8; 2]| u16::from_be_bytes(length).into())?;
        let (filter, behind) = split_counted(behind, u64::from_be_bytes)?;
        // An empty one is that of a table in which no key has a prefix.
        if policy.starts_with(POLICIES) && !filter.is_empty() {
            names.push(place(filter)?.0.name);
        }
        rest = behind;
    }
    rest.is_empty().then_some(names)
}

/// `None` for a codec that this crate was built without, as for damage.
fn decompressed(bytes: &[u8], codec: Option<CompressionCodec>) -> Option<Cow<'_, [u8]>> {
    let decompressed: Option<Vec<u8>> = match codec {
        None => return Some(bytes.into()),
        #[cfg(feature = "snappy")]
        Some(CompressionCodec::Snappy) => snap::raw::Decoder::new().decompress_vec(bytes).ok(),
        #[cfg(feature = "zlib")]
        Some(CompressionCodec::Zlib) => {
            let mut decoder = flate2::write::ZlibDecoder::new(Vec::new());
            std::io::Write::write_all(&mut decoder, bytes).ok()?;
            decoder.finish().ok()
        }
        #[cfg(feature = "lz4")]
        Some(CompressionCodec::Lz4) => lz4_flex::block::decompress_size_prepended(bytes).ok(),
        #[cfg(feature = "zstd")]
        Some(CompressionCodec::Zstd) => zstd::stream::decode_all(bytes).ok(),
        #[allow(unreachable_patterns)]
        Some(_) => None,
    };
    decompressed.map(Cow::Owned)
}

/// Bytes behind their length, and what follows them.
fn split_counted<const N: usize>(bytes: &[u8], length: fn([u8; N]) -> u64) -> Option<(&[u8], &[u8])> {
    let (counted, rest) = bytes.split_first_chunk()?;
    rest.split_at_checked(usize::try_from(length(*counted)).ok()?)
}

#[cfg(test)]
mod tests {
    use springbloom_filter::UnitSettings;
    use springbloom_format::BlockWriter;

    use super::*;

    fn head() -> (Place, Vec<u8>) {
        let name = UnitsName { keys: UnitsName::keys_of(b"a", b"b"), id: 5 << 100 | 7 };
        let mut writer = BlockWriter::new(UnitSettings::default(), 1 << 20).with_identity(name.identity());
        [b"a", b"b"].into_iter().for_each(|key| writer.add(key, 100));
        let place = Place { folder: "db/springbloom".into(), name };
        let block = writer.finish();
        let units_at = Directory::parse(&block).expect("it was just written").units_at();
        (place.clone(), encode(&place, &block[..units_at as usize]))
    }

    /// A filter block as SlateDB writes it.
    fn block_of(filters: &[(&str, &[u8])]) -> Vec<u8> {
        let mut block = (filters.len() as u16).to_be_bytes().to_vec();
        for (policy, filter) in filters {
            block.extend((policy.len() as u16).to_be_bytes());
            block.extend(policy.as_bytes());
            block.extend((filter.len() as u64).to_be_bytes());
            block.extend(*filter);
        }
        let checksum = crc32fast::hash(&block);
        block.extend(checksum.to_be_bytes());
        block
    }

    #[test]
    fn a_filter_block_tells_all_names_or_nothing() {
        let (place, head) = head();
        let other = Place { name: UnitsName { id: 9, ..place.name }, ..place.clone() };
        let other_head = encode(&other, &head[head.len() - 10..]);
        let block =
            block_of(&[("springbloom:1", &head), ("_bf", b"bits"), ("springbloom:1:p=x", &other_head)]);
        assert_eq!(names_in(&block, None), Some(vec![place.name, other.name]));
        assert_eq!(names_in(&block_of(&[("_bf", b"bits"), ("springbloom:1", b"")]), None), Some(vec![]));
        assert_eq!(names_in(&block_of(&[("springbloom:2", b"what this version does not know")]), None), None);
        for at in 0..block.len() {
            assert_eq!(names_in(&block[..at], None), None);
            let mut damaged = block.clone();
            damaged[at] ^= 1;
            assert_eq!(names_in(&damaged, None), None, "byte {at}");
        }
    }

    #[test]
    fn a_head_tells_where_the_units_are() {
        let (place, head) = head();
        let (decoded, directory) = decode(&head, false).expect("it is whole");
        assert_eq!(decoded, place);
        assert_eq!(directory.key_count(), 2);
        assert_eq!(decode(&head, true), None);
        assert_eq!(UnitsName::of_text(&place.name.to_text()), Some(place.name));
    }

    #[test]
    fn no_damage_passes() {
        let (_, head) = head();
        for length in 0..head.len() {
            assert_eq!(decode(&head[..length], false), None);
        }
        for byte in 0..head.len() {
            for bit in 0..8 {
                let mut damaged = head.clone();
                damaged[byte] ^= 1 << bit;
                assert_eq!(decode(&damaged, false), None, "bit {bit} of byte {byte}");
            }
        }
    }

    #[test]
    fn other_names_are_no_objects_with_units() {
        for other in
            ["", "-", "1-2", "0000000000000000-", "00000000000000FF-00000000000000000000000000000000"]
        {
            assert_eq!(UnitsName::of_text(other), None, "{other}");
        }
    }
}
