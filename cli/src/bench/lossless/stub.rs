//! A model that answers at once, or after a while, with a text of one length.

use std::time::Duration;

use contextwire_engine::HookContext;
use contextwire_legacy::{Summarizer, SummaryAnswer, SummaryRequest, SummaryText};

/// The stub, with the time that it takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stub(pub(super) Duration);

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
            if !self.0.is_zero() {
                tokio::time::sleep(self.0).await;
            }
            let mut text = format!("Of {} messages:", request.messages.len());
            for line in 0..40 {
                text.push_str("\n- the gauge was read and its level written to disk, row ");
                text.push_str(&line.to_string());
            }
            Ok(SummaryText {
                text,
                model: Some("stub".to_owned()),
                is_extract: false,
            })
        })
    }
}
