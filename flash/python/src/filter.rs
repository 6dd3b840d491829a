//! `FlashFilter` of Python, without its batches.

use std::path::PathBuf;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use springbloom_filter::KeyDigest;
use springbloom_flash_filter::{BufferSettings, FileStorage, FilterSettings, FlashFilter, WhenFull};

use crate::attention::Progress;
use crate::error::FullError;
use crate::handle::Handle;
use crate::keys::{Batch, Item, wrong_type};
use crate::opened::Opened;

#[pyclass(subclass, frozen, extends = Opened, module = "springflash._springflash")]
pub(crate) struct Filter {
    handle: Arc<Handle<FlashFilter>>,
}

pub(crate) fn truths<'py>(py: Python<'py>, answers: &[bool]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, answers.len(), |bytes| {
        bytes.iter_mut().zip(answers).for_each(|(byte, answer)| *byte = u8::from(*answer));
        Ok(())
    })
}

#[pymethods]
impl Filter {
    #[new]
    fn new(
        py: Python<'_>,
        folder: PathBuf,
        mode: &str,
        settings: (u64, f64, &str),
        memory_bytes: u64,
        progress: Progress,
    ) -> PyResult<PyClassInitializer<Filter>> {
        let buffer = BufferSettings::with_memory_bytes(memory_bytes);
        let (capacity, false_positive_rate, when_full) = settings;
        let when_full = match when_full {
            "grow" => WhenFull::Grow,
            "overfill" => WhenFull::Exceed,
            _ => WhenFull::Refuse,
        };
        let settings =
            FilterSettings::new(capacity, false_positive_rate).growing(when_full == WhenFull::Grow);
        let handle = Handle::new(
            py,
            folder,
            mode,
            &|folder, access, watch| {
                FlashFilter::open_watched(FileStorage::shared(folder, access)?, buffer, watch)
            },
            &|folder, watch| {
                FileStorage::make(folder, |storage| {
                    FlashFilter::create_watched(storage, &settings, buffer, watch)
                })
            },
            FlashFilter::close_watched,
            &progress,
        )?;
        handle.with(py, |filter| {
            filter.set_when_full(when_full);
            Ok(())
        })?;
        Ok(Opened::new(&handle).add_subclass(Filter { handle }))
    }

    /// Adds a key. It is found at once, and durable after `commit` or `close`. Cost: memory, and occasional writes of pages.
    ///
    /// Raises FullError if it is new and there is no room, unless `when_full` says otherwise.
    fn add(&self, py: Python<'_>, key: Item) -> PyResult<()> {
        self.add_all(py, &[KeyDigest::of(key.bytes())])
    }

    /// Adds a key and tells whether it is new, atomically: of threads that add the same key at the same time, one gets True.
    ///
    /// A share of the new keys, the false positive rate, is reported as known: False. Raises FullError as `add` does. Cost: a lookup, and
    /// for a new key that of `add`. `add_new_many` is faster for many keys.
    fn add_new(&self, py: Python<'_>, key: Item) -> PyResult<bool> {
        let mut new = Vec::new();
        self.add_new_all(py, &[KeyDigest::of(key.bytes())], &mut new)?;
        Ok(new == [true])
    }

    fn __contains__(&self, py: Python<'_>, key: Item) -> PyResult<bool> {
        self.handle.with(py, |filter| Ok(filter.contains(KeyDigest::of(key.bytes()))))
    }

    fn _add_batch(&self, py: Python<'_>, keys: Batch) -> PyResult<()> {
        let digests = py.detach(|| keys.map(KeyDigest::of));
        self.add_all(py, &digests)
    }

    /// One byte for each key: 1 if it is new. A `FullError` has those of the keys before it as `new`.
    fn _add_new_batch<'py>(&self, py: Python<'py>, keys: Batch) -> PyResult<Bound<'py, PyBytes>> {
        let digests = py.detach(|| keys.map(KeyDigest::of));
        let mut new = Vec::new();
        match self.add_new_all(py, &digests, &mut new) {
            Ok(()) => truths(py, &new),
            Err(error) => {
                if error.is_instance_of::<FullError>(py) {
                    error.value(py).setattr("new", truths(py, &new)?)?;
                }
                Err(error)
            }
        }
    }

    /// One byte for each key: 1 if it may be there.
    fn _contains_batch<'py>(&self, py: Python<'py>, keys: Batch) -> PyResult<Bound<'py, PyBytes>> {
        let answers = self.handle.with(py, |filter| Ok(filter.contains_many(&keys.map(KeyDigest::of))))?;
        truths(py, &answers)
    }

    /// Makes all added keys durable. Cost: one sync, which threads share, and 24 bytes written per key added since the last one.
    fn commit(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.with(py, FlashFilter::commit)
    }

    /// Adds all keys of another filter, durable on return. Adding to either waits. Cost: reads both and writes this one.
    ///
    /// Filters with the same settings are united if there is room. Others, also grown ones, are copied: sizes and rates add up, and a
    /// lookup of an absent key reads a page of each. Copies take no new keys, so there is as much room as before. Raises FullError, before
    /// it writes, if there is no room, or if the rate of the full filter would exceed 1.5 times the target, unless this one was opened with
    /// `when_full="overfill"`.
    ///
    /// `progress(done, total)` is called at the first step, then about ten times a second, and at the end; `total` may rise. An interrupt,
    /// or an exception from `progress`, ends the call early, and no key is lost: a copy has merged nothing, a union (`info().layers` tells)
    /// some of the other keys. Repeat the merge to complete it.
    #[pyo3(signature = (other, progress=None))]
    fn merge(&self, py: Python<'_>, other: &Bound<'_, PyAny>, progress: Progress) -> PyResult<()> {
        let other = other.cast::<Filter>().map_err(|_| wrong_type(other, "other", "a FlashFilter"))?.get();
        self.handle.both(py, &other.handle, &progress, FlashFilter::merge_from)
    }

    fn _copy(&self, py: Python<'_>, folder: PathBuf, progress: Progress) -> PyResult<()> {
        self.handle.with_watch(py, &progress, |filter, watch| filter.copy_to(&folder, watch))
    }

    fn _info<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (info, is_full) = self.handle.with(py, |filter| Ok((filter.info(), filter.is_full())))?;
        let keys: f64 = info.layers.iter().map(|layer| layer.estimated_keys).sum();
        let capacity: u64 = info.layers.iter().map(|layer| layer.header.capacity_keys).sum();
        let bytes: u64 = info.layers.iter().map(|layer| layer.header.file_bytes()).sum();
        let dict = PyDict::new(py);
        dict.set_item("keys", keys.min(info.insertions as f64).round() as u64)?;
        dict.set_item("capacity", capacity)?;
        dict.set_item("false_positive_rate", info.estimated_fpr)?;
        dict.set_item("target_false_positive_rate", info.layers[0].header.chain_fpr)?;
        dict.set_item("is_full", is_full)?;
        dict.set_item("layers", info.layers.len())?;
        dict.set_item("file_bytes", bytes)?;
        dict.set_item("memory_bytes", info.memory_bytes)?;
        Ok(dict)
    }

    /// Reads and checks every page. False if some are damaged: these report any key as present. `springflash set repair` mends them.
    /// `progress(done, total)` is called at the first step, then some ten times a second, and at the end. An interrupt ends the call early.
    #[pyo3(signature = (progress=None))]
    fn verify(&self, py: Python<'_>, progress: Progress) -> PyResult<bool> {
        self.handle.with_watch(py, &progress, |filter, watch| Ok(filter.verify(watch)?.is_sound()))
    }
}

impl Filter {
    fn add_all(&self, py: Python<'_>, digests: &[KeyDigest]) -> PyResult<()> {
        self.handle.with_watch(py, &None, |filter, watch| filter.insert_watched(digests, watch))
    }

    fn add_new_all(&self, py: Python<'_>, digests: &[KeyDigest], new: &mut Vec<bool>) -> PyResult<()> {
        self.handle.with_watch(py, &None, |filter, watch| filter.insert_new(digests, new, watch))
    }
}
