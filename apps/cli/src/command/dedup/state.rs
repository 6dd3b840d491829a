//! How far a scan has come, kept in the index beside the chunks: written now and then, read when the same scan is started again.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use springbloom_flash::index::{FlashIndex, VALUE_BYTES_MAX};

use super::tally::{Sums, Tally};
use crate::command::index::open::explain;
use crate::failure::bad_input;

/// No digest has this length.
const KEY: &[u8] = b"dedup scan";

/// The last scan over an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ScanState {
    /// Counts the scans.
    pub(super) scan: u32,
    /// Average size of chunks: all scans over an index must cut alike to find anything.
    pub(super) chunk_bytes: u64,
    /// Which files it is about.
    pub(super) sources_digest: String,
    /// The sources before this one are done and counted.
    pub(super) next_source: usize,
    pub(super) is_finished: bool,
    pub(super) tally: Tally,
}

impl ScanState {
    pub(super) fn read(index: &FlashIndex) -> Result<Option<ScanState>> {
        let Some(bytes) = index.get(KEY).map_err(explain)? else { return Ok(None) };
        let state = serde_json::from_slice(&bytes)
            .context("the index holds the state of a scan that cannot be read")?;
        Ok(Some(state))
    }

    /// Durable on return, with all chunks put before.
    pub(super) fn write(&self, index: &FlashIndex) -> Result<()> {
        let mut bytes = serde_json::to_vec(self)?;
        if bytes.len() > VALUE_BYTES_MAX {
            // Thousands of types of files: their sums are the one part that can be done without.
            let tally = Tally { by_kind: BTreeMap::new(), ..self.tally.clone() };
            bytes = serde_json::to_vec(&ScanState { tally, ..self.clone() })?;
        }
        index.put(KEY, &bytes).map_err(explain)?;
        index.flush().map_err(explain)
    }

    /// The state to scan from: that of an interrupted scan of the same files, or a new one.
    pub(super) fn begin(
        last: Option<ScanState>,
        sources_digest: String,
        chunk_bytes: u64,
    ) -> Result<ScanState> {
        if let Some(last) = &last
            && last.chunk_bytes != chunk_bytes
        {
            return Err(bad_input(format!(
                "the index was made with chunks of {} bytes, these are of {chunk_bytes}; use --chunk-size {}",
                last.chunk_bytes, last.chunk_bytes
            )));
        }
        Ok(match last {
            Some(last) if !last.is_finished && last.sources_digest == sources_digest => last,
            last => ScanState {
                scan: last.map_or(0, |last| last.scan + 1),
                chunk_bytes,
                sources_digest,
                ..ScanState::default()
            },
        })
    }
}

/// Sums of sources that are being scanned, counted in the order of the sources: what is counted is then all before
/// `next_source` and nothing else.
#[derive(Default)]
pub(super) struct Open {
    sums: BTreeMap<usize, (Sums, Option<bool>)>,
}

impl Open {
    pub(super) fn sums(&mut self, source: usize) -> &mut Sums {
        &mut self.sums.entry(source).or_default().0
    }

    /// The source has no more.
    pub(super) fn end(&mut self, source: usize, is_readable: bool) {
        self.sums.entry(source).or_default().1 = Some(is_readable);
    }

    /// The sums of source `next`, if it has ended, and whether it could be read.
    pub(super) fn take(&mut self, next: usize) -> Option<(Sums, bool)> {
        let (sums, ended) = *self.sums.get(&next)?;
        let is_readable = ended?;
        self.sums.remove(&next);
        Some((sums, is_readable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interrupted_scan_of_the_same_files_goes_on_and_others_begin() {
        let digest = |text: &str| text.to_owned();
        let first = ScanState::begin(None, digest("a"), 8192).unwrap();
        assert_eq!((first.scan, first.next_source), (0, 0));
        let interrupted = ScanState { next_source: 5, ..first };
        let again = ScanState::begin(Some(interrupted.clone()), digest("a"), 8192).unwrap();
        assert_eq!(again, interrupted);
        let other = ScanState::begin(Some(interrupted.clone()), digest("b"), 8192).unwrap();
        assert_eq!((other.scan, other.next_source), (1, 0));
        let finished = ScanState { is_finished: true, ..interrupted };
        assert_eq!(ScanState::begin(Some(finished.clone()), digest("a"), 8192).unwrap().scan, 1);
        assert!(ScanState::begin(Some(finished), digest("a"), 4096).is_err());
    }

    #[test]
    fn sources_are_counted_in_order() {
        let mut open = Open::default();
        open.sums(1).bytes = 10;
        open.end(1, true);
        assert_eq!(open.take(0), None);
        open.end(0, false);
        assert_eq!(open.take(0), Some((Sums::default(), false)));
        assert_eq!(open.take(1).map(|(sums, is_readable)| (sums.bytes, is_readable)), Some((10, true)));
        assert_eq!(open.take(2), None);
    }
}
