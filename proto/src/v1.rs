//! The generated types and stubs of `contextengine.v1`.
#![allow(
    warnings,
    clippy::all,
    clippy::pedantic,
    clippy::restriction,
    rustdoc::all,
    reason = "generated"
)]

include!(concat!(env!("OUT_DIR"), "/contextengine.v1.rs"));
include!(concat!(env!("OUT_DIR"), "/admin/contextengine.v1.rs"));
include!(concat!(env!("OUT_DIR"), "/client/contextengine.v1.rs"));
