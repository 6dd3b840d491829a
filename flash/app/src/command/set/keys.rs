//! Lines as keys of sets: any bytes, by their digests.

use springbloom_filter::KeyDigest;

use crate::lines::{BATCH_LINES, Batch, Reading};

/// One by one for pipes that stay open, or in batches. Any line is a key, the empty one too.
pub(super) fn reading(is_line_buffered: bool, prints: bool) -> Reading<'static> {
    Reading { batch_lines: if is_line_buffered { 1 } else { BATCH_LINES }, check: &|_| Ok(()), prints }
}

pub(super) fn digests(batch: &Batch) -> Vec<KeyDigest> {
    batch.lines().map(KeyDigest::of).collect()
}
