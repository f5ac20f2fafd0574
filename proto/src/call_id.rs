//! The id of a host call: equal in every attempt of its hook that asks for the same (R1.6).

use std::collections::HashMap;
use std::fmt::Write;

use contextwire_engine::{HookId, HostCall};
use prost::Message as _;
use sha2::{Digest, Sha256};

use crate::frame::HostCallRequest;
use crate::v1;

/// Mints the ids of the host calls of one attempt of a hook.
///
/// An id is the hex of SHA-256 over the hook's id (its text), the call's [`fingerprint`], and how
/// often this hook has asked for exactly that before (4 bytes, big-endian). A host takes it as it
/// comes; only the engine's own attempts have to agree.
#[derive(Debug)]
pub struct CallIds {
    hook_id: HookId,
    asked: HashMap<[u8; 32], u32>,
}

impl CallIds {
    /// The ids of this hook; an attempt starts anew.
    pub fn new(hook_id: HookId) -> Self {
        Self {
            hook_id,
            asked: HashMap::new(),
        }
    }

    /// The id of the hook's next call.
    pub fn next(&mut self, call: &HostCall) -> String {
        let wanted = self.hash(call);
        let asked = self
            .asked
            .entry(wanted.clone().finalize().into())
            .or_default();
        let nth = *asked;
        *asked = asked.saturating_add(1);
        hex(&wanted.chain_update(nth.to_be_bytes()).finalize())
    }

    fn hash(&self, call: &HostCall) -> Sha256 {
        Sha256::new()
            .chain_update(self.hook_id.to_string())
            .chain_update(fingerprint(call))
    }
}

/// What a host call asks for, as 32 bytes: SHA-256 over its kind (its field number in `HostCall`,
/// one byte) and the encoded request. Equal requests have equal ones; its maps are ordered.
pub fn fingerprint(call: &HostCall) -> [u8; 32] {
    let request = HostCallRequest {
        call_id: String::new(),
        timeout: std::time::Duration::ZERO,
        call: Some(call.clone()),
    };
    Sha256::new()
        .chain_update([kind(call)])
        .chain_update(v1::HostCall::from(request).encode_to_vec())
        .finalize()
        .into()
}

fn kind(call: &HostCall) -> u8 {
    match call {
        HostCall::Rewrite(_) => 3,
        HostCall::Complete(_) => 4,
        HostCall::ReadTranscript(_) => 5,
        HostCall::DelegateCompaction(_) => 6,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _written = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{LlmComplete, ReadTranscript};

    use super::*;

    fn complete(text: &str) -> HostCall {
        HostCall::Complete(LlmComplete {
            messages: vec![("user".to_owned(), text.to_owned())],
            ..LlmComplete::default()
        })
    }

    #[test]
    fn e_cbk_06_ids_are_unique_in_a_hook_and_equal_in_a_second_attempt() {
        let hook = HookId::mint();
        let calls = [
            complete("a"),
            complete("a"),
            complete("b"),
            HostCall::ReadTranscript(ReadTranscript::default()),
            complete("a"),
        ];
        let attempt = || {
            let mut ids = CallIds::new(hook);
            calls.iter().map(|call| ids.next(call)).collect::<Vec<_>>()
        };
        let first = attempt();
        let mut unique = first.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), calls.len());
        assert_eq!(first, attempt());
        assert!(first.iter().all(|id| id.len() == 64));
    }

    #[test]
    fn another_order_of_different_calls_gives_the_same_ids() {
        let hook = HookId::mint();
        let (mut one, mut other) = (CallIds::new(hook), CallIds::new(hook));
        let (a, b) = (one.next(&complete("a")), one.next(&complete("b")));
        assert_eq!(other.next(&complete("b")), b);
        assert_eq!(other.next(&complete("a")), a);
    }

    #[test]
    fn the_same_call_of_another_hook_is_another_one() {
        let id = |hook| CallIds::new(hook).next(&complete("a"));
        assert_ne!(id(HookId::mint()), id(HookId::mint()));
    }
}
