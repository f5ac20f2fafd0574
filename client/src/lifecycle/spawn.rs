//! Whether a child's start is prepared at all (HOST-SEMANTICS 7.1).

use contextwire_engine::ContextMode;

/// Whether the engine prepares what a child inherits: not for one that inherits nothing and wants
/// little context of its own, however much its parent has.
pub fn needs_preparation(mode: ContextMode, is_light: bool) -> bool {
    mode == ContextMode::Fork || !is_light
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn br_027_a_light_isolated_child_is_not_prepared() {
        assert!(!needs_preparation(ContextMode::Isolated, true));
        assert!(needs_preparation(ContextMode::Isolated, false));
        assert!(needs_preparation(ContextMode::Fork, true));
    }
}
