//! SlateDB's filter policy for the tables of one database.

use std::sync::Arc;

use bytes::Bytes;
use slatedb::{Filter, FilterBuilder, FilterPolicy, PrefixTarget, RowEntry};
use springbloom_filter::UnitSettings;
use springbloom_format::{BlockWriter, Directory, FinishedBlock, PrefixWriter};

use crate::database::Database;
use crate::head::{self, Place, UnitsName};
use crate::table::Table;

/// Stored with each table. Other filters under it would be taken for ours, so it changes with the form of the head.
const NAME: &str = "springbloom:1";

pub(crate) struct ElasticPolicy {
    database: Arc<Database>,
    /// With that of the extractor: another one has other prefixes.
    name: String,
}

impl ElasticPolicy {
    pub(crate) fn new(database: Arc<Database>) -> Self {
        let of_prefixes = database.extractor().map(|extractor| format!(":p={}", extractor.name()));
        let name = NAME.to_owned() + &of_prefixes.unwrap_or_default();
        database.policy_begins();
        Self { database, name }
    }
}

impl Drop for ElasticPolicy {
    fn drop(&mut self) {
        self.database.policy_ends();
    }
}

impl FilterPolicy for ElasticPolicy {
    fn name(&self) -> &str {
        &self.name
    }

    fn builder(&self) -> Box<dyn FilterBuilder> {
        let (database, id) = (self.database.clone(), rand::random());
        let writer = Writer::new(&database, id);
        Box::new(Builder { database, id, writer: Some(writer), first_key: None, last_key: Vec::new() })
    }

    fn decode(&self, data: &[u8]) -> Arc<dyn Filter> {
        Arc::new(Table::read(self.database.clone(), data))
    }

    /// A guess: a fence and 20 bytes for each segment, a folder.
    fn estimate_size(&self, num_keys: usize) -> usize {
        256 + 32 * (num_keys / self.database.segment_keys() as usize)
    }

    fn supports_prefix_queries(&self) -> bool {
        self.database.extractor().is_some()
    }

    fn supports_range_queries(&self) -> bool {
        self.database.extractor().is_some()
    }
}

/// What the units are built over.
enum Writer {
    Keys(BlockWriter),
    Prefixes(PrefixWriter),
}

impl Writer {
    fn new(database: &Database, id: u128) -> Self {
        // Each unit has one bit per key: `AbsentShare` relies on it.
        // Each key or prefix counts as a byte of data: what a segment costs in memory does not depend on the size of values.
        let (settings, keys) = (UnitSettings::default(), database.segment_keys().into());
        match database.extractor() {
            None => {
                Self::Keys(BlockWriter::new(settings, keys).with_bytewise_keys().with_identity(id as u32))
            }
            // It gives the units another identity than a table's keys have, which are in another object here.
            Some(_) => Self::Prefixes(PrefixWriter::new(settings, keys, !(id as u32)).with_bytewise_keys()),
        }
    }

    fn end(self) -> FinishedBlock {
        match self {
            Self::Keys(writer) => writer.end(),
            Self::Prefixes(writer) => writer.end(),
        }
    }
}

/// Collects the keys of a table, or their prefixes.
struct Builder {
    database: Arc<Database>,
    id: u128,
    /// Until the filter is built.
    writer: Option<Writer>,
    first_key: Option<Vec<u8>>,
    last_key: Vec<u8>,
}

impl FilterBuilder for Builder {
    fn add_entry(&mut self, entry: &RowEntry) {
        let key = &entry.key[..];
        match &mut self.writer {
            Some(Writer::Keys(writer)) => writer.add(key, u64::from(self.last_key != key)),
            Some(Writer::Prefixes(writer)) => {
                let prefix = self.database.prefix_of(&PrefixTarget::Point(entry.key.clone()), key);
                if let Some(prefix) = prefix {
                    writer.add(prefix, (!self.last_key.starts_with(prefix)).into());
                }
            }
            None => (),
        }
        self.first_key.get_or_insert_with(|| key.to_vec());
        self.last_key.clear();
        self.last_key.extend_from_slice(key);
    }

    fn build(&mut self) -> Arc<dyn Filter> {
        let head = self.writer.take().zip(self.first_key.take()).and_then(|(writer, first_key)| {
            let block = Bytes::from(writer.end().into_bytes().ok()?);
            let units_at = Directory::parse(&block).ok()?.units_at() as usize;
            let name = UnitsName { keys: UnitsName::keys_of(&first_key, &self.last_key), id: self.id };
            let place = Place { folder: self.database.folder.clone(), name };
            self.database.objects(&place.folder).write(name, block.slice(units_at..));
            Some(head::encode(&place, &block[..units_at]))
        });
        Arc::new(Table::built(self.database.clone(), head.unwrap_or_default()))
    }
}
