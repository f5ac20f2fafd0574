//! What the model is shown: judged against the list, never by its wisdom (R7.7).

use contextwire_proto::v1;

use crate::check::{Check, Checked, Verdict, broken, check, ensure};
use crate::list::{self, text};
use crate::probe::Probe;
use crate::refusal::accepted;
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-HKS-09",
        ["R3.5", "R3.10", "R7.7"],
        Must,
        Core,
        [],
        ranges,
        "ranges of a result lie inside of the list and name no message twice",
        "a host that trusted them would read beyond its list, or bill a message many times"
    ),
    check!(
        "E-HKS-11",
        ["R7.7"],
        Must,
        Core,
        [],
        pairs,
        "a tool call is never shown without its result, nor a result without its call, at any budget",
        "providers reject such a list, and the session is stuck"
    ),
    check!(
        "E-HKS-12",
        ["R7.7"],
        Must,
        Core,
        [],
        newest,
        "with the current turn included, the newest user message is shown exactly once",
        "the model would answer another question"
    ),
    check!(
        "E-HKS-13",
        ["R7.7"],
        Must,
        Core,
        [],
        budget,
        "a result is within 1.1 of the token budget by its own estimate, or says that it may overflow",
        "a list that the model cannot hold fails the turn"
    ),
    check!(
        "E-HKS-14",
        ["R3.1"],
        Must,
        Core,
        [],
        pure,
        "the same Assemble twice gives the same result",
        "an answer that changes by being asked breaks caches and retries"
    ),
    check!(
        "E-HKS-34",
        ["R3.10"],
        Must,
        Core,
        [],
        empty_list,
        "an empty list is answered, not refused",
        "it is how every session begins"
    ),
    check!(
        "E-RES-02",
        ["R2.4"],
        Must,
        Core,
        [],
        inserted,
        "an inserted message is a JSON object in the host's schema with a role",
        "the host hands it to its provider as it is"
    ),
    check!(
        "E-RES-15",
        ["R7.7"],
        Must,
        Core,
        [],
        outcome,
        "a result has messages, and `unchanged` only where the host named a known projection",
        "without either the host has nothing to show the model"
    ),
    check!(
        "E-HKS-35",
        ["R3.4"],
        Must,
        Core,
        [],
        sync_site,
        "an Assemble of the site SYNC is applied and answered without segments",
        "it is how a host uploads a long list without holding up a turn"
    ),
];

/// A shown item: an index of the list, or an inserted message.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shown {
    Kept(usize),
    Inserted(Box<v1::Message>),
}

/// The result's messages.
pub(super) async fn messages(
    probe: &Probe,
    start: &v1::AssembleStart,
    held: &[v1::Message],
) -> Result<v1::AssembledMessages, Verdict> {
    let mut stream = probe.started("Assemble", start).await?;
    let result = stream.result::<v1::AssembleResult>(held).await?;
    match accepted(result, "Assemble")?.outcome {
        Some(v1::assemble_result::Outcome::Messages(messages)) => Ok(messages),
        Some(v1::assemble_result::Outcome::Unchanged(_)) => {
            broken("`unchanged`, though the host named no known projection")
        }
        None => broken("a result with neither `messages` nor `unchanged`"),
    }
}

/// What is shown, item by item; ranges outside of the list are a broken rule.
pub(super) async fn shown(
    probe: &Probe,
    start: &v1::AssembleStart,
    held: &[v1::Message],
) -> Result<Vec<Shown>, Verdict> {
    let messages = messages(probe, start, held).await?;
    let mut items = Vec::new();
    for segment in messages.segments {
        match segment.kind {
            Some(v1::segment::Kind::Insert(message)) => {
                items.push(Shown::Inserted(Box::new(message)));
            }
            Some(v1::segment::Kind::Keep(keep)) => {
                let end = keep.start.saturating_add(keep.count);
                let len = held.len() as u64;
                ensure(keep.count > 0 && end <= len, || {
                    format!("{keep:?} of a list of {len} messages")
                })?;
                items.extend(
                    (keep.start..end)
                        .filter_map(|it| it.try_into().ok())
                        .map(Shown::Kept),
                );
            }
            None => return broken("a segment that holds nothing"),
        }
    }
    Ok(items)
}

fn times(items: &[Shown], index: usize) -> usize {
    items
        .iter()
        .filter(|item| **item == Shown::Kept(index))
        .count()
}

async fn ranges(probe: Probe) -> Checked {
    let held = list::tool_rounds(12);
    for token_budget in [None, Some(1_500), Some(3_000)] {
        let start = v1::AssembleStart {
            token_budget,
            ..request::assemble(probe.session(), &held)
        };
        let items = shown(&probe, &start, &held).await?;
        let twice = (0..held.len()).find(|&index| times(&items, index) > 1);
        ensure(twice.is_none(), || {
            format!("the message {twice:?} is kept twice")
        })?;
    }
    Ok(())
}

async fn pairs(probe: Probe) -> Checked {
    let held = list::tool_rounds(12);
    for token_budget in [None, Some(1_200), Some(1_900), Some(2_600), Some(4_100)] {
        let start = v1::AssembleStart {
            token_budget,
            ..request::assemble(probe.session(), &held)
        };
        let items = shown(&probe, &start, &held).await?;
        let (calls, results) = paired(&items, &held);
        ensure(calls == results, || {
            format!(
                "with a budget of {token_budget:?} the calls {calls:?} are shown, and the results of {results:?}"
            )
        })?;
    }
    Ok(())
}

/// The ids of shown calls and of shown results.
fn paired(items: &[Shown], held: &[v1::Message]) -> (Vec<String>, Vec<String>) {
    let message = |item: &Shown| match item {
        Shown::Kept(index) => held.get(*index).cloned(),
        Shown::Inserted(message) => Some((**message).clone()),
    };
    let all: Vec<_> = items.iter().filter_map(message).collect();
    let mut calls: Vec<_> = all.iter().flat_map(|it| it.tool_call_ids.clone()).collect();
    let mut results: Vec<_> = all
        .iter()
        .filter_map(|it| it.tool_result_for.clone())
        .collect();
    calls.sort_unstable();
    results.sort_unstable();
    (calls, results)
}

async fn newest(probe: Probe) -> Checked {
    let mut held = list::tool_rounds(8);
    held.push(text("newest", "user", "and now the newest question"));
    for token_budget in [None, Some(1_500), Some(4_000)] {
        let start = v1::AssembleStart {
            token_budget,
            ..request::assemble(probe.session(), &held)
        };
        let items = shown(&probe, &start, &held).await?;
        let newest = held.last().map(|it| it.payload.clone()).unwrap_or_default();
        let inserted = items.iter().filter(
            |item| matches!(item, Shown::Inserted(it) if it.payload == newest || it.entry_id == "newest"),
        );
        let count = times(&items, held.len() - 1) + inserted.count();
        ensure(count == 1, || {
            format!("the newest user message is shown {count} times")
        })?;
    }
    Ok(())
}

async fn budget(probe: Probe) -> Checked {
    let held = list::tool_rounds(40);
    for budget in [1_500, 3_000, 6_000] {
        let start = v1::AssembleStart {
            token_budget: Some(budget),
            ..request::assemble(probe.session(), &held)
        };
        let messages = messages(&probe, &start, &held).await?;
        let overflows = messages.prompt_authority() == v1::PromptAuthority::PreassemblyMayOverflow;
        let estimate = messages.estimated_tokens;
        ensure(overflows || estimate <= budget + budget / 10, || {
            format!("{estimate} tokens by its own estimate for a budget of {budget}")
        })?;
        ensure(messages.segments.is_empty() || estimate > 0, || {
            "an estimate of 0 tokens for a list that is not empty".to_owned()
        })?;
    }
    Ok(())
}

async fn pure(probe: Probe) -> Checked {
    let held = list::tool_rounds(10);
    let session = probe.session();
    let start = || v1::AssembleStart {
        token_budget: Some(2_500),
        ..request::assemble(session.clone(), &held)
    };
    let one = shown(&probe, &start(), &held).await?;
    for _ in 0..3 {
        let two = shown(&probe, &start(), &held).await?;
        ensure(one == two, || format!("{one:?} became {two:?}"))?;
    }
    Ok(())
}

async fn empty_list(probe: Probe) -> Checked {
    let start = request::assemble(probe.session(), &[]);
    messages(&probe, &start, &[]).await.map(drop)
}

async fn inserted(probe: Probe) -> Checked {
    let held = list::tool_rounds(40);
    for token_budget in [None, Some(1_200), Some(3_000)] {
        let start = v1::AssembleStart {
            token_budget,
            ..request::assemble(probe.session(), &held)
        };
        for item in shown(&probe, &start, &held).await? {
            let Shown::Inserted(message) = item else {
                continue;
            };
            let payload = String::from_utf8_lossy(&message.payload);
            let is_object = payload.trim().starts_with('{') && payload.trim().ends_with('}');
            ensure(
                is_object && payload.contains("\"role\"") && !message.role.is_empty(),
                || {
                    format!(
                        "an inserted message of the role `{}` is `{payload}`",
                        message.role
                    )
                },
            )?;
        }
    }
    Ok(())
}

async fn outcome(probe: Probe) -> Checked {
    let held = list::conversation(4);
    let start = request::assemble(probe.session(), &held);
    messages(&probe, &start, &held).await.map(drop)
}

async fn sync_site(probe: Probe) -> Checked {
    let held = list::conversation(6);
    let start = v1::AssembleStart {
        site: v1::AssembleSite::Sync.into(),
        ..request::assemble(probe.session(), &held)
    };
    let messages = messages(&probe, &start, &held).await?;
    ensure(messages.segments.is_empty(), || {
        format!("{} segments for an upload", messages.segments.len())
    })
}
