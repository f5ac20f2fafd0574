//! Turns on Codex, for people.

use contextwire_codex::{CompactionReport, TurnReport};

use super::figure::{bytes, grouped};

/// The answer, and under it what the thread was told and what it cost.
pub(crate) fn turn_lines(report: &TurnReport) -> String {
    let epoch = report.epoch.as_deref().map_or_else(
        || "no epoch".to_owned(),
        |epoch| format!("epoch {}", short(epoch)),
    );
    let messages = match report.injected_messages {
        1 => "1 message".to_owned(),
        count => format!("{} messages", grouped(count)),
    };
    let thread = match (report.is_new_thread, report.projected) {
        (true, true) => format!("new thread with {messages}"),
        (true, false) => "new thread".to_owned(),
        (false, true) => format!("same thread, {messages} sent"),
        (false, false) => "same thread, nothing sent".to_owned(),
    };
    let tokens = report.tokens.map_or_else(
        || "no tokens".to_owned(),
        |tokens| {
            let (read, wrote) = (grouped(tokens.input_tokens), grouped(tokens.output_tokens));
            let cached = grouped(tokens.cached_input_tokens);
            format!("{read} tokens read ({cached} cached), {wrote} written")
        },
    );
    let mut lines = vec![format!(
        "— turn {} · {epoch} · {thread} ({}) · {tokens} · by {}, {} sent",
        report.turn,
        report.reason,
        report.served_by,
        bytes(report.engine_bytes_sent)
    )];
    if !report.answer.is_empty() {
        lines.insert(0, report.answer.clone());
    }
    if report.compacted_by_codex {
        let text = "— Codex compacted the thread: the next turn begins another";
        lines.push(text.to_owned());
    }
    if !report.engine_problem.is_empty() {
        lines.push(format!("— the engine: {}", report.engine_problem));
    }
    if let Some(problem) = &report.problem {
        lines.push(format!("— the turn {}: {problem}", report.status));
    }
    lines.join("\n")
}

/// What a compaction came to.
pub(crate) fn compaction_line(report: &CompactionReport) -> String {
    if !report.compacted {
        let reason = report
            .reason
            .as_deref()
            .unwrap_or("there was nothing to do");
        return format!("— not compacted by {}: {reason}", report.by);
    }
    let count = |tokens: Option<u64>, when| {
        tokens.map_or_else(String::new, |tokens| {
            format!(", {} tokens {when}", grouped(tokens))
        })
    };
    format!(
        "— compacted by {}{}{}",
        report.by,
        count(report.tokens_before, "before"),
        count(report.tokens_after, "after")
    )
}

/// Digests are told apart by less than all of them.
fn short(epoch: &str) -> String {
    let shown: String = epoch.chars().take(12).collect();
    if shown.len() < epoch.len() {
        format!("{shown}…")
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_is_its_answer_and_a_line_of_what_it_took() {
        let report = TurnReport {
            turn: 3,
            status: "completed".to_owned(),
            answer: "done".to_owned(),
            epoch: Some("0123456789abcdef".to_owned()),
            reason: "matching-thread-bootstrap-binding".to_owned(),
            served_by: "lossless".to_owned(),
            engine_bytes_sent: 1536,
            ..TurnReport::default()
        };
        assert_eq!(
            turn_lines(&report),
            "done\n— turn 3 · epoch 0123456789ab… · same thread, nothing sent \
             (matching-thread-bootstrap-binding) · no tokens · by lossless, 1.5 KiB sent"
        );
        let failed = TurnReport {
            status: "failed".to_owned(),
            problem: Some("no model".to_owned()),
            compacted_by_codex: true,
            ..report
        };
        let compaction = CompactionReport {
            compacted: true,
            by: "Codex".to_owned(),
            tokens_after: Some(1200),
            ..CompactionReport::default()
        };
        let line = compaction_line(&compaction);
        assert_eq!(line, "— compacted by Codex, 1,200 tokens after");
        let text = turn_lines(&failed);
        assert!(text.ends_with("\n— the turn failed: no model"), "{text}");
        assert!(text.contains("begins another"), "{text}");
    }
}
