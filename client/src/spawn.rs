//! Subagents of a host, from the wish for a child to its end (HOST-SEMANTICS 7, PROTOCOL 9).
//!
//! A spawn is in the outbox's journal before the engine is asked, so that whatever becomes of this
//! process somebody says what became of the child: [`Spawn::started`] or [`Spawn::roll_back`], a
//! dropped [`Spawn`], or [`Subagents::recover`] of the next process. All of that, and a child's end,
//! waits in the outbox, in the lane of the child's session key, until the engine has it.

mod end;
mod error;
mod open;
mod recovery;
mod renewal;
mod request;

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use contextwire_engine::{ContextMode, HookId};
use lru::LruCache;

pub use end::{ChildEnd, EndReason, Ended};
pub use error::SpawnError;
pub use open::Spawn;
pub use recovery::{Found, Recovered};
pub use request::{SpawnRequest, child_context, preparation_ttl};

use crate::call::{Answer, ServedBy};
use crate::client::EngineClient;
use crate::error::CallError;
use crate::hooks::Hooks;
use crate::host::Host;
use crate::outbox::{Addressee, Outbox};
use crate::request::EngineReply;
use open::Prepared;

/// Children that are remembered, to know the newest run of each and which ends were told.
const CHILDREN: NonZeroUsize = NonZeroUsize::new(4096).unwrap();
/// The operation that an engine may require more of its host for (HOST-SEMANTICS 5).
const OPERATION: &str = "subagent-spawn";

/// The subagents of one engine's sessions. Cheap to clone; clones are one. The built-in engine
/// prepares nothing: a host that has selected it starts its children without any of this.
#[derive(Clone, Debug)]
pub struct Subagents(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hooks: Hooks,
    to: Addressee,
    outbox: Outbox,
    /// The newest spawn of each child's key.
    newest: Mutex<LruCache<String, String>>,
    /// Ends that are written down, one writer at a time.
    ended: tokio::sync::Mutex<LruCache<(String, Option<String>), ()>>,
}

impl Subagents {
    /// Spawns that this engine prepares, journaled in this outbox. Somebody has to deliver its rows,
    /// see [`Outbox::deliver_in_background`].
    pub fn new(client: &EngineClient, outbox: &Outbox) -> Self {
        let bar = client.known.bar();
        let to = Addressee {
            engine: bar.engine_id().to_owned(),
            owner: bar.owner().map(str::to_owned),
        };
        Self::over(Hooks::clone(client), to, outbox.clone())
    }

    fn over(hooks: Hooks, to: Addressee, outbox: Outbox) -> Self {
        Self(Arc::new(Inner {
            hooks,
            to,
            outbox,
            newest: Mutex::new(LruCache::new(CHILDREN)),
            ended: tokio::sync::Mutex::new(LruCache::new(CHILDREN)),
        }))
    }

    /// Prepares what a child inherits. A light child that inherits nothing, and one whose engine
    /// prepares none, has a [`Spawn`] as well, which says so.
    ///
    /// A future that is dropped before its end leaves nothing behind: the spawn is rolled back.
    ///
    /// # Errors
    /// [`SpawnError`]; the child must not be started then, and its provisional session is to be
    /// deleted. Whatever the engine had prepared is rolled back through the outbox.
    pub async fn prepare(&self, request: SpawnRequest) -> Result<Spawn, SpawnError> {
        request.check()?;
        let spawn_id = HookId::mint().to_string();
        self.0.is_newest(&request.child, &spawn_id);
        let mode = request.mode;
        let asked = request.asked(&spawn_id);
        let inner = Arc::clone(&self.0);
        if !crate::lifecycle::needs_preparation(mode, request.is_light) {
            return Ok(Spawn::unprepared(inner, asked, request.parent));
        }
        let mut spawn = Spawn::journaled(inner, asked, request.parent);
        spawn.journal().await?;
        let outcome = spawn.ask(false).await;
        match judge(mode, outcome) {
            Judged::Prepared(prepared) => spawn.prepared(prepared),
            Judged::Unprepared => spawn.forget().await,
            Judged::Refused { error, was_asked } => {
                if was_asked {
                    // Written down: delivered even if this process ends now.
                    spawn.roll_back().await;
                } else {
                    spawn.forget().await;
                }
                return Err(error);
            }
        }
        Ok(spawn)
    }

    /// The outbox that has the journal.
    pub fn outbox(&self) -> &Outbox {
        &self.0.outbox
    }
}

impl Host {
    /// The subagents of the engine that is selected now, with this host's outbox. Made once and kept:
    /// what it remembers of children is its own. Nothing where the host has no outbox, or its own
    /// built-in engine is selected.
    pub fn subagents(&self) -> Option<Subagents> {
        let client = self.engine(&self.selected()).ok()?;
        Some(Subagents::new(&client, self.outbox()?))
    }
}

impl Inner {
    fn is_newest(&self, child: &contextwire_engine::Session, spawn_id: &str) {
        let mut newest = self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = &child.key {
            newest.put(key.clone(), spawn_id.to_owned());
        }
    }
}

/// What the answer to a preparation means.
enum Judged {
    Prepared(Prepared),
    /// Nobody prepared anything, and the spawn goes on.
    Unprepared,
    Refused {
        error: SpawnError,
        was_asked: bool,
    },
}

fn judge(mode: ContextMode, outcome: Result<Answer, CallError>) -> Judged {
    let error = match outcome {
        Ok(served) => return judge_answer(served),
        Err(error) => error,
    };
    // HOST-SEMANTICS 3.5: in the place of a barred engine nothing is prepared.
    let is_barred = matches!(
        error,
        CallError::Quarantined { .. } | CallError::DiscoveryOnly { .. }
    );
    // PROTOCOL 7: nobody asks an engine that does not answer.
    let is_left_alone = matches!(
        error,
        CallError::BreakerOpen { .. } | CallError::TurnDegraded { .. }
    );
    match (is_barred, is_left_alone, mode) {
        (true, ..) => Judged::Unprepared,
        (false, true, ContextMode::Isolated) => {
            tracing::warn!(code = error.code(), "a child starts unprepared");
            Judged::Unprepared
        }
        (false, true, ContextMode::Fork) => Judged::Refused {
            error: SpawnError::ForkUnavailable(error),
            was_asked: false,
        },
        (false, false, _) => Judged::Refused {
            error: SpawnError::Preparation(error),
            was_asked: true,
        },
    }
}

fn judge_answer(served: Answer) -> Judged {
    if let EngineReply::SpawnPrepared(answer) = served.result
        && answer.prepared
        && served.by != ServedBy::InProcess
    {
        return Judged::Prepared(Prepared {
            addition: answer.system_prompt_addition,
        });
    }
    Judged::Unprepared
}

#[cfg(test)]
mod tests;
