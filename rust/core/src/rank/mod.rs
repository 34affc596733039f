//! Orders over candidates: top-k selection, rank and score fusion, diversity, redundancy, reading order.
//!
//! Candidates are numbers here, their places in the caller's list; whoever calls keeps the names.

mod cosine;
mod fusion;
mod mmr;
mod redundancy;
mod reorder;
mod rough;
mod topk;

pub use cosine::Vectors;
pub use fusion::{Fused, Fusion, relative_score_fusion, rrf};
pub use mmr::{Pick, mmr};
pub use redundancy::{Twin, redundancy_filter};
pub use reorder::lost_in_the_middle;
pub use topk::{Scored, TopK};
