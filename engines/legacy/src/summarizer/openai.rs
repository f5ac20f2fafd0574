//! An OpenAI-compatible endpoint: `POST …/chat/completions`.

mod answer;
mod http;
mod options;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contextwire_engine::HookContext;
use serde_json::json;
use tokio::time::timeout;

use self::http::{HttpAnswer, HttpClient};
use super::{SummarizeError, Summarizer, SummaryAnswer, SummaryRequest, SummaryText};

pub use options::{EndpointError, OpenAiOptions};

/// A model behind an endpoint of the operator's choice. The conversation goes there, and nowhere
/// else: no redirect is followed, no proxy is used.
pub struct OpenAiEndpoint {
    client: HttpClient,
    model: String,
    window: u64,
    timeout: Duration,
    /// Newer models take the limit of the answer under another name only.
    takes_completion_tokens: AtomicBool,
}

impl OpenAiEndpoint {
    /// Reads the key and prepares the client; connects with the first call.
    ///
    /// # Errors
    /// [`EndpointError`] where the address cannot be used or the key cannot be read.
    pub fn open(options: &OpenAiOptions) -> Result<Self, EndpointError> {
        Ok(Self {
            client: HttpClient::new(options)?,
            model: options.model.clone(),
            window: options.window,
            timeout: options.timeout,
            takes_completion_tokens: AtomicBool::new(false),
        })
    }

    async fn ask(
        &self,
        cx: &HookContext,
        request: &SummaryRequest,
    ) -> Result<SummaryText, SummarizeError> {
        let takes_completion_tokens = self.takes_completion_tokens.load(Ordering::Relaxed);
        let answer = self.post(cx, request, takes_completion_tokens).await?;
        if !takes_completion_tokens && answer.asks_for_completion_tokens() {
            self.takes_completion_tokens.store(true, Ordering::Relaxed);
            return answer::read(&self.post(cx, request, true).await?);
        }
        answer::read(&answer)
    }

    async fn post(
        &self,
        cx: &HookContext,
        request: &SummaryRequest,
        takes_completion_tokens: bool,
    ) -> Result<HttpAnswer, SummarizeError> {
        let limit = if takes_completion_tokens {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        let body = json!({
            "model": self.model,
            "messages": [
                {"role": "system", "content": request.system_prompt},
                {"role": "user", "content": request.prompt},
            ],
            (limit): request.max_output_tokens,
            "stream": false,
        });
        let time = self.timeout.min(cx.remaining());
        timeout(time, self.client.post(body.to_string()))
            .await
            .map_err(|_| SummarizeError::TimedOut)?
    }
}

impl HttpAnswer {
    fn asks_for_completion_tokens(&self) -> bool {
        self.status == 400 && self.text().contains("max_completion_tokens")
    }
}

impl Summarizer for OpenAiEndpoint {
    fn name(&self) -> &'static str {
        "openai"
    }

    fn window(&self) -> Option<u64> {
        Some(self.window)
    }

    fn summarize<'a>(
        &'a self,
        cx: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        Box::pin(self.ask(cx, request))
    }
}

impl std::fmt::Debug for OpenAiEndpoint {
    /// Never shows the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenAiEndpoint")
            .field("url", self.client.url())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}
