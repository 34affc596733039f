//! Fusion, diversity and order: between Python's ids and arrays and the core's numbers and slices.

use std::collections::hash_map::Entry;

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};
use ragstone_core::rank::{self, Fused, Vectors};
use ragstone_core::{Error, Result};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::{detached, raised};

/// From so many ids on, fusing takes longer than another thread could make us wait for the interpreter lock.
const DETACH_FROM: usize = 1 << 16;

type Pick = (usize, f64, f64, f64);
type Twin = (usize, usize, f64);
type Row<'py> = (Bound<'py, PyAny>, f64, Bound<'py, PyTuple>);

/// A fused ranking, of which Python objects are made as they are looked at.
#[pyclass(frozen, module = "ragstone._core")]
struct Fusion {
    ids: Ids,
    fusion: rank::Fusion,
}

#[pymethods]
impl Fusion {
    fn __len__(&self) -> usize {
        self.fusion.len()
    }

    fn ids<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let order = self.fusion.iter().map(|fused| fused.id as usize);
        match &self.ids {
            Ids::Integers(ids) => PyList::new(py, order.map(|id| ids[id])),
            Ids::Objects(ids) => PyList::new(py, order.map(|id| &ids[id])),
        }
    }

    fn scores(&self) -> Vec<f64> {
        self.fusion.iter().map(|fused| fused.score).collect()
    }

    /// The id, score and contributions at a place.
    fn row<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Row<'py>> {
        let fused = self.fusion.get(place).ok_or_else(|| PyIndexError::new_err("no such place in the ranking"))?;
        self.made(py, &PyFloat::new(py, 0.0), fused)
    }

    /// All of them.
    fn rows<'py>(&self, py: Python<'py>) -> PyResult<Vec<Row<'py>>> {
        let absent = PyFloat::new(py, 0.0);
        self.fusion.iter().map(|fused| self.made(py, &absent, fused)).collect()
    }
}

impl Fusion {
    fn made<'py>(&self, py: Python<'py>, absent: &Bound<'py, PyFloat>, fused: Fused<'_>) -> PyResult<Row<'py>> {
        let id = match &self.ids {
            Ids::Integers(ids) => ids[fused.id as usize].into_pyobject(py)?.into_any(),
            Ids::Objects(ids) => ids[fused.id as usize].bind(py).clone(),
        };
        let part = |&part: &f64| if part == 0.0 { absent.clone() } else { PyFloat::new(py, part) };
        Ok((id, fused.score, PyTuple::new(py, fused.contributions.iter().map(part))?))
    }
}

#[pyfunction]
fn rrf(
    py: Python<'_>,
    rankings: Vec<Bound<'_, PyAny>>,
    k: f64,
    weights: Option<Vec<f64>>,
    top_k: Option<usize>,
) -> PyResult<Fusion> {
    fused(py, &rankings, weights, |rankings, weights| rank::rrf(rankings, k, weights, top_k))
}

#[pyfunction]
fn relative_score_fusion(
    py: Python<'_>,
    rankings: Vec<Bound<'_, PyAny>>,
    scores: Vec<Vec<f64>>,
    weights: Option<Vec<f64>>,
    top_k: Option<usize>,
) -> PyResult<Fusion> {
    fused(py, &rankings, weights, |rankings, weights| rank::relative_score_fusion(rankings, &scores, weights, top_k))
}

fn fused(
    py: Python<'_>,
    rankings: &[Bound<'_, PyAny>],
    weights: Option<Vec<f64>>,
    fuse: impl FnOnce(&[Vec<u32>], &[f64]) -> Result<rank::Fusion> + Send,
) -> PyResult<Fusion> {
    let (ids, rankings) = Ids::of(py, rankings)?;
    let weights = weights.unwrap_or_else(|| vec![1.0; rankings.len()]);
    let run = || fuse(&rankings, &weights);
    let large = rankings.iter().map(Vec::len).sum::<usize>() >= DETACH_FROM;
    let fusion = if large { detached(py, run)? } else { run().map_err(|error| raised(py, &error))? };
    Ok(Fusion { ids, fusion })
}

#[pyfunction]
fn mmr(
    py: Python<'_>,
    query_vector: PyReadonlyArray1<'_, f32>,
    vectors: PyReadonlyArray2<'_, f32>,
    k: usize,
    lambda_: f64,
) -> PyResult<Vec<Pick>> {
    let dimensions = vectors.shape()[1];
    let (query, values) = (query_vector.as_slice()?, vectors.as_slice()?);
    let picks = detached(py, || rank::mmr(query, &Vectors::new(values, dimensions)?, k, lambda_))?;
    Ok(picks.into_iter().map(|pick| (pick.index, pick.relevance, pick.redundancy, pick.value)).collect())
}

#[pyfunction]
fn redundancy_filter(
    py: Python<'_>,
    vectors: PyReadonlyArray2<'_, f32>,
    threshold: f64,
) -> PyResult<(Vec<usize>, Vec<Twin>)> {
    let dimensions = vectors.shape()[1];
    let values = vectors.as_slice()?;
    let filter = || rank::redundancy_filter(&Vectors::new(values, dimensions)?, threshold);
    let (kept, dropped) = detached(py, filter)?;
    Ok((kept, dropped.into_iter().map(|twin| (twin.index, twin.twin, twin.similarity)).collect()))
}

#[pyfunction]
fn lost_in_the_middle<'py>(py: Python<'py>, items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let items = items.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, rank::lost_in_the_middle(items))
}

/// The ids of some rankings, each once, in order of first appearance. Its place here is its number in the core.
enum Ids {
    Integers(Vec<i64>),
    Objects(Vec<Py<PyAny>>),
}

impl Ids {
    /// Number the ids: read as they are where every ranking is an int64 array, else equal as Python's `==` has it.
    fn of(py: Python<'_>, rankings: &[Bound<'_, PyAny>]) -> PyResult<(Self, Vec<Vec<u32>>)> {
        let arrays: Option<Vec<PyReadonlyArray1<'_, i64>>> = rankings.iter().map(|r| r.extract().ok()).collect();
        if let Some(arrays) = arrays.filter(|arrays| !arrays.is_empty()) {
            let room = arrays.iter().map(|array| array.len()).sum();
            let mut integers = Integers { number_of: with_room(room), ids: Vec::with_capacity(room) };
            let numbers = arrays.iter().map(|array| integers.numbers(array)).collect();
            return Ok((Self::Integers(integers.ids), numbers));
        }
        let room = rankings.iter().map(|ranking| ranking.len().unwrap_or_default()).sum();
        let mut objects =
            Objects { newest: with_room(room), older: Vec::with_capacity(room), ids: Vec::with_capacity(room) };
        let numbers = rankings.iter().enumerate().map(|(list, ranking)| objects.numbers(py, list, ranking));
        let numbers = numbers.collect::<PyResult<_>>()?;
        Ok((Self::Objects(objects.ids.into_iter().map(Bound::unbind).collect()), numbers))
    }
}

fn with_room<K>(room: usize) -> FxHashMap<K, u32> {
    FxHashMap::with_capacity_and_hasher(room, FxBuildHasher)
}

struct Integers {
    number_of: FxHashMap<i64, u32>,
    ids: Vec<i64>,
}

impl Integers {
    fn numbers(&mut self, ranking: &PyReadonlyArray1<'_, i64>) -> Vec<u32> {
        let number = |&id: &i64| {
            *self.number_of.entry(id).or_insert_with(|| {
                self.ids.push(id);
                self.ids.len() as u32 - 1
            })
        };
        ranking.as_array().iter().map(number).collect()
    }
}

/// Numbers by an object's own hash; ids of equal hash are chained and told apart by `==`.
struct Objects<'py> {
    newest: FxHashMap<isize, u32>,
    older: Vec<Option<u32>>,
    ids: Vec<Bound<'py, PyAny>>,
}

impl<'py> Objects<'py> {
    fn numbers(&mut self, py: Python<'py>, list: usize, ranking: &Bound<'py, PyAny>) -> PyResult<Vec<u32>> {
        if let Ok(ranking) = ranking.cast_exact::<PyList>() {
            let ids = ranking.iter().enumerate();
            return ids.map(|(place, id)| self.number(py, list, place, id)).collect();
        }
        let ids = ranking.try_iter()?.enumerate();
        ids.map(|(place, id)| self.number(py, list, place, id?)).collect()
    }

    fn number(&mut self, py: Python<'py>, list: usize, place: usize, id: Bound<'py, PyAny>) -> PyResult<u32> {
        let hash = id.hash().map_err(|_| unhashable(py, list, place, &id))?;
        let number = self.ids.len() as u32;
        let older = match self.newest.entry(hash) {
            Entry::Vacant(entry) => {
                entry.insert(number);
                None
            }
            Entry::Occupied(mut entry) => {
                let newest = *entry.get();
                let mut next = Some(newest);
                while let Some(number) = next {
                    let known = &self.ids[number as usize];
                    if known.is(&id) || known.eq(&id)? {
                        return Ok(number);
                    }
                    next = self.older[number as usize];
                }
                entry.insert(number);
                Some(newest)
            }
        };
        self.older.push(older);
        self.ids.push(id);
        Ok(number)
    }
}

fn unhashable(py: Python<'_>, list: usize, place: usize, id: &Bound<'_, PyAny>) -> PyErr {
    let kind = id.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    raised(py, &Error::Input(format!("rankings[{list}][{place}] is a {kind}: an id must be hashable")))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Fusion>()?;
    module.add_function(wrap_pyfunction!(rrf, module)?)?;
    module.add_function(wrap_pyfunction!(relative_score_fusion, module)?)?;
    module.add_function(wrap_pyfunction!(mmr, module)?)?;
    module.add_function(wrap_pyfunction!(redundancy_filter, module)?)?;
    module.add_function(wrap_pyfunction!(lost_in_the_middle, module)?)
}
