//! The hooks and their properties, in one table (PROTOCOL 1 and 7).

use std::time::Duration;

/// A hook of the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hook {
    /// What the engine is, accepts and can.
    Describe,
    /// Imports the log of a session that already had a transcript.
    Bootstrap,
    /// Appends one message.
    Ingest,
    /// Appends several messages, all or none.
    IngestBatch,
    /// Decides what the model sees.
    Assemble,
    /// Makes room by summarising.
    Compact,
    /// Tells what a finished turn added.
    AfterTurn,
    /// Stores a closed turn atomically.
    CommitTurn,
    /// Lets the engine tidy up, with the right to rewrite entries.
    Maintain,
    /// Prepares what a child inherits.
    PrepareSubagentSpawn,
    /// Says whether the child started.
    ResolveSubagentSpawn,
    /// Says that the child ended.
    EndSubagent,
    /// This host goes away.
    Dispose,
}

/// What a repeated call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Changes nothing.
    Read,
    /// Repeating gives the same outcome without a key.
    Idempotent,
    /// Repeating needs the call's key.
    Mutating,
}

/// What the host does when the call fails (PROTOCOL 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FallbackClass {
    /// The engine is unavailable; nothing is judged.
    Unavailable,
    /// The in-process engine answers.
    InProcess,
    /// A neutral value stands in, the next sync catches up.
    Neutral,
    /// The legacy compaction runs, or the failure is passed on.
    LegacyCompaction,
    /// The spawn fails with a typed error.
    FailSpawn,
    /// The durable outbox repeats it under the same key.
    Outbox,
    /// A warning, nothing else.
    Warn,
}

/// The fixed properties of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HookProfile {
    /// Name on the wire and in reports.
    pub name: &'static str,
    /// Whether every engine has it (R1.2).
    pub required: bool,
    /// Whether it is a stream of frames.
    pub streaming: bool,
    /// What a repeat does.
    pub effect: Effect,
    /// The host's move on failure.
    pub fallback: FallbackClass,
    /// Longest total time while somebody waits.
    pub deadline: Duration,
    /// Longest total time of a call that runs beside the conversation; `deadline` for hooks that
    /// never do.
    pub background_deadline: Duration,
    /// Longest silence of the engine while the host owes nothing; absent for unary hooks.
    pub idle: Option<Duration>,
    /// Request parts that a strict old engine may make the host drop (HOST-SEMANTICS 4.1).
    pub droppable: &'static [&'static str],
}

const SESSION_KEY: &str = "call.session.session_key";
const TARGET: &str = "call.session.target";
const SETTINGS: &str = "runtime_settings";
const CONTEXT: &str = "runtime_context";

impl Hook {
    /// Every hook, in the order of the contract.
    pub const ALL: [Self; 13] = [
        Self::Describe,
        Self::Bootstrap,
        Self::Ingest,
        Self::IngestBatch,
        Self::Assemble,
        Self::Compact,
        Self::AfterTurn,
        Self::CommitTurn,
        Self::Maintain,
        Self::PrepareSubagentSpawn,
        Self::ResolveSubagentSpawn,
        Self::EndSubagent,
        Self::Dispose,
    ];

    /// The hook's row of the table.
    pub const fn profile(self) -> HookProfile {
        use Effect::{Idempotent, Mutating, Read};
        use FallbackClass as F;
        match self {
            Self::Describe => unary("Describe", Read, F::Unavailable, 2).required(),
            Self::Bootstrap => stream("Bootstrap", Idempotent, F::Neutral, (120, 15)),
            Self::Ingest => unary("Ingest", Mutating, F::Neutral, 2)
                .required()
                .drops(&[SESSION_KEY]),
            Self::IngestBatch => {
                unary("IngestBatch", Mutating, F::Neutral, 5).drops(&[SESSION_KEY])
            }
            // In the background it only hands a long list over (R3.4).
            Self::Assemble => stream("Assemble", Read, F::InProcess, (5, 2))
                .required()
                .in_background(120)
                .drops(&[SESSION_KEY, "prompt", SETTINGS]),
            Self::Compact => stream("Compact", Mutating, F::LegacyCompaction, (180, 30)).required(),
            Self::AfterTurn => {
                stream("AfterTurn", Mutating, F::Neutral, (10, 10)).in_background(120)
            }
            Self::CommitTurn => unary("CommitTurn", Mutating, F::Outbox, 5),
            Self::Maintain => stream("Maintain", Mutating, F::Neutral, (10, 15)).in_background(300),
            Self::PrepareSubagentSpawn => unary("PrepareSubagentSpawn", Mutating, F::FailSpawn, 3),
            Self::ResolveSubagentSpawn => unary("ResolveSubagentSpawn", Idempotent, F::Outbox, 5),
            Self::EndSubagent => unary("EndSubagent", Mutating, F::Outbox, 5),
            Self::Dispose => unary("Dispose", Idempotent, F::Warn, 10),
        }
    }

    /// Name on the wire and in reports.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    /// The hook of that wire name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

const fn unary(
    name: &'static str,
    effect: Effect,
    fallback: FallbackClass,
    secs: u64,
) -> HookProfile {
    HookProfile {
        name,
        required: false,
        streaming: false,
        effect,
        fallback,
        deadline: Duration::from_secs(secs),
        background_deadline: Duration::from_secs(secs),
        idle: None,
        droppable: &[],
    }
}

/// A streaming hook with (deadline, idle) in seconds. All but Assemble share their droppable parts.
const fn stream(
    name: &'static str,
    effect: Effect,
    fallback: FallbackClass,
    secs: (u64, u64),
) -> HookProfile {
    HookProfile {
        streaming: true,
        idle: Some(Duration::from_secs(secs.1)),
        ..unary(name, effect, fallback, secs.0).drops(&[SESSION_KEY, SETTINGS, TARGET, CONTEXT])
    }
}

impl HookProfile {
    const fn required(self) -> Self {
        Self {
            required: true,
            ..self
        }
    }

    const fn in_background(self, secs: u64) -> Self {
        Self {
            background_deadline: Duration::from_secs(secs),
            ..self
        }
    }

    const fn drops(self, droppable: &'static [&'static str]) -> Self {
        Self { droppable, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_four_hooks_of_r1_2_are_required() {
        let required: Vec<_> = Hook::ALL
            .into_iter()
            .filter(|h| h.profile().required)
            .collect();
        assert_eq!(
            required,
            [Hook::Describe, Hook::Ingest, Hook::Assemble, Hook::Compact]
        );
    }

    #[test]
    fn names_lead_back_to_their_hooks() {
        assert!(
            Hook::ALL
                .into_iter()
                .all(|hook| Hook::from_name(hook.name()) == Some(hook))
        );
        assert_eq!(Hook::from_name("Push"), None);
    }

    #[test]
    fn only_streaming_hooks_have_an_idle_limit_and_assemble_reads() {
        for hook in Hook::ALL {
            assert_eq!(
                hook.profile().streaming,
                hook.profile().idle.is_some(),
                "{hook}"
            );
        }
        assert_eq!(Hook::Assemble.profile().effect, Effect::Read);
        assert_eq!(Hook::Assemble.profile().deadline, Duration::from_secs(5));
    }

    #[test]
    fn only_three_hooks_get_more_time_in_the_background() {
        let longer = Hook::ALL
            .into_iter()
            .map(|hook| (hook, hook.profile()))
            .filter(|(_, profile)| profile.background_deadline != profile.deadline);
        let longer: Vec<_> = longer
            .map(|(hook, profile)| (hook, profile.background_deadline.as_secs()))
            .collect();
        assert_eq!(
            longer,
            [
                (Hook::Assemble, 120),
                (Hook::AfterTurn, 120),
                (Hook::Maintain, 300)
            ]
        );
    }
}
