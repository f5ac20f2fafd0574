//! The built-in compaction of a list (HOST-SEMANTICS 14): whether, what, and with which result.

use contextwire_engine::tokens::ModelFamily;
use contextwire_engine::{Compact, EntryId, HookContext, Message, TokenBudget, Transcript};

use crate::attempt::Caller;
use crate::compaction::{CompactedLog, Compaction, Details};
use crate::conversation::{Conversation, Earlier, last_request, summary_tokens};
use crate::cut::{Places, Plan, pending_user};
use crate::error::CompactionError;
use crate::files::Files;
use crate::item::Item;
use crate::prompt::Stage;
use crate::settings::{CompactSettings, Limits};
use crate::summarize::{Summarized, Task, summarize};
use crate::summarizer::Summarizer;
use crate::summary;
use crate::usage::ContextTokens;

/// A compaction has to save at least one part in this many (BR-058).
const MIN_GAIN: u64 = 20;
/// Less than this many tokens is not worth a call.
const MIN_SOURCE: u64 = 256;
/// Most characters of a quoted request.
const REQUEST_CHARS: usize = 800;
/// Stands for a history that is not there.
const NO_HISTORY: &str = "Nothing was said before this turn.";

/// What a list ends with in the host's transcript, where that is more than its messages tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LastEntry {
    /// A message.
    #[default]
    Message,
    /// A reset: the conversation starts anew.
    Reset,
    /// A compaction that a hook made.
    HookCompaction,
}

/// How to compact a list.
#[derive(Clone, Debug, Default)]
pub struct CompactOptions {
    /// Settings of the host.
    pub settings: CompactSettings,
    /// What the hook asks for: budget, force, counts, instructions.
    pub request: Compact,
    /// What stands for the beginning of the list, where the list itself has no summary message.
    pub earlier: Option<Earlier>,
    /// What the list ends with.
    pub last_entry: LastEntry,
}

/// Compacts a list: a host's log, or the context that it shows a model, with or without a summary
/// in it.
///
/// The list is not changed and nothing is stored; the host appends what comes back to its
/// transcript. Everything is read and counted before the first call of the summariser, and any
/// failure ends the compaction as a whole: there is never a summary of what was not summarised.
/// Where the deadline of `cx` is too near for all calls, the result covers as much as was done,
/// up to a place where the conversation may be parted.
///
/// # Errors
/// [`CompactionError`]: told to stop, out of time, or no summary after all attempts.
pub async fn compact_log(
    cx: &HookContext,
    log: &Transcript,
    options: &CompactOptions,
    summarizer: &dyn Summarizer,
) -> Result<Compaction, CompactionError> {
    CompactionError::check(cx)?;
    match options.last_entry {
        LastEntry::Message => {}
        LastEntry::Reset => return Ok(Compaction::nothing("the session was just reset")),
        LastEntry::HookCompaction => return Ok(Compaction::nothing("already compacted")),
    }
    if log.is_empty() {
        return Ok(Compaction::nothing("nothing ingested"));
    }
    let family = family(&options.request);
    let conversation = Conversation::of(cx, log, options.earlier.as_ref(), family)?;
    let work = match Work::of(&conversation, options, family) {
        Ok(work) => work,
        Err(nothing) => return Ok(nothing),
    };
    let caller = Caller {
        cx,
        summarizer,
        settings: &options.settings,
    };
    let texts = work.summarize(caller, &options.request).await?;
    Ok(work.result(&texts, log, summarizer.name()))
}

/// Tokens that the host counted last: the hook's own figure, else that of its runtime context
/// (HOST-SEMANTICS 10.4).
pub(crate) fn counted(request: &Compact) -> Option<u64> {
    let context = request.runtime_context.as_ref();
    let context = context.and_then(|context| context.current_token_count);
    let counted = |count: Option<u64>| count.filter(|count| *count > 0);
    counted(request.current_token_count).or(counted(context))
}

/// The window that the conversation has to fit.
fn window(request: &Compact) -> Option<TokenBudget> {
    let context = request.runtime_context.as_ref();
    let budget = || TokenBudget::new(context?.token_budget?);
    let model = || TokenBudget::new(context?.model_context_window?);
    request.token_budget.or_else(budget).or_else(model)
}

fn family(request: &Compact) -> ModelFamily {
    let settings = request.runtime_settings.as_ref();
    let resolved = settings.and_then(|settings| settings.resolved_model.as_deref());
    let context = request.runtime_context.as_ref();
    let model = || context.and_then(|context| context.model_id.as_deref());
    ModelFamily::of_model(resolved.or_else(model))
}

/// A compaction that is worth its calls.
struct Work<'a> {
    conversation: &'a Conversation,
    plan: Plan,
    places: Places,
    limits: Limits,
    family: ModelFamily,
    tokens_before: u64,
}

/// The texts of a compaction.
#[derive(Default)]
struct Texts {
    history: Summarized,
    prefix: Option<Summarized>,
    /// Index of the first item that stays.
    cut: usize,
    /// Whether time ran out before everything planned was summarised.
    is_partial: bool,
}

impl<'a> Work<'a> {
    fn of(
        conversation: &'a Conversation,
        options: &CompactOptions,
        family: ModelFamily,
    ) -> Result<Self, Compaction> {
        let CompactOptions {
            settings, request, ..
        } = options;
        let context = ContextTokens::of(&conversation.items, conversation.boundary);
        let own = context.tokens.saturating_add(conversation.earlier_tokens);
        let tokens_before = counted(request).unwrap_or(own);
        let window = window(request);
        let max_output = request.runtime_settings.as_ref();
        let max_output = max_output.and_then(|settings| settings.max_output_tokens);
        let limits = settings.limits(window, max_output);
        if !request.force {
            is_due(settings, limits, tokens_before)?;
        }
        let exhausted = |why: &str| {
            let is_over = window.is_some_and(|window| tokens_before > window.get());
            Compaction::exhausted(is_over, why)
        };
        let keep = context.scale(limits.keep_recent);
        let places = Places::of(&conversation.items);
        let plan = Plan::of(
            &conversation.items,
            &places,
            keep,
            settings.protect_pending_user,
        )
        .ok_or_else(|| exhausted(&format!("the newest {keep} tokens stay as they are")))?;
        let items = conversation.items.get(..plan.cut()).unwrap_or_default();
        let source: u64 = items.iter().map(|item| item.tokens).sum();
        if source < MIN_SOURCE.max(conversation.tokens() / MIN_GAIN) {
            return Err(exhausted(&format!(
                "only {source} tokens could be summarised"
            )));
        }
        Ok(Self {
            conversation,
            plan,
            places,
            limits,
            family,
            tokens_before,
        })
    }

    async fn summarize(
        &self,
        caller: Caller<'_>,
        request: &Compact,
    ) -> Result<Texts, CompactionError> {
        let task = Task {
            stage: Stage::History,
            instructions: request
                .custom_instructions
                .as_deref()
                .map(str::trim)
                .filter(|text| !text.is_empty()),
            family: self.family,
            window: request
                .runtime_context
                .as_ref()
                .and_then(|context| context.model_context_window)
                .or(request.token_budget.map(TokenBudget::get)),
            max_output_tokens: self.limits.history_output,
            max_chars: self.limits.summary_chars,
        };
        let Plan { history, prefix } = self.plan.clone();
        let earlier = self.conversation.earlier.as_deref();
        let items = self.items(&history);
        let done = summarize(caller, task, items, &self.places, earlier).await?;
        let mut texts = Texts {
            cut: done.covered,
            is_partial: done.covered < history.end,
            history: done,
            prefix: None,
        };
        if texts.is_partial || prefix.is_empty() {
            return Ok(texts);
        }
        let task = Task {
            stage: Stage::TurnPrefix,
            max_output_tokens: self.limits.prefix_output,
            max_chars: self.limits.summary_chars / 3,
            ..task
        };
        let places = self.places.from(prefix.start);
        let items = self.items(&prefix);
        let done = summarize(caller, task, items, &places, None).await?;
        texts.cut = prefix.start + done.covered;
        texts.is_partial = texts.cut < prefix.end;
        texts.prefix = Some(done);
        Ok(texts)
    }

    fn items(&self, range: &std::ops::Range<usize>) -> &'a [Item] {
        let items = self.conversation.items.get(range.clone());
        items.unwrap_or_default()
    }

    fn result(&self, texts: &Texts, log: &Transcript, summarizer: &str) -> Compaction {
        let files = self.files(texts.cut);
        let history = Some(texts.history.text.as_str()).filter(|text| !text.is_empty());
        let prefix = texts.prefix.as_ref().map(|prefix| prefix.text.as_str());
        let summary = summary::joined(
            history.unwrap_or(NO_HISTORY),
            prefix,
            &files,
            self.limits.summary_chars,
        );
        let kept = self.conversation.items.get(texts.cut..).unwrap_or_default();
        let kept: u64 = kept.iter().map(|item| item.tokens).sum();
        let before = self.conversation.tokens();
        let after = summary_tokens(self.family, &summary).saturating_add(kept);
        let saved = before.saturating_sub(after);
        if saved < (before / MIN_GAIN).max(1) {
            return Compaction::exhausted(false, &format!("a summary would save {saved} tokens"));
        }
        let first_kept = self.conversation.place(texts.cut);
        // What the host counted besides, as its system prompt, stays as it is.
        let tokens_after = self.tokens_before.saturating_sub(saved);
        Compaction::Done(Box::new(CompactedLog {
            first_kept,
            first_kept_entry_id: unique_id(log, first_kept),
            covered: log.len(),
            tokens_before: self.tokens_before,
            tokens_after: if self.tokens_before >= before {
                tokens_after
            } else {
                after.min(self.tokens_before)
            },
            details: self.details(texts, &files, summarizer).to_json(),
            is_partial: texts.is_partial,
            is_extract: texts.has_extract(),
            summary,
        }))
    }

    /// What the conversation did with files, up to the cut.
    fn files(&self, cut: usize) -> Files {
        let mut files = self.conversation.files.clone();
        for item in self.items(&(0..cut)) {
            files.note(&item.body());
        }
        files
    }

    fn details(&self, texts: &Texts, files: &Files, summarizer: &str) -> Details {
        // A turn goes on below its summary, or its question waits there for an answer.
        let summarized = self.items(&(0..texts.cut));
        let is_open = texts.prefix.is_some()
            || pending_user(&self.conversation.items).is_some_and(|at| at < texts.cut);
        let model = texts
            .prefix
            .as_ref()
            .and_then(|prefix| prefix.model.clone());
        Details {
            read_files: files.read_only().map(str::to_owned).collect(),
            modified_files: files.modified().map(str::to_owned).collect(),
            latest_unresolved_user_request: last_request(summarized, REQUEST_CHARS)
                .filter(|_| is_open),
            summarizer: if texts.has_extract() {
                "extract"
            } else {
                summarizer
            }
            .to_owned(),
            model: model.or_else(|| texts.history.model.clone()),
            calls: texts.calls(),
            is_partial: texts.is_partial,
        }
    }
}

impl Texts {
    fn parts(&self) -> impl Iterator<Item = &Summarized> {
        std::iter::once(&self.history).chain(&self.prefix)
    }

    fn has_extract(&self) -> bool {
        self.parts().any(|part| part.has_extract)
    }

    fn calls(&self) -> u32 {
        self.parts().map(|part| part.calls).sum()
    }
}

/// Whether a compaction that nobody forces is to run (E-HKS-16).
fn is_due(settings: &CompactSettings, limits: Limits, tokens: u64) -> Result<(), Compaction> {
    if !settings.enabled {
        return Err(Compaction::nothing("compaction is switched off"));
    }
    match limits.prompt_tokens {
        None => Err(Compaction::nothing("not needed: no token budget was named")),
        Some(prompt) if tokens <= prompt => Err(Compaction::nothing(format!(
            "not needed: {tokens} tokens of {prompt}"
        ))),
        Some(_) => Ok(()),
    }
}

/// The id of the stored entry that a message is or shows, where it names that one and no other.
fn unique_id(log: &Transcript, place: usize) -> Option<EntryId> {
    let stored = |message: &Message| {
        let shown = message.log_entry_id();
        shown.unwrap_or(message.entry_id()).clone()
    };
    let id = stored(log.get(place)?);
    let mut same = log.iter().filter(|message| stored(message) == id);
    let is_unique = same.next().is_some() && same.next().is_none();
    (!id.is_empty() && is_unique).then_some(id)
}
