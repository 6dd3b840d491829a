//! How many tables a get asks.

use anyhow::Result;
use springbloom_workload::Operation;

use crate::database::build::Folder;
use crate::database::load::Records;
use crate::database::options::CommonSettings;
use crate::run::measure::{Measured, ThreadMeter};
use crate::run::workload::Workload;

/// Enough for a few percent.
const OPERATIONS: usize = 2_000;

/// Tables that a get of the workload asks on average where there is no filter: the data blocks that it reads. 1 for one without gets.
pub(crate) fn tables_per_get(
    folder: &Folder,
    records: &Records,
    common: &CommonSettings,
    workload: &Workload,
) -> Result<f64> {
    let store = common.open_tree(&folder.tree())?;
    let families = store.families()?;
    let operations = workload.operations(&records.keys, (1, records.seed), (0, 1))?;
    let (mut key, mut gets) = (Vec::new(), 0);
    let meter = ThreadMeter::start();
    for (family, operation) in operations.take(OPERATIONS) {
        match operation {
            Operation::Read(record) | Operation::ReadModifyWrite(record) => {
                records.keys.present(record, &mut key)
            }
            Operation::ReadAbsent(record) => records.keys.absent(record, &mut key),
            _ => continue,
        }
        families[family].db.get_pinned_cf(families[family].handle, &key)?;
        gets += 1;
    }
    let mut measured = Measured::default();
    meter.finish(&mut measured);
    Ok(if gets > 0 { measured.data_reads as f64 / f64::from(gets) } else { 1.0 })
}
