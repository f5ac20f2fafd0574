//! Which replica a session's calls belong to, without saying whose session it is (R1.10).

use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use contextwire_engine::Session;
use sha2::{Digest, Sha256};

/// The host's key; without one, a key that nobody outside this process can know.
pub(crate) fn key(own: Option<&str>) -> Arc<str> {
    static RANDOM: LazyLock<Arc<str>> = LazyLock::new(|| {
        let [a, b] = [(); 2].map(|()| uuid::Uuid::now_v7());
        format!("{a}{b}").into()
    });
    own.map_or_else(|| Arc::clone(&RANDOM), Into::into)
}

/// Hex of a keyed hash of the session's key, else of its id: equal for all calls of a family of
/// sessions, and of no use to whoever does not hold the key. The tenant is the engine's to know: it
/// comes from authentication (R1.9).
pub(crate) fn affinity(key: &str, session: &Session) -> String {
    let family = session.key.as_deref();
    let name = family.unwrap_or(session.id.as_str());
    let inner = Sha256::digest([key.as_bytes(), &[0], name.as_bytes()].concat());
    let outer = Sha256::digest([key.as_bytes(), &[1], &inner[..]].concat());
    // Half of it tells sessions apart as well.
    let mut hex = String::with_capacity(32);
    for byte in outer.iter().take(16) {
        // Writing to a string cannot fail.
        let _written = write!(hex, "{byte:02x}").is_ok();
    }
    hex
}

#[cfg(test)]
mod tests {
    use contextwire_engine::SessionId;

    use super::*;

    fn session(id: &str, key: Option<&str>) -> Session {
        Session {
            key: key.map(str::to_owned),
            ..Session::new(SessionId::new(id).unwrap())
        }
    }

    #[test]
    fn without_a_key_of_its_own_a_process_has_one_that_it_keeps() {
        assert_eq!(key(None), key(None));
        assert!(key(None).len() > 64);
        assert_eq!(&*key(Some("mine")), "mine");
    }

    #[test]
    fn h_lif_10_affinity_is_stable_for_a_family_and_says_no_name() {
        let of = |id, key| affinity("secret", &session(id, key));
        assert_eq!(of("a", Some("main")), of("b", Some("main")));
        assert_ne!(of("a", None), of("b", None));
        assert_ne!(of("a", None), affinity("other", &session("a", None)));
        assert_eq!(of("a", None).len(), 32);
        assert!(of("a", None).bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}
