//! One sound table of a few segments, and what lookups make of damaged copies of it.

use std::{fs::OpenOptions, ops::Range, os::unix::fs::FileExt, path::PathBuf};

use rocksdb::{DB, Options};
use springbloom_format::{Directory, MAGIC};
use springbloom_rocksdb::{ElasticFilters, Stats, inspect};

use crate::common::{
    Folder, IDLE_TIMEOUT, ample,
    contents::{check, fill},
    folder, installed, small_tree, stock, tables,
};

/// Half of them are in the table: three segments.
const NUMBERS: u32 = 1_400;
const TAG: &str = "sound";
/// Behind each block: its compression and its checksum.
pub(crate) const TRAILER_BYTES: u64 = 5;

/// A closed database of one table file.
pub(crate) struct Pristine {
    folder: Folder,
    pub(crate) table: PathBuf,
    bytes: Vec<u8>,
    /// The filter block without its trailer, within the file.
    pub(crate) block: Range<u64>,
    pub(crate) directory: Directory,
}

/// What came of a lookup of every number.
pub(crate) struct Seen {
    pub(crate) stats: Stats,
    /// Whether `inspect` says that the block or a unit is damaged.
    pub(crate) inspection_complains: bool,
    /// Whether RocksDB's own checksums complain.
    pub(crate) stock_complains: bool,
}

impl Pristine {
    pub(crate) fn new() -> Self {
        Self::written_by(&ample())
    }

    /// Written with the units of `elastic`.
    pub(crate) fn written_by(elastic: &ElasticFilters) -> Self {
        let folder = folder();
        let db = DB::open(&installed(elastic, &options()), folder.path()).expect("open");
        fill(NUMBERS, |key, value| db.put(key, value).expect("put"), TAG);
        db.flush().expect("flush");
        drop(db);
        let paths = tables::table_paths(folder.path());
        assert_eq!(paths.len(), 1, "one flush makes one table");
        let table = paths[0].clone();
        let bytes = std::fs::read(&table).expect("the table can be read");
        let begins: Vec<_> = bytes.windows(MAGIC.len()).enumerate().filter(|(_, at)| *at == MAGIC).collect();
        assert_eq!(begins.len(), 1, "the block is found by its magic bytes");
        let begin = begins[0].0;
        let directory = Directory::parse(&bytes[begin..]).expect("the block is sound");
        assert!(directory.segment_count() >= 3, "{} segments", directory.segment_count());
        let block = begin as u64..begin as u64 + directory.block_bytes();
        Self { folder, table, bytes, block, directory }
    }

    /// Bytes of header and directory within the file.
    pub(crate) fn head(&self) -> Range<u64> {
        self.block.start..self.block.start + self.directory.row_span(0).start
    }

    /// A stretch of the block as a stretch of the file.
    pub(crate) fn in_file(&self, span: &Range<u64>) -> Range<u64> {
        self.block.start + span.start..self.block.start + span.end
    }

    /// The byte at `offset` of the sound file.
    pub(crate) fn byte(&self, offset: u64) -> u8 {
        self.bytes[offset as usize]
    }

    /// Sound bytes of the file.
    pub(crate) fn sound(&self, span: &Range<u64>) -> &[u8] {
        &self.bytes[span.start as usize..span.end as usize]
    }

    /// Puts `damage` at `offset` of the file, looks up every number, and mends the file.
    ///
    /// # Panics
    /// On a wrong answer, or a database that does not open.
    pub(crate) fn with_damage(&self, offset: u64, damage: &[u8]) -> Seen {
        self.write_at(offset, damage);
        let elastic = ample();
        let db = self.open(&elastic);
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        self.check(&db);
        assert!(elastic.wait_idle(IDLE_TIMEOUT), "the loader never came to rest");
        let report = inspect::table(&self.table).expect("the rest of the table is sound");
        let seen = Seen {
            stats: elastic.stats(),
            inspection_complains: match report.units {
                None => false,
                Some(Err(_)) => true,
                Some(Ok(units)) => units.corrupt_unit_count() > 0,
            },
            stock_complains: stock::verify_checksums(&db).is_err(),
        };
        drop(db);
        self.write_at(offset, self.sound(&(offset..offset + damage.len() as u64)));
        seen
    }

    /// Opens the database without writing to it.
    pub(crate) fn open(&self, elastic: &ElasticFilters) -> DB {
        DB::open_for_read_only(&installed(elastic, &options()), self.folder.path(), false).expect("open")
    }

    /// Looks up every number.
    pub(crate) fn check(&self, db: &DB) {
        check(NUMBERS, |key| db.get_pinned(key).expect("get"), TAG);
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(&self.table).expect("the table can be opened");
        file.write_all_at(bytes, offset).expect("write");
    }

    /// Cuts the file off at `length` bytes.
    pub(crate) fn truncate(&self, length: u64) {
        OpenOptions::new().write(true).open(&self.table).expect("open").set_len(length).expect("truncate");
    }

    /// Whether the file is as it was.
    pub(crate) fn is_mended(&self) -> bool {
        std::fs::read(&self.table).expect("read") == self.bytes
    }
}

fn options() -> Options {
    let mut options = small_tree();
    options.set_disable_auto_compactions(true);
    options.set_write_buffer_size(8 << 20);
    options
}
