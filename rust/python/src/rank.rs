//! Fusion, diversity and order: between Python's ids and arrays and the core's numbers and slices.

use numpy::{PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyList, PyTuple};
use ragstone_core::Error;
use ragstone_core::rank::{self, Fusion, Vectors};
use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::error::{detached, raised};

/// The fused ids, their scores and their contributions, best first.
type Fused<'py> = (Bound<'py, PyList>, Vec<f64>, Vec<Bound<'py, PyTuple>>);
type Pick = (usize, f64, f64, f64);
type Twin = (usize, usize, f64);

#[pyfunction]
fn rrf<'py>(
    py: Python<'py>,
    rankings: Vec<Bound<'py, PyAny>>,
    k: f64,
    weights: Option<Vec<f64>>,
    top_k: Option<usize>,
) -> PyResult<Fused<'py>> {
    let (ids, rankings) = Ids::of(py, &rankings)?;
    let weights = weights.unwrap_or_else(|| vec![1.0; rankings.len()]);
    let fusion = detached(py, || rank::rrf(&rankings, k, &weights, top_k))?;
    ids.fused(py, &fusion)
}

#[pyfunction]
fn relative_score_fusion<'py>(
    py: Python<'py>,
    rankings: Vec<Bound<'py, PyAny>>,
    scores: Vec<Vec<f64>>,
    weights: Option<Vec<f64>>,
    top_k: Option<usize>,
) -> PyResult<Fused<'py>> {
    let (ids, rankings) = Ids::of(py, &rankings)?;
    let weights = weights.unwrap_or_else(|| vec![1.0; rankings.len()]);
    let fusion = detached(py, || rank::relative_score_fusion(&rankings, &scores, &weights, top_k))?;
    ids.fused(py, &fusion)
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
enum Ids<'py> {
    Integers(Vec<i64>),
    Objects(Vec<Bound<'py, PyAny>>),
}

impl<'py> Ids<'py> {
    /// Number the ids: read as they are where every ranking is an int64 array, else equal as Python's `==` has it.
    fn of(py: Python<'py>, rankings: &[Bound<'py, PyAny>]) -> PyResult<(Self, Vec<Vec<u32>>)> {
        let arrays: Option<Vec<PyReadonlyArray1<'py, i64>>> = rankings.iter().map(|r| r.extract().ok()).collect();
        match arrays {
            Some(arrays) if !arrays.is_empty() => {
                let room = arrays.iter().map(|array| array.len()).sum();
                let mut integers = Integers { number_of: with_room(room), ids: Vec::with_capacity(room) };
                let numbers = arrays.iter().map(|array| integers.numbers(array)).collect();
                Ok((Self::Integers(integers.ids), numbers))
            }
            _ => {
                let room = rankings.iter().map(|ranking| ranking.len().unwrap_or_default()).sum();
                let mut objects =
                    Objects { newest: with_room(room), older: Vec::with_capacity(room), ids: Vec::with_capacity(room) };
                let numbers = rankings.iter().enumerate().map(|(list, ranking)| objects.numbers(py, list, ranking));
                let numbers = numbers.collect::<PyResult<_>>()?;
                Ok((Self::Objects(objects.ids), numbers))
            }
        }
    }

    fn fused(&self, py: Python<'py>, fusion: &Fusion) -> PyResult<Fused<'py>> {
        let order = || fusion.iter().map(|fused| fused.id as usize);
        let ids = match self {
            Self::Integers(ids) => PyList::new(py, order().map(|id| ids[id]).collect::<Vec<_>>())?,
            Self::Objects(ids) => PyList::new(py, order().map(|id| &ids[id]).collect::<Vec<_>>())?,
        };
        let absent = PyFloat::new(py, 0.0);
        let part = |&part: &f64| if part == 0.0 { absent.clone() } else { PyFloat::new(py, part) };
        let contributions = fusion.iter().map(|fused| PyTuple::new(py, fused.contributions.iter().map(part)));
        Ok((ids, fusion.iter().map(|fused| fused.score).collect(), contributions.collect::<PyResult<_>>()?))
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
        let mut numbers = Vec::with_capacity(ranking.len().unwrap_or_default());
        for (place, id) in ranking.try_iter()?.enumerate() {
            let id = id?;
            let hash = id.hash().map_err(|_| unhashable(py, list, place, &id))?;
            numbers.push(self.number(id, hash)?);
        }
        Ok(numbers)
    }

    fn number(&mut self, id: Bound<'py, PyAny>, hash: isize) -> PyResult<u32> {
        let newest = self.newest.get(&hash).copied();
        let mut next = newest;
        while let Some(number) = next {
            let known = &self.ids[number as usize];
            if known.is(&id) || known.eq(&id)? {
                return Ok(number);
            }
            next = self.older[number as usize];
        }
        let number = self.ids.len() as u32;
        self.newest.insert(hash, number);
        self.older.push(newest);
        self.ids.push(id);
        Ok(number)
    }
}

fn unhashable(py: Python<'_>, list: usize, place: usize, id: &Bound<'_, PyAny>) -> PyErr {
    let kind = id.get_type().name().map_or_else(|_| "object".to_owned(), |name| name.to_string());
    raised(py, &Error::Input(format!("rankings[{list}][{place}] is a {kind}: an id must be hashable")))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(rrf, module)?)?;
    module.add_function(wrap_pyfunction!(relative_score_fusion, module)?)?;
    module.add_function(wrap_pyfunction!(mmr, module)?)?;
    module.add_function(wrap_pyfunction!(redundancy_filter, module)?)?;
    module.add_function(wrap_pyfunction!(lost_in_the_middle, module)?)
}
