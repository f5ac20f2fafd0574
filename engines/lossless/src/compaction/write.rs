//! One summary written: asked for, judged, and completed with what it lost.

use std::collections::{BTreeSet, HashSet};

use contextwire_engine::tokens::{ModelFamily, count_text};
use contextwire_engine::{HookContext, Progress};
use contextwire_legacy::{
    Caller, CompactionError, Extract, Flaw, SummarizeError, Summarizer, SummaryRequest, Unwritten,
    Written,
};
use memchr::memmem;

use super::bodies::Piece;
use super::breaker::Cause;
use super::draft::Draft;
use super::identifier::with_lost;
use super::prompt::{PROMPT_VERSION, Prompt, SYSTEM};
use super::settings::Settings;
use super::source::Material;
use super::work::{Of, Work};
use crate::node::{NodeParts, Provenance, SummaryNode};
use crate::redact::Redaction;

/// What stands around the material in a prompt, in tokens.
const FRAME_TOKENS: u64 = 1_000;
/// Least of the material in one call, in tokens.
const MIN_ROOM: u64 = 300;
/// A summary may have this many characters however little it is of.
const MIN_CHARS: usize = 400;
/// Characters a token, for texts that nobody counted.
const TOKEN_CHARS: u64 = 3;
/// A model that thinks before it writes needs this many times the tokens of its text.
const THINKING: u64 = 4;
/// Ends a text that was cut.
const CUT: &str = "\n[... the record was longer and is cut here; the originals are kept ...]";
/// A part of a line that is shorter proves no echo, nor does a text.
const ECHO_LINE: usize = 24;

/// Why there is no summary.
#[derive(Debug)]
pub(crate) enum Unmade {
    /// Whatever was written was no shorter than what it is of.
    NotShorter,
    /// The model failed, with all attempts.
    Failed(SummarizeError),
    /// The key is refused.
    Refused(SummarizeError),
    /// Somebody asked to stop.
    Aborted,
    /// The time was over.
    TimedOut,
    /// An entry is gone.
    Stale,
}

impl Unmade {
    /// What the breaker counts it as; none for what says nothing about the model.
    pub(crate) fn cause(&self) -> Option<Cause> {
        match self {
            Self::Refused(_) => Some(Cause::Refused),
            Self::Failed(_) => Some(Cause::Failing),
            Self::NotShorter | Self::Aborted | Self::TimedOut | Self::Stale => None,
        }
    }
}

/// Who writes the summaries of one compaction.
#[derive(Clone, Copy)]
pub(crate) struct Writer<'a> {
    pub(crate) cx: &'a HookContext,
    pub(crate) summarizer: &'a dyn Summarizer,
    pub(crate) settings: &'a Settings,
    pub(crate) redaction: &'a Redaction,
    pub(crate) instructions: Option<&'a str>,
}

impl Writer<'_> {
    /// Tokens of material that one call can hold.
    pub(crate) fn room(&self, output: u64) -> u64 {
        let window = self.summarizer.window().unwrap_or(self.settings.window);
        let left = window.saturating_sub(output.min(window / 3) + FRAME_TOKENS.min(window / 4));
        // Estimates err: a sixth stays free.
        (left / 6).saturating_mul(5).max(MIN_ROOM)
    }

    /// A summary by the model.
    pub(crate) async fn write(
        &self,
        draft: &Draft<'_>,
        piece: &Piece<'_>,
        progress: &Progress,
    ) -> Result<SummaryNode, Unmade> {
        let caller = Caller {
            cx: self.cx,
            summarizer: self.summarizer,
            settings: &self.settings.calls,
        };
        let mut room = self.room(self.output(piece.work));
        loop {
            let task = Task::of(self, piece, room);
            let request = |flaw| task.request(flaw);
            let judge = |text: &str| task.judge(text);
            match caller.write(progress, request, judge).await {
                Ok(written) => return task.finish(draft, written),
                // Never the same request again: the next one holds half as much (BR-057).
                Err(Unwritten::TooLong) if room > MIN_ROOM => {
                    room = (room.min(task.material_tokens()) / 2).max(MIN_ROOM);
                }
                Err(Unwritten::TooLong) => return Err(Unmade::Failed(SummarizeError::TooLong)),
                Err(Unwritten::Failed(error)) => return Err(unmade(error)),
            }
        }
    }

    /// Quotes in place of a summary that the model did not give when room had to be made.
    pub(crate) async fn quote(
        &self,
        draft: &Draft<'_>,
        piece: &Piece<'_>,
    ) -> Result<SummaryNode, Unmade> {
        let task = Task::of(self, piece, self.settings.window);
        let answer = Extract.summarize(self.cx, &task.request(None)).await;
        let text = answer.map_err(Unmade::Failed)?.text;
        task.judge(&text).map_err(|_| Unmade::NotShorter)?;
        task.node(draft, &text, &Provenance::Provisional)
    }

    fn output(&self, work: &Work) -> u64 {
        match work.of {
            Of::Entries => self.settings.leaf_output_tokens,
            Of::Nodes(_) => self.settings.condensed_output_tokens,
        }
    }
}

fn unmade(error: CompactionError) -> Unmade {
    match error {
        CompactionError::Aborted => Unmade::Aborted,
        CompactionError::TimedOut => Unmade::TimedOut,
        CompactionError::SummarizationFailed { source, .. } => {
            if source == SummarizeError::Unusable(Flaw::NotShorter) {
                Unmade::NotShorter
            } else if is_refusal(&source) {
                Unmade::Refused(source)
            } else {
                Unmade::Failed(source)
            }
        }
        CompactionError::InvalidSession(_) | _ => {
            Unmade::Failed(SummarizeError::Unreadable("the summariser gave no reason"))
        }
    }
}

/// Whether another try needs an operator first.
fn is_refusal(error: &SummarizeError) -> bool {
    let words = [
        "DENIED",
        "UNAUTHENTICATED",
        "UNAUTHORIZED",
        "FORBIDDEN",
        "401",
        "403",
    ];
    if let SummarizeError::Host { reason, .. } = error {
        let reason = reason.to_ascii_uppercase();
        return words.iter().any(|word| reason.contains(word));
    }
    matches!(error, SummarizeError::Unauthorized { .. })
}

/// One piece of work with its material.
struct Task<'a> {
    writer: &'a Writer<'a>,
    work: &'a Work,
    material: Material,
    max_chars: usize,
    max_tokens: u64,
}

impl<'a> Task<'a> {
    fn of(writer: &'a Writer<'a>, piece: &Piece<'a>, room: u64) -> Self {
        let work = piece.work;
        let chars = |tokens: u64| usize::try_from(tokens).unwrap_or(usize::MAX);
        let max_chars = chars(room.saturating_mul(TOKEN_CHARS));
        let material = Material::of(piece, max_chars, writer.redaction);
        let max_tokens = writer.output(work).min(writer.room(0) / 2);
        let max_chars = chars(max_tokens.saturating_mul(TOKEN_CHARS + 1));
        Self {
            max_chars: max_chars.min((material.text.len() / 2).max(MIN_CHARS)),
            max_tokens,
            writer,
            work,
            material,
        }
    }

    /// The size of the material, roughly.
    fn material_tokens(&self) -> u64 {
        self.material.text.len() as u64 / TOKEN_CHARS
    }

    fn request(&self, flaw: Option<Flaw>) -> SummaryRequest {
        let prompt = Prompt {
            depth: self.work.depth(),
            instructions: self.writer.instructions,
            max_chars: self.max_chars,
            flaw,
        };
        SummaryRequest::new(SYSTEM, prompt.text(&self.material.text))
            .within(self.max_tokens.saturating_mul(THINKING), self.max_chars)
            .over(self.material.messages.clone())
    }

    fn judge(&self, text: &str) -> Result<(), Flaw> {
        // No token has less than a byte: a text of fewer bytes need not be counted.
        let may_be_long = text.len() as u64 >= self.work.tokens;
        if may_be_long && u64::from(count_text(ModelFamily::Other, text)) >= self.work.tokens {
            return Err(Flaw::NotShorter);
        }
        match self.work.of {
            Of::Entries if is_echo(text, &self.material.text) => Err(Flaw::Echo),
            Of::Entries | Of::Nodes(_) => Ok(()),
        }
    }

    /// Characters of the list of lost identifiers: a record of records loses more of them.
    fn list_chars(&self) -> usize {
        match self.work.of {
            Of::Entries => self.max_chars / 3,
            Of::Nodes(_) => self.max_chars / 2,
        }
    }

    fn finish(&self, draft: &Draft<'_>, written: Written) -> Result<SummaryNode, Unmade> {
        let provenance = if written.is_extract {
            Provenance::Extract
        } else {
            Provenance::Model {
                summarizer: self.writer.summarizer.name().to_owned(),
                model: written.model,
                prompt_version: PROMPT_VERSION,
                instructions: self.writer.instructions.map(str::to_owned),
            }
        };
        self.node(draft, &written.text, &provenance)
    }

    fn node(
        &self,
        draft: &Draft<'_>,
        text: &str,
        provenance: &Provenance,
    ) -> Result<SummaryNode, Unmade> {
        let sources = self.work.sources(draft);
        // Whoever writes may know it from elsewhere.
        let text = self.writer.redaction.masked(text);
        let text = within(&text, self.max_chars.saturating_mul(2));
        let lost = self.material.identifiers.lost_in(&text);
        let node = |text: String| {
            SummaryNode::new(NodeParts {
                depth: self.work.depth(),
                span: self.work.span,
                sources: sources.clone(),
                text,
                source_tokens: draft.entries(self.work.span),
                times: self.material.times,
                provenance: provenance.clone(),
            })
        };
        let saves =
            |node: &SummaryNode| u64::from(node.tokens(ModelFamily::Other)) < self.work.tokens;
        let complete = node(with_lost(&text, &lost, self.list_chars()));
        if saves(&complete) {
            return Ok(complete);
        }
        let plain = node(text);
        saves(&plain).then_some(plain).ok_or(Unmade::NotShorter)
    }
}

/// A text of which a model wrote much more than it was asked for, cut; the originals are kept.
fn within(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}{CUT}", text.get(..end).unwrap_or_default().trim_end()),
    }
}

/// Whether a text consists of lines of its material; the first and the last may be cut.
fn is_echo(text: &str, material: &str) -> bool {
    let said = text.lines().map(str::trim);
    let said: Vec<&str> = said.filter(|line| !line.is_empty()).collect();
    let lengths: BTreeSet<usize> = said.iter().map(|line| line.len()).collect();
    let lines = material.lines().map(str::trim);
    let lines: HashSet<&str> = lines.filter(|line| lengths.contains(&line.len())).collect();
    let ends = [said.first(), said.last()];
    let is_copied = |line: &&str| {
        let is_cut = line.len() >= ECHO_LINE && ends.contains(&Some(line));
        lines.contains(line)
            || is_cut && memmem::find(material.as_bytes(), line.as_bytes()).is_some()
    };
    let all: usize = said.iter().map(|line| line.len()).sum();
    let copied = said.iter().filter(|line| is_copied(line));
    let copied: usize = copied.map(|line| line.len()).sum();
    all >= ECHO_LINE && (all - copied) * 10 < all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn br_060_lines_of_the_material_are_an_echo_and_a_record_that_quotes_one_is_none() {
        let material = "(msg:1) [User]\nplease make the parser faster than it is\n\n(msg:2) [Assistant]\nthe parser is faster by a third now";
        assert!(is_echo(
            "please make the parser faster than it is\nthe parser is faster by a th",
            material
        ));
        assert!(!is_echo(
            "The user wanted a faster parser; it was made faster by a third.",
            material
        ));
        assert!(!is_echo(
            "## Asked\nplease make the parser faster than it is\n## Happened\nIt was done: a third.",
            material
        ));
        assert!(!is_echo("short", material));
    }
}
