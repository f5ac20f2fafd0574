//! Where a service listens, and limits that fit together.

use std::ffi::OsStr;
use std::num::NonZeroU32;

use contextwire_server::{ServerOptions, UnknownFields};

use super::ServerConfig;
use crate::config::options::ServerOptions as Section;
use crate::config::{Settings, Size};

/// What every engine has to take, in bytes.
const LEAST_MESSAGE: u64 = 4 << 20;

const MAX_MESSAGE: &str = "server.max_message_bytes";

pub(super) fn check(settings: &mut Settings) -> ServerConfig {
    let section = settings.options.server.clone();
    let built_in = ServerOptions::default();
    let number = |given: Option<NonZeroU32>, built_in| given.map_or(built_in, NonZeroU32::get);
    let bytes = |given: Option<Size>, built_in| given.map_or(built_in, |size| size.0);
    let options = ServerOptions {
        max_message_bytes: message_bytes(settings, MAX_MESSAGE, section.max_message_bytes)
            .unwrap_or(built_in.max_message_bytes),
        mirror_bytes: bytes(section.mirror_bytes, built_in.mirror_bytes),
        max_hooks: number(section.max_hooks, built_in.max_hooks),
        max_session_hooks: number(section.max_session_hooks, built_in.max_session_hooks),
        max_bytes_in_flight: bytes(section.max_bytes_in_flight, built_in.max_bytes_in_flight),
        max_streams: number(section.max_streams, built_in.max_streams),
        drain_grace: section
            .drain_grace
            .map_or(built_in.drain_grace, |grace| grace.0.0),
        build: env!("CARGO_PKG_VERSION").to_owned(),
        unknown_fields: section
            .unknown_fields
            .map_or(built_in.unknown_fields, UnknownFields::from),
    };
    if u64::try_from(options.max_message_bytes).is_ok_and(|one| one > options.max_bytes_in_flight) {
        let problem = format!(
            "calls may hold {} in all, less than one message of {MAX_MESSAGE}",
            Size(options.max_bytes_in_flight)
        );
        let advice = "raise it, or lower the other";
        settings.refuse("server.max_bytes_in_flight", problem, advice);
    }
    check_addresses(&section, settings);
    ServerConfig {
        socket: section.socket,
        listen: section.listen,
        options,
    }
}

fn check_addresses(section: &Section, settings: &mut Settings) {
    const SOCKET: &str = "server.socket";
    let socket = section.socket.as_ref().map(|path| path.as_os_str());
    let is_none = socket.is_some_and(|path| path == "none");
    if socket.is_some_and(OsStr::is_empty) {
        settings.refuse(SOCKET, "is empty", "name a path, or `none`");
    }
    if cfg!(not(unix)) && socket.is_some() && !is_none {
        let advice = "leave it out, and listen on an address with server.listen";
        settings.refuse(SOCKET, "this system has no Unix sockets", advice);
    }
    if cfg!(unix) && is_none && section.listen.is_none() {
        let advice = "name a path, or an address with server.listen";
        settings.refuse(SOCKET, "there is nothing to listen on", advice);
    }
    if let Some(address) = section.listen.filter(|address| !address.ip().is_loopback()) {
        let problem = format!("plaintext on {address} would be readable by others");
        let advice = "listen on 127.0.0.1 or on a Unix socket";
        settings.refuse("server.listen", problem, advice);
    }
}

/// The size of messages, where one is given that can be used.
pub(super) fn message_bytes(
    settings: &mut Settings,
    key: &str,
    given: Option<Size>,
) -> Option<usize> {
    let size = given?;
    if size.0 < LEAST_MESSAGE {
        let least = Size(LEAST_MESSAGE);
        let advice = format!("name {least} or more");
        settings.refuse(
            key,
            format!("{size} is less than the {least} of the contract"),
            advice,
        );
        return None;
    }
    // gRPC says the length of a message in 32 bits.
    let bytes = u32::try_from(size.0)
        .ok()
        .and_then(|size| usize::try_from(size).ok());
    if bytes.is_none() {
        settings.refuse(
            key,
            "messages of 4 GiB cannot be sent",
            "name less than 4GiB",
        );
    }
    bytes
}
