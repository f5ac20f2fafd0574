//! Replacing values inside a JSON source without touching any other byte.

use std::ops::Range;

/// One replacement: the bytes of a span give way to others. An empty span inserts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// Byte range in the source.
    pub span: Range<usize>,
    /// What stands there afterwards.
    pub value: Vec<u8>,
}

impl Edit {
    /// Puts `value` in the place of a span.
    pub fn new(span: Range<usize>, value: impl Into<Vec<u8>>) -> Self {
        Self {
            span,
            value: value.into(),
        }
    }
}

/// Why edits cannot be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpliceError {
    /// A span reaches beyond the source or runs backwards.
    #[error("edit {edit} is outside the source")]
    OutOfRange {
        /// Position of the edit.
        edit: usize,
    },
    /// A span starts before the end of the one before it.
    #[error("edit {edit} overlaps the one before it or is out of order")]
    Overlap {
        /// Position of the edit.
        edit: usize,
    },
}

/// The source with every edit applied; edits ascend and do not overlap.
///
/// # Errors
/// [`SpliceError`] at the first edit that breaks this; nothing is applied then.
pub fn splice(source: &[u8], edits: &[Edit]) -> Result<Vec<u8>, SpliceError> {
    let added: usize = edits.iter().map(|edit| edit.value.len()).sum();
    let mut out = Vec::with_capacity(source.len() + added);
    let mut from = 0;
    for (index, edit) in edits.iter().enumerate() {
        if edit.span.start > edit.span.end || edit.span.end > source.len() {
            return Err(SpliceError::OutOfRange { edit: index });
        }
        let between = source.get(from..edit.span.start);
        out.extend_from_slice(between.ok_or(SpliceError::Overlap { edit: index })?);
        out.extend_from_slice(&edit.value);
        from = edit.span.end;
    }
    out.extend_from_slice(source.get(from..).unwrap_or_default());
    Ok(out)
}
