//! The index under measurement.

use springbloom_flash_index::{FlashIndex, IndexMemory, IndexSettings};

use crate::setup::{KEY_BYTES, Setup, value_of};
use crate::store::Store;

pub(crate) struct Ours {
    pub(crate) index: FlashIndex,
}

impl Ours {
    pub(crate) fn make(setup: &Setup, name: &str, settings: IndexSettings, memory: IndexMemory) -> Ours {
        Ours { index: FlashIndex::create(&setup.fresh(name), settings, memory).expect("an index") }
    }
}

impl Store for Ours {
    fn put_many(&mut self, keys: &[[u8; KEY_BYTES]]) {
        let values: Vec<_> = keys.iter().map(value_of).collect();
        let pairs: Vec<(&[u8], &[u8])> =
            keys.iter().zip(&values).map(|(key, value)| (&key[..], &value[..])).collect();
        self.index.put_many(&pairs).expect("put");
    }

    fn flush(&mut self) {
        self.index.commit().expect("commit");
    }

    fn get_many(&mut self, keys: &[[u8; KEY_BYTES]]) -> usize {
        let wanted: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
        let values = self.index.get_many(&wanted).expect("get");
        let found = keys.iter().zip(values).filter_map(|(key, value)| Some((key, value?)));
        found.inspect(|(key, value)| assert_eq!(value[..], value_of(key))).count()
    }

    fn reads(&self) -> Option<u64> {
        let stats = self.index.stats();
        Some(stats.bucket_reads + stats.page_reads)
    }

    fn written_bytes(&self) -> Option<u64> {
        let stats = self.index.stats();
        Some(stats.log_bytes_written + stats.bucket_bytes_written + stats.manifest_bytes_written)
    }
    fn counted_bytes(&self) -> Option<u64> {
        Some(self.index.info().memory_bytes)
    }
}
