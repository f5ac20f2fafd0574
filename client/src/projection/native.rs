//! What a backend's own thread may grow to (HOST-SEMANTICS 6.5).

use super::binding::Binding;
use super::window::prompt_tokens;

const DEFAULT_WINDOW: u64 = 300_000;
const DEFAULT_RESERVE: u64 = 20_000;

/// How large a thread may be before a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeLimits {
    /// Bytes of what the backend stores of it; absent where there is no limit.
    pub max_bytes: Option<u64>,
    /// The model's window in tokens; 300 000 where the host knows none.
    pub context_window: Option<u64>,
    /// What is kept free of it; 20 000 where nothing is configured.
    pub reserve_tokens: Option<u64>,
}

/// How large a thread is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeThread {
    /// Bytes of what the backend stores of it.
    pub bytes: u64,
    /// Tokens of its last turn, where the backend counts.
    pub tokens: Option<u64>,
    /// Whether somebody else steers it; then it is never given up.
    pub is_supervised: bool,
}

/// Which limit a thread has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NativeLimit {
    /// Its bytes.
    Bytes,
    /// Its tokens.
    Tokens,
}

impl NativeLimits {
    /// Which limit the thread has reached, if any: then its binding is removed, and Assemble is
    /// called without a `known_projection`. Asked before Assemble.
    ///
    /// While an engine other than the built-in one is active, a thread that was shown an epoch is
    /// not judged by its bytes: dropping it would only send the same context again (BR-135).
    /// `turn_tokens` is what the turn is about to add.
    pub fn reached(
        &self,
        thread: &NativeThread,
        bound: &Binding,
        has_engine: bool,
        turn_tokens: u64,
    ) -> Option<NativeLimit> {
        if thread.is_supervised {
            return None;
        }
        let is_deferred = has_engine && bound.is_bootstrap();
        let is_long = self.max_bytes.is_some_and(|most| thread.bytes >= most);
        if is_long && !is_deferred {
            return Some(NativeLimit::Bytes);
        }
        let is_full = thread
            .tokens
            .is_some_and(|tokens| tokens >= self.fuse(turn_tokens));
        is_full.then_some(NativeLimit::Tokens)
    }

    fn fuse(&self, turn_tokens: u64) -> u64 {
        let window = self.context_window.unwrap_or(DEFAULT_WINDOW);
        let reserve = self.reserve_tokens.unwrap_or(DEFAULT_RESERVE);
        prompt_tokens(window, reserve)
            .saturating_sub(turn_tokens)
            .max(1)
    }
}
