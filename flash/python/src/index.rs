//! `FlashIndex` of Python, without its batches.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use springbloom_flash_index::{FileStorage, FlashIndex, IndexMemory, IndexSettings};

use crate::attention::Progress;
use crate::handle::Handle;
use crate::keys::{Batch, Item};
use crate::opened::Opened;

#[pyclass(subclass, frozen, extends = Opened, module = "springflash._springflash")]
pub(crate) struct Index {
    pub(crate) handle: Arc<Handle<FlashIndex>>,
}

/// How far an iteration has come.
#[pyclass(frozen, module = "springflash._springflash")]
pub(crate) struct Scan(Mutex<springbloom_flash_index::Scan>);

/// Raises MemoryError where `PyBytes::new` panics.
fn object<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |object| {
        object.copy_from_slice(bytes);
        Ok(())
    })
}

/// One by one: a list that is made of a vector panics where there is no memory.
fn objects(py: Python<'_>, values: Vec<Option<Vec<u8>>>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for value in values {
        list.append(value.map(|value| object(py, &value)).transpose()?)?;
    }
    Ok(list)
}

fn pairs<'b>(keys: &'b Batch, values: &'b Batch) -> PyResult<Vec<(&'b [u8], &'b [u8])>> {
    let (keys, values) = (keys.map(|key| key), values.map(|value| value));
    if keys.len() != values.len() {
        let (keys, values) = (keys.len(), values.len());
        return Err(PyValueError::new_err(format!("{keys} keys with {values} values, expected as many")));
    }
    Ok(keys.into_iter().zip(values).collect())
}

#[pymethods]
impl Index {
    #[new]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        mode: &str,
        expected_keys: u64,
        memory_bytes: u64,
        is_lean: bool,
        progress: Progress,
    ) -> PyResult<PyClassInitializer<Index>> {
        let per_key = if is_lean { IndexMemory::lean() } else { IndexMemory::standard() };
        let memory = IndexMemory { pending_bytes_min: memory_bytes, ..per_key };
        let settings = IndexSettings::new(expected_keys);
        let handle = Handle::new(
            py,
            folder,
            mode,
            &|folder, access, watch| {
                FlashIndex::open_watched(FileStorage::shared(folder, access)?, memory, watch)
            },
            &|folder, _| FlashIndex::create(folder, settings, memory),
            FlashIndex::close_watched,
            &progress,
        )?;
        Ok(Opened::new(&handle).add_subclass(Index { handle }))
    }

    /// Makes all changes durable. Cost: one or two syncs, which threads share. Raises ReadOnlyError if it is open for reading.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.with(py, FlashIndex::commit)
    }

    fn _get<'py>(&self, py: Python<'py>, key: Item) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let value = self.handle.with(py, |index| index.get(key.bytes()))?;
        value.map(|value| object(py, &value)).transpose()
    }

    fn __setitem__(&self, py: Python<'_>, key: Item, value: Item) -> PyResult<()> {
        self.handle.with(py, |index| index.put(key.bytes(), value.bytes()))
    }

    fn __delitem__(&self, py: Python<'_>, key: Item) -> PyResult<()> {
        let old = self.handle.with(py, |index| index.remove(key.bytes()))?;
        old.map(drop)
            .ok_or_else(|| pyo3::exceptions::PyKeyError::new_err(PyBytes::new(py, key.bytes()).unbind()))
    }

    fn _remove<'py>(&self, py: Python<'py>, key: Item) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let old = self.handle.with(py, |index| index.remove(key.bytes()))?;
        old.map(|old| object(py, &old)).transpose()
    }

    /// Does not read whether they are there.
    fn _delete_batch(&self, py: Python<'_>, keys: Batch) -> PyResult<()> {
        self.handle.with(py, |index| keys.map(|key| index.delete(key)).into_iter().collect())
    }

    fn _get_batch<'py>(&self, py: Python<'py>, keys: Batch) -> PyResult<Bound<'py, PyList>> {
        let values = self.handle.with(py, |index| index.get_many(&keys.map(|key| key)))?;
        objects(py, values)
    }

    fn _put_batch(&self, py: Python<'_>, keys: Batch, values: Batch) -> PyResult<()> {
        let pairs = pairs(&keys, &values)?;
        self.handle.with(py, |index| index.put_many(&pairs))
    }

    fn _setdefault_batch<'py>(
        &self,
        py: Python<'py>,
        keys: Batch,
        values: Batch,
    ) -> PyResult<Bound<'py, PyList>> {
        let pairs = pairs(&keys, &values)?;
        let old = self.handle.with(py, |index| index.put_absent_many(&pairs))?;
        objects(py, old)
    }

    fn _scan(&self, py: Python<'_>) -> PyResult<Scan> {
        self.handle.with(py, |index| Ok(Scan(Mutex::new(index.scan()))))
    }

    /// The next keys with their values. `None` at the end.
    fn _scan_on<'py>(&self, py: Python<'py>, scan: &Scan) -> PyResult<Option<Bound<'py, PyList>>> {
        let pairs = self.handle.with(py, |index| index.scan_on(&mut scan.0.lock()))?;
        let Some(pairs) = pairs else { return Ok(None) };
        let list = PyList::empty(py);
        for (key, value) in pairs {
            list.append((object(py, &key)?, object(py, &value)?))?;
        }
        Ok(Some(list))
    }

    fn _copy(&self, py: Python<'_>, folder: PathBuf, progress: Progress) -> PyResult<()> {
        self.handle.with_watch(py, &progress, |index, watch| index.copy_to(&folder, watch))
    }

    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let info = self.handle.with(py, |index| Ok(index.info()))?;
        let dict = PyDict::new(py);
        dict.set_item("keys", info.live_records)?;
        dict.set_item("file_bytes", info.log_bytes + info.bucket_bytes)?;
        dict.set_item("memory_bytes", info.memory_bytes)?;
        Ok(dict)
    }

    /// Frees the space of replaced and deleted values for new ones. Files do not shrink. Cost: reads and writes what is left.
    ///
    /// `progress(done, total)` is called at the first step, then about ten times a second, and at the end; `total` may rise. An interrupt,
    /// or an exception from `progress`, ends the call early without loss; a second call continues.
    #[pyo3(signature = (progress=None))]
    fn compact(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        self.handle.with_watch(py, &progress, |index, watch| index.compact(watch).map(drop))
    }

    /// Reads and checks everything; changes wait. False if something is damaged: lookups of it raise DamagedError.
    /// `springflash index` repairs. `progress(done, total)` is called at the first step, then some ten times a second, and at the end. An
    /// interrupt ends the call early.
    #[pyo3(signature = (progress=None))]
    fn verify(&self, py: Python<'_>, progress: Progress) -> PyResult<bool> {
        self.handle.with_watch(py, &progress, |index, watch| Ok(index.verify(watch)?.is_sound()))
    }
}
