//! Mutants of failures: their form, and that there are any.

use std::time::Duration;

use bytes::Bytes;
use contextwire_proto::reason_of;
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt, pb};

use super::fields::success;
use super::{Change, Exchange, Mutant, NONE, mutant};

pub(super) const MUTANTS: &[Mutant] = &[
    mutant(
        "forgives",
        &[
            "R1.3", "R2.5", "R3.1", "R3.4", "R3.5", "R3.6", "R3.7", "R4.2", "R4.3", "R5.6", "R6.2",
            "R7.10",
        ],
        "answers with a success where a call has to fail",
        &[
            "E-FLD-10", "E-FLD-11", "E-FLD-18", "E-FLD-19", "E-FLD-21", "E-FRM-03", "E-FRM-08",
            "E-FRM-19", "E-FRM-21", "E-FRM-22", "E-FRM-23", "E-HKS-08", "E-HKS-32", "E-HKS-33",
            "E-SIZ-02", "E-SYN-04", "E-SYN-06", "E-SYN-07", "E-SYN-08",
        ],
        fails(|exchange, _| Ok(vec![success(exchange)])),
    ),
    mutant(
        "no-error-info",
        &["R6.1"],
        "fails without saying why",
        &["E-ERR-01"],
        fails(|_, status| Err(Status::new(status.code(), status.message()))),
    ),
    mutant(
        "two-error-infos",
        &["R6.1"],
        "fails for two reasons at once",
        &["E-ERR-01"],
        fails(|_, status| {
            let mut whole = pb::Status::decode(status.details()).unwrap_or_default();
            whole.details.extend(whole.details.clone());
            let details = whole.encode_to_vec();
            Err(Status::with_details(
                status.code(),
                status.message(),
                details.into(),
            ))
        }),
    ),
    mutant(
        "foreign-domain",
        &["R6.1"],
        "its reasons are of another domain",
        &["E-ERR-01"],
        fails(|_, status| {
            let reason = reason_of(&status)
                .map(contextwire_proto::Reason::name)
                .unwrap_or_default();
            let details = ErrorDetails::with_error_info(reason, "example.com", []);
            Err(Status::with_error_details(
                status.code(),
                status.message(),
                details,
            ))
        }),
    ),
    mutant(
        "wrong-code",
        &["R6.1"],
        "its code is not the reason's",
        &["E-ERR-02"],
        fails(|_, status| {
            Err(Status::with_details(
                Code::Unknown,
                status.message(),
                Bytes::copy_from_slice(status.details()),
            ))
        }),
    ),
    mutant(
        "retry-everything",
        &["R6.1"],
        "every failure has a RetryInfo",
        &["E-ERR-02"],
        fails(|_, status| {
            let mut details = status.get_error_details();
            details.set_retry_info(Some(Duration::from_secs(1)));
            Err(Status::with_error_details(
                status.code(),
                status.message(),
                details,
            ))
        }),
    ),
    mutant(
        "long-details",
        &["R6.1"],
        "its details have 6 KB",
        &["E-ERR-04"],
        fails(|_, status| {
            let mut details = status.get_error_details();
            details.set_help(vec![tonic_types::HelpLink::new("x".repeat(6_000), "")]);
            Err(Status::with_error_details(
                status.code(),
                status.message(),
                details,
            ))
        }),
    ),
    mutant(
        "quotes-messages",
        &["R6.1"],
        "quotes the request in the failure",
        &["E-ERR-05"],
        fails(|exchange, status| {
            let quoted = String::from_utf8_lossy(&exchange.first);
            let shown: String = quoted
                .chars()
                .filter(char::is_ascii_graphic)
                .take(400)
                .collect();
            Err(Status::with_details(
                status.code(),
                shown,
                Bytes::copy_from_slice(status.details()),
            ))
        }),
    ),
    mutant(
        "long-texts",
        &["R6.1"],
        "its texts have 700 bytes",
        &["E-ERR-12"],
        fails(|_, status| {
            let text = "x".repeat(700);
            Err(Status::with_details(
                status.code(),
                text,
                Bytes::copy_from_slice(status.details()),
            ))
        }),
    ),
];

const fn fails(failure: fn(&Exchange, Status) -> Result<Vec<Bytes>, Status>) -> Change {
    Change {
        failure: Some(failure),
        ..NONE
    }
}
