//! Assemble: what the model is to see.

use std::collections::BTreeSet;

use contextwire_engine::{
    Assemble, AssembleOutcome, AssembleReply, Assembled, ContextProjection, CurrentTurn,
    KnownProjection, ProjectionMode, PromptAuthority, Reply, Segment, Site, TokenBudget,
    Transcript, Unchanged,
};

use super::call::reply_to_wire;
use super::{At, ConvertError, Problem, known, optional, required, within};
use crate::call::CallContext;
use crate::sync::TranscriptUpdate;
use crate::v1;

/// The start of an Assemble.
#[derive(Clone, Debug, PartialEq)]
pub struct AssembleStart {
    /// The call.
    pub call: CallContext,
    /// The request. Its transcript does not travel in it: empty when it comes from the wire, and
    /// ignored on the way there.
    pub request: Assemble,
    /// The list, or its first part.
    pub update: TranscriptUpdate,
}

/// The answer to an Assemble.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssembleResult {
    /// Beside the answer.
    pub reply: Reply,
    /// What the model is to see. Its ranges are not checked against the list yet.
    pub outcome: AssembleOutcome,
}

impl From<AssembleStart> for v1::AssembleStart {
    fn from(
        AssembleStart {
            call,
            request,
            update,
        }: AssembleStart,
    ) -> Self {
        let Assemble {
            runtime_settings,
            runtime_context,
            transcript: _,
            current_turn,
            token_budget,
            available_tools,
            citations_mode,
            model,
            prompt,
            memory_prompt,
            site,
            known_projection,
        } = request;
        Self {
            call: Some(call.into()),
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: runtime_context.map(Into::into),
            transcript: Some(update.into()),
            current_turn: current_turn_to_wire(current_turn).into(),
            token_budget: token_budget.map(TokenBudget::get),
            available_tools: available_tools.map(|names| v1::ToolSet {
                names: names.into_iter().collect(),
            }),
            citations_mode,
            model,
            prompt,
            memory_prompt,
            site: site_to_wire(site).into(),
            known_projection: known_projection.map(|KnownProjection { epoch, fingerprint }| {
                v1::KnownProjection { epoch, fingerprint }
            }),
        }
    }
}

impl TryFrom<v1::AssembleStart> for AssembleStart {
    type Error = ConvertError;

    fn try_from(wire: v1::AssembleStart) -> Result<Self, ConvertError> {
        let v1::AssembleStart {
            call,
            runtime_settings,
            runtime_context,
            transcript,
            current_turn: current_turn_number,
            token_budget,
            available_tools,
            citations_mode,
            model,
            prompt,
            memory_prompt,
            site: site_number,
            known_projection,
        } = wire;
        let request = Assemble {
            runtime_settings: runtime_settings.map(Into::into),
            runtime_context: optional(runtime_context, "runtime_context")?,
            transcript: Transcript::new(),
            current_turn: current_turn(current_turn_number).at("current_turn")?,
            token_budget: token_budget.and_then(TokenBudget::new),
            available_tools: available_tools
                .map(|v1::ToolSet { names }| BTreeSet::from_iter(names)),
            citations_mode,
            model,
            prompt,
            memory_prompt,
            site: site(site_number).at("site")?,
            known_projection: optional(known_projection, "known_projection")?,
        };
        let call = required(call, "call")?;
        Ok(Self {
            call,
            request,
            update: required(transcript, "transcript")?,
        })
    }
}

impl TryFrom<v1::KnownProjection> for KnownProjection {
    type Error = ConvertError;

    fn try_from(
        v1::KnownProjection { epoch, fingerprint }: v1::KnownProjection,
    ) -> Result<Self, ConvertError> {
        if epoch.trim().is_empty() {
            return Err(ConvertError::new("epoch", Problem::Empty));
        }
        Ok(Self { epoch, fingerprint })
    }
}

impl From<AssembleResult> for v1::AssembleResult {
    fn from(AssembleResult { reply, outcome }: AssembleResult) -> Self {
        use v1::assemble_result::Outcome;
        let outcome = match outcome {
            AssembleOutcome::Messages(reply) => Outcome::Messages(reply.into()),
            AssembleOutcome::Unchanged(unchanged) => Outcome::Unchanged(unchanged.into()),
        };
        Self {
            reply: reply_to_wire(reply),
            outcome: Some(outcome),
        }
    }
}

impl TryFrom<v1::AssembleResult> for AssembleResult {
    type Error = ConvertError;

    fn try_from(
        v1::AssembleResult { reply, outcome }: v1::AssembleResult,
    ) -> Result<Self, ConvertError> {
        use v1::assemble_result::Outcome;
        let outcome = match outcome.ok_or(Problem::Missing).at("outcome")? {
            Outcome::Messages(messages) => AssembleOutcome::Messages(within(messages, "messages")?),
            Outcome::Unchanged(unchanged) => AssembleOutcome::Unchanged(unchanged.into()),
        };
        Ok(Self {
            reply: optional(reply, "reply")?.unwrap_or_default(),
            outcome,
        })
    }
}

impl From<AssembleReply> for v1::AssembledMessages {
    fn from(reply: AssembleReply) -> Self {
        let AssembleReply {
            messages,
            estimated_tokens,
            prompt_authority,
            system_prompt_addition,
            context_projection,
            reasons,
        } = reply;
        Self {
            segments: messages
                .segments()
                .iter()
                .cloned()
                .map(Into::into)
                .collect(),
            estimated_tokens,
            prompt_authority: prompt_authority.map(|it| authority_to_wire(it).into()),
            system_prompt_addition,
            context_projection: context_projection.map(Into::into),
            reasons,
        }
    }
}

impl TryFrom<v1::AssembledMessages> for AssembleReply {
    type Error = ConvertError;

    fn try_from(wire: v1::AssembledMessages) -> Result<Self, ConvertError> {
        let v1::AssembledMessages {
            segments,
            estimated_tokens,
            prompt_authority,
            system_prompt_addition,
            context_projection,
            reasons,
        } = wire;
        let (messages, reasons) = assembled(segments, reasons)?;
        Ok(Self {
            messages,
            estimated_tokens,
            prompt_authority: prompt_authority.and_then(authority),
            system_prompt_addition,
            context_projection: context_projection.map(Into::into),
            reasons,
        })
    }
}

/// The segments with touching ranges joined, and a reason for each that is left.
fn assembled(
    segments: Vec<v1::Segment>,
    reasons: Vec<String>,
) -> Result<(Assembled, Vec<String>), ConvertError> {
    let mut assembled = Assembled::new();
    let mut kept_reasons: Vec<String> = Vec::with_capacity(reasons.len());
    let mut reasons = reasons.into_iter();
    for (index, segment) in segments.into_iter().enumerate() {
        let before = assembled.segments().len();
        match within(segment, &format!("segments[{index}]"))? {
            Segment::Keep(range) => assembled.push_keep(range),
            Segment::Insert(message) => assembled.push_insert(message),
        }
        let joined = assembled.segments().len() == before;
        match (reasons.next(), kept_reasons.last_mut()) {
            (Some(reason), Some(last)) if joined && *last != reason => {
                last.push_str("; ");
                last.push_str(&reason);
            }
            (Some(reason), _) if !joined => kept_reasons.push(reason),
            (Some(_) | None, _) => {}
        }
    }
    Ok((assembled, kept_reasons))
}

impl From<Unchanged> for v1::UnchangedProjection {
    fn from(unchanged: Unchanged) -> Self {
        let Unchanged {
            estimated_tokens,
            prompt_authority,
            system_prompt_addition,
        } = unchanged;
        Self {
            estimated_tokens,
            prompt_authority: prompt_authority.map(|it| authority_to_wire(it).into()),
            system_prompt_addition,
        }
    }
}

impl From<v1::UnchangedProjection> for Unchanged {
    fn from(wire: v1::UnchangedProjection) -> Self {
        let v1::UnchangedProjection {
            estimated_tokens,
            prompt_authority,
            system_prompt_addition,
        } = wire;
        Self {
            estimated_tokens,
            prompt_authority: prompt_authority.and_then(authority),
            system_prompt_addition,
        }
    }
}

impl From<ContextProjection> for v1::ContextProjection {
    fn from(
        ContextProjection {
            mode,
            epoch,
            fingerprint,
        }: ContextProjection,
    ) -> Self {
        let mode = match mode {
            ProjectionMode::PerTurn => v1::ProjectionMode::PerTurn,
            ProjectionMode::ThreadBootstrap => v1::ProjectionMode::ThreadBootstrap,
        };
        Self {
            mode: mode.into(),
            epoch,
            fingerprint,
        }
    }
}

impl From<v1::ContextProjection> for ContextProjection {
    fn from(
        v1::ContextProjection {
            mode,
            epoch,
            fingerprint,
        }: v1::ContextProjection,
    ) -> Self {
        let mode = match known(mode) {
            Some(v1::ProjectionMode::ThreadBootstrap) => ProjectionMode::ThreadBootstrap,
            Some(v1::ProjectionMode::PerTurn | v1::ProjectionMode::Unspecified) | None => {
                ProjectionMode::PerTurn
            }
        };
        Self {
            mode,
            epoch,
            fingerprint,
        }
    }
}

fn current_turn(wire: i32) -> Result<CurrentTurn, Problem> {
    match known(wire) {
        Some(v1::CurrentTurn::Excluded) => Ok(CurrentTurn::Excluded),
        Some(v1::CurrentTurn::Included) => Ok(CurrentTurn::Included),
        Some(v1::CurrentTurn::Unspecified) | None => Err(Problem::UnknownNumber(wire)),
    }
}

fn current_turn_to_wire(current_turn: CurrentTurn) -> v1::CurrentTurn {
    match current_turn {
        CurrentTurn::Excluded => v1::CurrentTurn::Excluded,
        CurrentTurn::Included => v1::CurrentTurn::Included,
    }
}

fn site(wire: i32) -> Result<Site, Problem> {
    match known(wire) {
        Some(v1::AssembleSite::BeforePrompt) => Ok(Site::BeforePrompt),
        Some(v1::AssembleSite::ToolLoop) => Ok(Site::ToolLoop),
        Some(v1::AssembleSite::Sync) => Ok(Site::Sync),
        Some(v1::AssembleSite::Unspecified) | None => Err(Problem::UnknownNumber(wire)),
    }
}

fn site_to_wire(site: Site) -> v1::AssembleSite {
    match site {
        Site::BeforePrompt => v1::AssembleSite::BeforePrompt,
        Site::ToolLoop => v1::AssembleSite::ToolLoop,
        Site::Sync => v1::AssembleSite::Sync,
    }
}

fn authority(wire: i32) -> Option<PromptAuthority> {
    match known(wire) {
        Some(v1::PromptAuthority::Unspecified) => None,
        Some(v1::PromptAuthority::Assembled) => Some(PromptAuthority::Assembled),
        Some(v1::PromptAuthority::PreassemblyMayOverflow) | None => {
            Some(PromptAuthority::PreassemblyMayOverflow)
        }
    }
}

fn authority_to_wire(authority: PromptAuthority) -> v1::PromptAuthority {
    match authority {
        PromptAuthority::Assembled => v1::PromptAuthority::Assembled,
        PromptAuthority::PreassemblyMayOverflow => v1::PromptAuthority::PreassemblyMayOverflow,
    }
}
