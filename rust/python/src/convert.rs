//! Between Python's values and the core's: document ids and metadata.

use std::collections::HashMap;
use std::convert::Infallible;
use std::thread;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyBool, PyDateTime, PyDict, PyFloat, PyInt, PyString};
use ragstone_core::filter::{Metadata, Value};
use ragstone_core::{ChunkKey, DocumentId, Error};

use crate::error::raised;

/// A document id as Python hands it over and gets it back: a string or an integer.
pub(crate) struct PyDocumentId(pub(crate) DocumentId);

impl<'py> FromPyObject<'_, 'py> for PyDocumentId {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(text) = value.cast::<PyString>() {
            let text = text.to_str().map_err(|_| invalid(&value, "is not valid Unicode (a lone surrogate)"))?;
            return Ok(Self(text.into()));
        }
        if value.is_instance_of::<PyInt>() && !value.is_instance_of::<PyBool>() {
            let number = value.extract().map_err(|_| invalid(&value, "is beyond 64 bits: use a string"))?;
            return Ok(Self(DocumentId::Int(number)));
        }
        let kind = value.get_type().name()?;
        Err(PyTypeError::new_err(format!("a document id must be a string or an integer, not {kind}")))
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

fn invalid(id: &Bound<'_, PyAny>, fault: &str) -> PyErr {
    raised(id.py(), &Error::Input(format!("document id {id:?} {fault}")))
}

/// A text as Python hands it over, read where it lies.
pub(crate) struct PyText(PyBackedStr);

impl PyText {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromPyObject<'_, '_> for PyText {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        value.extract().map(Self).map_err(|error| {
            let py = value.py();
            match error.value(py).getattr("start").and_then(|start| start.extract::<usize>()) {
                Ok(start) if error.is_instance_of::<PyUnicodeEncodeError>(py) => {
                    let message =
                        format!("a text holds half of a surrogate pair at position {start}: replace it first");
                    raised(py, &Error::Input(message))
                }
                _ => error,
            }
        })
    }
}

/// A chunk's place in its document as Python hands it over.
pub(crate) fn chunk_index(value: &Bound<'_, PyAny>) -> PyResult<u32> {
    let number: i64 = value.extract()?;
    u32::try_from(number).map_err(|_| {
        let message = format!("chunk_index must be between 0 and {}, not {number}", u32::MAX);
        raised(value.py(), &Error::Input(message))
    })
}

/// The places of a document's chunks, from any iterable.
pub(crate) fn chunk_indices(values: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    each(values, |value| chunk_index(&value))
}

/// The keys of chunks from two iterables of one length. An id object that repeats is read once.
pub(crate) fn chunk_keys(document_ids: &Bound<'_, PyAny>, indices: &Bound<'_, PyAny>) -> PyResult<Vec<ChunkKey>> {
    let indices = chunk_indices(indices)?;
    let mut last: Option<(Bound<'_, PyAny>, DocumentId)> = None;
    let ids = each(document_ids, |value| {
        let id = match last.take() {
            Some((object, id)) if object.is(&value) => id,
            _ => value.extract::<PyDocumentId>()?.0,
        };
        last = Some((value, id.clone()));
        Ok(id)
    })?;
    if ids.len() != indices.len() {
        let message =
            format!("{} document ids and {} chunk indices: give one of each a chunk", ids.len(), indices.len());
        return Err(raised(document_ids.py(), &Error::Input(message)));
    }
    Ok(ids.into_iter().zip(indices).map(|(document_id, chunk_index)| ChunkKey { document_id, chunk_index }).collect())
}

/// Texts from any iterable but a string, whose characters would be texts.
pub(crate) fn texts(values: &Bound<'_, PyAny>) -> PyResult<Vec<PyText>> {
    if values.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err("texts must be a sequence of strings, not one string"));
    }
    each(values, |value| value.extract())
}

/// The metadata of many chunks, each distinct one once: chunks of a document often have the same.
pub(crate) struct ManyMetadata {
    distinct: Vec<Metadata>,
    /// By chunk, which of them.
    places: Vec<usize>,
}

impl ManyMetadata {
    /// From an iterable of validated dicts.
    fn read(values: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut known: HashMap<Metadata, usize> = HashMap::new();
        let places = each(values, |value| {
            let next = known.len();
            Ok(*known.entry(metadata(value.cast::<PyDict>()?)?).or_insert(next))
        })?;
        let mut distinct: Vec<(Metadata, usize)> = known.into_iter().collect();
        distinct.sort_unstable_by_key(|&(_, place)| place);
        Ok(Self { distinct: distinct.into_iter().map(|(metadata, _)| metadata).collect(), places })
    }

    pub(crate) fn of_each(&self) -> Vec<&Metadata> {
        self.places.iter().map(|&place| &self.distinct[place]).collect()
    }
}

/// The metadata of each of many chunks, where there is some.
pub(crate) fn metadata_of_each(values: Option<&Bound<'_, PyAny>>) -> PyResult<Option<ManyMetadata>> {
    values.map(ManyMetadata::read).transpose()
}

/// Read an iterable, and let other threads have the interpreter once a millisecond.
///
/// A lock that is merely released is taken back before a thread that waits for it is awake, and each release makes that
/// thread wait anew: hence a pause, of the 50 microseconds or so that are the least for a sleep.
fn each<'py, T>(
    values: &Bound<'py, PyAny>,
    mut read: impl FnMut(Bound<'py, PyAny>) -> PyResult<T>,
) -> PyResult<Vec<T>> {
    const HOLD: Duration = Duration::from_millis(1);
    const LOOK: usize = 64;
    let mut all = Vec::with_capacity(values.len().unwrap_or_default());
    let mut began = Instant::now();
    for value in values.try_iter()? {
        if all.len().is_multiple_of(LOOK) && began.elapsed() > HOLD {
            values.py().detach(|| thread::sleep(Duration::from_micros(1)));
            began = Instant::now();
        }
        all.push(read(value?)?);
    }
    Ok(all)
}

/// Metadata from a dict that `ragstone.metadata` has validated: str, int, float, bool, datetime in UTC.
pub(crate) fn metadata(values: &Bound<'_, PyDict>) -> PyResult<Metadata> {
    values.iter().map(|(key, value)| Ok((key.extract::<PyText>()?.as_str().into(), self::value(&value)?))).collect()
}

/// Metadata where there is some.
pub(crate) fn optional_metadata(values: Option<&Bound<'_, PyDict>>) -> PyResult<Metadata> {
    values.map_or_else(|| Ok(Metadata::new()), metadata)
}

fn value(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(flag) = value.cast::<PyBool>() {
        return Ok(Value::Bool(flag.is_true()));
    }
    if value.is_instance_of::<PyString>() {
        return Ok(Value::Text(value.extract::<PyText>()?.as_str().into()));
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
