//! From the core's errors to the exceptions that `ragstone.errors` declares, and the one way to leave the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use ragstone_core::{Error, Result};

/// Run pure Rust with the interpreter lock released and turn its error into a Python exception.
pub(crate) fn detached<T: Send>(py: Python<'_>, run: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    py.detach(run).map_err(|error| raised(py, &error))
}

/// The Python exception of an error.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    build(py, error).unwrap_or_else(|failure| failure)
}

fn build(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    let errors = py.import("ragstone.errors")?;
    let message = error.to_string();
    let exception = match error {
        Error::Parameter { .. } => errors.getattr("ConfigurationError")?.call1((message,))?,
        Error::Vector { .. } => errors.getattr("InvalidVectorError")?.call1((message,))?,
        Error::Input(_) => errors.getattr("InvalidInputError")?.call1((message,))?,
        Error::Dimension { expected, actual, .. } => {
            let details = PyDict::new(py);
            details.set_item("expected", expected)?;
            details.set_item("actual", actual)?;
            errors.getattr("DimensionMismatchError")?.call((message,), Some(&details))?
        }
    };
    Ok(PyErr::from_value(exception))
}
