//! Messages as hosts write them, summarisers and hosts that follow a script.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use contextwire_engine::{
    Compact, HookContext, Host, HostAnswer, HostCall, HostCallError, HostCalls, HostLog, HostReply,
    Message, Session, SessionId, TokenBudget, Transcript,
};
use contextwire_legacy::{
    CompactOptions, CompactedLog, Compaction, CompactionError, CompactionSite, LegacyEngine,
    LegacyOptions, SummarizeError, Summarizer, SummaryAnswer, SummaryRequest, SummaryText,
    compact_log,
};
use serde_json::{Value, json};

pub(crate) fn session() -> Session {
    Session::new(SessionId::new("s").unwrap())
}

pub(crate) fn cx() -> HookContext {
    HookContext::new(session(), Duration::from_mins(3))
}

pub(crate) fn message(payload: &Value) -> Message {
    Message::from_payload(payload.to_string())
}

/// A text of `tokens` tokens.
pub(crate) fn words(tokens: usize) -> String {
    " word".repeat(tokens)
}

pub(crate) fn user(text: &str) -> Message {
    message(&json!({"role": "user", "content": text, "timestamp": 1}))
}

pub(crate) fn answer(text: &str) -> Message {
    message(
        &json!({"role": "assistant", "content": [{"type": "text", "text": text}],
        "stopReason": "stop", "timestamp": 2}),
    )
}

pub(crate) fn call(id: &str, path: &str) -> Message {
    message(
        &json!({"role": "assistant", "stopReason": "toolUse", "timestamp": 2,
        "content": [{"type": "toolCall", "id": id, "name": "read", "arguments": {"path": path}}]}),
    )
}

pub(crate) fn result(id: &str, text: &str) -> Message {
    message(
        &json!({"role": "toolResult", "toolCallId": id, "toolName": "read", "isError": false,
        "content": [{"type": "text", "text": text}], "timestamp": 3}),
    )
}

/// A list whose messages have the ids e0, e1, ….
pub(crate) fn list(messages: impl IntoIterator<Item = Message>) -> Transcript {
    let named = messages.into_iter().enumerate();
    named
        .map(|(n, message)| message.with_entry_id(format!("e{n}")))
        .collect()
}

/// So many turns of a question and an answer of 500 tokens each.
pub(crate) fn turns(count: usize) -> Transcript {
    list((0..count).flat_map(|n| {
        [
            user(&format!("question {n}{}", words(500))),
            answer(&format!("answer {n}{}", words(500))),
        ]
    }))
}

pub(crate) fn forced() -> CompactOptions {
    CompactOptions {
        request: Compact {
            force: true,
            ..Compact::default()
        },
        ..CompactOptions::default()
    }
}

/// The same within a window.
pub(crate) fn forced_within(tokens: u64) -> CompactOptions {
    let mut options = forced();
    options.request.token_budget = TokenBudget::new(tokens);
    options
}

pub(crate) async fn compacted(
    log: &Transcript,
    options: &CompactOptions,
    summarizer: &dyn Summarizer,
) -> CompactedLog {
    match compact_log(&cx(), log, options, summarizer).await.unwrap() {
        Compaction::Done(done) => *done,
        nothing @ Compaction::Nothing { .. } => panic!("{nothing:?}"),
    }
}

pub(crate) async fn nothing(
    log: &Transcript,
    options: &CompactOptions,
    summarizer: &dyn Summarizer,
) -> (bool, String) {
    match compact_log(&cx(), log, options, summarizer).await.unwrap() {
        Compaction::Done(done) => panic!("{done:?}"),
        Compaction::Nothing { ok, reason } => (ok, reason),
    }
}

pub(crate) async fn failure(
    log: &Transcript,
    options: &CompactOptions,
    summarizer: &dyn Summarizer,
) -> CompactionError {
    compact_log(&cx(), log, options, summarizer)
        .await
        .unwrap_err()
}

/// A summariser that answers in turn as it was told, then `summary N`.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) answers: Mutex<VecDeque<Result<String, SummarizeError>>>,
    pub(crate) window: Option<u64>,
    /// How long each answer takes.
    pub(crate) takes: Duration,
    pub(crate) seen: Mutex<Vec<SummaryRequest>>,
}

impl Script {
    pub(crate) fn new(
        answers: impl IntoIterator<Item = Result<&'static str, SummarizeError>>,
    ) -> Self {
        let answers = answers.into_iter();
        Self {
            answers: Mutex::new(answers.map(|answer| answer.map(str::to_owned)).collect()),
            ..Self::default()
        }
    }

    pub(crate) fn window(tokens: u64) -> Self {
        Self {
            window: Some(tokens),
            ..Self::default()
        }
    }

    pub(crate) fn failing(error: &SummarizeError) -> Self {
        Self::new(vec![Err(error.clone()); 20])
    }

    pub(crate) fn seen(&self) -> Vec<SummaryRequest> {
        self.seen.lock().unwrap().clone()
    }

    pub(crate) fn calls(&self) -> usize {
        self.seen.lock().unwrap().len()
    }
}

impl Summarizer for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn window(&self) -> Option<u64> {
        self.window
    }

    fn summarize<'a>(
        &'a self,
        _: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        let number = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(request.clone());
            seen.len()
        };
        let answer = self.answers.lock().unwrap().pop_front();
        let answer = answer.unwrap_or_else(|| Ok(format!("summary {number}")));
        Box::pin(async move {
            tokio::time::sleep(self.takes).await;
            answer.map(|text| SummaryText {
                text,
                model: Some("model-1".to_owned()),
                is_extract: false,
            })
        })
    }
}

/// A host that answers calls back with a function and remembers them.
pub(crate) struct ScriptedHost<F> {
    answer: F,
    seen: Mutex<Vec<HostCall>>,
}

impl<F> ScriptedHost<F>
where
    F: Fn(usize, &HostCall) -> Result<HostReply, HostCallError> + Send + Sync + 'static,
{
    /// The host, and a context of a hook that it calls.
    pub(crate) fn new(answer: F) -> (Arc<Self>, HookContext) {
        let host = Arc::new(Self {
            answer,
            seen: Mutex::default(),
        });
        let mut cx = cx();
        cx.host = Host::new(Arc::clone(&host) as Arc<dyn HostCalls>);
        (host, cx)
    }

    pub(crate) fn seen(&self) -> Vec<HostCall> {
        self.seen.lock().unwrap().clone()
    }
}

impl<F> HostCalls for ScriptedHost<F>
where
    F: Fn(usize, &HostCall) -> Result<HostReply, HostCallError> + Send + Sync + 'static,
{
    fn serve(&self, call: HostCall) -> HostAnswer<'_> {
        let number = {
            let mut seen = self.seen.lock().unwrap();
            seen.push(call.clone());
            seen.len() - 1
        };
        let answer = (self.answer)(number, &call);
        Box::pin(async move { answer })
    }
}

pub(crate) fn details(done: &CompactedLog) -> Value {
    serde_json::from_slice(&done.details).unwrap()
}

pub(crate) fn engine(site: CompactionSite, summarizer: Arc<dyn Summarizer>) -> LegacyEngine {
    LegacyEngine::new(LegacyOptions {
        site,
        summarizer,
        ..LegacyOptions::default()
    })
}

pub(crate) fn here(summarizer: impl Summarizer + 'static) -> LegacyEngine {
    engine(CompactionSite::Engine, Arc::new(summarizer))
}

pub(crate) fn force() -> Compact {
    Compact {
        force: true,
        ..Compact::default()
    }
}

pub(crate) fn with_log(log: &Transcript) -> HookContext {
    let mut cx = cx();
    cx.log = HostLog::new(log.clone());
    cx
}
