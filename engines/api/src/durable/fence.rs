//! Hooks that their host gave up: their effect must not happen any more (R7.2).

use super::answer::Answer;
use super::ledger::{KeyName, KeyState, Ledger};
use crate::compact::Compacted;
use crate::context::HookContext;
use crate::error::EngineError;
use crate::hook::Hook;
use crate::ids::{HookId, SessionTarget};
use crate::order::LateHook;

/// The hooks that a host substitutes, and therefore gives up.
const SUBSTITUTED: [Hook; 3] = [Hook::Compact, Hook::Maintain, Hook::AfterTurn];

/// Gives each hook that the call names as abandoned a tombstone, before the call is answered.
pub(super) fn close_abandoned(
    ledger: &mut (impl Ledger + ?Sized),
    cx: &HookContext,
) -> Result<(), EngineError> {
    for hook in &cx.abandoned_hooks {
        if !ledger.is_closed(*hook)? {
            ledger.close(*hook)?;
        }
    }
    name_late(ledger, cx)
}

/// Names in the reply those abandoned hooks whose effect had happened already.
pub(super) fn name_late(
    ledger: &(impl Ledger + ?Sized),
    cx: &HookContext,
) -> Result<(), EngineError> {
    for hook in &cx.abandoned_hooks {
        if let Some(late) = applied(ledger, cx, *hook)? {
            cx.note(|reply| {
                // A transaction that is tried again names the hook again.
                if !reply.late.contains(&late) {
                    reply.late.push(late);
                }
            });
        }
    }
    Ok(())
}

/// Whether one of the call's abandoned hooks has no tombstone yet.
pub(super) fn is_owed(
    ledger: &(impl Ledger + ?Sized),
    cx: &HookContext,
) -> Result<bool, EngineError> {
    for hook in &cx.abandoned_hooks {
        if !ledger.is_closed(*hook)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses the effect of a hook that has a tombstone.
pub(super) fn check(ledger: &(impl Ledger + ?Sized), cx: &HookContext) -> Result<(), EngineError> {
    if ledger.is_closed(cx.hook_id)? {
        return Err(EngineError::hook_closed());
    }
    Ok(())
}

/// The abandoned hook as a late one, where its effect is recorded. It ran under this session or,
/// where the substitute made a successor, under the one before.
fn applied(
    ledger: &(impl Ledger + ?Sized),
    cx: &HookContext,
    hook_id: HookId,
) -> Result<Option<LateHook>, EngineError> {
    let sessions = [Some(&cx.session.id), cx.session.previous_id.as_ref()];
    for session in sessions.into_iter().flatten() {
        for hook in SUBSTITUTED {
            let name = KeyName {
                session: session.clone(),
                hook,
                key: hook_id.to_string(),
            };
            let Some(KeyState::Done(answer)) = ledger.key(&name)?.map(|record| record.state) else {
                continue;
            };
            return Ok(Some(LateHook {
                hook_id,
                method: hook.name().to_owned(),
                session_target: if hook == Hook::Compact {
                    successor(&answer)
                } else {
                    None
                },
            }));
        }
    }
    Ok(None)
}

/// The successor session that a recorded compaction made.
fn successor(answer: &[u8]) -> Option<SessionTarget> {
    let result = Compacted::from_record(answer)?.result?;
    result.session_target.or_else(|| {
        let session_id = Some(result.session_id?.as_str().to_owned());
        Some(SessionTarget {
            session_id,
            ..SessionTarget::default()
        })
    })
}
