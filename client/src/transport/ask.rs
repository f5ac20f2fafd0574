//! One unary call.

use contextwire_proto::ConvertError;
use prost::Message as _;
use tokio::time::Instant;
use tonic::Request;

use super::exchange::Exchange;
use super::rpc::UnaryRpc;
use super::{WireReply, check_size, timeout};
use crate::classify::classify;
use crate::error::CallError;

impl Exchange {
    /// Sends the request and reads the answer, within the engine's share.
    pub(crate) async fn ask<R: UnaryRpc>(
        self,
        request: Box<R::Request>,
    ) -> Result<WireReply, CallError> {
        let Self {
            stub,
            stop: _,
            share_ends,
            silence: _,
            max_bytes,
            traffic,
            adaptation,
            metadata,
            calls: _,
            passage,
        } = self;
        let request = adaptation.apply(R::RequestWire::from(*request))?;
        let bytes = request.encoded_len();
        check_size(bytes, max_bytes)?;
        traffic.count_sent(bytes);
        let mut request = Request::new(request);
        let share = share_ends.saturating_duration_since(Instant::now());
        timeout::set(&mut request, share);
        metadata.set(&mut request);
        request.extensions_mut().insert(passage.clone());
        let answer = R::send(stub, request).await;
        let answer = answer
            .map_err(|status| classify(status, share_ends))?
            .into_inner();
        traffic.count_received(answer.encoded_len());
        let violation =
            |error: ConvertError| CallError::ContractViolation(format!("{}: {error}", R::HOOK));
        Ok(R::reply(answer.try_into().map_err(violation)?))
    }
}
