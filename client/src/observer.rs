//! What is noted of an engine's calls: for metrics, for the status, and for whoever waits for news.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use contextwire_engine::Hook;
use contextwire_proto::limits;
use tokio::sync::Notify;

use crate::call::{Answer, ServedBy};
use crate::error::CallError;
use crate::metrics::Metrics;
use crate::wall_clock::now_ms;

/// Failures that are remembered of an engine.
const LAST_ERRORS: usize = 8;

/// Notes what becomes of one engine's calls.
#[derive(Debug)]
pub(crate) struct Observer {
    engine: String,
    metrics: Option<Arc<dyn Metrics>>,
    journal: Mutex<Journal>,
    changed: Arc<Notify>,
}

/// The calls of an engine so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Journal {
    pub(crate) by_engine: u64,
    pub(crate) in_process: u64,
    pub(crate) failed: u64,
    pub(crate) last_errors: VecDeque<NotedError>,
}

/// A failure, as far as people are told.
#[derive(Clone, Debug)]
pub(crate) struct NotedError {
    pub(crate) hook: Hook,
    pub(crate) code: &'static str,
    pub(crate) text: String,
    pub(crate) at_ms: u64,
}

impl Observer {
    pub(crate) fn new(
        engine: String,
        metrics: Option<Arc<dyn Metrics>>,
        changed: Arc<Notify>,
    ) -> Self {
        Self {
            engine,
            metrics,
            journal: Mutex::default(),
            changed,
        }
    }

    pub(crate) fn journal(&self) -> Journal {
        self.lock().clone()
    }

    /// A call of the host has its outcome.
    pub(crate) fn call_ended(
        &self,
        hook: Hook,
        outcome: &Result<Answer, CallError>,
        elapsed: Duration,
    ) {
        let error = match outcome {
            Ok(served) => served.reason.as_deref(),
            Err(error) => Some(error),
        };
        let served_by = match outcome {
            Ok(served) if served.by == ServedBy::InProcess => "in-process",
            Ok(_) => "engine",
            Err(_) => "nobody",
        };
        self.note(hook, served_by, error);
        self.changed.notify_one();
        let Some(metrics) = &self.metrics else { return };
        let code = error.map_or("", CallError::code);
        let (engine, hook) = (("engine", self.engine.as_str()), ("hook", hook.name()));
        let by = ("served_by", served_by);
        metrics.add(
            "contextwire_client_calls_total",
            &[engine, hook, by, ("code", code)],
            1,
        );
        let seconds = elapsed.as_secs_f64();
        metrics.record(
            "contextwire_client_call_seconds",
            &[engine, hook, by],
            seconds,
        );
        if let Ok(served) = outcome {
            let (sent, received) = (served.traffic.bytes_sent(), served.traffic.bytes_received());
            metrics.add("contextwire_client_sent_bytes_total", &[engine, hook], sent);
            metrics.add(
                "contextwire_client_received_bytes_total",
                &[engine, hook],
                received,
            );
        }
    }

    /// A try of a call goes out.
    pub(crate) fn attempt(&self, hook: Hook) {
        if let Some(metrics) = &self.metrics {
            let labels = [("engine", self.engine.as_str()), ("hook", hook.name())];
            metrics.add("contextwire_client_attempts_total", &labels, 1);
        }
    }

    /// A call of the engine was served.
    pub(crate) fn host_call_ended(&self, kind: &'static str, code: &str, elapsed: Duration) {
        let Some(metrics) = &self.metrics else { return };
        let (engine, kind) = (("engine", self.engine.as_str()), ("kind", kind));
        metrics.add(
            "contextwire_client_host_calls_total",
            &[engine, kind, ("code", code)],
            1,
        );
        let seconds = elapsed.as_secs_f64();
        metrics.record(
            "contextwire_client_host_call_seconds",
            &[engine, kind],
            seconds,
        );
    }

    /// Calls stop, or go again.
    pub(crate) fn breaker_turned(&self, to: &'static str) {
        if let Some(metrics) = &self.metrics {
            let labels = [("engine", self.engine.as_str()), ("to", to)];
            metrics.add("contextwire_client_breaker_total", &labels, 1);
        }
        self.changed.notify_one();
    }

    fn note(&self, hook: Hook, served_by: &str, error: Option<&CallError>) {
        // What an engine does not have is nobody's work.
        if matches!(error, Some(CallError::Absent { .. })) {
            return;
        }
        let mut journal = self.lock();
        match served_by {
            "engine" => journal.by_engine += 1,
            "in-process" => journal.in_process += 1,
            _ => journal.failed += 1,
        }
        if let Some(error) = error {
            if journal.last_errors.len() == LAST_ERRORS {
                journal.last_errors.pop_front();
            }
            journal.last_errors.push_back(NotedError {
                hook,
                code: error.code(),
                text: short(&error.to_string()),
                at_ms: now_ms(),
            });
        }
    }

    fn lock(&self) -> MutexGuard<'_, Journal> {
        self.journal.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As much of a text as a status may carry.
fn short(text: &str) -> String {
    let end = text.floor_char_boundary(limits::TEXT_BYTES);
    text.get(..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{broken, call};

    #[test]
    fn the_newest_failures_are_kept_and_what_an_engine_does_not_have_is_none() {
        let observer = Observer::new("e".to_owned(), None, Arc::default());
        for _ in 0..LAST_ERRORS + 2 {
            observer.call_ended(Hook::Ingest, &Err(broken()), Duration::ZERO);
        }
        let rt = tokio::runtime::Builder::new_current_thread().build();
        let _inside = rt.as_ref().unwrap().enter();
        let absent = crate::neutral::absent(&call(contextwire_engine::Maintain::default()));
        observer.call_ended(Hook::Maintain, &absent, Duration::ZERO);
        let journal = observer.journal();
        assert_eq!(journal.failed, 10);
        assert_eq!(journal.in_process, 0);
        let hooks: Vec<_> = journal.last_errors.iter().map(|it| it.hook).collect();
        assert_eq!(hooks, [Hook::Ingest; LAST_ERRORS]);
    }

    #[test]
    fn a_long_text_is_cut_between_characters() {
        let long = "ä".repeat(limits::TEXT_BYTES);
        assert_eq!(short(&long).len(), limits::TEXT_BYTES);
        assert_eq!(short(&format!("x{long}")).len(), limits::TEXT_BYTES - 1);
    }
}
