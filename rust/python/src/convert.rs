//! Between Python's values and the core's: document ids and metadata.

use std::convert::Infallible;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDateTime, PyDict, PyFloat, PyInt, PyString};
use ragstone_core::DocumentId;
use ragstone_core::filter::{Metadata, Value};

/// A document id as Python hands it over and gets it back: a string or an integer.
pub(crate) struct PyDocumentId(pub(crate) DocumentId);

impl<'py> FromPyObject<'_, 'py> for PyDocumentId {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            return Ok(Self(text.to_str()?.into()));
        }
        if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
            return Ok(Self(DocumentId::Int(value.extract()?)));
        }
        Err(PyTypeError::new_err(format!("a document id must be a string or an integer, not {}", value.get_type().name()?)))
    }
}

impl<'py> IntoPyObject<'py> for PyDocumentId {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        match self.0 {
            DocumentId::Int(value) => Ok(value.into_pyobject(py)?.into_any()),
            DocumentId::Str(value) => Ok(value.into_pyobject(py)?.into_any()),
        }
    }
}

/// Metadata from a dict that `ragstone.metadata` has validated: str, int, float, bool, datetime in UTC.
pub(crate) fn metadata(values: &Bound<'_, PyDict>) -> PyResult<Metadata> {
    values.iter().map(|(key, value)| Ok((key.extract::<String>()?.into_boxed_str(), self::value(&value)?))).collect()
}

/// Metadata where there is some.
pub(crate) fn optional_metadata(values: Option<&Bound<'_, PyDict>>) -> PyResult<Metadata> {
    values.map_or_else(|| Ok(Metadata::new()), metadata)
}

fn value(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::Text(text.to_str()?.into()));
    }
    if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
        return Ok(Value::Number(value.extract()?));
    }
    if let Ok(instant) = value.cast::<PyDateTime>() {
        let epoch = instant.call_method0("timestamp")?.extract::<f64>()?;
        let whole = (epoch.floor() as i64) * 1_000_000;
        let micros = instant.getattr("microsecond")?.extract::<i64>()?;
        return Ok(Value::Instant(whole + micros));
    }
    Err(PyTypeError::new_err(format!("a metadata value must not be a {}", value.get_type().name()?)))
}
