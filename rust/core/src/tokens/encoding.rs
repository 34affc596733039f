//! The encodings whose vocabularies are compiled in: those of the GPT models.
//!
//! Byte pair encoding over the pieces that the encoding's pattern cuts, as the reference `tiktoken` does it with
//! `encode_ordinary`: what looks like a special token in a text is text.

use std::cell::RefCell;
use std::sync::LazyLock;

use tiktoken::CoreBpe;

use super::words::{self, Memory};
use crate::{Error, Result};

static CL100K_BASE: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::cl100k_base);
static O200K_BASE: LazyLock<CoreBpe> = LazyLock::new(tiktoken::encoding::o200k_base);
static CL100K_BASE_WIDTHS: LazyLock<Vec<u16>> = LazyLock::new(|| widths(&CL100K_BASE));
static O200K_BASE_WIDTHS: LazyLock<Vec<u16>> = LazyLock::new(|| widths(&O200K_BASE));

thread_local! {
    static CL100K_BASE_WORDS: RefCell<Memory> = RefCell::new(Memory::new());
    static O200K_BASE_WORDS: RefCell<Memory> = RefCell::new(Memory::new());
}

/// An encoding. Its tables are built on first use and shared by all threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// `cl100k_base`: GPT-4, GPT-3.5, text-embedding-3.
    Cl100kBase,
    /// `o200k_base`: GPT-4o and later.
    O200kBase,
}

impl Encoding {
    /// The encoding of this name.
    ///
    /// # Errors
    /// No such encoding is compiled in.
    pub fn named(name: &str) -> Result<Self> {
        match name {
            "cl100k_base" => Ok(Self::Cl100kBase),
            "o200k_base" => Ok(Self::O200kBase),
            _ => Err(Error::Parameter {
                field: "encoding",
                value: format!("{name:?}"),
                limit: "cl100k_base or o200k_base (for others use TiktokenCounter or TokenizerJsonCounter)",
            }),
        }
    }

    /// How many tokens the text has.
    pub fn count(self, text: &str) -> usize {
        let words = match self {
            Self::Cl100kBase => &CL100K_BASE_WORDS,
            Self::O200kBase => &O200K_BASE_WORDS,
        };
        words.with_borrow_mut(|memory| words::count(self.tables(), memory, text))
    }

    /// The tokens of the text.
    pub fn encode(self, text: &str) -> Vec<u32> {
        self.tables().encode(text)
    }

    /// How many bytes of text each token stands for.
    pub(super) fn widths(self) -> &'static [u16] {
        match self {
            Self::Cl100kBase => &CL100K_BASE_WIDTHS,
            Self::O200kBase => &O200K_BASE_WIDTHS,
        }
    }

    fn tables(self) -> &'static CoreBpe {
        match self {
            Self::Cl100kBase => &CL100K_BASE,
            Self::O200kBase => &O200K_BASE,
        }
    }
}

fn widths(tables: &CoreBpe) -> Vec<u16> {
    (0..tables.vocab_size() as u32).map(|token| tables.decode(&[token]).len() as u16).collect()
}
