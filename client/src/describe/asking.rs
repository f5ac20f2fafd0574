//! One question to an engine what it is, and the question as it was of old.

use contextwire_engine::Hook;
use contextwire_proto::omit::Omission;
use contextwire_proto::{schema, v1};
use prost::Message as _;
use tokio::time::Instant;

use crate::classify::classify;
use crate::connect::Stub;
use crate::error::CallError;

pub(super) async fn send(
    stub: &Stub,
    request: v1::DescribeRequest,
    share_ends: Instant,
) -> Result<v1::DescribeResponse, CallError> {
    let answer = stub.clone().describe(request).await;
    Ok(answer
        .map_err(|status| classify(status, share_ends))?
        .into_inner())
}

/// What an engine of the first minor knows of the request.
pub(super) fn of_first_minor(
    request: &v1::DescribeRequest,
) -> Result<v1::DescribeRequest, CallError> {
    let newer = schema::newer_than(Hook::Describe, 0);
    let omission = Omission::of(Hook::Describe, newer.iter().map(|it| it.path.as_str()));
    let old = omission.apply(&request.encode_to_vec());
    let old = old.and_then(|old| v1::DescribeRequest::decode(&*old));
    old.map_err(|fault| CallError::Unsupported(fault.to_string()))
}
