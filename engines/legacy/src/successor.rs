//! Which session a conversation goes on in after a compaction (HOST-SEMANTICS 10.3 to 10.5).

use contextwire_engine::{CompactResult, Compacted, Session, SessionId, SessionTarget};

/// What a host does after an answered compaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AfterCompaction {
    /// The session from now on.
    pub session: Session,
    /// Whether the engine's maintenance runs now, once and in the foreground.
    pub runs_maintenance: bool,
}

impl AfterCompaction {
    /// Reads an answer. Nothing is accepted where another engine took the session over meanwhile.
    pub fn of(session: &Session, answer: &Compacted, is_still_owner: bool) -> Self {
        let runs_maintenance = answer.ok && answer.compacted && is_still_owner;
        let result = answer.result.as_ref().filter(|_| runs_maintenance);
        let successor = result.and_then(|result| successor(session, result));
        Self {
            session: successor.unwrap_or_else(|| session.clone()),
            runs_maintenance,
        }
    }
}

/// The session that a result names, where it is another one: the typed target goes before the id.
fn successor(session: &Session, result: &CompactResult) -> Option<Session> {
    let target = result.session_target.as_ref();
    let typed = target
        .and_then(|target| target.session_id.clone())
        .and_then(|id| SessionId::new(id).ok());
    let id = typed.or_else(|| result.session_id.clone())?;
    (id != session.id).then(|| Session {
        previous_id: Some(session.id.clone()),
        id,
        target: target.cloned().or_else(|| session.target.clone()),
        ..session.clone()
    })
}

/// What a runtime's own compaction says of the session afterwards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeSession {
    /// Typed identity.
    pub target: Option<SessionTarget>,
    /// The session's id.
    pub session_id: Option<String>,
    /// The deprecated `sessionFile`.
    pub locator: Option<String>,
}

/// The successor as a delegate answers it: typed, never as a locator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delegated {
    /// Where the conversation goes on.
    pub target: SessionTarget,
    /// The session's id, where the runtime changed it.
    pub session_id: Option<SessionId>,
}

/// Why a successor is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SuccessorError {
    /// Two parts of the call, or of the answer, name different things.
    #[error("{what} is named twice and differently")]
    Conflict {
        /// What.
        what: &'static str,
    },
    /// The locator is a file, or no locator.
    #[error(
        "the locator names no session store: only sqlite:<agent>:<session>:<store> is supported"
    )]
    Locator,
    /// The id is empty or too long.
    #[error("the session id cannot be used")]
    SessionId,
}

/// Who a delegated compaction is for, and where it went on.
///
/// # Errors
/// [`SuccessorError`]: the caller contradicts itself, the runtime contradicts the caller, or its
/// locator is a file.
pub fn delegated(
    caller: &Session,
    native: &NativeSession,
) -> Result<Option<Delegated>, SuccessorError> {
    let own = caller.target.clone().unwrap_or_default();
    agree(
        "the session",
        own.session_id.as_deref(),
        Some(caller.id.as_str()),
    )?;
    agree(
        "the agent",
        own.agent_id.as_deref(),
        caller.agent_id.as_deref(),
    )?;
    agree(
        "the session key",
        own.session_key.as_deref(),
        caller.key.as_deref(),
    )?;
    let agent = own.agent_id.clone().or_else(|| caller.agent_id.clone());
    let mut target = match (&native.target, native.locator.as_deref()) {
        (Some(target), _) => target.clone(),
        (None, Some(locator)) => {
            let marker = marker(locator)?;
            agree("the agent", marker.agent_id.as_deref(), agent.as_deref())?;
            agree(
                "the store",
                marker.store_path.as_deref(),
                own.store_path.as_deref(),
            )?;
            agree(
                "the session",
                marker.session_id.as_deref(),
                native.session_id.as_deref(),
            )?;
            marker
        }
        (None, None) => SessionTarget::default(),
    };
    target.session_id = target.session_id.or_else(|| native.session_id.clone());
    let Some(id) = target.session_id.clone() else {
        return Ok(None);
    };
    let id = SessionId::new(id).map_err(|_| SuccessorError::SessionId)?;
    target.agent_id = target.agent_id.or(agent);
    target.session_key = target
        .session_key
        .or(own.session_key)
        .or_else(|| caller.key.clone());
    target.store_path = target.store_path.or(own.store_path);
    target.thread_id = own.thread_id.or(target.thread_id);
    Ok(Some(Delegated {
        target,
        session_id: (id != caller.id).then_some(id),
    }))
}

/// Two names of one thing are equal, or one of them is missing.
fn agree(what: &'static str, one: Option<&str>, other: Option<&str>) -> Result<(), SuccessorError> {
    match (one, other) {
        (Some(one), Some(other)) if one != other => Err(SuccessorError::Conflict { what }),
        (Some(_) | None, Some(_) | None) => Ok(()),
    }
}

/// `sqlite:<agent>:<session>:<store path>`; the path may hold colons.
fn marker(locator: &str) -> Result<SessionTarget, SuccessorError> {
    let mut parts = locator.splitn(4, ':');
    let mut part = || parts.next().filter(|part| !part.is_empty());
    match (part(), part(), part(), part()) {
        (Some("sqlite"), Some(agent), Some(session), Some(store)) => Ok(SessionTarget {
            agent_id: Some(agent.to_owned()),
            session_id: Some(session.to_owned()),
            store_path: Some(store.to_owned()),
            ..SessionTarget::default()
        }),
        _ => Err(SuccessorError::Locator),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> Session {
        Session {
            key: Some("agent:main:main".to_owned()),
            agent_id: Some("main".to_owned()),
            target: Some(SessionTarget {
                thread_id: Some("t1".to_owned()),
                store_path: Some("/data/sessions.sqlite".to_owned()),
                ..SessionTarget::default()
            }),
            ..Session::new(SessionId::new("s1").unwrap())
        }
    }

    fn answer(target: Option<&str>, id: Option<&str>) -> Compacted {
        Compacted {
            ok: true,
            compacted: true,
            reason: None,
            result: Some(CompactResult {
                session_target: target.map(|id| SessionTarget {
                    session_id: Some(id.to_owned()),
                    ..SessionTarget::default()
                }),
                session_id: id.map(|id| SessionId::new(id).unwrap()),
                ..CompactResult::default()
            }),
        }
    }

    fn next(answer: &Compacted, is_still_owner: bool) -> (String, bool) {
        let after = AfterCompaction::of(&session(), answer, is_still_owner);
        (after.session.id.as_str().to_owned(), after.runs_maintenance)
    }

    fn sqlite(session: &str) -> NativeSession {
        NativeSession {
            locator: Some(format!("sqlite:main:{session}:/data/sessions.sqlite")),
            session_id: Some(session.to_owned()),
            target: None,
        }
    }

    #[test]
    fn c228_maintenance_runs_once_with_the_successor_where_something_was_compacted() {
        assert_eq!(
            next(&answer(None, Some("s2")), true),
            ("s2".to_owned(), true)
        );
        let nothing = Compacted {
            compacted: false,
            ..answer(None, Some("s2"))
        };
        assert_eq!(next(&nothing, true), ("s1".to_owned(), false));
        let failed = Compacted::declined("no");
        assert_eq!(next(&failed, true), ("s1".to_owned(), false));
        let after = AfterCompaction::of(&session(), &answer(None, Some("s2")), true);
        assert_eq!(after.session.previous_id, Some(session().id));
        assert_eq!(after.session.key, session().key);
    }

    #[test]
    fn c230_the_typed_target_goes_before_the_id() {
        assert_eq!(next(&answer(Some("s3"), Some("s2")), true).0, "s3");
        assert_eq!(next(&answer(None, Some("s2")), true).0, "s2");
        assert_eq!(next(&answer(None, None), true).0, "s1");
        // Of a locator alone a typed target is made before anybody sees it.
        let compat = delegated(&session(), &sqlite("s2")).unwrap().unwrap();
        assert_eq!(compat.target.session_id.as_deref(), Some("s2"));
    }

    #[test]
    fn c240_a_successor_is_not_accepted_where_the_owner_changed_meanwhile() {
        assert_eq!(
            next(&answer(Some("s3"), None), false),
            ("s1".to_owned(), false)
        );
    }

    #[test]
    fn c235_a_store_marker_becomes_a_typed_target_and_a_new_id_is_mirrored() {
        let delegated_to = |id| delegated(&session(), &sqlite(id)).unwrap().unwrap();
        let rotated = delegated_to("s2");
        let expected = SessionTarget {
            agent_id: Some("main".to_owned()),
            session_id: Some("s2".to_owned()),
            session_key: Some("agent:main:main".to_owned()),
            store_path: Some("/data/sessions.sqlite".to_owned()),
            thread_id: Some("t1".to_owned()),
        };
        assert_eq!(rotated.target, expected);
        assert_eq!(rotated.session_id, SessionId::new("s2").ok());
        assert_eq!(delegated_to("s1").session_id, None);
        assert_eq!(delegated(&session(), &NativeSession::default()), Ok(None));
    }

    #[test]
    fn c236_a_caller_that_contradicts_itself_is_refused() {
        let with = |change: fn(&mut SessionTarget)| {
            let mut session = session();
            change(session.target.as_mut().unwrap());
            delegated(&session, &NativeSession::default())
        };
        let conflict = |what| Err(SuccessorError::Conflict { what });
        let other = || Some("other".to_owned());
        assert_eq!(
            with(|target| target.session_id = Some("other".to_owned())),
            conflict("the session")
        );
        assert_eq!(
            with(|target| target.agent_id = Some("other".to_owned())),
            conflict("the agent")
        );
        assert_eq!(
            with(|target| target.session_key = Some("other".to_owned())),
            conflict("the session key")
        );
        let contradicted = NativeSession {
            session_id: other(),
            ..sqlite("s2")
        };
        assert_eq!(
            delegated(&session(), &contradicted),
            conflict("the session")
        );
        let elsewhere = NativeSession {
            locator: Some("sqlite:main:s2:/data/other.sqlite".to_owned()),
            ..NativeSession::default()
        };
        assert_eq!(delegated(&session(), &elsewhere), conflict("the store"));
    }

    #[test]
    fn c237_a_plain_file_is_no_successor() {
        for locator in ["/data/s2.jsonl", "sqlite:main:s2", "sqlite:::", ""] {
            let native = NativeSession {
                locator: Some(locator.to_owned()),
                ..NativeSession::default()
            };
            assert_eq!(
                delegated(&session(), &native),
                Err(SuccessorError::Locator),
                "{locator}"
            );
        }
    }
}
