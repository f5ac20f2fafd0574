//! The report of a session written in another format.

use serde::Serialize;

use super::figure::{bytes, grouped};
use super::stats::ReportedProblem;

/// What was written, and what was lost on the way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ConversionReport {
    /// What the file was.
    pub from: String,
    /// What it was written as.
    pub to: String,
    /// Where to.
    pub file: String,
    /// Lines without the header.
    pub lines: u64,
    /// Messages among them.
    pub messages: u64,
    /// Bytes of the new file.
    pub bytes: u64,
    /// What the new format has no equal for.
    pub losses: Vec<String>,
    /// What was wrong with the old file.
    pub problems: Vec<ReportedProblem>,
}

impl ConversionReport {
    /// One line for people, and one for each loss; ends with a line feed.
    pub fn to_text(&self) -> String {
        let mut text = format!(
            "{}: {} lines, {} messages, {} ({} from {})\n",
            self.file,
            grouped(self.lines),
            grouped(self.messages),
            bytes(self.bytes),
            self.to,
            self.from
        );
        for loss in &self.losses {
            text.push_str(loss);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversion_is_one_line_and_its_losses() {
        let report = ConversionReport {
            from: "codex-rollout".into(),
            to: "openclaw".into(),
            file: "a.jsonl".into(),
            lines: 1_200,
            messages: 900,
            bytes: 4_096,
            losses: vec!["pi knows no reset".into()],
            problems: Vec::new(),
        };
        assert_eq!(
            report.to_text(),
            "a.jsonl: 1,200 lines, 900 messages, 4.0 KiB (openclaw from codex-rollout)\n\
             pi knows no reset\n"
        );
    }
}
