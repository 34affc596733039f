//! Vector search: between Python's ids, arrays and dicts and the core's keys, rows and columns.
//!
//! Arrays are read where they lie. The borrow is held while the interpreter lock is released; that nobody writes to the
//! array meanwhile is the caller's part.

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use ragstone_core::dense::{self, Hit, Quantization, Rows, Search};
use ragstone_core::filter::Metadata;

use crate::convert::{PyDocumentId, chunk_indices, chunk_keys, metadata, optional_metadata};
use crate::error::{detached, raised};

type PyHit = (PyDocumentId, u32, f64, u64);
type Matrix<'py> = PyReadonlyArray2<'py, f32>;
type Dicts<'py> = Vec<Bound<'py, PyDict>>;

#[pyclass(frozen, module = "ragstone._core")]
struct VectorIndex(dense::VectorIndex);

#[pymethods]
impl VectorIndex {
    #[new]
    fn new(
        py: Python<'_>,
        dimensions: Option<usize>,
        quantization: Option<&str>,
        oversampling: Option<usize>,
    ) -> PyResult<Self> {
        Quantization::named(quantization, oversampling)
            .and_then(|quantization| dense::VectorIndex::quantized(dimensions, quantization))
            .map(Self)
            .map_err(|error| raised(py, &error))
    }

    fn upsert(
        &self,
        py: Python<'_>,
        document_ids: &Bound<'_, PyAny>,
        chunk_indices: &Bound<'_, PyAny>,
        vectors: Matrix<'_>,
        metadata: Option<Dicts<'_>>,
    ) -> PyResult<Vec<u64>> {
        let keys = chunk_keys(document_ids, chunk_indices)?;
        let metadata = metadata.as_ref().map(all).transpose()?;
        let (values, dimensions) = (vectors.as_slice()?, vectors.shape()[1]);
        detached(py, || self.0.upsert(keys, Rows::new(values, dimensions)?, metadata.as_deref()))
    }

    fn replace_document(
        &self,
        py: Python<'_>,
        document_id: PyDocumentId,
        chunk_indices: &Bound<'_, PyAny>,
        vectors: Matrix<'_>,
        metadata: Option<Dicts<'_>>,
    ) -> PyResult<Vec<u64>> {
        let indices = self::chunk_indices(chunk_indices)?;
        let metadata = metadata.as_ref().map(all).transpose()?;
        let (values, dimensions) = (vectors.as_slice()?, vectors.shape()[1]);
        detached(py, || {
            self.0.replace_document(&document_id.0, &indices, Rows::new(values, dimensions)?, metadata.as_deref())
        })
    }

    fn remove(&self, py: Python<'_>, document_id: PyDocumentId) -> usize {
        py.detach(|| self.0.remove(&document_id.0))
    }

    fn search(
        &self,
        py: Python<'_>,
        query: PyReadonlyArray1<'_, f32>,
        top_k: usize,
        min_score: f64,
        metadata_filter: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<PyHit>> {
        let search = Search { top_k, min_score, filter: optional_metadata(metadata_filter)? };
        let query = query.as_slice()?;
        Ok(page(detached(py, || self.0.search(query, &search))?))
    }

    fn search_many(
        &self,
        py: Python<'_>,
        queries: Matrix<'_>,
        top_k: usize,
        min_score: f64,
        metadata_filter: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<PyHit>>> {
        let search = Search { top_k, min_score, filter: optional_metadata(metadata_filter)? };
        let (values, dimensions) = (queries.as_slice()?, queries.shape()[1]);
        let pages = detached(py, || self.0.search_many(Rows::new(values, dimensions)?, &search))?;
        Ok(pages.into_iter().map(page).collect())
    }

    /// The unit vectors that are there, one a row, and which of the keys these belong to.
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        document_ids: &Bound<'_, PyAny>,
        chunk_indices: &Bound<'_, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, Vec<bool>)> {
        let keys = chunk_keys(document_ids, chunk_indices)?;
        let (values, found) = py.detach(|| self.0.vectors(&keys));
        let rows = found.iter().filter(|&&found| found).count();
        let dimensions = values.len().checked_div(rows).unwrap_or_default();
        Ok((numpy::PyArray1::from_vec(py, values).reshape([rows, dimensions])?, found))
    }

    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.0.clear());
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    #[getter]
    fn dimensions(&self, py: Python<'_>) -> Option<usize> {
        py.detach(|| self.0.dimensions())
    }
}

fn all(dicts: &Dicts<'_>) -> PyResult<Vec<Metadata>> {
    dicts.iter().map(metadata).collect()
}

fn page(hits: Vec<Hit>) -> Vec<PyHit> {
    let row = |hit: Hit| (PyDocumentId(hit.key.document_id), hit.key.chunk_index, hit.score, hit.handle);
    hits.into_iter().map(row).collect()
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<VectorIndex>()
}
