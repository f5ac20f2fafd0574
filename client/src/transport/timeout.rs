//! The `grpc-timeout` header.

use std::time::Duration;

use tonic::Request;
use tonic::metadata::MetadataValue;

/// Largest count of the header: eight digits.
const MOST: u128 = 99_999_999;

/// Tells the engine's side when nobody waits any more.
///
/// tonic's own setter would also arm a second timer here, and the host owns every timer (R7.1).
pub(crate) fn set<T>(request: &mut Request<T>, timeout: Duration) {
    let (count, unit) = match (timeout.as_micros(), timeout.as_millis()) {
        (micros, _) if micros <= MOST => (micros, 'u'),
        (_, millis) if millis <= MOST => (millis, 'm'),
        _ => (u128::from(timeout.as_secs()).min(MOST), 'S'),
    };
    if let Ok(value) = MetadataValue::try_from(format!("{count}{unit}")) {
        request.metadata_mut().insert("grpc-timeout", value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_finest_unit_that_fits_eight_digits() {
        for (timeout, header) in [
            (Duration::from_millis(4750), "4750000u"),
            (Duration::from_mins(2), "120000m"),
            (Duration::from_hours(48), "172800S"),
            (Duration::ZERO, "0u"),
        ] {
            let mut request = Request::new(());
            set(&mut request, timeout);
            assert_eq!(request.metadata().get("grpc-timeout").unwrap(), header);
        }
    }
}
