//! What the model was shown at a turn, and why.

use contextwire_engine::{ExplainTurn, ExplainedItem, ExplainedTurn, LeftOut};

use super::super::ConvertError;
use super::look::{places, places_of};
use super::text;
use crate::v1;

/// Items in one message.
const ITEMS: usize = 1000;
/// Payload bytes in one message, as far as its items are not larger by themselves.
const BYTES: usize = 1024 * 1024;

/// A context in as many messages as it takes; `None`: there is no such turn.
pub fn explained(turn: Option<ExplainedTurn>) -> Vec<v1::ExplainTurnResponse> {
    let Some(ExplainedTurn {
        turns,
        tokens,
        left_out,
        items,
    }) = turn
    else {
        return vec![v1::ExplainTurnResponse::default()];
    };
    let mut messages = Vec::new();
    let mut next = v1::ExplainTurnResponse {
        context: Some(v1::ExplainedContext {
            turns,
            tokens,
            left_out: left_out.into_iter().map(Into::into).collect(),
        }),
        items: Vec::new(),
    };
    let mut bytes = 0;
    for item in items {
        let size = item.payload.as_ref().map_or(0, bytes::Bytes::len);
        if next.items.len() == ITEMS || (bytes > 0 && bytes + size > BYTES) {
            messages.push(std::mem::take(&mut next));
            bytes = 0;
        }
        bytes += size;
        next.items.push(item.into());
    }
    messages.push(next);
    messages
}

/// A context while its messages come in.
#[derive(Debug, Default)]
pub struct ExplainReader(Option<ExplainedTurn>);

impl ExplainReader {
    /// Takes the next message.
    pub fn read(&mut self, message: v1::ExplainTurnResponse) {
        let v1::ExplainTurnResponse { context, items } = message;
        if let (None, Some(context)) = (&self.0, context) {
            let v1::ExplainedContext {
                turns,
                tokens,
                left_out,
            } = context;
            self.0 = Some(ExplainedTurn {
                turns,
                tokens,
                left_out: left_out.into_iter().map(Into::into).collect(),
                items: Vec::new(),
            });
        }
        if let Some(turn) = &mut self.0 {
            turn.items
                .extend(items.into_iter().map(ExplainedItem::from));
        }
    }

    /// The whole; `None`: there is no such turn.
    pub fn finish(self) -> Option<ExplainedTurn> {
        self.0
    }
}

impl From<ExplainTurn> for v1::ExplainTurnRequest {
    fn from(question: ExplainTurn) -> Self {
        let ExplainTurn {
            session,
            turn,
            token_budget,
            model,
            included,
            payloads,
        } = question;
        Self {
            session_id: session.as_str().to_owned(),
            turn,
            token_budget,
            model: model.unwrap_or_default(),
            included,
            payloads,
        }
    }
}

impl TryFrom<v1::ExplainTurnRequest> for ExplainTurn {
    type Error = ConvertError;

    fn try_from(wire: v1::ExplainTurnRequest) -> Result<Self, ConvertError> {
        let v1::ExplainTurnRequest {
            session_id,
            turn,
            token_budget,
            model,
            included,
            payloads,
        } = wire;
        let session = super::session(session_id)?;
        Ok(Self {
            session,
            turn,
            token_budget,
            model: text(model),
            included,
            payloads,
        })
    }
}

impl From<ExplainedItem> for v1::ExplainedItem {
    fn from(item: ExplainedItem) -> Self {
        let ExplainedItem {
            places: at,
            role,
            tokens,
            why,
            payload,
        } = item;
        Self {
            places: at.map(places),
            role,
            tokens,
            why,
            payload,
        }
    }
}

impl From<v1::ExplainedItem> for ExplainedItem {
    fn from(wire: v1::ExplainedItem) -> Self {
        let v1::ExplainedItem {
            places,
            role,
            tokens,
            why,
            payload,
        } = wire;
        Self {
            places: places.map(places_of),
            role,
            tokens,
            why,
            payload,
        }
    }
}

impl From<LeftOut> for v1::LeftOut {
    fn from(left: LeftOut) -> Self {
        let LeftOut {
            places: at,
            messages,
            why,
        } = left;
        Self {
            places: at.map(places),
            messages,
            why,
        }
    }
}

impl From<v1::LeftOut> for LeftOut {
    fn from(wire: v1::LeftOut) -> Self {
        let v1::LeftOut {
            places,
            messages,
            why,
        } = wire;
        Self {
            places: places.map(places_of),
            messages,
            why,
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    #[test]
    fn payloads_are_spread_over_messages_and_come_back_in_order() {
        let item = |size: usize| ExplainedItem {
            why: size.to_string(),
            payload: Some(Bytes::from(vec![b'x'; size])),
            ..ExplainedItem::default()
        };
        let turn = ExplainedTurn {
            turns: 3,
            items: [10, BYTES * 2, 20, BYTES - 20, 1].map(item).into(),
            ..ExplainedTurn::default()
        };
        let messages = explained(Some(turn.clone()));
        let counts: Vec<usize> = messages.iter().map(|message| message.items.len()).collect();
        assert_eq!(counts, [1, 1, 2, 1]);
        let mut reader = ExplainReader::default();
        for message in messages {
            reader.read(message);
        }
        assert_eq!(reader.finish(), Some(turn));
        let mut reader = ExplainReader::default();
        for message in explained(None) {
            reader.read(message);
        }
        assert_eq!(reader.finish(), None);
    }
}
