//! How many tables a get asks.

use anyhow::{Context, Result};
use rocksdb::DB;
use springbloom_workload::{Operation, OperationStream, StreamSettings};

use crate::database::build::Folder;
use crate::database::load::Records;
use crate::database::options::{AutoCompaction, CommonSettings};
use crate::run::measure::{Measured, ThreadMeter};

/// Enough for a few percent.
const OPERATIONS: usize = 2_000;

/// Tables that a get of the stream asks on average where there is no filter: the data blocks that it reads. 1 for a stream without gets.
pub(crate) fn tables_per_get(
    folder: &Folder,
    records: &Records,
    common: &CommonSettings,
    stream: StreamSettings,
) -> Result<f64> {
    let tree = folder.tree();
    let db = DB::open_for_read_only(&common.tree_options(AutoCompaction::Off), &tree, false)
        .with_context(|| format!("cannot open {}", tree.display()))?;
    let mut stream = OperationStream::new(StreamSettings { salt: 1, ..stream }, &records.keys)?;
    let (mut key, mut gets) = (Vec::new(), 0);
    let meter = ThreadMeter::start();
    for _ in 0..OPERATIONS {
        match stream.next_operation() {
            Operation::Read(record) | Operation::ReadModifyWrite(record) => {
                records.keys.present(record, &mut key)
            }
            Operation::ReadAbsent(record) => records.keys.absent(record, &mut key),
            _ => continue,
        }
        db.get_pinned(&key)?;
        gets += 1;
    }
    let mut measured = Measured::nothing();
    meter.finish(&mut measured);
    Ok(if gets > 0 { measured.data_reads as f64 / f64::from(gets) } else { 1.0 })
}
