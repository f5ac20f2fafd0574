//! A summariser that answers with a short text of its source's first and last words; held back where
//! a test wants to act meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use contextwire_engine::HookContext;
use contextwire_legacy::{Summarizer, SummaryAnswer, SummaryRequest, SummaryText};
use tokio::sync::Semaphore;

/// The stub; clones are one.
#[derive(Clone, Debug)]
pub(crate) struct Stub(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    calls: AtomicU64,
    /// One permit a call that was asked.
    asked: Semaphore,
    /// Permits for answers; closed for those that need none.
    gate: Semaphore,
}

impl Stub {
    fn with(gate: Semaphore) -> Self {
        Self(Arc::new(Inner {
            calls: AtomicU64::new(0),
            asked: Semaphore::new(0),
            gate,
        }))
    }

    /// One that answers only after [`Self::release`].
    pub(crate) fn held() -> Self {
        Self::with(Semaphore::new(0))
    }

    /// How often it was asked.
    pub(crate) fn calls(&self) -> u64 {
        self.0.calls.load(Ordering::SeqCst)
    }

    /// Until somebody has asked.
    pub(crate) async fn asked(&self) {
        self.0.asked.acquire().await.unwrap().forget();
    }

    /// Lets every answer out, now and later.
    pub(crate) fn release(&self) {
        self.0.gate.close();
    }
}

impl Default for Stub {
    fn default() -> Self {
        let open = Semaphore::new(0);
        open.close();
        Self::with(open)
    }
}

impl Summarizer for Stub {
    fn name(&self) -> &'static str {
        "stub"
    }

    fn summarize<'a>(
        &'a self,
        _: &'a HookContext,
        request: &'a SummaryRequest,
    ) -> SummaryAnswer<'a> {
        Box::pin(async move {
            self.0.calls.fetch_add(1, Ordering::SeqCst);
            self.0.asked.add_permits(1);
            // A closed gate is an open one.
            let _passed = self.0.gate.acquire().await.is_ok();
            let count = request.messages.len();
            Ok(SummaryText {
                text: format!(
                    "The user and the assistant exchanged {count} short messages about words."
                ),
                model: Some("stub-1".to_owned()),
                is_extract: false,
            })
        })
    }
}
