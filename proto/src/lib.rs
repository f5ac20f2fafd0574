//! The wire contract `contextengine.v1` and what both of its sides share.
//!
//! - [`v1`]: the generated types and stubs; the `.proto` files under `proto/` are the specification.
//! - [`convert`]: wire types to and from the domain types of `contextwire-engine`, one file a concern.
//! - [`call`], [`call_id`], [`frame`], [`handshake`]: the parts of the contract that only the two ends of a wire
//!   see, as checked values.
//! - [`sync`]: how a transcript travels: segments, parts, heads.
//! - [`schema`]: what the contract says of its own fields; [`strict`] and [`edge`]: what a serving
//!   side refuses before anybody sees the request; [`omit`]: what a host leaves out for an older one.
//! - [`reason`] and [`status`]: why a call failed, into a `Status` and out of it.
//! - [`limits`]: the numbers that both sides keep.
//!
//! Nothing here does I/O.

pub mod call;
pub mod call_id;
pub mod codec;
pub mod convert;
pub mod edge;
pub mod frame;
pub mod handshake;
pub mod limits;
pub mod omit;
pub mod reason;
pub mod schema;
pub mod status;
pub mod strict;
pub mod sync;
pub mod v1;

pub use call::CallContext;
pub use call_id::CallIds;
pub use convert::{ConvertError, Problem};
pub use reason::Reason;
pub use status::{Refusal, reason_of};

/// The whole contract as an encoded `google.protobuf.FileDescriptorSet`, with imports, comments
/// and the custom options, for reflection and for whoever reads `since`.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/contextengine.v1.bin"));
