//! The frames of a streaming hook, the same for every hook.

use contextwire_engine::{Progress, TranscriptState};

use crate::sync::{List, TranscriptUpdate};
use crate::v1;

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

/// A frame of the host; `S` is the hook's start.
#[derive(Clone, Debug, PartialEq)]
pub enum HostFrame<S> {
    /// First, and once.
    Start(Box<S>),
    /// A part of a list.
    Transcript(TranscriptUpdate),
    /// Outcome of a host call, as it came.
    HostCallResult(Box<v1::HostCallResult>),
    /// Stop.
    Cancel(CancelReason),
}

/// A frame of the engine; `R` is the hook's result.
#[derive(Clone, Debug, PartialEq)]
pub enum EngineFrame<R> {
    /// Last, and once.
    Result(Box<R>),
    /// The host is to do something; as it came.
    HostCall(v1::HostCall),
    /// The engine is at work, and may hold a state of a list now (R3.8).
    Progress(Progress, Option<(List, TranscriptState)>),
    /// The engine lacks a list.
    NeedTranscript(NeedTranscript),
    /// A frame that this crate does not know; a host ignores it.
    Unknown,
}
