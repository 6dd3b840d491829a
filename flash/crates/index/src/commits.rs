//! The acknowledged state of the index, in the write-ahead log. Each commit holds all of it, and the last one counts. Layout:
//! `docs/index.md`.
//!
//! The records themselves are in the record log. A commit holds the durable end of that log, and the bytes of the page being filled. So a
//! small commit does not cost a page, and recovery knows the end of the record log. An unreadable page before the end is damage. Anything
//! after the end was never acknowledged.

use std::sync::Arc;

use parking_lot::Mutex;
use springbloom_page_device::{
    FlashError, INDEX_KIND, Storage, Wal, WalReport, Watch, u16_at, u32_at, u64_at,
};

use crate::record::{INDEX_PAGE_BYTES, PAGE_HEAD_BYTES};

/// Blocks of the log: a few dozen commits.
const WAL_BLOCKS: u64 = 64;
/// Blocks of the longest commit: a page and the fields before it.
const COMMIT_BLOCKS: u64 = 2;
const FIELDS_BYTES: usize = 32;

/// The end of the record log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) page: u64,
    /// Offset of the first record that begins in the page.
    pub(crate) first: u16,
    /// The filled bytes of the page, without its head.
    pub(crate) body: Vec<u8>,
}

impl LogEnd {
    /// The end of a log with an empty page `page`.
    pub(crate) fn at(page: u64) -> LogEnd {
        LogEnd { page, first: PAGE_HEAD_BYTES as u16, body: Vec::new() }
    }

    /// The page after all pages that hold records.
    pub(crate) fn page_behind(&self) -> u64 {
        self.page + u64::from(!self.body.is_empty())
    }

    fn is_before(&self, other: &LogEnd) -> bool {
        (self.page, self.body.len()) < (other.page, other.body.len())
    }
}

/// The content of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Acknowledged {
    /// Sequence number of the valid manifest.
    pub(crate) sequence: u64,
    /// Number of openings that changed something.
    pub(crate) epoch: u32,
    /// The index was closed and has not changed since.
    pub(crate) is_closed: bool,
    pub(crate) end: LogEnd,
}

impl Acknowledged {
    /// The state of a new index.
    pub(crate) fn nothing() -> Acknowledged {
        Acknowledged { sequence: 0, epoch: 0, is_closed: false, end: LogEnd::at(0) }
    }

    fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FIELDS_BYTES + self.end.body.len());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend(self.end.page.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(u32::from(self.is_closed).to_le_bytes());
        bytes.extend(self.end.first.to_le_bytes());
        bytes.extend((self.end.body.len() as u16).to_le_bytes());
        bytes.resize(FIELDS_BYTES, 0);
        bytes.extend(&self.end.body);
        bytes
    }

    /// `None` for bytes that no index writes. Total.
    fn decode(bytes: &[u8]) -> Option<Acknowledged> {
        let (fields, body) = bytes.split_at_checked(FIELDS_BYTES)?;
        let first = u16_at(fields, 24);
        let is_sane = body.len() == usize::from(u16_at(fields, 26))
            && (PAGE_HEAD_BYTES..=PAGE_HEAD_BYTES + body.len()).contains(&usize::from(first))
            && PAGE_HEAD_BYTES + body.len() <= INDEX_PAGE_BYTES;
        is_sane.then(|| Acknowledged {
            sequence: u64_at(fields, 0),
            epoch: u32_at(fields, 16),
            is_closed: u32_at(fields, 20) == 1,
            end: LogEnd { page: u64_at(fields, 8), first, body: body.to_vec() },
        })
    }
}

/// The write-ahead log, and the content of its last commit.
pub(crate) struct Commits {
    state: Mutex<(Wal, Acknowledged)>,
}

impl Commits {
    pub(crate) fn create(storage: &dyn Storage, salt: u64) -> Result<(), FlashError> {
        let mut wal = Wal::create(storage, salt, WAL_BLOCKS, INDEX_KIND.0.to_vec(), &mut Watch::none())?;
        wal.commit(&Acknowledged::nothing().encode())
    }

    /// Opens the log and reads its last commit. If a block has lost one of its copies and `storage` is writable, the log is written again.
    pub(crate) fn open(storage: &Arc<dyn Storage>) -> Result<Commits, FlashError> {
        let mut wal = Wal::open(&**storage)?;
        wal.require_kind(storage.describe(""), INDEX_KIND)?;
        let mut last = None;
        let found = wal.replay(&mut |commit| {
            last = Acknowledged::decode(commit);
            Ok(())
        })?;
        let Some(acknowledged) = last else {
            let got = "no commit of an index";
            return Err(FlashError::damaged(wal.name(), "the write-ahead log", got, "at least one"));
        };
        let commits = Commits { state: Mutex::new((wal, acknowledged)) };
        if storage.is_writable() && (!found.is_sound() || found.torn_blocks > 0) {
            commits.start_generation(&mut commits.state.lock())?;
        }
        Ok(commits)
    }

    /// Key of the checksums of the index.
    pub(crate) fn salt(&self) -> u64 {
        self.state.lock().0.salt()
    }

    pub(crate) fn acknowledged(&self) -> Acknowledged {
        self.state.lock().1.clone()
    }

    /// Commits the acknowledged state as changed by `change`. Durable on return. The end of the record log never moves back, because a
    /// concurrent commit may have moved it on.
    pub(crate) fn commit(&self, change: impl FnOnce(&mut Acknowledged)) -> Result<(), FlashError> {
        let mut state = self.state.lock();
        let mut next = state.1.clone();
        change(&mut next);
        if next.end.is_before(&state.1.end) {
            next.end = state.1.end.clone();
        }
        let (wal, acknowledged) = &mut *state;
        wal.check_alive()?;
        if wal.has_room_for(COMMIT_BLOCKS) {
            wal.commit(&next.encode())?;
            *acknowledged = next;
            return Ok(());
        }
        *acknowledged = next;
        self.start_generation(&mut state)
    }

    fn start_generation(&self, state: &mut (Wal, Acknowledged)) -> Result<(), FlashError> {
        let (wal, acknowledged) = state;
        let mut payload = Some(acknowledged.encode());
        wal.start_generation(INDEX_KIND.0.to_vec(), &mut |into| {
            payload.take().map(|bytes| into.extend(bytes)).is_some()
        })
    }

    /// Bytes written and syncs since opening.
    pub(crate) fn written(&self) -> (u64, u64) {
        self.state.lock().0.written()
    }

    /// Reads the log again and reports damage.
    pub(crate) fn verify(&self) -> Result<WalReport, FlashError> {
        self.state.lock().0.salvage(&mut |_| Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use springbloom_flash_testkit::{SimPower, SimStorage};

    use super::*;

    #[test]
    fn what_was_acknowledged_last_comes_back_over_many_generations() {
        let storage: Arc<dyn Storage> = Arc::new(SimStorage::new(SimPower::steady()));
        Commits::create(&*storage, 7).unwrap();
        let commits = Commits::open(&storage).unwrap();
        assert_eq!(commits.acknowledged(), Acknowledged::nothing());
        for n in 0..300u64 {
            let end = LogEnd { page: n, first: 24, body: vec![n as u8; n as usize * 13 % 4000] };
            commits.commit(|next| (next.sequence, next.end) = (n / 9, end.clone())).unwrap();
            commits.commit(|next| next.end = LogEnd::at(n.saturating_sub(2))).unwrap();
            let found = Commits::open(&storage).unwrap().acknowledged();
            assert_eq!((found.sequence, found.end), (n / 9, end), "an earlier end changes nothing");
        }
    }

    #[test]
    fn decoding_is_total() {
        let whole = Acknowledged { is_closed: true, ..Acknowledged::nothing() }.encode();
        assert!((0..whole.len()).all(|len| Acknowledged::decode(&whole[..len]).is_none()));
        for at in 24..28 {
            let mut wrong = whole.clone();
            wrong[at] = 0xff;
            assert!(Acknowledged::decode(&wrong).is_none(), "byte {at}");
        }
    }
}
