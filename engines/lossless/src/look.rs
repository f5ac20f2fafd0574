//! What an operator sees of a store: its sessions, what stands for one, why a context is as it is,
//! how much it holds and what is wrong with it. Over the rows of a file or of a running engine.

use contextwire_engine::{
    CurrentTurn, DoctorFinding, DoctorSeverity, EngineError, ExplainTurn, ExplainedItem,
    ExplainedTurn, LeftOut, PlanItem, PlanSummary, SessionId, StandingPlan, StoreStatus,
    StoredSession, TokenBudget, Transcript,
};
use contextwire_store::{LogRows, Outcome, SqlError, Tx, unbounded};
use contextwire_windowed::Window;

use crate::erase;
use crate::fit::{Fitted, Item, Piece};
use crate::node::SummaryNode;
use crate::past::PastSession;
use crate::rows::Rows;

/// The sessions, in the order in which they came.
///
/// # Errors
/// The store's.
pub fn sessions(tx: &Tx) -> Outcome<Vec<StoredSession>> {
    let mut sessions = Vec::new();
    for name in tx.session_names()? {
        let (Some(past), Some(row)) = (PastSession::read(tx, &name)?, tx.session(&name)?) else {
            continue;
        };
        sessions.push(StoredSession {
            session: name,
            entries: past.entries(),
            turns: past.turns() as u64,
            tokens: past.tokens(),
            summaries: past.plan().summaries().len() as u64,
            plan_version: past.plan().version(),
            standing_tokens: past.standing().iter().map(|item| item.tokens).sum(),
            debt: tx.debt(row.id)?,
        });
    }
    Ok(sessions)
}

/// What stands for a session now; none where it is not stored.
///
/// # Errors
/// The store's.
pub fn plan(tx: &Tx, session: &SessionId) -> Outcome<Option<StandingPlan>> {
    let Some(past) = PastSession::read(tx, session)? else {
        return Ok(None);
    };
    let faults = past.faults(tx)?;
    let items = past.standing().into_iter().map(|item| PlanItem {
        places: (item.span.start, item.span.end),
        tokens: item.tokens,
        summary: item.summary.as_deref().map(summary),
    });
    Ok(Some(StandingPlan {
        version: past.plan().version(),
        digest: past.plan().digest(),
        faults: faults.iter().map(ToString::to_string).collect(),
        items: items.collect(),
    }))
}

fn summary(node: &SummaryNode) -> PlanSummary {
    PlanSummary {
        handle: node.id().handle(),
        depth: node.depth(),
        written_by: node.parts().provenance.name().to_owned(),
        text: node.text().to_owned(),
    }
}

/// What the model was shown at a turn, and why; none where there is no such turn.
///
/// # Errors
/// The store's.
pub fn explain(tx: &Tx, question: &ExplainTurn) -> Outcome<Option<ExplainedTurn>> {
    let Some(past) = PastSession::read(tx, &question.session)? else {
        return Ok(None);
    };
    let window = Window {
        budget: TokenBudget::new(question.token_budget),
        model: question.model.as_deref(),
        provider: None,
        current_turn: if question.included {
            CurrentTurn::Included
        } else {
            CurrentTurn::Excluded
        },
    };
    let turn = usize::try_from(question.turn).unwrap_or(usize::MAX);
    let fitted = past.assemble_at(tx, turn, window)?;
    Ok(fitted.map(|fitted| explained(&past, &fitted, question.payloads)))
}

fn explained(past: &PastSession, fitted: &Fitted, with_payloads: bool) -> ExplainedTurn {
    let items = fitted.items.iter();
    let mut items: Vec<ExplainedItem> = items.map(|item| shown(item, past)).collect();
    if with_payloads {
        let nothing = Transcript::new();
        let reply = fitted.reply();
        for (item, message) in items.iter_mut().zip(reply.messages.messages(&nothing)) {
            item.payload = Some(message.payload().clone());
        }
    }
    let left_out = fitted.left_out.iter().map(|left| LeftOut {
        places: left.places.map(|span| (span.start, span.end)),
        messages: left.messages,
        why: left.why.to_string(),
    });
    ExplainedTurn {
        turns: past.turns() as u64,
        tokens: fitted.tokens,
        left_out: left_out.collect(),
        items,
    }
}

fn shown(item: &Item, past: &PastSession) -> ExplainedItem {
    let role = match (&item.piece, item.places) {
        (Piece::Insert(message), _) => message.role().to_owned(),
        (Piece::Keep(_), Some(span)) => past
            .message(span.start)
            .map_or_else(String::new, |message| message.role().to_owned()),
        (Piece::Keep(_), None) => String::new(),
    };
    ExplainedItem {
        places: item.places.map(|span| (span.start, span.end)),
        role,
        tokens: item.tokens,
        why: item.to_string(),
        payload: None,
    }
}

/// How much a store holds. Reads every row of the log.
///
/// # Errors
/// The store's.
pub fn status(tx: &Tx) -> Outcome<StoreStatus> {
    let number = |sql: &str| -> Outcome<u64> {
        let found = tx.connection().query_row(sql, (), |row| row.get(0));
        Ok(unbounded(found.map_err(SqlError)?))
    };
    let of = |table: &str| -> Outcome<u64> {
        if tx.has_table(table)? {
            number(&format!("SELECT count(*) FROM {table}"))
        } else {
            Ok(0)
        }
    };
    let page = number("SELECT page_size FROM pragma_page_size")?;
    Ok(StoreStatus {
        kind: "sqlite".to_owned(),
        sessions: of("session")?,
        entries: number("SELECT count(*) FROM entry WHERE place IS NOT NULL")?,
        retired: number("SELECT count(*) FROM entry WHERE place IS NULL")?,
        tokens: number("SELECT coalesce(sum(tokens), 0) FROM entry WHERE place IS NOT NULL")?,
        summaries: of("summary")?,
        plans: of("plan")?,
        pins: of("pin")?,
        debts: of("debt")?,
        behind_in_index: tx.indexed()?.behind,
        bytes: page * number("SELECT page_count FROM pragma_page_count")?,
        free_bytes: page * number("SELECT freelist_count FROM pragma_freelist_count")?,
    })
}

/// What is wrong with a store, or with one session of it; the good checks too. Reads everything.
///
/// # Errors
/// The store's, where even that cannot be found out.
pub fn doctor(tx: &Tx, only: Option<&SessionId>) -> Outcome<Vec<DoctorFinding>> {
    let mut findings = Vec::new();
    if only.is_none() {
        findings.push(database(tx)?);
        findings.push(index(tx)?);
        findings.push(erasures(tx)?);
    }
    let names = match only {
        Some(only) => vec![only.clone()],
        None => tx.session_names()?,
    };
    let (mut sound, mut debts) = (0, Vec::new());
    for name in &names {
        let (Some(past), Some(row)) = (PastSession::read(tx, name)?, tx.session(name)?) else {
            return Err(EngineError::rejected("the store has no such session"));
        };
        let faults = past.faults(tx)?;
        sound += u64::from(faults.is_empty());
        findings.extend(faults.iter().map(|fault| DoctorFinding {
            severity: DoctorSeverity::Problem,
            check: "plans".to_owned(),
            found: format!("session {name}: {fault}"),
            advice: Some("compact the session with force: it is planned anew".to_owned()),
        }));
        if let Some(debt) = tx.debt(row.id)? {
            debts.push(format!("{name}: {debt}"));
        }
    }
    findings.push(ok(
        "plans",
        format!("{sound} sessions have every entry in exactly one place"),
    ));
    findings.push(match debts.len() {
        0 => ok("debts", "no session has work left".to_owned()),
        _ => DoctorFinding {
            severity: DoctorSeverity::Warning,
            advice: Some("let the host run Maintain, or Compact where it is over".to_owned()),
            ..ok("debts", debts.join("; "))
        },
    });
    Ok(findings)
}

fn ok(check: &str, found: String) -> DoctorFinding {
    DoctorFinding {
        severity: DoctorSeverity::Ok,
        check: check.to_owned(),
        found,
        advice: None,
    }
}

fn database(tx: &Tx) -> Outcome<DoctorFinding> {
    let said = || -> rusqlite::Result<Vec<String>> {
        let mut check = tx.connection().prepare("PRAGMA quick_check(10)")?;
        check.query_map((), |row| row.get(0))?.collect()
    };
    let said = said().map_err(SqlError)?;
    if said == ["ok"] {
        return Ok(ok("database", "the file is whole".to_owned()));
    }
    Ok(DoctorFinding {
        severity: DoctorSeverity::Problem,
        advice: Some("restore a copy of the file, or let the host import its log anew".to_owned()),
        ..ok("database", said.join("; "))
    })
}

fn index(tx: &Tx) -> Outcome<DoctorFinding> {
    Ok(match tx.indexed()?.behind {
        0 => ok("index", "a search finds every entry".to_owned()),
        behind => DoctorFinding {
            severity: DoctorSeverity::Warning,
            advice: Some(
                "let the host run Maintain; nothing but the search waits for it".to_owned(),
            ),
            ..ok("index", format!("{behind} entries are not in it yet"))
        },
    })
}

fn erasures(tx: &Tx) -> Outcome<DoctorFinding> {
    if !erase::is_unproven(tx)? {
        return Ok(ok("erasures", "none was left half done".to_owned()));
    }
    Ok(DoctorFinding {
        severity: DoctorSeverity::Problem,
        advice: Some("repeat it: what is gone stays gone, and the files are searched".to_owned()),
        ..ok(
            "erasures",
            "one ended before its files were found to be clear".to_owned(),
        )
    })
}
