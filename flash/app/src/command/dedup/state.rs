//! The progress of a scan, saved in the index beside the chunks: an interrupted scan resumes from it.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use springbloom_console::bad_input;

use super::files::{self, Source};
use super::tally::{Sums, Tally};
use crate::flash::{FlashIndex, explain};

/// No digest has this length.
const KEY: &[u8] = b"dedup scan";
/// Characters of the description of a scan.
const DESCRIPTION_MAX: usize = 200;

/// Description of a scan.
pub(super) struct ScanPlan<'s> {
    pub(super) sources: &'s [Source],
    /// Paths as given by the user.
    pub(super) description: String,
    pub(super) chunk_bytes: u64,
    /// Whether the user says that the stream is the same as in the interrupted scan.
    pub(super) is_same_stream: bool,
}

/// The state of the last scan over an index. It always fits a value of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct ScanState {
    /// Number of the scan.
    pub(super) scan: u32,
    /// Average size of chunks: all scans over an index must cut alike to find anything.
    pub(super) chunk_bytes: u64,
    /// Description for people.
    pub(super) description: String,
    /// Digest of the scanned files.
    pub(super) sources_digest: String,
    /// The first source that is not finished. Earlier ones are counted.
    pub(super) next_source: usize,
    pub(super) is_finished: bool,
    pub(super) tally: Tally,
}

impl ScanState {
    /// The state of the last scan. `None` for an empty index.
    pub(super) fn read(index: &FlashIndex) -> Result<Option<ScanState>> {
        let Some(bytes) = index.get(KEY).map_err(explain)? else {
            return if index.info().records == 0 {
                Ok(None)
            } else {
                Err(bad_input(
                    "the index holds keys of its own, expected the index of a scan; name another folder with --index",
                ))
            };
        };
        let state = serde_json::from_slice(&bytes)
            .context("the index holds the state of a scan that cannot be read")?;
        Ok(Some(state))
    }

    /// Durable on return, with all chunks put before.
    pub(super) fn write(&self, index: &FlashIndex) -> Result<()> {
        index.put(KEY, &serde_json::to_vec(self)?).map_err(explain)?;
        index.commit().map_err(explain)
    }

    /// The state to start from, of an interrupted scan of the same sources or a new one, with a message for the user.
    pub(super) fn begin(last: Option<ScanState>, plan: &ScanPlan<'_>) -> Result<(ScanState, Option<String>)> {
        let last = last.unwrap_or_default();
        if last.chunk_bytes > 0 && last.chunk_bytes != plan.chunk_bytes {
            return Err(bad_input(format!(
                "the index has chunks of {} bytes, this scan of {}; use --chunk-size {}",
                last.chunk_bytes, plan.chunk_bytes, last.chunk_bytes
            )));
        }
        let sources_digest = files::digest(plan.sources);
        let is_interrupted = last.chunk_bytes > 0 && !last.is_finished;
        let is_same = last.sources_digest == sources_digest;
        let has_pipe = plan.sources.iter().any(Source::is_pipe);
        let (done, all, what) = (last.next_source, plan.sources.len(), &last.description);
        if is_interrupted && is_same && (!has_pipe || plan.is_same_stream) {
            let goes_on = format!("resuming the interrupted scan: {done} of {all} files are done");
            return Ok((last, Some(goes_on)));
        }
        let message = match (is_interrupted, is_same) {
            (false, _) => None,
            (true, true) => Some(
                "an earlier scan of standard input was interrupted; this scan starts over, because the stream may differ, and counts the \
                 earlier data as known (--same-stream resumes)"
                    .to_owned(),
            ),
            (true, false) => Some(format!(
                "discarding an interrupted scan of other files ({what}; {done} files were done); its data counts as known"
            )),
        };
        let state = ScanState {
            scan: if last.chunk_bytes > 0 { last.scan + 1 } else { 0 },
            chunk_bytes: plan.chunk_bytes,
            description: plan.description.chars().take(DESCRIPTION_MAX).collect(),
            sources_digest,
            ..ScanState::default()
        };
        Ok((state, message))
    }
}

/// Sums of the sources being scanned. They are counted in the order of the sources, so the counted ones are exactly those before
/// `next_source`.
#[derive(Default)]
pub(super) struct Open {
    sums: BTreeMap<usize, (Sums, Option<bool>)>,
}

impl Open {
    pub(super) fn sums(&mut self, source: usize) -> &mut Sums {
        &mut self.sums.entry(source).or_default().0
    }

    /// The source has ended.
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
    use crate::flash::VALUE_BYTES_MAX;

    fn sources(names: &[&str]) -> Vec<Source> {
        // Tests have no file as their standard input, or always the same.
        names.iter().map(|name| Source { path: name.into(), id: Some((1, 2)), ..Source::stream() }).collect()
    }

    fn begin(
        last: Option<ScanState>,
        sources: &[Source],
        is_same_stream: bool,
    ) -> (ScanState, Option<String>) {
        let plan = ScanPlan { sources, description: "files".to_owned(), chunk_bytes: 8192, is_same_stream };
        ScanState::begin(last, &plan).unwrap()
    }

    #[test]
    fn an_interrupted_scan_of_the_same_files_goes_on_and_others_begin() {
        let (a, b) = (sources(&["a", "b"]), sources(&["b"]));
        let (first, message) = begin(None, &a, false);
        assert_eq!((first.scan, first.next_source, message), (0, 0, None));
        let interrupted = ScanState { next_source: 1, ..first };
        let (again, message) = begin(Some(interrupted.clone()), &a, false);
        assert_eq!(again, interrupted);
        assert!(message.unwrap().contains("1 of 2 files"));
        let (other, message) = begin(Some(interrupted.clone()), &b, false);
        assert_eq!((other.scan, other.next_source), (1, 0));
        assert!(
            message
                .unwrap()
                .contains("discarding an interrupted scan of other files (files; 1 files were done)")
        );
        let finished = ScanState { is_finished: true, ..interrupted };
        let (next, message) = begin(Some(finished.clone()), &a, false);
        assert_eq!((next.scan, message), (1, None));
        let plan =
            ScanPlan { sources: &a, description: String::new(), chunk_bytes: 4096, is_same_stream: false };
        assert!(ScanState::begin(Some(finished), &plan).is_err());
    }

    #[test]
    fn a_scan_of_a_pipe_goes_on_only_if_the_user_says_so() {
        let mut pipe = sources(&["a", "-"]);
        pipe[1].id = None;
        let interrupted = ScanState { next_source: 1, ..begin(None, &pipe, false).0 };
        let (new, message) = begin(Some(interrupted.clone()), &pipe, false);
        assert_eq!((new.scan, new.next_source), (1, 0));
        assert!(message.unwrap().contains("--same-stream"));
        assert_eq!(begin(Some(interrupted.clone()), &pipe, true).0, interrupted);
    }

    #[test]
    fn the_largest_state_fits_a_value() {
        let largest = Sums {
            bytes: u64::MAX,
            chunks: u64::MAX,
            new_bytes: u64::MAX,
            new_chunks: u64::MAX,
            repeated_bytes: u64::MAX,
            known_bytes: u64::MAX,
            hole_bytes: u64::MAX,
        };
        // Control characters take most in JSON.
        let kinds: Vec<String> = (0..1000).map(|n| format!("\u{1}\u{1}\u{1}\u{1}\u{1}{n:03}")).collect();
        let sources: Vec<Source> = kinds
            .iter()
            .map(|kind| Source { path: format!("a.{kind}").into(), ..Source::stream() })
            .collect();
        let counted = super::super::tally::Kinds::among(&sources);
        let mut state = begin(None, &sources, false).0;
        state.description = "\u{1}".repeat(DESCRIPTION_MAX);
        for (n, source) in sources.iter().enumerate() {
            state.tally.by_kind.insert(counted.of(source), largest);
            if n < 10 {
                state.tally.most_duplicates.push((u64::MAX, usize::MAX));
            }
        }
        (state.scan, state.next_source, state.tally.total) = (u32::MAX, usize::MAX, largest);
        let bytes = serde_json::to_vec(&state).unwrap().len();
        assert!((VALUE_BYTES_MAX / 2..=VALUE_BYTES_MAX).contains(&bytes), "{bytes} bytes");
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
