//! Batches that fit into a message.

use contextwire_engine::IngestBatch;
use contextwire_proto::sync::encoded_len;

/// Room for everything beside the messages of a batch.
const BESIDE: usize = 16 << 10;

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
