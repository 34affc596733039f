//! Module `ragstone._core`: a table of contents. The typed face of all this is `python/ragstone/engine`.

// PyO3 extracts arguments to values.
#![allow(clippy::needless_pass_by_value)]

mod convert;
mod dense;
mod error;
mod lexical;
mod rank;
mod sparse;
mod text;
mod tokens;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    text::register(module)?;
    lexical::register(module)?;
    dense::register(module)?;
    sparse::register(module)?;
    rank::register(module)?;
    tokens::register(module)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
