//! How long a call may take: the smaller of the header and the body (E-TIM-01).

use std::time::Duration;

use contextwire_engine::HookContext;
use contextwire_proto::{Reason, Refusal};
use tokio::time::Instant;
use tonic::Status;
use tonic::metadata::MetadataMap;

/// How long a stream may take to send its first frame.
pub(crate) const START_LIMIT: Duration = Duration::from_secs(10);

/// The deadline in the `grpc-timeout` header, from now.
///
/// tonic ignores a value that it cannot read and would leave the call without a deadline.
pub(crate) fn header_deadline(metadata: &MetadataMap) -> Result<Option<Instant>, Status> {
    let Some(value) = metadata.get("grpc-timeout") else {
        return Ok(None);
    };
    let timeout = value.to_str().ok().and_then(parse).ok_or_else(|| {
        Refusal::new(
            Reason::InvalidRequest,
            "grpc-timeout is not a number of at most eight digits and a unit",
        )
        .violation("grpc-timeout", "unreadable")
        .into_status()
    })?;
    // A deadline beyond the clock's range is none.
    Ok(Instant::now().checked_add(timeout))
}

/// When a stream has to have sent its first frame: a caller with all the time in the world holds a
/// place no longer than others.
pub(crate) fn first_frame_by(header: Option<Instant>) -> Instant {
    let limit = Instant::now() + START_LIMIT;
    header.map_or(limit, |header| header.min(limit))
}

/// Shortens the context's deadline to the header's.
pub(crate) fn clamp(cx: &mut HookContext, header: Option<Instant>) {
    if let Some(header) = header {
        cx.deadline = cx.deadline.min(header);
    }
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(count * 3600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn no_header_makes_more_time_for_the_first_frame() {
        let after = |time| Instant::now() + time;
        assert_eq!(first_frame_by(None), after(START_LIMIT));
        let hour = after(Duration::from_hours(1));
        assert_eq!(first_frame_by(Some(hour)), after(START_LIMIT));
        let soon = after(Duration::from_secs(1));
        assert_eq!(first_frame_by(Some(soon)), soon);
    }

    #[test]
    fn every_unit_is_read_and_nothing_else() {
        assert_eq!(parse("99999999H"), Some(Duration::from_hours(99_999_999)));
        assert_eq!(parse("250m"), Some(Duration::from_millis(250)));
        assert_eq!(parse("7u"), Some(Duration::from_micros(7)));
        for odd in ["", "m", "1", "123456789m", "-1m", "1.5S", "1x", "1 m", "1é"] {
            assert_eq!(parse(odd), None, "{odd}");
        }
    }
}
