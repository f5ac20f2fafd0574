//! What a session weighs: the estimate, the tokenizer, and what its providers counted.

use contextwire_engine::tokens::{Amount, ModelFamily, Precision, Tally, tally_message};

use crate::report::{TokensByProvider, TokensOfKind, TokensReport};
use crate::session::{ContextMessage, Session, Usage};

/// Kinds of text, in the order of reports.
const KINDS: [&str; 11] = [
    "user text",
    "assistant text",
    "thinking",
    "tool calls",
    "tool results",
    "commands",
    "summaries",
    "other messages",
    "other blocks",
    "images",
    "framing",
];

/// What a message weighs, by kinds of text; nothing of a kind that it does not hold.
pub(crate) fn by_kind(role: &str, tally: &Tally) -> Vec<(&'static str, Amount)> {
    let Tally {
        text,
        thinking,
        calls,
        commands,
        summary,
        other,
        images,
        framing,
    } = *tally;
    let said = match role {
        "user" => "user text",
        "assistant" => "assistant text",
        "toolResult" | "tool" => "tool results",
        _ => "other messages",
    };
    let parts = [
        (said, text),
        ("thinking", thinking),
        ("tool calls", calls),
        ("commands", commands),
        ("summaries", summary),
        ("other blocks", other),
        ("images", images),
        ("framing", framing),
    ];
    let is_there = |part: &(_, Amount)| part.1 != Amount::default();
    parts.into_iter().filter(is_there).collect()
}

/// Counts every message of a session's conversation.
pub fn tokens(session: &Session, model: Option<&str>) -> TokensReport {
    let model = model
        .map(str::to_owned)
        .or_else(|| session.model().map(|model| model.id));
    let family = ModelFamily::of_model(model.as_deref());
    let weighed: Vec<Weighed<'_>> = session
        .conversation()
        .map(|said| Weighed::new(family, said.message, said.stretch))
        .collect();
    TokensReport {
        session: session.header().id.clone(),
        model,
        encoding: family.encoding_name().to_owned(),
        is_exact_for_model: family != ModelFamily::Other,
        messages: weighed.len() as u64,
        kinds: kinds(&weighed),
        providers: providers(&weighed),
    }
}

struct Weighed<'a> {
    message: &'a ContextMessage,
    stretch: usize,
    estimate: Tally,
    exact: Tally,
    usage: Option<Usage>,
}

impl<'a> Weighed<'a> {
    fn new(family: ModelFamily, message: &'a ContextMessage, stretch: usize) -> Self {
        let tally = |precision| tally_message(family, precision, message.message());
        let estimate = tally(Precision::Estimate);
        // Only of a longer text is the estimate not the count.
        let is_long = message.payload().len() > contextwire_engine::tokens::EXACT_BYTES;
        Self {
            message,
            stretch,
            exact: if is_long {
                tally(Precision::Exact)
            } else {
                estimate
            },
            estimate,
            usage: message.usage(),
        }
    }
}

fn kinds(weighed: &[Weighed<'_>]) -> Vec<TokensOfKind> {
    let mut rows: Vec<TokensOfKind> = KINDS.into_iter().map(TokensOfKind::none).collect();
    for Weighed {
        message,
        estimate,
        exact,
        ..
    } in weighed
    {
        let exact = by_kind(message.role(), exact);
        for (kind, amount) in by_kind(message.role(), estimate) {
            let counted = exact.iter().find(|(of, _)| *of == kind);
            if let Some(row) = rows.iter_mut().find(|row| row.kind == kind) {
                let tokenizer = counted.map_or(0, |(_, counted)| counted.tokens);
                row.add(amount.bytes, amount.tokens, tokenizer);
            }
        }
    }
    rows.retain(|row| row.messages > 0);
    rows
}

/// Within a stretch a context only grows, by what was said since the answer before: that growth is
/// what a provider's counts and the estimate have in common, whatever else is in each prompt.
fn providers(weighed: &[Weighed<'_>]) -> Vec<TokensByProvider> {
    let mut rows: Vec<TokensByProvider> = Vec::new();
    let mut before: Option<(&Weighed<'_>, &Usage)> = None;
    let (mut since, mut in_stretch): (u64, u64) = (0, 0);
    for here in weighed {
        if before.is_some_and(|(earlier, _)| earlier.stretch != here.stretch) {
            (before, since, in_stretch) = (None, 0, 0);
        }
        if let Some(usage) = &here.usage {
            let row = row_of(&mut rows, usage.model.as_deref().unwrap_or("unknown"));
            row.answered(usage.output, here.estimate.total());
            match before.filter(|(_, earlier)| earlier.model == usage.model) {
                Some((_, earlier)) => row.grew(earlier.prompt, usage.prompt, since),
                None if here.stretch == 0 => row.began(usage.prompt, in_stretch),
                None => {}
            }
            (before, since) = (Some((here, usage)), 0);
        }
        let tokens = u64::from(here.estimate.total());
        since = since.saturating_add(tokens);
        in_stretch = in_stretch.saturating_add(tokens);
    }
    rows
}

fn row_of<'a>(rows: &'a mut Vec<TokensByProvider>, model: &str) -> &'a mut TokensByProvider {
    let at = rows.iter().position(|row| row.model == model);
    let at = at.unwrap_or_else(|| {
        rows.push(TokensByProvider::none(model));
        rows.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "found or pushed above")]
    &mut rows[at]
}

#[cfg(test)]
mod tests;
