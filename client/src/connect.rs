//! The channel to an engine: lazy, with its own limits, and never half-open for long.

use contextwire_proto::limits;
use contextwire_proto::v1::context_engine_service_client::ContextEngineServiceClient;
use tonic::transport::{Channel, Endpoint};

use crate::target::Target;

/// The stub that calls go through.
pub(crate) type Stub = ContextEngineServiceClient<Channel>;

/// The stub over a channel of [`channel`].
///
/// # Errors
/// When the target cannot be written as an address.
pub(crate) fn stub(
    target: &Target,
    max_message_bytes: usize,
) -> Result<Stub, tonic::transport::Error> {
    Ok(Stub::new(channel(target)?)
        .max_decoding_message_size(max_message_bytes)
        .max_encoding_message_size(max_message_bytes))
}

/// A channel that connects when it is first used and again after a loss.
///
/// # Errors
/// When the target cannot be written as an address.
pub(crate) fn channel(target: &Target) -> Result<Channel, tonic::transport::Error> {
    let endpoint = Endpoint::from_shared(target.to_string())?
        .connect_timeout(limits::CONNECT_TIMEOUT)
        .initial_stream_window_size(limits::STREAM_WINDOW_BYTES)
        .initial_connection_window_size(limits::CONNECTION_WINDOW_BYTES)
        // Without pings a black-holed connection would be used again for ever. An idle one is not
        // pinged, stock servers close it for that; the first call after a pause pings at once.
        .http2_keep_alive_interval(limits::KEEP_ALIVE_INTERVAL)
        .keep_alive_timeout(limits::KEEP_ALIVE_TIMEOUT)
        .keep_alive_while_idle(false)
        .tcp_nodelay(true);
    Ok(endpoint.connect_lazy())
}
