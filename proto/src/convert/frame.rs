//! The frames of streaming hooks.

use contextwire_engine::{Progress, TranscriptState};

use super::transcript::{applied, applied_to_wire};
use super::{
    AfterTurnResult, AfterTurnStart, AssembleResult, AssembleStart, At, BootstrapResult,
    BootstrapStart, CompactResult, CompactStart, ConvertError, MaintainResult, MaintainStart,
    Problem, known, within,
};
use crate::frame::{CancelReason, EngineFrame, HostFrame};
use crate::sync::List;
use crate::v1;

/// The conversions of one hook's frames; every hook has the same ones.
macro_rules! frames {
    ($request:ident, $request_frame:path, $start:ty, $response:ident, $response_frame:path, $result:ty) => {
        const _: () = {
            use $request_frame as HostWire;
            use $response_frame as EngineWire;

            impl TryFrom<v1::$request> for HostFrame<$start> {
                type Error = ConvertError;

                fn try_from(v1::$request { frame }: v1::$request) -> Result<Self, ConvertError> {
                    Ok(match frame.ok_or(Problem::Missing).at("frame")? {
                        // Paths begin at the start itself (R5.2).
                        HostWire::Start(start) => Self::Start(Box::new(start.try_into()?)),
                        HostWire::Transcript(update) => {
                            Self::Transcript(within(update, "transcript")?)
                        }
                        HostWire::HostCallResult(result) => {
                            Self::HostCallResult(Box::new(within(result, "host_call_result")?))
                        }
                        HostWire::Cancel(cancel) => Self::Cancel(cancel.into()),
                    })
                }
            }

            impl From<HostFrame<$start>> for v1::$request {
                fn from(frame: HostFrame<$start>) -> Self {
                    let frame = match frame {
                        HostFrame::Start(start) => HostWire::Start((*start).into()),
                        HostFrame::Transcript(update) => HostWire::Transcript(update.into()),
                        HostFrame::HostCallResult(result) => {
                            HostWire::HostCallResult((*result).into())
                        }
                        HostFrame::Cancel(reason) => HostWire::Cancel(reason.into()),
                    };
                    Self { frame: Some(frame) }
                }
            }

            impl TryFrom<v1::$response> for EngineFrame<$result> {
                type Error = ConvertError;

                fn try_from(v1::$response { frame }: v1::$response) -> Result<Self, ConvertError> {
                    Ok(match frame {
                        Some(EngineWire::Result(result)) => {
                            Self::Result(Box::new(within(result, "result")?))
                        }
                        Some(EngineWire::HostCall(call)) => {
                            Self::HostCall(Box::new(within(call, "host_call")?))
                        }
                        Some(EngineWire::Progress(wire)) => {
                            let (progress, applied) = progress(wire).at("progress")?;
                            Self::Progress(progress, applied)
                        }
                        Some(EngineWire::NeedTranscript(need)) => {
                            Self::NeedTranscript(within(need, "need_transcript")?)
                        }
                        None => Self::Unknown,
                    })
                }
            }

            impl From<EngineFrame<$result>> for v1::$response {
                fn from(frame: EngineFrame<$result>) -> Self {
                    let frame = match frame {
                        EngineFrame::Result(result) => Some(EngineWire::Result((*result).into())),
                        EngineFrame::HostCall(call) => Some(EngineWire::HostCall((*call).into())),
                        EngineFrame::Progress(progress, applied) => {
                            Some(EngineWire::Progress(progress_to_wire(progress, applied)))
                        }
                        EngineFrame::NeedTranscript(need) => {
                            Some(EngineWire::NeedTranscript(need.into()))
                        }
                        EngineFrame::Unknown => None,
                    };
                    Self { frame }
                }
            }
        };
    };
}

frames!(
    AssembleRequest,
    v1::assemble_request::Frame,
    AssembleStart,
    AssembleResponse,
    v1::assemble_response::Frame,
    AssembleResult
);
frames!(
    BootstrapRequest,
    v1::bootstrap_request::Frame,
    BootstrapStart,
    BootstrapResponse,
    v1::bootstrap_response::Frame,
    BootstrapResult
);
frames!(
    CompactRequest,
    v1::compact_request::Frame,
    CompactStart,
    CompactResponse,
    v1::compact_response::Frame,
    CompactResult
);
frames!(
    AfterTurnRequest,
    v1::after_turn_request::Frame,
    AfterTurnStart,
    AfterTurnResponse,
    v1::after_turn_response::Frame,
    AfterTurnResult
);
frames!(
    MaintainRequest,
    v1::maintain_request::Frame,
    MaintainStart,
    MaintainResponse,
    v1::maintain_response::Frame,
    MaintainResult
);

impl From<CancelReason> for v1::Cancel {
    fn from(reason: CancelReason) -> Self {
        let reason = match reason {
            CancelReason::CallerAbort => v1::CancelReason::CallerAbort,
            CancelReason::Deadline => v1::CancelReason::Deadline,
            CancelReason::Superseded => v1::CancelReason::Superseded,
        };
        Self {
            reason: reason.into(),
        }
    }
}

impl From<v1::Cancel> for CancelReason {
    fn from(v1::Cancel { reason }: v1::Cancel) -> Self {
        match known(reason) {
            Some(v1::CancelReason::Deadline) => Self::Deadline,
            Some(v1::CancelReason::Superseded) => Self::Superseded,
            Some(v1::CancelReason::CallerAbort | v1::CancelReason::Unspecified) | None => {
                Self::CallerAbort
            }
        }
    }
}

type Applied = Option<(List, TranscriptState)>;

fn progress(wire: v1::Progress) -> Result<(Progress, Applied), ConvertError> {
    let v1::Progress {
        phase,
        fraction,
        text,
        applied: state,
    } = wire;
    let applied = state.map(applied).transpose().at("applied")?;
    Ok((
        Progress {
            phase,
            fraction,
            text,
        },
        applied,
    ))
}

fn progress_to_wire(progress: Progress, applied: Applied) -> v1::Progress {
    let Progress {
        phase,
        fraction,
        text,
    } = progress;
    v1::Progress {
        phase,
        fraction,
        text,
        applied: applied.map(applied_to_wire),
    }
}
