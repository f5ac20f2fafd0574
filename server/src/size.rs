//! Messages over the limit, in the contract's words.
//!
//! tonic refuses an oversized unary request before the service sees it, as `OUT_OF_RANGE` without
//! details; a host could not tell it from a broken connection (PROTOCOL R6.2).

use http::Response;
use tonic::body::Body;
use tonic::{Code, Status};

use crate::refuse;

/// The shape of [`rewrite`].
pub(crate) type Rewrite = fn(Response<Body>) -> Response<Body>;

/// Turns a bare `OUT_OF_RANGE` answer into `MESSAGE_TOO_LARGE`.
pub(crate) fn rewrite(response: Response<Body>) -> Response<Body> {
    let bare = |status: &Status| status.code() == Code::OutOfRange && status.details().is_empty();
    match Status::from_header_map(response.headers()).filter(bare) {
        Some(status) => refuse::from_transport(status).into_http(),
        None => response,
    }
}
