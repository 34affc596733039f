//! Text analysis.

use pyo3::prelude::*;
use ragstone_core::text;

use crate::convert::PyText;

#[pyfunction]
fn tokenize(py: Python<'_>, text: PyText) -> Vec<String> {
    py.detach(|| text::terms(text.as_str()))
}

#[pyfunction]
fn sentence_spans(py: Python<'_>, text: PyText) -> Vec<(usize, usize)> {
    py.detach(|| text::sentence_spans(text.as_str()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ANALYZER", text::fingerprint())?;
    module.add_function(wrap_pyfunction!(tokenize, module)?)?;
    module.add_function(wrap_pyfunction!(sentence_spans, module)?)
}
