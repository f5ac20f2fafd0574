//! Layer: a batch that no message may carry goes in several (PROTOCOL 8).

use std::sync::Arc;

use contextwire_engine::{HookId, IngestBatch, IngestedBatch};
use contextwire_proto::limits;
use contextwire_proto::sync::encoded_len;
use tokio::time::Instant;

use crate::call::{Call, ServedBy};
use crate::describe::Acquaintance;
use crate::layer::{Below, Outcome, Pending, Wrap, layer, take_ready};
use crate::request::{EngineReply, EngineRequest};

/// Room for everything beside the messages of a batch.
const BESIDE: usize = 16 << 10;

/// Cuts batches and sends the pieces in order, each as a call of its own. It ends with the first one
/// that the engine does not take; what it took until then is the answer.
#[derive(Clone, Debug)]
pub(crate) struct Batch(pub(crate) Arc<Acquaintance>);

layer!(Batch);

impl Wrap for Batch {
    fn call<S: Below>(&self, below: &mut S, call: Call) -> Pending {
        let EngineRequest::IngestBatch(request) = &call.request else {
            return Box::pin(below.call(call));
        };
        let request = request.clone();
        let known = Arc::clone(&self.0);
        let below = take_ready(below);
        Box::pin(async move {
            let max_bytes = known.max_message_bytes(call.deadline).await;
            send(below, call, batches(request, max_bytes)).await
        })
    }
}

async fn send<S: Below>(mut below: S, whole: Call, batches: Vec<IngestBatch>) -> Outcome {
    let mut ingested_count = 0;
    let mut batches = batches.into_iter();
    let mut hook_id = whole.hook_id;
    loop {
        let batch = batches.next().unwrap_or_default();
        let budget = whole.deadline.saturating_duration_since(Instant::now());
        let call = Call {
            request: batch.into(),
            hook_id,
            budget,
            share_ends: Instant::now() + limits::share(budget),
            tries: <_>::default(),
            ..whole.clone()
        };
        let served = below.call(call).await?;
        if let EngineReply::IngestedBatch(taken) = &served.result {
            ingested_count += taken.ingested_count;
        }
        if batches.len() == 0 || served.by == ServedBy::InProcess {
            let whole = EngineReply::IngestedBatch(IngestedBatch { ingested_count });
            return Ok(served.map(|_| whole));
        }
        std::future::poll_fn(|cx| below.poll_ready(cx)).await?;
        hook_id = HookId::mint();
    }
}

/// The batch cut at message borders so that each piece fits (PROTOCOL 8); at least one. A message
/// that is too large alone goes alone: the size check in front of the wire refuses it.
pub(crate) fn batches(request: IngestBatch, max_bytes: usize) -> Vec<IngestBatch> {
    let IngestBatch {
        messages,
        is_heartbeat,
    } = request;
    let room = max_bytes.saturating_sub(BESIDE);
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    let mut used = 0;
    for message in messages {
        let bytes = encoded_len(&message);
        if !batch.is_empty() && used + bytes > room {
            batches.push(std::mem::take(&mut batch));
            used = 0;
        }
        used += bytes;
        batch.push(message);
    }
    batches.push(batch);
    let batch = |messages| IngestBatch {
        messages,
        is_heartbeat,
    };
    batches.into_iter().map(batch).collect()
}

#[cfg(test)]
mod tests {
    use contextwire_engine::Message;

    use super::*;

    #[test]
    fn a_batch_over_the_limit_is_cut_at_message_borders() {
        let message = |n: usize| Message::from_payload(format!("{n:01000}"));
        let whole = IngestBatch {
            messages: (0..10).map(message).collect(),
            is_heartbeat: true,
        };
        let cut = batches(whole.clone(), BESIDE + 3 * encoded_len(&message(0)));
        let sizes: Vec<_> = cut.iter().map(|batch| batch.messages.len()).collect();
        assert_eq!(sizes, [3, 3, 3, 1]);
        assert!(cut.iter().all(|batch| batch.is_heartbeat));
        let again: Vec<_> = cut.into_iter().flat_map(|batch| batch.messages).collect();
        assert_eq!(again, whole.messages);
        assert_eq!(batches(whole.clone(), usize::MAX), [whole]);
        assert_eq!(batches(IngestBatch::default(), 0), [IngestBatch::default()]);
    }
}
