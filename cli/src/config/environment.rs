//! The layer of variables: `CONTEXTWIRE_<SECTION>_<KEY>`.

use std::ffi::{OsStr, OsString};

use toml::{Table, Value};

use super::key::{KEYS, SECTIONS, meant, variable};
use super::layers::{Draft, check};
use super::{Origin, Problem};

/// The variables of this process.
pub(super) fn variables() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Takes what the variables say. One that is like one of ours and names no key is a slip; others that
/// begin as ours do can be somebody else's, as those that Kubernetes makes for a service of our name.
pub(super) fn read(variables: &[(OsString, OsString)], draft: &mut Draft) {
    for (name, value) in variables {
        let Some(name) = name.to_str().filter(|name| is_ours(name)) else {
            continue;
        };
        let origin = Origin::Variable {
            name: name.to_owned(),
        };
        let Some(key) = KEYS.into_iter().find(|key| variable(key) == name) else {
            if let Some(meant) = meant(&as_key(name)) {
                let advice = format!("did you mean {}?", variable(meant));
                draft.problem(Problem::new(origin, None, "sets nothing", advice));
            }
            continue;
        };
        set(key, value, origin, draft);
    }
}

/// Whether a variable begins with one of our sections.
fn is_ours(name: &str) -> bool {
    let begins = |section: &&str| name.starts_with(&variable(&format!("{section}.")));
    SECTIONS.iter().any(begins)
}

/// The key that a variable of ours would set.
fn as_key(name: &str) -> String {
    let rest = name.strip_prefix("CONTEXTWIRE_").unwrap_or(name);
    rest.to_lowercase().replacen('_', ".", 1)
}

/// A variable is text; a key that takes no text takes what it says as TOML.
fn set(key: &'static str, value: &OsStr, origin: Origin, draft: &mut Draft) {
    let Some(text) = value.to_str() else {
        let problem = Problem::new(origin, Some(key), "is no UTF-8 text", "write it as text");
        draft.problem(problem);
        return;
    };
    let as_text = Value::String(text.to_owned());
    let literal = || {
        let document: Table = format!("value = {text}").parse().ok()?;
        document.get("value").cloned()
    };
    let value = match check(key, &as_text) {
        Ok(()) => as_text,
        Err(_) => literal().unwrap_or(as_text),
    };
    draft.set(key, value, origin);
}
