//! What the engine under test declares, and what it shows of itself before the first check.

use contextwire_proto::{Reason, reason_of, v1};
use tonic::Status;
use tonic::transport::Channel;

use crate::check::{Need, Verdict};
use crate::probe::Probe;
use crate::target::Address;
use crate::{list, request};

/// The engine under test.
#[derive(Clone, Debug, Default)]
pub struct Engine {
    /// Its description.
    pub described: v1::DescribeResponse,
    /// Whether it refuses fields that it does not know.
    pub is_strict: bool,
    /// Whether its replies carry the state of its stored log.
    pub tells_log_state: bool,
    /// Whether its first Assemble answered with an epoch of a projection.
    pub projects: bool,
}

/// Why nothing could be checked.
#[derive(Debug, thiserror::Error)]
#[error("the engine at {address} cannot be examined: {problem}")]
pub struct Unreachable {
    /// Where.
    pub address: String,
    /// Why.
    pub problem: String,
}

impl Engine {
    /// Asks the engine at this address.
    ///
    /// # Errors
    /// When it answers no Describe.
    pub async fn examine(address: &Address, channel: &Channel) -> Result<Self, Unreachable> {
        let probe = Probe::new(address.clone(), channel.clone(), std::sync::Arc::default());
        let unreachable = |problem: String| Unreachable {
            address: address.to_string(),
            problem,
        };
        let described = probe.ask("Describe", &request::describe()).await;
        let described = match described {
            Ok(Ok(described)) => described,
            Ok(Err(status)) => return Err(unreachable(said(&status))),
            Err(verdict) => return Err(unreachable(format!("{verdict:?}"))),
        };
        let mut engine = Self {
            described,
            ..Self::default()
        };
        engine.is_strict = is_strict(&probe).await.unwrap_or_default();
        engine.tells_log_state = tells_log_state(&probe).await.unwrap_or_default();
        engine.projects = projects(&probe).await.unwrap_or_default();
        Ok(engine)
    }

    /// Its own words about itself.
    pub fn info(&self) -> v1::EngineInfo {
        self.described.engine.clone().unwrap_or_default()
    }

    /// Whether it declares a method.
    pub fn has(&self, method: &str) -> bool {
        let info = self.described.engine.as_ref();
        info.is_some_and(|info| info.methods.iter().any(|name| name == method))
    }

    /// Largest message that it takes, in bytes.
    pub fn max_message_bytes(&self) -> u64 {
        let limits = self.described.limits.as_ref();
        limits
            .and_then(|limits| limits.max_message_bytes)
            .unwrap_or(contextwire_proto::limits::MESSAGE_BYTES as u64)
    }

    /// Why a check that needs this does not apply; `None` where it does.
    pub fn lacks(&self, need: Need, has_control: bool) -> Option<String> {
        let (holds, lack) = match need {
            Need::Method(method) => (self.has(method), format!("the engine has no {method}")),
            Need::Delta => (
                self.info().transcript_sync() == v1::TranscriptSync::Delta,
                "transcript_sync is not DELTA".to_owned(),
            ),
            Need::DelegatesCompaction => (
                !self.info().owns_compaction,
                "the engine owns compaction".to_owned(),
            ),
            Need::HonoursMustUnderstand => (
                self.described.honours_must_understand,
                "honours_must_understand is not declared".to_owned(),
            ),
            Need::Strict => (
                self.is_strict,
                "the engine ignores fields that it does not know".to_owned(),
            ),
            Need::LogState => (
                self.tells_log_state,
                "no reply carries log_state, so that the stored log cannot be seen".to_owned(),
            ),
            Need::Control => (has_control, "no --control-cmd was given".to_owned()),
        };
        (!holds).then_some(lack)
    }
}

fn said(status: &Status) -> String {
    format!("{:?}: {}", status.code(), status.message())
}

async fn is_strict(probe: &Probe) -> Result<bool, Verdict> {
    let ingest = request::ingest(probe.session(), list::text("e0", "user", "hello"));
    let bytes = request::with_foreign_field(&ingest);
    let answer = probe.unary("Ingest", bytes).await?;
    Ok(answer.is_err_and(|status| reason_of(&status) == Some(Reason::UnknownField)))
}

async fn tells_log_state(probe: &Probe) -> Result<bool, Verdict> {
    let ingest = request::ingest(probe.session(), list::text("e0", "user", "hello"));
    let answer: Result<v1::IngestResponse, _> = probe.ask("Ingest", &ingest).await?;
    Ok(answer.is_ok_and(|it| it.reply.is_some_and(|reply| reply.log_state.is_some())))
}

async fn projects(probe: &Probe) -> Result<bool, Verdict> {
    let held = list::conversation(4);
    let start = request::assemble(probe.session(), &held);
    let mut stream = probe.started("Assemble", &start).await?;
    let result: Result<v1::AssembleResult, _> = stream.result(&held).await?;
    let Ok(Some(v1::assemble_result::Outcome::Messages(messages))) = result.map(|it| it.outcome)
    else {
        return Ok(false);
    };
    let projection = messages.context_projection.unwrap_or_default();
    Ok(projection.mode() == v1::ProjectionMode::ThreadBootstrap)
}
