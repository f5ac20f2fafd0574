//! The tools that a thread is begun with.

use contextwire_engine::digest;

/// Which tools a turn offers. A thread keeps those that it was begun with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolSurface {
    /// None at all, on purpose: the turn is decided as if no thread were bound.
    Disabled,
    /// Those of this fingerprint.
    Set(String),
}

impl ToolSurface {
    /// The tools of these descriptions, in any order: names, or whole definitions where a changed
    /// definition needs a new thread as well.
    pub fn of<T: AsRef<str>>(tools: impl IntoIterator<Item = T>) -> Self {
        let mut tools: Vec<T> = tools.into_iter().collect();
        tools.sort_unstable_by(|one, other| one.as_ref().cmp(other.as_ref()));
        tools.dedup_by(|one, other| one.as_ref() == other.as_ref());
        let mut text = String::new();
        for tool in &tools {
            let tool = tool.as_ref();
            text.push_str(&tool.len().to_string());
            text.push(':');
            text.push_str(tool);
        }
        Self::Set(digest::Digest(digest::sha256(text.as_bytes())).to_string())
    }

    /// The fingerprint; `None` while the tools are switched off.
    pub fn fingerprint(&self) -> Option<&str> {
        match self {
            Self::Disabled => None,
            Self::Set(fingerprint) => Some(fingerprint),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_doubles_do_not_matter_and_names_do_not_run_together() {
        assert_eq!(
            ToolSurface::of(["b", "a", "a"]),
            ToolSurface::of(["a", "b"])
        );
        assert_ne!(ToolSurface::of(["ab"]), ToolSurface::of(["a", "b"]));
        assert_ne!(ToolSurface::of::<&str>([]), ToolSurface::Disabled);
    }
}
