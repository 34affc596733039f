//! Sparse search: between Python's ids, arrays and dicts and the core's keys, rows and columns.
//!
//! Vectors come one after the other in three arrays: where each ends, their terms, their weights. Arrays are read where
//! they lie while the interpreter lock is released.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ragstone_core::sparse::{self, Hit, Rows, Search};

use crate::convert::{ManyMetadata, PyDocumentId, chunk_indices, chunk_keys, metadata_of_each, optional_metadata};
use crate::error::detached;

type PyHit = (PyDocumentId, u32, f64);

/// Ends, terms and weights.
type Vectors<'py> = (PyReadonlyArray1<'py, usize>, PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, f32>);

#[pyclass(frozen, module = "ragstone._core")]
struct SparseIndex(sparse::SparseIndex);

#[pymethods]
impl SparseIndex {
    #[new]
    fn new() -> Self {
        Self(sparse::SparseIndex::new())
    }

    fn upsert(
        &self,
        py: Python<'_>,
        document_ids: &Bound<'_, PyAny>,
        chunk_indices: &Bound<'_, PyAny>,
        vectors: Vectors<'_>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let keys = chunk_keys(document_ids, chunk_indices)?;
        let metadata = metadata_of_each(metadata)?;
        let (ends, terms, weights) = slices(&vectors)?;
        detached(py, || {
            self.0.upsert(
                keys,
                Rows::new(ends, terms, weights)?,
                metadata.as_ref().map(ManyMetadata::of_each).as_deref(),
            )
        })
    }

    fn replace_document(
        &self,
        py: Python<'_>,
        document_id: PyDocumentId,
        chunk_indices: &Bound<'_, PyAny>,
        vectors: Vectors<'_>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let indices = self::chunk_indices(chunk_indices)?;
        let metadata = metadata_of_each(metadata)?;
        let (ends, terms, weights) = slices(&vectors)?;
        detached(py, || {
            let rows = Rows::new(ends, terms, weights)?;
            self.0.replace_document(
                &document_id.0,
                &indices,
                rows,
                metadata.as_ref().map(ManyMetadata::of_each).as_deref(),
            )
        })
    }

    fn remove(&self, py: Python<'_>, document_id: PyDocumentId) -> usize {
        py.detach(|| self.0.remove(&document_id.0))
    }

    fn search(
        &self,
        py: Python<'_>,
        queries: Vectors<'_>,
        top_k: usize,
        min_score: f64,
        metadata_filter: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<PyHit>>> {
        let search = Search { top_k, min_score, filter: optional_metadata(metadata_filter)?.into() };
        let (ends, terms, weights) = slices(&queries)?;
        let pages = detached(py, || self.0.search(Rows::new(ends, terms, weights)?, &search))?;
        Ok(pages.into_iter().map(page).collect())
    }

    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.0.clear());
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }
}

fn slices<'a>((ends, terms, weights): &'a Vectors<'_>) -> PyResult<(&'a [usize], &'a [u32], &'a [f32])> {
    Ok((ends.as_slice()?, terms.as_slice()?, weights.as_slice()?))
}

fn page(hits: Vec<Hit>) -> Vec<PyHit> {
    hits.into_iter().map(|hit| (PyDocumentId(hit.key.document_id), hit.key.chunk_index, hit.score)).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SparseIndex>()
}
