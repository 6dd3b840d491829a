//! An engine for tests: files as most engines with sorted tables name them, and nothing else.

use super::description::{Engine, Name};

extern "C" fn no_lookups() -> u64 {
    0
}

pub(crate) static TEST_ENGINE: Engine = Engine {
    table_extension: Name::new(c"sst"),
    older_table_extension: Some(Name::new(c"ldb")),
    database_file: Name::new(c"CURRENT"),
    lock_file: Name::new(c"LOCK"),
    hotness_file: Name::new(c"HOTNESS"),
    hotness_file_new: Name::new(c"HOTNESS.new"),
    former_hotness_files: [None, None],
    reader_bytes: 48,
    digests_computed: no_lookups,
    cache: None,
};
