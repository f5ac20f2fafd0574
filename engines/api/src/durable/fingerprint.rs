//! Which intent a call is, and which content its key stands for (R7.10).

use std::fmt;

use super::answer::Answer;
use super::fields::FieldWriter;
use crate::after_turn::AfterTurn;
use crate::bootstrap::{Bootstrap, Bootstrapped};
use crate::budget::TokenBudget;
use crate::commit_turn::{CommitTurn, TurnCommitted};
use crate::compact::{Compact, Compacted, CompactionTarget};
use crate::context::HookContext;
use crate::digest::{TranscriptState, sha256};
use crate::hook::Hook;
use crate::ingest::{Ingest, IngestBatch, Ingested, IngestedBatch};
use crate::maintain::{Maintain, Maintained};
use crate::message::Message;
use crate::subagent::{
    ContextMode, EndSubagent, PrepareSubagentSpawn, ResolveSubagentSpawn, SpawnOutcome,
    SpawnPrepared,
};

/// SHA-256 over the content that a key stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(pub [u8; 32]);

impl Fingerprint {
    fn of(fields: FieldWriter) -> Self {
        Self(sha256(&fields.finish()))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A request that has an effect once, however often it comes.
///
/// The fingerprint leaves out what a host may drop or change between two attempts: fields that a
/// strict engine may have removed (R5.3), the order pair, budgets.
pub trait Keyed {
    /// What is recorded under the key.
    type Answer: Answer;

    /// The hook.
    const HOOK: Hook;

    /// The key within session and hook.
    fn key(&self, cx: &HookContext) -> String {
        cx.hook_id.to_string()
    }

    /// The content that the key stands for.
    fn fingerprint(&self) -> Fingerprint;
}

impl Keyed for Bootstrap {
    type Answer = Bootstrapped;
    const HOOK: Hook = Hook::Bootstrap;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            runtime_settings: _,
            runtime_context: _,
            transcript,
            background: _,
        } = self;
        Fingerprint::of(head(FieldWriter::default(), transcript.state()))
    }
}

impl Keyed for Ingest {
    type Answer = Ingested;
    const HOOK: Hook = Hook::Ingest;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            message,
            is_heartbeat,
        } = self;
        let fields = FieldWriter::default().bytes(&message.digest().0);
        Fingerprint::of(fields.flag(*is_heartbeat))
    }
}

impl Keyed for IngestBatch {
    type Answer = IngestedBatch;
    const HOOK: Hook = Hook::IngestBatch;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            messages,
            is_heartbeat,
        } = self;
        Fingerprint::of(digests(FieldWriter::default(), messages).flag(*is_heartbeat))
    }
}

impl Keyed for Compact {
    type Answer = Compacted;
    const HOOK: Hook = Hook::Compact;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            runtime_settings: _,
            runtime_context: _,
            token_budget,
            force,
            current_token_count,
            target,
            custom_instructions,
        } = self;
        let fields = FieldWriter::default()
            .optional(token_budget.map(TokenBudget::get), FieldWriter::number)
            .flag(*force)
            .optional(*current_token_count, FieldWriter::number)
            .flag(match target {
                CompactionTarget::Budget => false,
                CompactionTarget::Threshold => true,
            })
            .optional(custom_instructions.as_deref(), FieldWriter::text);
        Fingerprint::of(fields)
    }
}

impl Keyed for AfterTurn {
    type Answer = ();
    const HOOK: Hook = Hook::AfterTurn;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            runtime_settings: _,
            runtime_context: _,
            transcript,
            background: _,
            pre_prompt_message_count,
            auto_compaction_summary: _,
            is_heartbeat,
            token_budget: _,
        } = self;
        let fields = head(FieldWriter::default(), transcript.state());
        Fingerprint::of(fields.number(*pre_prompt_message_count).flag(*is_heartbeat))
    }
}

impl Keyed for CommitTurn {
    type Answer = TurnCommitted;
    const HOOK: Hook = Hook::CommitTurn;

    fn key(&self, _: &HookContext) -> String {
        self.advancement_key.clone()
    }

    /// Both entry ids, the digests in order, heartbeat.
    fn fingerprint(&self) -> Fingerprint {
        let Self {
            runtime_settings: _,
            runtime_context: _,
            advancement_key: _,
            admission,
            terminal,
            messages,
            is_heartbeat,
        } = self;
        let fields = FieldWriter::default()
            .text(&admission.anchor.entry_id)
            .text(&terminal.entry_id);
        Fingerprint::of(digests(fields, messages).flag(*is_heartbeat))
    }
}

impl Keyed for Maintain {
    type Answer = Maintained;
    const HOOK: Hook = Hook::Maintain;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            runtime_settings: _,
            runtime_context: _,
            reason,
            background: _,
        } = self;
        Fingerprint::of(FieldWriter::default().text(reason.name()))
    }
}

impl Keyed for PrepareSubagentSpawn {
    type Answer = SpawnPrepared;
    const HOOK: Hook = Hook::PrepareSubagentSpawn;

    fn key(&self, _: &HookContext) -> String {
        self.spawn_id.clone()
    }

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            spawn_id: _,
            parent_session_key,
            child_session_key,
            context_mode,
            parent_session_id: _,
            parent_locator: _,
            child_session_id: _,
            child_locator: _,
            ttl: _,
        } = self;
        let fields = FieldWriter::default()
            .text(parent_session_key)
            .text(child_session_key)
            .flag(match context_mode.unwrap_or_default() {
                ContextMode::Isolated => false,
                ContextMode::Fork => true,
            });
        Fingerprint::of(fields)
    }
}

impl Keyed for ResolveSubagentSpawn {
    type Answer = ();
    const HOOK: Hook = Hook::ResolveSubagentSpawn;

    fn key(&self, _: &HookContext) -> String {
        self.spawn_id.clone()
    }

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            spawn_id: _,
            outcome,
        } = self;
        Fingerprint::of(FieldWriter::default().flag(match outcome {
            SpawnOutcome::Started => true,
            SpawnOutcome::RolledBack => false,
        }))
    }
}

impl Keyed for EndSubagent {
    type Answer = ();
    const HOOK: Hook = Hook::EndSubagent;

    fn fingerprint(&self) -> Fingerprint {
        let Self {
            spawn_id,
            child_session_key,
            reason,
        } = self;
        let fields = FieldWriter::default()
            .optional(spawn_id.as_deref(), FieldWriter::text)
            .text(child_session_key)
            .text(reason);
        Fingerprint::of(fields)
    }
}

fn head(fields: FieldWriter, state: TranscriptState) -> FieldWriter {
    fields.number(state.count).bytes(&state.chain)
}

fn digests(fields: FieldWriter, messages: &[Message]) -> FieldWriter {
    let fields = fields.number(messages.len() as u64);
    messages
        .iter()
        .fold(fields, |fields, message| fields.bytes(&message.digest().0))
}
