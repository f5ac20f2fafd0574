//! The host's own model, by a call back.

use contextwire_engine::{HookContext, HostCallError, LlmComplete, LlmCompleted};

use super::{
    Extract, Flaw, SummarizeError, Summarizer, SummaryAnswer, SummaryRequest, SummaryText,
};

/// What the host's audit shows of these calls.
const PURPOSE: &str = "context-engine.compaction";

/// Asks the model of the host that called. The host pays, and its policy decides which model that
/// is; the conversation goes nowhere else.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostModel;

impl Summarizer for HostModel {
    fn name(&self) -> &'static str {
        "host"
    }

    fn summarize<'a>(
        &'a self,
        cx: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        Box::pin(async move {
            let complete = LlmComplete {
                messages: vec![("user".to_owned(), request.prompt.clone())],
                system_prompt: Some(request.system_prompt.clone()),
                model: None,
                max_tokens: Some(request.max_output_tokens),
                temperature: None,
                purpose: Some(PURPOSE.to_owned()),
            };
            match cx.host.complete(complete).await {
                Ok(completed) => read(completed),
                Err(error) => Err(failed(error)),
            }
        })
    }
}

fn read(completed: LlmCompleted) -> Result<SummaryText, SummarizeError> {
    let LlmCompleted {
        text,
        provider: _,
        model,
        usage: _,
        stop_reason,
    } = completed;
    match stop_reason.as_deref() {
        Some("length" | "max_tokens") => return Err(Flaw::CutOff.into()),
        Some("toolUse" | "tool_use" | "tool_calls") => return Err(Flaw::ToolCall.into()),
        // The text of a failed answer is about the failure (BR-061).
        Some(reason @ ("error" | "aborted" | "content_filter" | "refusal")) => {
            return Err(SummarizeError::Host {
                reason: reason.to_owned(),
                retryable: reason == "error",
            });
        }
        Some(_) | None => {}
    }
    Ok(SummaryText {
        text,
        model: Some(model).filter(|model| !model.is_empty()),
        is_extract: false,
    })
}

fn failed(error: HostCallError) -> SummarizeError {
    if error.is_unserved() {
        return SummarizeError::Unserved;
    }
    let HostCallError {
        reason,
        message: _,
        retryable,
    } = error;
    match reason.as_str() {
        "HOOK_CLOSED" => SummarizeError::Aborted,
        "TIMEOUT" => SummarizeError::TimedOut,
        _ => SummarizeError::Host { reason, retryable },
    }
}

/// The host's model; where the host serves none, an [`Extract`]. A model that is there and fails is
/// never replaced: its failure is the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostModelOrExtract;

impl Summarizer for HostModelOrExtract {
    fn name(&self) -> &'static str {
        HostModel.name()
    }

    fn summarize<'a>(
        &'a self,
        cx: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        Box::pin(async move {
            match HostModel.summarize(cx, request).await {
                Err(SummarizeError::Unserved) => Extract.summarize(cx, request).await,
                answer => answer,
            }
        })
    }
}
