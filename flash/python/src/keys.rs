//! Keys and values as they come from Python: one, or a batch in one of three forms.

use pyo3::exceptions::{PyMemoryError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pybacked::{PyBackedBytes, PyBackedStr};
use pyo3::types::{PyByteArray, PyBytes, PyList, PyMemoryView, PyString};

use crate::spare::require_spare;

const BYTES: &str = "bytes or str";

/// A key or value. Text is its UTF-8 bytes.
pub(crate) enum Item {
    Bytes(PyBackedBytes),
    Text(PyBackedStr),
}

impl Item {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Item::Bytes(bytes) => bytes,
            Item::Text(text) => text.as_bytes(),
        }
    }

    fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Item>> {
        if let Ok(bytes) = object.cast::<PyBytes>() {
            Ok(Some(Item::Bytes(bytes.clone().into())))
        } else if let Ok(text) = object.cast::<PyString>() {
            Ok(Some(Item::Text(text.clone().try_into()?)))
        } else if object.cast::<PyByteArray>().is_ok() || object.cast::<PyMemoryView>().is_ok() {
            let copy = object.py().get_type::<PyBytes>().call1((object,))?;
            Ok(Some(Item::Bytes(copy.cast_into::<PyBytes>()?.into())))
        } else if is_numpy_void(object)? {
            let bytes = object.call_method0("tobytes")?;
            Ok(Some(Item::Bytes(bytes.cast_into::<PyBytes>()?.into())))
        } else {
            Ok(None)
        }
    }
}

/// Whether it is an item of a NumPy array of `V`. One with fields is no key, as in an array.
fn is_numpy_void(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let kind = object.get_type();
    Ok(kind.name()? == "void"
        && kind.module()? == "numpy"
        && object.getattr("dtype")?.getattr("names")?.is_none())
}

pub(crate) fn wrong_type(object: &Bound<'_, PyAny>, which: &str, expected: &str) -> PyErr {
    match object.get_type().qualname() {
        Ok(name) => PyTypeError::new_err(format!("{which} is {name}, expected {expected}")),
        Err(error) => error,
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Item {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Item> {
        Item::of(&object)?.ok_or_else(|| wrong_type(&object, "the key or value", BYTES))
    }
}

/// Several keys or values.
pub(crate) enum Batch {
    /// A list.
    Each(Vec<Item>),
    /// All of one width, one after the other. If `is_text`, zeros at the end of each are no part of it, as in NumPy.
    Fixed { bytes: PyBackedBytes, width: usize, is_text: bool },
    /// Arrow's: each begins where the one before ends, and there is one offset more.
    Arrow { bytes: PyBackedBytes, offsets: Vec<usize> },
}

impl Batch {
    /// Calls `take` with each item, in order.
    pub(crate) fn map<'b, R>(&'b self, take: impl Fn(&'b [u8]) -> R) -> Vec<R> {
        match self {
            Batch::Each(items) => items.iter().map(|item| take(item.bytes())).collect(),
            Batch::Fixed { bytes, width, is_text } => bytes
                .chunks_exact(*width)
                .map(|item| take(if *is_text { stripped(item) } else { item }))
                .collect(),
            Batch::Arrow { bytes, offsets } => {
                offsets.windows(2).map(|ends| take(&bytes[ends[0]..ends[1]])).collect()
            }
        }
    }
}

fn stripped(item: &[u8]) -> &[u8] {
    let len = item.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
    &item[..len]
}

impl<'a, 'py> FromPyObject<'a, 'py> for Batch {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Batch> {
        require_spare().map_err(|error| PyMemoryError::new_err(error.to_string()))?;
        if let Ok(list) = object.cast::<PyList>() {
            let item = |(n, object): (usize, Bound<'py, PyAny>)| {
                Item::of(&object)?
                    .ok_or_else(|| wrong_type(&object, &format!("item {n} of the batch"), BYTES))
            };
            return Ok(Batch::Each(list.iter().enumerate().map(item).collect::<PyResult<_>>()?));
        }
        if let Ok((bytes, width, is_text)) = object.extract::<(PyBackedBytes, usize, bool)>() {
            let is_whole = width > 0 && bytes.len().is_multiple_of(width);
            return if is_whole { Ok(Batch::Fixed { bytes, width, is_text }) } else { Err(inconsistent()) };
        }
        let (bytes, offsets, width) = object.extract::<(PyBackedBytes, PyBackedBytes, usize)>()?;
        let offset = |bytes: &[u8]| bytes.iter().rev().fold(0, |offset, byte| offset << 8 | u64::from(*byte));
        let offsets: Vec<u64> = offsets.chunks_exact(width.max(1)).map(offset).collect();
        let first = offsets.first().copied().unwrap_or(0);
        let is_rising = offsets.windows(2).all(|ends| ends[0] <= ends[1]);
        let behind = offsets.last().map_or(0, |last| last.wrapping_sub(first));
        if !is_rising || behind > bytes.len() as u64 {
            return Err(inconsistent());
        }
        Ok(Batch::Arrow { bytes, offsets: offsets.iter().map(|offset| (offset - first) as usize).collect() })
    }
}

fn inconsistent() -> PyErr {
    PyValueError::new_err("a packed batch whose parts do not fit together")
}
