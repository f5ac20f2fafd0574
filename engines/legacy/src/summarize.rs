//! A run of messages made into one summary, however many calls that takes.
//!
//! Each call gets the summary so far and as much of the conversation as fits, so every intermediate
//! result is a summary of everything before it. That is also what a compaction ends with when its
//! time does.

use contextwire_engine::Progress;
use contextwire_engine::tokens::{ModelFamily, count_text};
use tokio::time::{Duration, Instant};

use crate::attempt::{Caller, Unwritten, Written};
use crate::cut::Places;
use crate::error::CompactionError;
use crate::item::Item;
use crate::prompt::{Prompt, Stage};
use crate::render::render;
use crate::summarizer::{Flaw, SummarizeError, SummaryRequest};

/// A window that nobody named.
const DEFAULT_WINDOW: u64 = 100_000;
/// What stands around the conversation in a prompt, in tokens, the instructions included.
const FRAME_TOKENS: u64 = 1_000;
/// Least of the conversation in one call, in tokens; what does not fit even so never will.
const MIN_CHUNK: u64 = 500;
/// A summary may have this many characters and tokens, however little text it stands for: an image
/// has none.
const MIN_CHARS: usize = 400;
const MIN_TOKENS: u64 = 200;
/// Time that is left for the answer itself.
const ANSWER_TIME: Duration = Duration::from_secs(1);

/// What is asked for, of one part of the conversation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) stage: Stage,
    pub(crate) instructions: Option<&'a str>,
    pub(crate) family: ModelFamily,
    /// The window of the conversation's own model.
    pub(crate) window: Option<u64>,
    pub(crate) max_output_tokens: u64,
    pub(crate) max_chars: usize,
}

/// A summary and what it covers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Summarized {
    pub(crate) text: String,
    /// How many of the items, from the first on.
    pub(crate) covered: usize,
    pub(crate) calls: u32,
    pub(crate) model: Option<String>,
    pub(crate) has_extract: bool,
}

/// A message as text.
struct Line {
    /// Index of the item.
    item: usize,
    text: String,
    tokens: u64,
}

/// Summarises items over an earlier summary. Ends before the last item only where the time would
/// not suffice for the rest, and then at a place where the conversation may be parted.
pub(crate) async fn summarize(
    caller: Caller<'_>,
    task: Task<'_>,
    items: &[Item],
    places: &Places,
    earlier: Option<&str>,
) -> Result<Summarized, CompactionError> {
    let mut done = Summarized {
        text: earlier.unwrap_or_default().to_owned(),
        ..Summarized::default()
    };
    let window = caller.summarizer.window().or(task.window);
    let window = window.unwrap_or(DEFAULT_WINDOW);
    let task = task.within(window);
    let mut room = task.chunk_tokens(window, earlier);
    let mut lines = task.lines(items, 0, room);
    let total = tokens(&lines);
    let mut longest = Duration::ZERO;
    while let Some(first) = lines.first() {
        if done.calls > 0 && places.contains(first.item) && is_late(&caller, longest) {
            return Ok(done);
        }
        let later = lines.split_off(next_chunk(&lines, places, room));
        let started = Instant::now();
        let part = Part {
            lines: &lines,
            items,
            progress: progress(
                task.stage,
                total.saturating_sub(tokens(&lines) + tokens(&later)),
                total,
            ),
        };
        match task.write(&caller, &part, &done).await {
            Ok(written) => {
                done.add(written, later.first().map_or(items.len(), |line| line.item));
                longest = longest.max(started.elapsed());
                lines = later;
            }
            // Never the same request again: the next one holds half as much (BR-057).
            Err(Unwritten::TooLong) if room > MIN_CHUNK => {
                room = (room / 2).max(MIN_CHUNK);
                lines = task.lines(items, done.covered, room);
            }
            Err(Unwritten::TooLong) => return Err(too_long()),
            Err(Unwritten::Failed(error)) => return Err(error),
        }
    }
    done.covered = items.len();
    Ok(done)
}

impl Summarized {
    fn add(&mut self, written: Written, covered: usize) {
        let Written {
            text,
            model,
            is_extract,
            calls,
        } = written;
        self.text = text;
        self.covered = covered;
        self.calls = self.calls.saturating_add(calls);
        self.model = model.or(self.model.take());
        self.has_extract |= is_extract;
    }
}

fn too_long() -> CompactionError {
    CompactionError::SummarizationFailed {
        attempts: 1,
        allowed: 1,
        source: SummarizeError::TooLong,
    }
}

fn tokens(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.tokens).sum()
}

/// Whether another call as long as the longest would not end in time.
fn is_late(caller: &Caller<'_>, longest: Duration) -> bool {
    caller.cx.remaining()
        < longest
            .saturating_add(longest / 4)
            .saturating_add(ANSWER_TIME)
}

fn progress(stage: Stage, done: u64, total: u64) -> Progress {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a fraction for people; token counts are far below 2^52"
    )]
    let fraction = done as f64 / total.max(1) as f64;
    let text = match stage {
        Stage::History => "summarising what was said",
        Stage::TurnPrefix => "summarising how this turn began",
    };
    Progress {
        phase: "summarize".to_owned(),
        fraction: Some(fraction),
        text: Some(text.to_owned()),
    }
}

/// How many lines go into the next call: equal shares of what is left, each within the room, and
/// ending where the conversation may be parted if there is such a place in its second half.
fn next_chunk(rest: &[Line], places: &Places, room: u64) -> usize {
    let total = tokens(rest);
    let share = total.div_ceil(total.div_ceil(room.max(1)).max(1));
    let (mut taken, mut end) = (0u64, 0);
    let mut good = None;
    for (count, line) in rest.iter().enumerate() {
        if count > 0 && (taken >= share || taken.saturating_add(line.tokens) > room) {
            break;
        }
        taken = taken.saturating_add(line.tokens);
        end = count + 1;
        let next = rest.get(end);
        if taken >= share / 2 && next.is_some_and(|next| places.contains(next.item)) {
            good = Some(end);
        }
    }
    if end == rest.len() {
        return end;
    }
    good.unwrap_or(end)
}

/// One call's share.
struct Part<'a> {
    lines: &'a [Line],
    items: &'a [Item],
    progress: Progress,
}

impl Task<'_> {
    /// The task as the summariser's window allows it: an answer takes at most a third of it.
    fn within(self, window: u64) -> Self {
        let most = (window / 3).max(1);
        let chars = usize::try_from(most.saturating_mul(3)).unwrap_or(usize::MAX);
        Self {
            max_output_tokens: self.max_output_tokens.min(most),
            max_chars: self.max_chars.min(chars),
            ..self
        }
    }

    /// Tokens of the conversation that one call can hold.
    fn chunk_tokens(&self, window: u64, earlier: Option<&str>) -> u64 {
        // The summary so far is in every prompt, and at most as long as an answer may be.
        let so_far = earlier.map_or(0, |text| u64::from(count_text(self.family, text)));
        let so_far = so_far.max(self.max_output_tokens.min(self.max_chars as u64 / 3));
        let taken = self
            .max_output_tokens
            .saturating_add(so_far)
            .saturating_add(FRAME_TOKENS);
        let room = window.saturating_sub(taken);
        // Estimates err: a sixth stays free.
        (room / 6).saturating_mul(5).max(window / 6).max(MIN_CHUNK)
    }

    /// The items from `start` on as texts, none of them longer than half a call.
    fn lines(&self, items: &[Item], start: usize, room: u64) -> Vec<Line> {
        // At about three characters a token.
        let chars = usize::try_from(room.saturating_mul(3) / 2).unwrap_or(usize::MAX);
        let line = |(item, text): (usize, String)| Line {
            tokens: u64::from(count_text(self.family, &text)),
            item,
            text,
        };
        let texts = items.iter().enumerate().skip(start);
        let texts = texts.filter_map(|(index, item)| Some((index, render(item, chars)?)));
        texts.map(line).collect()
    }

    async fn write(
        &self,
        caller: &Caller<'_>,
        part: &Part<'_>,
        so_far: &Summarized,
    ) -> Result<Written, Unwritten> {
        let earlier = Some(so_far.text.as_str()).filter(|text| !text.is_empty());
        let texts: Vec<_> = part.lines.iter().map(|line| line.text.as_str()).collect();
        let conversation = texts.join("\n\n");
        let chars = conversation.chars().count() + earlier.map_or(0, |text| text.chars().count());
        let max_chars = self.max_chars.min((chars / 2).max(MIN_CHARS));
        let request = |flaw| {
            let prompt = Prompt {
                stage: self.stage,
                earlier,
                instructions: self.instructions,
                max_chars,
                flaw,
            };
            let messages = part.lines.iter();
            let messages = messages.filter_map(|line| part.items.get(line.item));
            SummaryRequest {
                stage: self.stage,
                system_prompt: Prompt::system().to_owned(),
                prompt: prompt.text(&conversation),
                max_output_tokens: self.max_output_tokens,
                max_chars,
                messages: messages.map(|item| item.message.clone()).collect(),
                earlier: earlier.map(str::to_owned),
            }
        };
        let before = earlier.map_or(0, |text| u64::from(count_text(self.family, text)));
        let most = tokens(part.lines).saturating_add(before).max(MIN_TOKENS);
        let judge = |text: &str| {
            let is_shorter = u64::from(count_text(self.family, text)) < most;
            is_shorter.then_some(()).ok_or(Flaw::NotShorter)
        };
        caller.write(&part.progress, request, judge).await
    }
}
