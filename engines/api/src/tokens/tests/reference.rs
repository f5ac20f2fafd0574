//! The texts of `testdata/tokens` with what the tokenizer of their maker counts for them.

use std::path::Path;

use crate::tokens::ModelFamily;

/// A text and what it counts.
pub(super) struct Reference {
    pub(super) name: String,
    pub(super) text: String,
    /// Tokens of the text.
    pub(super) counts: [(ModelFamily, u32); 2],
    /// The text over and over, longer than what is counted exactly.
    pub(super) long: String,
    /// Tokens of that.
    pub(super) long_counts: [(ModelFamily, u32); 2],
}

/// All twelve kinds, in the order of their names.
pub(super) fn references() -> Vec<Reference> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/tokens");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let counts: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(&read("reference.json")).unwrap();
    let of = |counts: &serde_json::Value| {
        let count = |key: &str| u32::try_from(counts[key].as_u64().unwrap()).unwrap();
        [
            (ModelFamily::O200k, count("o200k")),
            (ModelFamily::Cl100k, count("cl100k")),
        ]
    };
    let reference = |(name, counted): (String, serde_json::Value)| {
        let text = read(&format!("{name}.txt"));
        assert_eq!(
            text.len() as u64,
            counted["bytes"].as_u64().unwrap(),
            "{name}"
        );
        let times = usize::try_from(counted["long"]["times"].as_u64().unwrap()).unwrap();
        Reference {
            long: text.repeat(times),
            long_counts: of(&counted["long"]),
            counts: of(&counted),
            text,
            name,
        }
    };
    counts.into_iter().map(reference).collect()
}
