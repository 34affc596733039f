//! Token counts, spans and budgets over Python's strings, which are read in place.

use pyo3::prelude::*;
use pyo3::types::PyString;
use ragstone_core::Error;
use ragstone_core::tokens::{self, Encoding};

use crate::error::{detached, raised};

#[pyfunction]
fn count_tokens(py: Python<'_>, text: &Bound<'_, PyString>, encoding: &str) -> PyResult<usize> {
    let text = utf8(text, || "text".to_owned())?;
    detached(py, || Ok(Encoding::named(encoding)?.count(text)))
}

#[pyfunction]
fn count_tokens_many(py: Python<'_>, texts: Vec<Bound<'_, PyString>>, encoding: &str) -> PyResult<Vec<usize>> {
    let texts = texts.iter().enumerate().map(|(place, text)| utf8(text, || format!("texts[{place}]")));
    let texts = texts.collect::<PyResult<Vec<_>>>()?;
    detached(py, || Ok(tokens::count_many(Encoding::named(encoding)?, &texts)))
}

#[pyfunction]
fn token_spans(py: Python<'_>, text: &Bound<'_, PyString>, encoding: &str) -> PyResult<Vec<(usize, usize)>> {
    let text = utf8(text, || "text".to_owned())?;
    detached(py, || Ok(tokens::token_spans(Encoding::named(encoding)?, text)))
}

#[pyfunction]
fn fit_budget(counts: Vec<usize>, max_tokens: usize) -> (usize, usize) {
    let budget = tokens::fit_budget(&counts, max_tokens);
    (budget.kept, budget.total)
}

fn utf8<'a>(text: &'a Bound<'_, PyString>, subject: impl Fn() -> String) -> PyResult<&'a str> {
    text.to_str().map_err(|_| {
        let message = format!("{} holds half of a surrogate pair, which no encoding has a token for", subject());
        raised(text.py(), &Error::Input(message))
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(count_tokens, module)?)?;
    module.add_function(wrap_pyfunction!(count_tokens_many, module)?)?;
    module.add_function(wrap_pyfunction!(token_spans, module)?)?;
    module.add_function(wrap_pyfunction!(fit_budget, module)?)
}
