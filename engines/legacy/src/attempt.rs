//! One call of the summariser, with its further attempts (HOST-SEMANTICS 14).

use std::time::Duration;

use contextwire_engine::{HookContext, Progress};
use tokio::time::{Instant, sleep, sleep_until};

use crate::error::CompactionError;
use crate::settings::CompactSettings;
use crate::summarizer::{Flaw, Next, SummarizeError, Summarizer, SummaryRequest, SummaryText};
use crate::summary;

/// A model that takes its time is no silent engine: the host is told this often.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);
/// A longer wait that an endpoint asks for is not worth it.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(30);

/// A usable summary.
#[derive(Clone, Debug)]
pub struct Written {
    /// The text, harmless inside a frame.
    pub text: String,
    /// The model that wrote it, where that is known.
    pub model: Option<String>,
    /// Whether it is quotes and no model's.
    pub is_extract: bool,
    /// Calls that it took.
    pub calls: u32,
}

/// Why a call gave none.
#[derive(Debug)]
pub enum Unwritten {
    /// Less of the conversation may work; the same request would not.
    TooLong,
    /// No attempt gave one, or nobody waits any more.
    Failed(CompactionError),
}

/// A summariser with what its calls have in common.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Whom it works for: deadline, cancellation, progress, the host's model.
    pub cx: &'a HookContext,
    /// Who writes.
    pub summarizer: &'a dyn Summarizer,
    /// How often and how fast it is asked again.
    pub settings: &'a CompactSettings,
}

impl std::fmt::Debug for Caller<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller")
            .field("summarizer", &self.summarizer.name())
            .finish_non_exhaustive()
    }
}

impl Caller<'_> {
    /// Asks until there is a usable answer or the attempts are used up. `request` is built for the
    /// flaw of the answer before; `judge` says what is wrong with an answer beyond its form.
    ///
    /// # Errors
    /// [`Unwritten`] where there is no usable answer.
    pub async fn write(
        &self,
        progress: &Progress,
        request: impl Fn(Option<Flaw>) -> SummaryRequest,
        judge: impl Fn(&str) -> Result<(), Flaw>,
    ) -> Result<Written, Unwritten> {
        let allowed = self.settings.attempts.max(1);
        let mut flaw = None;
        let mut attempt = 1;
        loop {
            self.cx.progress(progress.clone());
            let answer = self.ask(&request(flaw), progress).await;
            let error = match answer.map_err(Unwritten::Failed)? {
                Ok(answer) => match usable(&answer, &judge) {
                    Ok(text) => {
                        return Ok(Written {
                            text,
                            model: answer.model,
                            is_extract: answer.is_extract,
                            calls: attempt,
                        });
                    }
                    Err(found) => found.into(),
                },
                Err(error) => error,
            };
            if let SummarizeError::Unusable(found) = &error {
                flaw = Some(*found);
            }
            let wait = match error.next() {
                Next::Again(wait) => wait.filter(|wait| *wait <= MAX_RETRY_AFTER),
                Next::Smaller => return Err(Unwritten::TooLong),
                Next::Never => return Err(self.failed(attempt, error)),
            };
            if attempt >= allowed {
                return Err(self.failed(attempt, error));
            }
            let wait = wait.unwrap_or_default().max(self.delay(attempt));
            self.pause(wait).await.map_err(Unwritten::Failed)?;
            attempt += 1;
        }
    }

    /// One call, ended by whoever waits for it.
    async fn ask(
        &self,
        request: &SummaryRequest,
        progress: &Progress,
    ) -> Result<Result<SummaryText, SummarizeError>, CompactionError> {
        CompactionError::check(self.cx)?;
        let started = Instant::now();
        let mut call = self.summarizer.summarize(self.cx, request);
        loop {
            tokio::select! {
                biased;
                () = self.cx.cancellation.cancelled() => return Err(CompactionError::Aborted),
                answer = &mut call => return Ok(answer),
                () = sleep_until(self.cx.deadline) => return Err(CompactionError::TimedOut),
                () = sleep(SIGN_OF_LIFE) => {
                    let waited = started.elapsed().as_secs();
                    let text = format!("waiting for the model, {waited} s");
                    self.cx.progress(Progress { text: Some(text), ..progress.clone() });
                }
            }
        }
    }

    async fn pause(&self, wait: Duration) -> Result<(), CompactionError> {
        tokio::select! {
            biased;
            () = self.cx.cancellation.cancelled() => Err(CompactionError::Aborted),
            () = sleep_until(self.cx.deadline) => Err(CompactionError::TimedOut),
            () = sleep(wait) => Ok(()),
        }
    }

    /// The wait after this attempt.
    fn delay(&self, attempt: u32) -> Duration {
        let factor = 2u32.saturating_pow(attempt.saturating_sub(1));
        self.settings
            .retry_delay
            .saturating_mul(factor)
            .min(self.settings.max_retry_delay)
    }

    fn failed(&self, attempts: u32, source: SummarizeError) -> Unwritten {
        if source == SummarizeError::Aborted {
            return Unwritten::Failed(CompactionError::Aborted);
        }
        Unwritten::Failed(CompactionError::SummarizationFailed {
            attempts,
            allowed: self.settings.attempts.max(1),
            source,
        })
    }
}

fn usable(answer: &SummaryText, judge: impl Fn(&str) -> Result<(), Flaw>) -> Result<String, Flaw> {
    let text = summary::of_answer(&answer.text)?;
    judge(&text)?;
    Ok(text)
}
