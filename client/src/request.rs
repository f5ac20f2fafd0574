//! What a host asks of an engine and what it gets for it, one row a hook.

use std::time::Duration;

use contextwire_engine::{
    AfterTurn, Assemble, AssembleOutcome, Bootstrap, Bootstrapped, CommitTurn, Compact, Compacted,
    Dispose, EndSubagent, Hook, Ingest, IngestBatch, Ingested, IngestedBatch, Maintain, Maintained,
    PrepareSubagentSpawn, ResolveSubagentSpawn, Site, SpawnPrepared, TurnCommitted,
};

/// A hook's request, and what answers it.
pub(crate) trait HookRequest: Into<EngineRequest> {
    /// The hook's own result.
    type Result;

    /// The result in the reply; `None` for the reply of another hook.
    fn result(reply: EngineReply) -> Option<Self::Result>;
}

macro_rules! hooks {
    ($($(#[$doc:meta])* $hook:ident($stored:ty) => $reply:ident($result:ty);)*) => {
        /// What a host asks of an engine; one variant a hook.
        #[derive(Clone, Debug)]
        pub enum EngineRequest {
            $($(#[$doc])* $hook($stored),)*
        }

        /// What an engine answers; one variant a hook.
        #[derive(Clone, Debug, PartialEq)]
        pub enum EngineReply {
            $(#[doc = concat!("To [`EngineRequest::", stringify!($hook), "`].")] $reply($result),)*
        }

        impl EngineRequest {
            /// The hook.
            pub fn hook(&self) -> Hook {
                match self {
                    $(Self::$hook(_) => Hook::$hook,)*
                }
            }
        }

        $(
            impl From<$hook> for EngineRequest {
                fn from(request: $hook) -> Self {
                    Self::$hook(request.into())
                }
            }

            impl HookRequest for $hook {
                type Result = $result;

                fn result(reply: EngineReply) -> Option<$result> {
                    if let EngineReply::$reply(result) = reply {
                        Some(result)
                    } else {
                        None
                    }
                }
            }
        )*
    };
}

hooks! {
    /// The session already has a log: import it.
    Bootstrap(Bootstrap) => Bootstrapped(Bootstrapped);
    /// Append this message.
    Ingest(Ingest) => Ingested(Ingested);
    /// Append these messages, all or none.
    IngestBatch(IngestBatch) => IngestedBatch(IngestedBatch);
    /// What is the model to see?
    Assemble(Assemble) => Assembled(AssembleOutcome);
    /// Make room.
    Compact(Compact) => Compacted(Compacted);
    /// A turn ended: this is the log now.
    AfterTurn(AfterTurn) => TurnNoted(());
    /// Store this closed turn.
    CommitTurn(Box<CommitTurn>) => TurnCommitted(TurnCommitted);
    /// There is time to tidy up.
    Maintain(Maintain) => Maintained(Maintained);
    /// A child is about to start.
    PrepareSubagentSpawn(PrepareSubagentSpawn) => SpawnPrepared(SpawnPrepared);
    /// This is what became of the spawn.
    ResolveSubagentSpawn(ResolveSubagentSpawn) => SpawnResolved(());
    /// The child ended.
    EndSubagent(EndSubagent) => SubagentEnded(());
    /// This host goes away.
    Dispose(Dispose) => Disposed(());
}

impl EngineRequest {
    /// Whether it runs beside the conversation, so that nobody waits for it.
    pub fn is_background(&self) -> bool {
        match self {
            Self::Bootstrap(request) => request.background,
            Self::AfterTurn(request) => request.background,
            Self::Maintain(request) => request.background,
            Self::Assemble(request) => request.site == Site::Sync,
            Self::Ingest(_)
            | Self::IngestBatch(_)
            | Self::Compact(_)
            | Self::CommitTurn(_)
            | Self::PrepareSubagentSpawn(_)
            | Self::ResolveSubagentSpawn(_)
            | Self::EndSubagent(_)
            | Self::Dispose(_) => false,
        }
    }

    /// How long the hook may take (PROTOCOL 7): longer where nobody waits for it.
    pub fn deadline(&self) -> Duration {
        let profile = self.hook().profile();
        if self.is_background() {
            profile.background_deadline
        } else {
            profile.deadline
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_waits_for_a_background_hook_so_it_gets_more_time() {
        let seconds = |request: EngineRequest| request.deadline().as_secs();
        assert_eq!(seconds(AfterTurn::default().into()), 10);
        assert_eq!(seconds(Maintain::default().into()), 10);
        let after_turn = AfterTurn {
            background: true,
            ..AfterTurn::default()
        };
        let maintain = Maintain {
            background: true,
            ..Maintain::default()
        };
        let sync = Assemble {
            site: Site::Sync,
            ..Assemble::default()
        };
        assert_eq!(seconds(after_turn.into()), 120);
        assert_eq!(seconds(maintain.into()), 300);
        assert_eq!(seconds(sync.into()), 120);
        assert_eq!(seconds(CommitTurn::default().into()), 5);
        assert_eq!(seconds(Compact::default().into()), 180);
    }

    #[test]
    fn the_reply_of_another_hook_is_no_result() {
        let ended = EngineReply::SubagentEnded(());
        assert_eq!(AfterTurn::result(ended.clone()), None);
        assert_eq!(EndSubagent::result(ended), Some(()));
    }
}
