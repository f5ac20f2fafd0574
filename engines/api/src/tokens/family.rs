//! Which encoding a model's texts are counted with.

/// Models that share an encoding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModelFamily {
    /// Encoding `o200k_base`: GPT-4o and later, the o series, Codex models.
    O200k,
    /// Encoding `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
    /// A model whose encoding is not public or not known; estimated with `o200k_base`.
    #[default]
    Other,
}

impl ModelFamily {
    /// A text in another encoding than estimated with may be longer by one part in this many: by a
    /// quarter, as a recorded session with a Claude model was.
    pub const OTHER_MARGIN: u64 = 4;

    /// The family of a model id, as `gpt-4o`, `openai/gpt-4` or `ft:gpt-4o:team`.
    pub fn of_model(model: Option<&str>) -> Self {
        let id = model.unwrap_or_default().trim().to_ascii_lowercase();
        let id = id.rsplit('/').next().unwrap_or_default();
        let id = id.strip_prefix("ft:").unwrap_or(id);
        let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| id.starts_with(prefix));
        let o_series = id
            .strip_prefix('o')
            .is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit()));
        if o_series
            || id.contains("codex")
            || starts(&[
                "gpt-4o",
                "gpt-4.1",
                "gpt-4.5",
                "gpt-5",
                "gpt-oss",
                "chatgpt-4o",
            ])
        {
            Self::O200k
        } else if starts(&["gpt-4", "gpt-3.5", "gpt-35"]) {
            Self::Cl100k
        } else {
            Self::Other
        }
    }

    /// Name of the encoding that texts are counted with.
    pub fn encoding_name(self) -> &'static str {
        match self {
            Self::O200k | Self::Other => "o200k_base",
            Self::Cl100k => "cl100k_base",
        }
    }

    pub(super) fn encoding(self) -> &'static bpe_openai::Tokenizer {
        match self {
            Self::O200k | Self::Other => bpe_openai::o200k_base(),
            Self::Cl100k => bpe_openai::cl100k_base(),
        }
    }
}
