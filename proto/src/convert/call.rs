//! Who calls, and what every answer says besides.

use std::time::Duration;

use contextwire_engine::{
    HookId, LateHook, Order, Reply, Scope, Session, SessionId, SessionTarget,
};

use super::{At, ConvertError, Problem, each, millis, optional, required};
use crate::call::CallContext;
use crate::limits::{ABANDONED_HOOKS, MUST_UNDERSTAND_PATHS};
use crate::v1;

impl From<CallContext> for v1::CallContext {
    fn from(call: CallContext) -> Self {
        let CallContext {
            hook_id,
            attempt,
            budget,
            session,
            must_understand,
            scope,
            operation,
            order,
            abandoned_hooks,
            log_head,
        } = call;
        Self {
            hook_id: hook_id.to_string(),
            attempt,
            // A budget below one is one, since zero says that there is none.
            budget_ms: budget.map_or(0, |budget| millis(budget).max(1)),
            session: Some(session.into()),
            must_understand,
            scope: (scope != Scope::default()).then(|| scope.into()),
            operation,
            host_epoch: order.map_or(0, |order| order.host_epoch),
            session_seq: order.and_then(|order| order.session_seq),
            abandoned_hooks: abandoned_hooks.iter().map(HookId::to_string).collect(),
            log_head: log_head.map(Into::into),
        }
    }
}

impl TryFrom<v1::CallContext> for CallContext {
    type Error = ConvertError;

    fn try_from(wire: v1::CallContext) -> Result<Self, ConvertError> {
        let v1::CallContext {
            hook_id,
            attempt,
            budget_ms,
            session,
            must_understand,
            scope,
            operation,
            host_epoch,
            session_seq,
            abandoned_hooks,
            log_head,
        } = wire;
        at_most(&must_understand, MUST_UNDERSTAND_PATHS).at("must_understand")?;
        at_most(&abandoned_hooks, ABANDONED_HOOKS).at("abandoned_hooks")?;
        let abandoned = abandoned_hooks.iter().enumerate();
        Ok(Self {
            hook_id: parse_hook_id(&hook_id).at("hook_id")?,
            attempt: attempt.max(1),
            budget: (budget_ms > 0).then(|| Duration::from_millis(budget_ms)),
            session: required(session, "session")?,
            must_understand,
            scope: scope.map(Into::into).unwrap_or_default(),
            operation,
            order: (host_epoch > 0).then_some(Order {
                host_epoch,
                session_seq,
            }),
            abandoned_hooks: abandoned
                .map(|(n, id)| parse_hook_id(id).at(&format!("abandoned_hooks[{n}]")))
                .collect::<Result<_, _>>()?,
            log_head: optional(log_head, "log_head")?,
        })
    }
}

fn at_most<T>(list: &[T], limit: usize) -> Result<(), Problem> {
    if list.len() > limit {
        return Err(Problem::TooMany {
            count: list.len(),
            limit,
        });
    }
    Ok(())
}

fn parse_hook_id(text: &str) -> Result<HookId, Problem> {
    if text.is_empty() {
        return Err(Problem::Missing);
    }
    HookId::parse(text).map_err(|_| Problem::NotAUuid)
}

/// A session id, which is never empty.
pub(super) fn session_id(text: String) -> Result<SessionId, Problem> {
    SessionId::new(text).map_err(|invalid| match invalid.len {
        0 => Problem::Empty,
        bytes => Problem::TooLong {
            bytes,
            limit: SessionId::MAX_BYTES,
        },
    })
}

impl From<Session> for v1::Session {
    fn from(session: Session) -> Self {
        let Session {
            id,
            previous_id,
            key,
            agent_id,
            target,
            locator,
        } = session;
        Self {
            session_id: id.as_str().to_owned(),
            previous_id: previous_id.map(|id| id.as_str().to_owned()),
            session_key: key,
            agent_id,
            target: target.map(Into::into),
            locator,
        }
    }
}

impl TryFrom<v1::Session> for Session {
    type Error = ConvertError;

    fn try_from(wire: v1::Session) -> Result<Self, ConvertError> {
        let v1::Session {
            session_id: id,
            previous_id,
            session_key,
            agent_id,
            target,
            locator,
        } = wire;
        Ok(Self {
            id: session_id(id).at("session_id")?,
            previous_id: previous_id.map(session_id).transpose().at("previous_id")?,
            key: session_key,
            agent_id,
            target: target.map(Into::into),
            locator,
        })
    }
}

impl From<SessionTarget> for v1::SessionTarget {
    fn from(target: SessionTarget) -> Self {
        let SessionTarget {
            agent_id,
            session_id,
            session_key,
            store_path,
            thread_id,
        } = target;
        Self {
            agent_id,
            session_id,
            session_key,
            store_path,
            thread_id,
        }
    }
}

impl From<v1::SessionTarget> for SessionTarget {
    fn from(wire: v1::SessionTarget) -> Self {
        let v1::SessionTarget {
            agent_id,
            session_id,
            session_key,
            store_path,
            thread_id,
        } = wire;
        Self {
            agent_id,
            session_id,
            session_key,
            store_path,
            thread_id,
        }
    }
}

impl From<Scope> for v1::Scope {
    fn from(
        Scope {
            agent_dir,
            workspace_dir,
        }: Scope,
    ) -> Self {
        Self {
            agent_dir,
            workspace_dir,
        }
    }
}

impl From<v1::Scope> for Scope {
    fn from(
        v1::Scope {
            agent_dir,
            workspace_dir,
        }: v1::Scope,
    ) -> Self {
        Self {
            agent_dir,
            workspace_dir,
        }
    }
}

impl From<Reply> for v1::Reply {
    fn from(Reply { late, log_state }: Reply) -> Self {
        Self {
            late: late.into_iter().map(Into::into).collect(),
            log_state: log_state.map(Into::into),
        }
    }
}

impl TryFrom<v1::Reply> for Reply {
    type Error = ConvertError;

    fn try_from(v1::Reply { late, log_state }: v1::Reply) -> Result<Self, ConvertError> {
        Ok(Self {
            late: each(late, "late")?,
            log_state: optional(log_state, "log_state")?,
        })
    }
}

/// A reply that is left out when it says nothing.
pub(super) fn reply_to_wire(reply: Reply) -> Option<v1::Reply> {
    (reply != Reply::default()).then(|| reply.into())
}

impl From<LateHook> for v1::LateHook {
    fn from(
        LateHook {
            hook_id,
            method,
            session_target,
        }: LateHook,
    ) -> Self {
        Self {
            hook_id: hook_id.to_string(),
            method,
            session_target: session_target.map(Into::into),
        }
    }
}

impl TryFrom<v1::LateHook> for LateHook {
    type Error = ConvertError;

    fn try_from(wire: v1::LateHook) -> Result<Self, ConvertError> {
        let v1::LateHook {
            hook_id,
            method,
            session_target,
        } = wire;
        Ok(Self {
            hook_id: parse_hook_id(&hook_id).at("hook_id")?,
            method,
            session_target: session_target.map(Into::into),
        })
    }
}
