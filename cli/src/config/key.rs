//! The keys, in the order in which people read them.

/// Sections of the file.
pub const SECTIONS: [&str; 6] = ["engine", "summarizer", "server", "log", "host", "doctor"];

/// Every key as `section.name`.
pub const KEYS: [&str; 30] = [
    "engine.name",
    "engine.store",
    "engine.redact",
    "summarizer.by",
    "summarizer.model",
    "summarizer.key_file",
    "summarizer.window",
    "server.socket",
    "server.listen",
    "server.drain_grace",
    "server.unknown_fields",
    "server.max_hooks",
    "server.max_session_hooks",
    "server.max_streams",
    "server.max_bytes_in_flight",
    "server.max_message_bytes",
    "server.mirror_bytes",
    "log.format",
    "log.filter",
    "host.target",
    "host.deadline",
    "host.budget",
    "host.model",
    "host.policy",
    "host.on_engine_failure",
    "host.fallback",
    "host.compact_over_budget",
    "host.max_message_bytes",
    "host.outbox",
    "doctor.deadline",
];

/// How like a known word a wrong one has to be before it is taken for a slip.
const ALIKE: f64 = 0.8;

/// The key of this name.
pub(super) fn known(key: &str) -> Option<&'static str> {
    KEYS.into_iter().find(|known| *known == key)
}

/// Section and name of a key.
pub(super) fn parts(key: &str) -> (&str, &str) {
    key.split_once('.').unwrap_or(("", key))
}

/// The variable of the environment that sets this key.
pub fn variable(key: &str) -> String {
    format!("CONTEXTWIRE_{}", key.replace('.', "_").to_uppercase())
}

/// The known word that is most like this one, where any is.
pub(super) fn nearest<T: AsRef<str>>(word: &str, known: impl IntoIterator<Item = T>) -> Option<T> {
    let like = |known: &T| strsim::jaro_winkler(word, known.as_ref());
    let scored = known.into_iter().map(|known| (like(&known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score >= ALIKE)
        .map(|(_, known)| known)
}

/// The known key that was meant by one that is none: the same name in another section, or one that
/// is spelt alike, of its own section first.
pub(super) fn meant(key: &str) -> Option<&'static str> {
    let (section, name) = parts(key);
    let named = |name: &str| KEYS.into_iter().find(|known| parts(known).1 == name);
    let here = KEYS.into_iter().filter(|known| parts(known).0 == section);
    let alike = |known: &mut dyn Iterator<Item = &'static str>| {
        let names: Vec<_> = known.map(|known| (parts(known).1, known)).collect();
        let name = nearest(name, names.iter().map(|(name, _)| *name))?;
        let found = names.into_iter().find(|(known, _)| *known == name);
        found.map(|(_, known)| known)
    };
    named(name)
        .or_else(|| alike(&mut here.into_iter()))
        .or_else(|| alike(&mut KEYS.into_iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        for (wrong, right) in [
            ("server.max_hoks", Some("server.max_hooks")),
            ("server.maxhooks", Some("server.max_hooks")),
            ("server.store", Some("engine.store")),
            ("summarizer.key", Some("summarizer.key_file")),
            ("sever.listen", Some("server.listen")),
            ("server.colour", None),
        ] {
            assert_eq!(meant(wrong), right, "{wrong}");
        }
    }

    #[test]
    fn a_variable_is_named_after_section_and_key() {
        assert_eq!(variable("server.max_hooks"), "CONTEXTWIRE_SERVER_MAX_HOOKS");
    }
}
