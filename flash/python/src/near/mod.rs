//! Near duplicates: documents of which an earlier one has about the same shingles. Buckets of MinHash signatures find candidates, and their
//! shingles decide.

mod batch;
mod document;
mod minhash;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::filter::truths;
use crate::index::Index;
use crate::keys::{Batch, Item};
use batch::Comparison;
use document::COUNT_BITS;
use minhash::{Permutations, bands_and_rows, shingles};

#[pyclass(frozen, module = "springflash._springflash")]
pub(crate) struct Near(Comparison);

#[pymethods]
impl Near {
    /// `a` and `b` are of the permutations.
    #[new]
    fn new(a: Vec<u32>, b: Vec<u32>, threshold: f64, words: usize) -> Near {
        let (bands, rows) = bands_and_rows(threshold, a.len());
        Near(Comparison { permutations: Permutations::new(a, b), bands, rows, words, threshold })
    }

    #[getter]
    fn bands_and_rows(&self) -> (usize, usize) {
        (self.0.bands, self.0.rows)
    }

    /// The signature of a text, with some values more.
    fn signature(&self, text: Item) -> Vec<u32> {
        self.0.permutations.signature(&shingles(text.bytes(), self.0.words))
    }

    /// One byte for each text: 1 if no earlier one that was new is near. They are in the index from now on. `first` counts those of the
    /// same run before them; `dead` are the runs that were interrupted.
    fn take_in<'py>(
        &self,
        py: Python<'py>,
        index: &Index,
        texts: Batch,
        run: u64,
        first: u64,
        dead: Vec<u64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let first = run << COUNT_BITS | first;
        let new =
            index.handle.with(py, |index| self.0.take_in(index, &texts.map(|text| text), first, &dead))?;
        truths(py, &new)
    }
}
