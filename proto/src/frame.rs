//! The frames of a streaming hook, the same for every hook.

use std::time::Duration;

use contextwire_engine::{HostCall, HostCallError, HostReply, Progress, TranscriptState};

use crate::sync::{List, TranscriptUpdate};

/// Why a host cancels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CancelReason {
    /// Its own caller gave up; also what an unknown number means.
    #[default]
    CallerAbort,
    /// Its timer fired.
    Deadline,
    /// Another hook takes the place of this one.
    Superseded,
}

/// The engine lacks a list (R3.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeedTranscript {
    /// The number that the answer will carry.
    pub seq: u32,
    /// Which list.
    pub list: List,
    /// States that the engine can start from, at most 32, the newest first.
    pub have: Vec<TranscriptState>,
}

/// The engine asks the host to do something (R1.6).
#[derive(Clone, Debug, PartialEq)]
pub struct HostCallRequest {
    /// Names the call in its hook, equal in all attempts.
    pub call_id: String,
    /// How long the engine waits, in whole milliseconds.
    pub timeout: Duration,
    /// What to do; absent for a kind that this crate does not know, which a host answers with an
    /// error.
    pub call: Option<HostCall>,
}

/// What became of a host call.
#[derive(Clone, Debug, PartialEq)]
pub struct HostCallResult {
    /// Which call.
    pub call_id: String,
    /// A failure is a value, never the end of the hook.
    pub outcome: Result<HostReply, HostCallError>,
}

/// A frame of the host; `S` is the hook's start.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFrame<S> {
    /// First, and once.
    Start(Box<S>),
    /// A part of a list.
    Transcript(TranscriptUpdate),
    /// Outcome of a host call.
    HostCallResult(Box<HostCallResult>),
    /// Stop.
    Cancel(CancelReason),
}

/// A frame of the engine; `R` is the hook's result.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineFrame<R> {
    /// Last, and once.
    Result(Box<R>),
    /// The host is to do something.
    HostCall(Box<HostCallRequest>),
    /// The engine is at work, and may hold a state of a list now (R3.8).
    Progress(Progress, Option<(List, TranscriptState)>),
    /// The engine lacks a list.
    NeedTranscript(NeedTranscript),
    /// A frame that this crate does not know; a host ignores it.
    Unknown,
}
