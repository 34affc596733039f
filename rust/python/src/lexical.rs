//! BM25: between Python's ids, texts and dicts and the core's keys, slices and columns.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ragstone_core::ChunkKey;
use ragstone_core::filter::Metadata;
use ragstone_core::lexical::{self, Hit, TermScore};

use crate::convert::{PyDocumentId, PyText, chunk_index, chunk_indices, chunk_keys, metadata, optional_metadata};
use crate::error::{detached, raised};

type PyHit = (PyDocumentId, u32, f64);
type PyTerm = (String, u32, u32, u32, f64, f64);
type Dicts<'py> = Vec<Bound<'py, PyDict>>;

#[pyclass(frozen, module = "ragstone._core")]
struct Bm25Index(lexical::Bm25Index);

#[pymethods]
impl Bm25Index {
    #[new]
    fn new(py: Python<'_>, k1: f64, b: f64) -> PyResult<Self> {
        lexical::Bm25Index::new(k1, b).map(Self).map_err(|error| raised(py, &error))
    }

    fn upsert(
        &self,
        py: Python<'_>,
        document_ids: &Bound<'_, PyAny>,
        chunk_indices: &Bound<'_, PyAny>,
        texts: Vec<PyText>,
        metadata: Option<Dicts<'_>>,
    ) -> PyResult<()> {
        let keys = chunk_keys(document_ids, chunk_indices)?;
        let (texts, metadata) = (strings(&texts), metadata.as_ref().map(|dicts| all(py, dicts)).transpose()?);
        detached(py, || self.0.upsert(keys, &texts, metadata.as_deref()))
    }

    fn replace_document(
        &self,
        py: Python<'_>,
        document_id: PyDocumentId,
        chunk_indices: &Bound<'_, PyAny>,
        texts: Vec<PyText>,
        metadata: Option<Dicts<'_>>,
    ) -> PyResult<()> {
        let indices = self::chunk_indices(chunk_indices)?;
        let (texts, metadata) = (strings(&texts), metadata.as_ref().map(|dicts| all(py, dicts)).transpose()?);
        detached(py, || self.0.replace_document(&document_id.0, &indices, &texts, metadata.as_deref()))
    }

    fn remove(&self, py: Python<'_>, document_id: PyDocumentId) -> usize {
        py.detach(|| self.0.remove(&document_id.0))
    }

    fn search(
        &self,
        py: Python<'_>,
        query: PyText,
        top_k: usize,
        metadata_filter: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<PyHit>> {
        let filter = optional_metadata(metadata_filter)?;
        Ok(page(py.detach(|| self.0.search(query.as_str(), top_k, &filter))))
    }

    fn search_many(
        &self,
        py: Python<'_>,
        queries: Vec<PyText>,
        top_k: usize,
        metadata_filter: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Vec<Vec<PyHit>>> {
        let (queries, filter) = (strings(&queries), optional_metadata(metadata_filter)?);
        Ok(py.detach(|| self.0.search_many(&queries, top_k, &filter)).into_iter().map(page).collect())
    }

    fn explain(
        &self,
        py: Python<'_>,
        query: PyText,
        document_id: PyDocumentId,
        chunk_index: &Bound<'_, PyAny>,
    ) -> PyResult<Vec<PyTerm>> {
        let key = ChunkKey { document_id: document_id.0, chunk_index: self::chunk_index(chunk_index)? };
        Ok(py.detach(|| self.0.explain(query.as_str(), &key)).into_iter().map(term).collect())
    }

    fn clear(&self, py: Python<'_>) {
        py.detach(|| self.0.clear());
    }

    fn __len__(&self, py: Python<'_>) -> usize {
        py.detach(|| self.0.len())
    }

    #[getter]
    fn k1(&self) -> f64 {
        self.0.k1()
    }

    #[getter]
    fn b(&self) -> f64 {
        self.0.b()
    }
}

fn strings(texts: &[PyText]) -> Vec<&str> {
    texts.iter().map(PyText::as_str).collect()
}

/// The metadata of many chunks. Other threads may have the interpreter now and then meanwhile.
fn all(py: Python<'_>, dicts: &Dicts<'_>) -> PyResult<Vec<Metadata>> {
    const TURN: usize = 1024;
    let mut all = Vec::with_capacity(dicts.len());
    for turn in dicts.chunks(TURN) {
        for dict in turn {
            all.push(metadata(dict)?);
        }
        if turn.len() == TURN {
            py.detach(|| ());
        }
    }
    Ok(all)
}

fn page(hits: Vec<Hit>) -> Vec<PyHit> {
    hits.into_iter().map(|hit| (PyDocumentId(hit.key.document_id), hit.key.chunk_index, hit.score)).collect()
}

fn term(score: TermScore) -> PyTerm {
    let TermScore { term, query_frequency, term_frequency, document_frequency, idf, contribution } = score;
    (term, query_frequency, term_frequency, document_frequency, idf, contribution)
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Bm25Index>()
}
