//! BM25: between Python's ids, texts and dicts and the core's keys, slices and columns.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ragstone_core::ChunkKey;
use ragstone_core::lexical::{self, Hit, Memory, TermScore};

use crate::convert::{
    ManyMetadata, PyDocumentId, PyText, chunk_index, chunk_indices, chunk_keys, metadata_of_each, optional_metadata,
    texts,
};
use crate::error::{detached, raised};

type PyHit = (PyDocumentId, u32, f64);
type PyTerm = (String, u32, u32, u32, f64, f64);

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
        texts: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let keys = chunk_keys(document_ids, chunk_indices)?;
        let (texts, metadata) = (self::texts(texts)?, metadata_of_each(metadata)?);
        detached(py, || self.0.upsert(keys, &strings(&texts), metadata.as_ref().map(ManyMetadata::of_each).as_deref()))
    }

    fn replace_document(
        &self,
        py: Python<'_>,
        document_id: PyDocumentId,
        chunk_indices: &Bound<'_, PyAny>,
        texts: &Bound<'_, PyAny>,
        metadata: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let indices = self::chunk_indices(chunk_indices)?;
        let (texts, metadata) = (self::texts(texts)?, metadata_of_each(metadata)?);
        detached(py, || {
            self.0.replace_document(
                &document_id.0,
                &indices,
                &strings(&texts),
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

    fn memory(&self, py: Python<'_>) -> (usize, usize, usize, usize, usize, usize) {
        let Memory { chunks, postings, lists, forward, documents, vocabulary } = py.detach(|| self.0.memory());
        (chunks, postings, lists, forward, documents, vocabulary)
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
