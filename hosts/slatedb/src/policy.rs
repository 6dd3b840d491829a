//! SlateDB's filter policy for the tables of one database.

use std::sync::Arc;

use bytes::Bytes;
use slatedb::{Filter, FilterBuilder, FilterPolicy, RowEntry};
use springbloom_filter::UnitSettings;
use springbloom_format::{BlockWriter, Directory};

use crate::{
    elastic_filters::Database,
    head::{self, Place, UnitsName},
    table::Table,
};

/// Stored with each table. Other filters under it would be taken for ours, so it changes with the form of the head.
const NAME: &str = "springbloom:1";

pub(crate) struct ElasticPolicy(pub(crate) Arc<Database>);

impl FilterPolicy for ElasticPolicy {
    fn name(&self) -> &str {
        NAME
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        Box::new(Builder {
            database: self.0.clone(),
            id: rand::random(),
            writer: None,
            first_key: Vec::new(),
            last_key: Vec::new(),
        })
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        Arc::new(Table::new(self.0.clone(), data))
    }

    /// A guess: a fence and 20 bytes for each segment of at most 64 Ki keys, a folder.
    fn estimate_size(&self, num_keys: usize) -> usize {
        256 + num_keys / 1024
    }

    fn supports_prefix_queries(&self) -> bool {
        false
    }
}

/// Collects the keys of a table.
struct Builder {
    database: Arc<Database>,
    id: u128,
    /// From the first key on.
    writer: Option<BlockWriter>,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
}

impl FilterBuilder for Builder {
    fn add_entry(&mut self, entry: &RowEntry) {
        let key = &entry.key[..];
        let writer = self.writer.get_or_insert_with(|| {
            self.first_key.extend_from_slice(key);
            // Each unit has one bit per key: `AbsentShare` relies on it.
            BlockWriter::new(UnitSettings::default(), self.database.segment_data_bytes())
                .with_bytewise_keys()
                .with_identity(self.id as u32)
        });
        writer.add(key, (key.len() + entry.value.len()) as u64);
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let head = self.writer.take().and_then(|writer| {
            let block = Bytes::from(writer.finish());
            let units_at = Directory::parse(&block).ok()?.layout().units_at() as usize;
            let name = UnitsName { keys: UnitsName::keys_of(&self.first_key, &self.last_key), id: self.id };
            let place = Place { folder: self.database.folder().to_owned(), name };
            self.database.objects(&place.folder).write(name, block.slice(units_at..));
            Some(head::encode(&place, &block[..units_at]))
        });
        Arc::new(Table::new(self.database.clone(), &head.unwrap_or_default()))
    }
}
