//! Every frame of Assemble.
#![expect(clippy::too_many_lines, reason = "tables, one row a vector")]

use bytes::Bytes;
use contextwire_proto::v1;
use v1::assemble_request::Frame as HostFrame;
use v1::assemble_response::Frame as EngineFrame;
use v1::assemble_result::Outcome;

use super::{Vector, message, state};

const SUMMARY: &[u8] = br#"{"role":"user","content":"<summary>one</summary>"}"#;

fn host(name: &'static str, why: &'static str, frame: HostFrame) -> Vector {
    let frame = v1::AssembleRequest { frame: Some(frame) };
    Vector::new("contextengine.v1.AssembleRequest", name, why, &frame)
}

fn engine(name: &'static str, why: &'static str, frame: EngineFrame) -> Vector {
    let frame = v1::AssembleResponse { frame: Some(frame) };
    Vector::new("contextengine.v1.AssembleResponse", name, why, &frame)
}

pub(super) fn requests() -> Vec<Vector> {
    let mut odd = full();
    let mode = v1::SettingsRuntime {
        mode: 77,
        ..Default::default()
    };
    odd.runtime_settings = Some(v1::RuntimeSettings {
        runtime: Some(mode),
        ..Default::default()
    });
    let mut newer = minimal();
    newer.site = 77;
    let completed = v1::LlmCompleteResult {
        text: "short".to_owned(),
        provider: "mock".to_owned(),
        model: "mock-1".to_owned(),
        usage: Some(v1::LlmUsage {
            input_tokens: Some(0),
            cost_usd: Some(0.25),
            ..Default::default()
        }),
        stop_reason: Some("stop".to_owned()),
    };
    let stale = v1::HostCallError {
        reason: "STALE".to_owned(),
        message: "the log has moved on".to_owned(),
        retryable: true,
    };
    let outcome = |outcome| {
        HostFrame::HostCallResult(v1::HostCallResult {
            call_id: "6b86b273ff34fce1".to_owned(),
            outcome: Some(outcome),
        })
    };
    let cancel = |reason| HostFrame::Cancel(v1::Cancel { reason });
    vec![
        host("assemble_start", "everything set", HostFrame::Start(full())),
        host(
            "assemble_start_minor_0",
            "what minor 0 had; all else is absent",
            HostFrame::Start(minimal()),
        ),
        host(
            "assemble_start_unknown_mode",
            "an unknown enum number that reads as DEGRADED",
            HostFrame::Start(odd),
        ),
        host(
            "assemble_start_unknown_site",
            "an unknown enum number that is refused",
            HostFrame::Start(newer),
        ),
        host(
            "assemble_start_unknown_tag",
            "a newer host",
            HostFrame::Start(minimal()),
        )
        .with_unknown_tag(),
        host(
            "assemble_transcript",
            "a further part",
            HostFrame::Transcript(update()),
        ),
        host(
            "assemble_host_call_value",
            "a host call went well",
            outcome(v1::host_call_result::Outcome::LlmComplete(completed)),
        ),
        host(
            "assemble_host_call_error",
            "a host call failed",
            outcome(v1::host_call_result::Outcome::Error(stale)),
        ),
        host(
            "assemble_cancel",
            "the host's timer fired",
            cancel(v1::CancelReason::Deadline.into()),
        ),
        host(
            "assemble_cancel_unknown_reason",
            "an unknown enum number that reads as CALLER_ABORT",
            cancel(77),
        ),
    ]
}

fn update() -> v1::TranscriptUpdate {
    let keep = v1::segment::Kind::Keep(v1::Keep { start: 0, count: 2 });
    let insert = v1::segment::Kind::Insert(message(SUMMARY));
    v1::TranscriptUpdate {
        seq: 1,
        list: v1::TranscriptList::View.into(),
        base: Some(state(2, 1)),
        segments: [keep, insert]
            .map(|kind| v1::Segment { kind: Some(kind) })
            .to_vec(),
        head: Some(state(3, 2)),
        more: false,
        unavailable: false,
    }
}

fn minimal() -> v1::AssembleStart {
    v1::AssembleStart {
        call: Some(v1::CallContext {
            hook_id: "019b2e5c-7a10-7c3e-9f4b-2d6f0a1b3c4d".to_owned(),
            attempt: 1,
            budget_ms: 4750,
            session: Some(v1::Session {
                session_id: "s1".to_owned(),
                ..Default::default()
            }),
            ..Default::default()
        }),
        transcript: Some(update()),
        current_turn: v1::CurrentTurn::Excluded.into(),
        site: v1::AssembleSite::BeforePrompt.into(),
        ..Default::default()
    }
}

fn full() -> v1::AssembleStart {
    let text = |text: &str| Some(text.to_owned());
    let bare = minimal();
    let call = v1::CallContext {
        session: Some(v1::Session {
            session_id: "s1".to_owned(),
            previous_id: text("s0"),
            session_key: text("agent:main:e2e"),
            agent_id: text("main"),
            target: Some(v1::SessionTarget {
                thread_id: text("7"),
                ..Default::default()
            }),
            locator: text("agent:main:e2e"),
        }),
        must_understand: vec!["known_projection".to_owned()],
        scope: Some(v1::Scope {
            workspace_dir: text("ws"),
            agent_dir: None,
        }),
        operation: text("agent-run"),
        host_epoch: 1_796_047_442_940,
        session_seq: Some(0),
        abandoned_hooks: vec!["019b2e5c-7a10-7c3e-9f4b-2d6f0a1b3c4e".to_owned()],
        log_head: Some(state(12, 9)),
        ..bare.call.clone().unwrap_or_default()
    };
    v1::AssembleStart {
        call: Some(call),
        runtime_settings: Some(settings()),
        runtime_context: Some(v1::RuntimeContext {
            model_context_window: Some(64_000),
            prompt_cache: Some(Bytes::from_static(br#"{"retention":"short"}"#)),
            extra: [("locale".to_owned(), Bytes::from_static(br#""en""#))].into(),
            ..Default::default()
        }),
        token_budget: Some(41_868),
        available_tools: Some(v1::ToolSet::default()),
        citations_mode: text("off"),
        model: text("mock-1"),
        prompt: text(""),
        memory_prompt: text("likes tea"),
        known_projection: Some(v1::KnownProjection {
            epoch: "e".to_owned(),
            fingerprint: None,
        }),
        ..bare
    }
}

fn settings() -> v1::RuntimeSettings {
    let text = |text: &str| Some(text.to_owned());
    v1::RuntimeSettings {
        schema_version: 1,
        runtime: Some(v1::SettingsRuntime {
            host: "openclaw".to_owned(),
            mode: v1::RuntimeMode::Fallback.into(),
            harness_id: None,
            runtime_id: None,
        }),
        model: Some(v1::SettingsModel {
            requested: text("mock-1"),
            resolved: text("mock-2"),
            provider: text("mock"),
            family: None,
        }),
        context_engine_selection: Some(v1::SettingsEngineSelection {
            selected_id: text("lossless"),
            source: v1::SelectionSource::Configured.into(),
        }),
        execution_host: Some(v1::SettingsExecutionHost::default()),
        limits: Some(v1::SettingsLimits {
            prompt_token_budget: Some(41_868),
            max_output_tokens: None,
        }),
        diagnostics: Some(v1::SettingsDiagnostics {
            fallback_reason: Some(v1::ReasonCode::RateLimited.into()),
            degraded_reason: None,
        }),
    }
}

pub(super) fn responses() -> Vec<Vector> {
    let result = |outcome| {
        EngineFrame::Result(v1::AssembleResult {
            reply: None,
            outcome,
        })
    };
    let unchanged = v1::UnchangedProjection {
        estimated_tokens: 900,
        ..Default::default()
    };
    let pass = vec![v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start: 0, count: 3 })),
    }];
    let odd = v1::AssembledMessages {
        segments: pass.clone(),
        prompt_authority: Some(77),
        context_projection: Some(v1::ContextProjection {
            mode: 77,
            ..Default::default()
        }),
        ..Default::default()
    };
    let through = v1::AssembledMessages {
        segments: pass,
        ..Default::default()
    };
    let need = v1::NeedTranscript {
        seq: 1,
        list: v1::TranscriptList::Log.into(),
        have: Vec::new(),
    };
    let progress = v1::Progress {
        phase: "import".to_owned(),
        fraction: Some(0.0),
        text: None,
        applied: Some(v1::AppliedState {
            list: v1::TranscriptList::View.into(),
            state: Some(state(3, 2)),
        }),
    };
    let rewrite = v1::RewriteTranscriptEntries {
        replacements: vec![v1::EntryReplacement {
            entry_id: "e1".to_owned(),
            message: Some(message(SUMMARY)),
        }],
        expected: Some(state(3, 2)),
        allowed_suffix: Some(v1::EntryIds::default()),
    };
    let call = v1::HostCall {
        call_id: "6b86b273ff34fce1".to_owned(),
        timeout_ms: 30_000,
        call: Some(v1::host_call::Call::RewriteTranscriptEntries(rewrite)),
    };
    vec![
        engine(
            "assemble_result",
            "a summary and a kept tail, explained",
            EngineFrame::Result(assembled()),
        ),
        engine(
            "assemble_result_pass_through",
            "one keep, all else absent",
            result(Some(Outcome::Messages(through))),
        ),
        engine(
            "assemble_result_empty",
            "no messages are an answer",
            result(Some(Outcome::Messages(v1::AssembledMessages::default()))),
        ),
        engine(
            "assemble_result_unchanged",
            "the thread holds it",
            result(Some(Outcome::Unchanged(unchanged))),
        ),
        engine(
            "assemble_result_without_outcome",
            "a contract violation",
            result(None),
        ),
        engine(
            "assemble_result_unknown_numbers",
            "unknown enum numbers with a meaning",
            result(Some(Outcome::Messages(odd))),
        ),
        engine(
            "assemble_result_unknown_tag",
            "a newer engine",
            EngineFrame::Result(assembled()),
        )
        .with_unknown_tag(),
        engine(
            "assemble_need_transcript",
            "a list that was not sent yet",
            EngineFrame::NeedTranscript(need),
        ),
        engine(
            "assemble_progress",
            "acknowledges a state",
            EngineFrame::Progress(progress),
        ),
        engine(
            "assemble_host_call",
            "an empty suffix allows nothing, which is not no guard",
            EngineFrame::HostCall(call),
        ),
        Vector::new(
            "contextengine.v1.AssembleResponse",
            "assemble_frame_of_unknown_tag",
            "a frame of a newer engine reads as none",
            &v1::AssembleResponse::default(),
        )
        .with_unknown_tag(),
    ]
}

fn assembled() -> v1::AssembleResult {
    let summary = v1::Message {
        synthetic: true,
        ..message(SUMMARY)
    };
    let insert = v1::segment::Kind::Insert(summary);
    let keep = v1::segment::Kind::Keep(v1::Keep { start: 2, count: 1 });
    let late = v1::LateHook {
        hook_id: "019b2e5c-7a10-7c3e-9f4b-2d6f0a1b3c4e".to_owned(),
        method: "Compact".to_owned(),
        session_target: None,
    };
    v1::AssembleResult {
        reply: Some(v1::Reply {
            late: vec![late],
            log_state: Some(state(12, 9)),
        }),
        outcome: Some(Outcome::Messages(v1::AssembledMessages {
            segments: [insert, keep]
                .map(|kind| v1::Segment { kind: Some(kind) })
                .to_vec(),
            estimated_tokens: 940,
            prompt_authority: Some(v1::PromptAuthority::Assembled.into()),
            system_prompt_addition: Some(String::new()),
            context_projection: Some(v1::ContextProjection {
                mode: v1::ProjectionMode::ThreadBootstrap.into(),
                epoch: Some("e".to_owned()),
                fingerprint: Some("f".to_owned()),
            }),
            reasons: vec!["summary of 2".to_owned(), "fresh tail".to_owned()],
        })),
    }
}
