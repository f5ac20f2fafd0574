//! Reasons into a gRPC status and out of it (R6.1).
//!
//! Every non-OK status of ours carries exactly one `ErrorInfo`; some a `RetryInfo` or the fields at
//! fault besides. Whatever is too long is cut, never dropped in silence: oversized trailers would
//! vanish whole.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tonic::Status;
use tonic_types::{ErrorDetails, StatusExt};

use crate::limits::{DETAILS_BYTES, TEXT_BYTES};
use crate::reason::{DOMAIN, Reason};

/// Most metadata entries; longer keys and values are cut.
const ENTRIES: usize = 12;
const KEY_BYTES: usize = 48;
const VALUE_BYTES: usize = 160;
/// Longest field path and description of a violation.
const VIOLATION_BYTES: usize = 256;
/// What a violation costs besides its two texts, at most.
const VIOLATION_FRAME_BYTES: usize = 12;

/// A field of a request and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path from the request root in proto names; an unknown leaf is its number, `call.#7` (R5.3).
    pub field: String,
    /// What is wrong, for people; never transcript content.
    pub description: String,
}

/// A call that is answered with a status instead of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    reason: Reason,
    text: String,
    metadata: BTreeMap<String, String>,
    retry: Option<Duration>,
    violations: Vec<Violation>,
    omitted: usize,
}

impl Refusal {
    /// A refusal with a text for people: at most 512 bytes, the rest is cut; never transcript
    /// content. A reason that comes with a `RetryInfo` gets its usual delay.
    pub fn new(reason: Reason, text: impl Into<String>) -> Self {
        Self {
            reason,
            text: cut(text.into(), TEXT_BYTES),
            metadata: BTreeMap::new(),
            retry: reason.retry_delay(),
            violations: Vec::new(),
            omitted: 0,
        }
    }

    /// The same with a variable of the text, for machines. The first 12 are kept, keys up to 48 and
    /// values up to 160 bytes.
    #[must_use]
    pub fn with(mut self, key: &str, value: &(impl ToString + ?Sized)) -> Self {
        let key = cut(key.to_owned(), KEY_BYTES);
        if self.metadata.len() < ENTRIES || self.metadata.contains_key(&key) {
            self.metadata
                .insert(key, cut(value.to_string(), VALUE_BYTES));
        }
        self
    }

    /// The same with another delay before the next try; ignored where the reason has none.
    #[must_use]
    pub fn retry_after(mut self, delay: Duration) -> Self {
        self.retry = self.retry.map(|_| delay);
        self
    }

    /// The same naming a field at fault. What does not fit into the details is counted in the
    /// metadata as `violations_omitted`.
    #[must_use]
    pub fn violation(mut self, field: impl Into<String>, description: impl Into<String>) -> Self {
        self.violations.push(Violation {
            field: cut(field.into(), VIOLATION_BYTES),
            description: cut(description.into(), VIOLATION_BYTES),
        });
        self
    }

    /// The same counting fields at fault that were not named, beside those that do not fit.
    #[must_use]
    pub fn omitting(self, omitted: usize) -> Self {
        Self { omitted, ..self }
    }

    /// Why.
    pub fn reason(&self) -> Reason {
        self.reason
    }

    /// The text for people.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The status, details included: at most 4 KiB of them.
    pub fn into_status(mut self) -> Status {
        let violations = std::mem::take(&mut self.violations);
        let bare = self.render(&[]);
        let room = DETAILS_BYTES.saturating_sub(bare.details().len());
        let mut kept = violations.get(..fitting(&violations, room));
        // The note of what is left out takes room as well, so a few more may have to go.
        while let Some(named) = kept {
            let omitted = violations.len() - named.len() + self.omitted;
            if omitted > 0 {
                let omitted = omitted.to_string();
                self.metadata
                    .insert("violations_omitted".to_owned(), omitted);
            }
            let status = self.render(named);
            if status.details().len() <= DETAILS_BYTES {
                return status;
            }
            kept = named
                .len()
                .checked_sub(1)
                .and_then(|fewer| named.get(..fewer));
        }
        bare
    }

    fn render(&self, violations: &[Violation]) -> Status {
        let metadata: HashMap<_, _> = self.metadata.clone().into_iter().collect();
        let mut details = ErrorDetails::with_error_info(self.reason.name(), DOMAIN, metadata);
        if let Some(delay) = self.retry {
            details.set_retry_info(Some(delay));
        }
        for Violation { field, description } in violations {
            details.add_bad_request_violation(field, description);
        }
        Status::with_error_details(self.reason.code(), self.text.clone(), details)
    }
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        refusal.into_status()
    }
}

/// A status of ours that needs nothing beyond its reason and text.
pub fn status(reason: Reason, text: impl Into<String>) -> Status {
    Refusal::new(reason, text).into_status()
}

/// The reason that a status of ours names. `None` for a status of somebody else, or for a reason
/// that a newer peer introduced: both are judged by their code (R6.2).
pub fn reason_of(status: &Status) -> Option<Reason> {
    let info = status.get_details_error_info()?;
    if info.domain == DOMAIN {
        Reason::from_name(&info.reason)
    } else {
        None
    }
}

/// How long the peer asks to wait, where it said so.
pub fn retry_delay(status: &Status) -> Option<Duration> {
    status.get_details_retry_info()?.retry_delay
}

/// The variables of a status of ours, by name; empty for another's.
pub fn metadata(status: &Status) -> BTreeMap<String, String> {
    match status.get_details_error_info() {
        Some(info) if info.domain == DOMAIN => info.metadata.into_iter().collect(),
        Some(_) | None => BTreeMap::new(),
    }
}

/// The fields at fault that a status names, anybody's.
pub fn violations(status: &Status) -> Vec<Violation> {
    let listed = status
        .get_details_bad_request()
        .map(|bad| bad.field_violations);
    listed
        .into_iter()
        .flatten()
        .map(|violation| Violation {
            field: violation.field,
            description: violation.description,
        })
        .collect()
}

/// How many violations from the start go into `room` bytes.
fn fitting(violations: &[Violation], room: usize) -> usize {
    let mut used = 0;
    violations
        .iter()
        .take_while(|Violation { field, description }| {
            used += field.len() + description.len() + VIOLATION_FRAME_BYTES;
            used <= room
        })
        .count()
}

/// The text up to `limit` bytes, ending at a character.
fn cut(mut text: String, limit: usize) -> String {
    let end = (0..=limit.min(text.len()))
        .rev()
        .find(|&end| text.is_char_boundary(end));
    text.truncate(end.unwrap_or(0));
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tonic::Code;
    use tonic_types::ErrorDetail;

    use super::*;

    #[test]
    fn every_reason_survives_the_way_through_a_status() {
        for reason in Reason::ALL {
            let status = status(reason, "text");
            assert_eq!(reason_of(&status), Some(reason));
            assert_eq!((status.code(), status.message()), (reason.code(), "text"));
            assert_eq!(retry_delay(&status), reason.retry_delay(), "{reason}");
            let infos = status.get_error_details_vec();
            let infos = infos
                .iter()
                .filter(|detail| matches!(detail, ErrorDetail::ErrorInfo(_)));
            assert_eq!(infos.count(), 1, "{reason}");
        }
    }

    #[test]
    fn a_status_of_somebody_else_has_no_reason() {
        assert_eq!(reason_of(&Status::internal("boom")), None);
        let details = ErrorDetails::with_error_info("ENGINE_FAILURE", "example.com", []);
        assert_eq!(
            reason_of(&Status::with_error_details(Code::Internal, "x", details)),
            None
        );
        let details = ErrorDetails::with_error_info("OF_MINOR_9", DOMAIN, []);
        assert_eq!(
            reason_of(&Status::with_error_details(Code::Internal, "x", details)),
            None
        );
    }

    #[test]
    fn variables_and_violations_come_back() {
        let status = Refusal::new(Reason::UnknownField, "2 fields are unknown")
            .with("count", &2)
            .violation("call.#99", "unknown")
            .violation("prompt", "unknown")
            .into_status();
        assert_eq!(
            metadata(&status),
            BTreeMap::from([("count".to_owned(), "2".to_owned())])
        );
        let fields: Vec<_> = violations(&status).into_iter().map(|v| v.field).collect();
        assert_eq!(fields, ["call.#99", "prompt"]);
    }

    #[test]
    fn another_delay_is_kept_only_where_the_reason_has_one() {
        let delay = Duration::from_secs(7);
        let wait = |reason| retry_delay(&Refusal::new(reason, "").retry_after(delay).into_status());
        assert_eq!(wait(Reason::Overloaded), Some(delay));
        assert_eq!(wait(Reason::EngineFailure), None);
    }

    #[test]
    fn violations_beyond_the_limit_are_counted() {
        let mut refusal = Refusal::new(Reason::UnknownField, "many");
        for field in 0..500 {
            refusal = refusal.violation(format!("call.session.#{field}"), "unknown field");
        }
        let status = refusal.into_status();
        let omitted: usize = metadata(&status)["violations_omitted"].parse().unwrap();
        assert_eq!(violations(&status).len() + omitted, 500);
        assert!(violations(&status).len() > 50);
    }

    #[test]
    fn violations_that_fill_the_room_to_the_last_byte_leave_some_for_what_wraps_them() {
        for length in 1..VIOLATION_BYTES {
            let mut refusal = Refusal::new(Reason::Overloaded, "x".repeat(TEXT_BYTES));
            for entry in 0..ENTRIES {
                let key = format!("{entry:0>KEY_BYTES$}");
                refusal = refusal.with(&key, &"v".repeat(VALUE_BYTES));
            }
            for _ in 0..100 {
                refusal = refusal.violation("f".repeat(length), "d".repeat(VIOLATION_BYTES));
            }
            let details = refusal.into_status().details().len();
            assert!(details <= DETAILS_BYTES, "{details} with {length}");
        }
    }

    #[test]
    fn e_err_04_the_note_of_what_was_cut_fits_as_well() {
        for length in 0..VIOLATION_BYTES {
            let mut refusal = Refusal::new(Reason::UnknownField, "x".repeat(TEXT_BYTES));
            for field in 0..200 {
                refusal = refusal.violation(format!("f{field}"), "y".repeat(length));
            }
            let status = refusal.into_status();
            assert!(status.details().len() <= DETAILS_BYTES, "{length}");
            let omitted = metadata(&status).get("violations_omitted").cloned();
            let omitted: usize = omitted.map_or(0, |text| text.parse().unwrap());
            assert_eq!(violations(&status).len() + omitted, 200);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn details_and_text_stay_within_their_limits(
            text in "\\PC{0,900}",
            entries in prop::collection::vec(("\\PC{0,80}", "\\PC{0,400}"), 0..20),
            fields in prop::collection::vec(("\\PC{0,400}", "\\PC{0,400}"), 0..40),
        ) {
            let mut refusal = Refusal::new(Reason::Overloaded, text.clone());
            for (key, value) in entries {
                refusal = refusal.with(&key, &value);
            }
            for (field, description) in fields {
                refusal = refusal.violation(field, description);
            }
            let status = refusal.into_status();
            prop_assert!(status.details().len() <= DETAILS_BYTES, "{}", status.details().len());
            prop_assert!(status.message().len() <= TEXT_BYTES);
            prop_assert!(text.starts_with(status.message()));
            prop_assert_eq!(reason_of(&status), Some(Reason::Overloaded));
        }
    }
}
