//! What a lookup of one key meets in a table file.

use std::{io, path::Path};

use springbloom_filter::{FilterGroup, KeyDigest};
use springbloom_format::{Contents, FormatError};

use super::{Units, failed};
use crate::{
    Error,
    ffi::{self, TableInfo},
    listed_tables::Comparator,
};

/// What a table says to a lookup of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyReport {
    /// What its units say.
    pub verdict: Verdict,
    /// RocksDB's name of its filter's kind; empty without a filter.
    pub filter_policy: String,
    /// What it holds of the key.
    pub entry: Entry,
    /// Whether older tables are not asked.
    pub ends_lookup: bool,
    /// Bytes of its index.
    pub index_bytes: u64,
    /// Blocks of its index that a lookup asks for if no filter stops it: 1, or 2 of a partitioned one.
    pub index_blocks: u64,
    /// Its data blocks likewise.
    pub data_blocks: u64,
}

/// What a table holds of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Nothing,
    /// A value.
    Value,
    /// A deletion.
    Deletion,
    /// An operand of a merge.
    Operand,
    /// A deletion of a range with the key.
    RangeDeletion,
}

/// What filter units say of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There are none.
    NoUnits,
    /// There are none over keys, but over prefixes of them.
    PrefixesOnly,
    /// None can be used.
    Damaged(FormatError),
    /// They were asked.
    Probed(Probe),
}

/// The units of a key's segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its segment.
    pub segment: u32,
    /// Segments of the table.
    pub segments: u32,
    /// Units of the segment.
    pub units: u8,
    /// Of them, those before the first damaged one. Lookups use no others.
    pub sound_units: u8,
    /// The first of these that rejects the key.
    pub rejecting_unit: Option<u8>,
}

/// Reads what a lookup of `key` would meet in a table file with this comparator.
pub fn key(path: &Path, key: &[u8], comparator: Comparator) -> Result<KeyReport, Error> {
    let failed = failed(path);
    let inspected = ffi::inspect_table(path, |table| {
        let policy = String::from_utf8_lossy(table.filter_policy.get()).into_owned();
        verdict(path, table, key, comparator).map(|verdict| (verdict, policy, table.index_bytes))
    });
    let (verdict, filter_policy, index_bytes) =
        inspected.map_err(&failed)?.map_err(|source| Error::Io { path: path.to_owned(), source })?;
    let found = ffi::look_up(path, key, comparator == Comparator::ReverseBytewise).map_err(failed)?;
    Ok(KeyReport {
        verdict,
        filter_policy,
        entry: match found.newest {
            0 => Entry::Nothing,
            2 => Entry::Deletion,
            3 => Entry::Operand,
            4 => Entry::RangeDeletion,
            _ => Entry::Value,
        },
        ends_lookup: found.ends_lookup != 0,
        index_bytes,
        index_blocks: found.index_blocks,
        data_blocks: found.data_blocks,
    })
}

fn verdict(path: &Path, table: &TableInfo<'_>, key: &[u8], comparator: Comparator) -> io::Result<Verdict> {
    if table.block_offset == 0 {
        return Ok(Verdict::NoUnits);
    }
    let units = match Units::open(path, table)? {
        Ok(units) => units,
        Err(error) => return Ok(Verdict::Damaged(error)),
    };
    let directory = &units.directory;
    if directory.contents() == Contents::Prefixes {
        return Ok(Verdict::PrefixesOnly);
    }
    let segments: Vec<u32> = (0..directory.segment_count()).collect();
    let begun =
        segments.partition_point(|&segment| comparator.compare(directory.fence(segment), key).is_le());
    let segment = begun.saturating_sub(1) as u32;
    let mut sound = Vec::new();
    while sound.len() < usize::from(directory.unit_count()) {
        let Some(unit) = units.read(segment, sound.len() as u8)? else { break };
        sound.push(unit);
    }
    let sound: Vec<&[u8]> = sound.iter().map(Vec::as_slice).collect();
    let group = FilterGroup::from_units(directory.shape(segment), &sound).map_err(io::Error::other)?;
    Ok(Verdict::Probed(Probe {
        segment,
        segments: directory.segment_count(),
        units: directory.unit_count(),
        sound_units: sound.len() as u8,
        rejecting_unit: group.rejecting_unit(KeyDigest::of(key)),
    }))
}
