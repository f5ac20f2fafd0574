//! How much a service takes on at once.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use contextwire_server::ServerOptions;

/// Limits of a service; what is over them is refused and told to come back.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Calls that run at once. More are refused as OVERLOADED before they are read; describe and
    /// health checks always get through.
    #[arg(
        long,
        value_name = "N",
        env = "CONTEXTWIRE_SERVER_MAX_HOOKS",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..),
        default_value_t = ServerOptions::default().max_hooks
    )]
    pub max_hooks: u32,
    /// Calls of one session that run at once.
    #[arg(
        long,
        value_name = "N",
        env = "CONTEXTWIRE_SERVER_MAX_SESSION_HOOKS",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..),
        default_value_t = ServerOptions::default().max_session_hooks
    )]
    pub max_session_hooks: u32,
    /// Streams that one connection may have open; hosts wait before they open more. Keep it above
    /// --max-hooks, or they wait where they could fall back.
    #[arg(
        long,
        value_name = "N",
        env = "CONTEXTWIRE_SERVER_MAX_STREAMS",
        value_parser = RangedU64ValueParser::<u32>::new().range(1..),
        default_value_t = ServerOptions::default().max_streams
    )]
    pub max_streams: u32,
    /// Bytes of requests that running calls hold together, for instance 65536, 512MiB or 2GiB. A
    /// list that is larger cannot be sent at all.
    #[arg(
        long,
        value_name = "SIZE",
        env = "CONTEXTWIRE_SERVER_MAX_BYTES_IN_FLIGHT",
        value_parser = size,
        default_value = "512MiB"
    )]
    pub max_bytes_in_flight: u64,
}

impl LimitArgs {
    /// The options with these limits.
    pub fn within(self, options: ServerOptions) -> ServerOptions {
        let Self {
            max_hooks,
            max_session_hooks,
            max_streams,
            max_bytes_in_flight,
        } = self;
        ServerOptions {
            max_hooks,
            max_session_hooks,
            max_streams,
            max_bytes_in_flight,
            ..options
        }
    }
}

/// A number of bytes, with or without a unit.
fn size(text: &str) -> Result<u64, String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let bytes = match unit.trim() {
        "" | "B" => Some(1),
        "KiB" => Some(1 << 10),
        "MiB" => Some(1 << 20),
        "GiB" => Some(1 << 30),
        _ => None,
    };
    let count: Option<u64> = digits.parse().ok();
    count
        .zip(bytes)
        .and_then(|(count, bytes): (u64, u64)| count.checked_mul(bytes))
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "write a number of bytes, KiB, MiB or GiB, for instance 512MiB".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        limits: LimitArgs,
    }

    fn options(line: &[&str]) -> Option<ServerOptions> {
        let line = [&["serve"], line].concat();
        let command = Command::try_parse_from(line).ok()?;
        Some(command.limits.within(ServerOptions::default()))
    }

    #[test]
    fn without_options_the_limits_are_the_servers_own() {
        assert_eq!(options(&[]), Some(ServerOptions::default()));
    }

    #[test]
    fn each_option_sets_its_limit() {
        let line = [
            "--max-hooks=1",
            "--max-session-hooks=2",
            "--max-streams=3",
            "--max-bytes-in-flight=4KiB",
        ];
        let set = ServerOptions {
            max_hooks: 1,
            max_session_hooks: 2,
            max_streams: 3,
            max_bytes_in_flight: 4096,
            ..ServerOptions::default()
        };
        assert_eq!(options(&line), Some(set));
    }

    #[test]
    fn a_limit_that_would_refuse_everything_is_refused() {
        for line in [
            "--max-hooks=0",
            "--max-session-hooks=0",
            "--max-streams=0",
            "--max-bytes-in-flight=0",
        ] {
            assert_eq!(options(&[line]), None, "{line}");
        }
    }

    #[test]
    fn sizes_have_binary_units_or_none() {
        for (text, bytes) in [("7", 7), ("7B", 7), ("2MiB", 2 << 20), ("3 GiB", 3 << 30)] {
            assert_eq!(size(text), Ok(bytes));
        }
        for odd in ["", "MiB", "1MB", "-1", "1.5GiB", "99999999999GiB"] {
            assert!(size(odd).is_err(), "{odd}");
        }
    }
}
