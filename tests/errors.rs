//! Failures as a host reads them: one reason each, in the contract's words, with what a program
//! needs beside what a person reads (PROTOCOL 6).

mod alone;
mod failing;
mod provoked;

use std::collections::BTreeSet;

use contextwire_engine::Hook;
use contextwire_proto::status::{metadata, retry_delay, violations};
use contextwire_proto::{Reason, reason_of};
use failing::CANARY;
use provoked::{Provoked, provoked};
use tonic::Code;
use tonic_types::{ErrorDetail, StatusExt};

/// The table of PROTOCOL 6, written down once more: what it says must not change by an edit of ours.
const TABLE: [(&str, Code, bool); 25] = [
    ("UNKNOWN_FIELD", Code::InvalidArgument, false),
    ("INVALID_REQUEST", Code::InvalidArgument, false),
    ("VERSION_UNSUPPORTED", Code::FailedPrecondition, false),
    ("CAPABILITY_REQUIRED", Code::FailedPrecondition, false),
    ("NOT_UNDERSTOOD", Code::FailedPrecondition, false),
    ("HOST_CALL_UNAVAILABLE", Code::FailedPrecondition, false),
    ("TRANSCRIPT_UNAVAILABLE", Code::FailedPrecondition, false),
    ("PREPARATION_EXPIRED", Code::FailedPrecondition, false),
    ("IN_PROGRESS", Code::Aborted, true),
    ("GENERATION_CONFLICT", Code::Aborted, false),
    ("HOOK_CLOSED", Code::Aborted, false),
    ("IDEMPOTENCY_CONFLICT", Code::AlreadyExists, false),
    ("METHOD_ABSENT", Code::Unimplemented, false),
    ("DRAINING", Code::Unavailable, true),
    ("OVERLOADED", Code::Unavailable, true),
    ("DEPENDENCY_UNAVAILABLE", Code::Unavailable, true),
    ("MESSAGE_TOO_LARGE", Code::ResourceExhausted, false),
    ("QUOTA", Code::ResourceExhausted, false),
    ("UNAUTHENTICATED", Code::Unauthenticated, false),
    ("PERMISSION_DENIED", Code::PermissionDenied, false),
    ("TRANSCRIPT_DIGEST_MISMATCH", Code::DataLoss, false),
    ("CONTRACT_VIOLATION", Code::Internal, false),
    ("ENGINE_FAILURE", Code::Internal, false),
    ("CANCELLED", Code::Cancelled, false),
    ("DEADLINE_EXCEEDED", Code::DeadlineExceeded, false),
];

/// Reasons that a server has no cause for yet.
const WITHOUT_A_CAUSE: [Reason; 6] = [
    Reason::CapabilityRequired,
    Reason::HostCallUnavailable,
    Reason::Overloaded,
    Reason::Quota,
    Reason::Unauthenticated,
    Reason::PermissionDenied,
];

const DETAILS_BYTES: usize = 4 << 10;
const TEXT_BYTES: usize = 512;

/// Checks every failure; names all that do not pass.
async fn each(what: &str, passes: impl Fn(&Provoked) -> bool) {
    let all = provoked().await;
    let wrong: Vec<_> = all
        .iter()
        .filter(|one| !passes(one))
        .map(|one| format!("{}: {:?} {:?}", one.what, one.status, metadata(&one.status)))
        .collect();
    assert!(wrong.is_empty(), "{what}:\n{}", wrong.join("\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_01_each_failure_carries_exactly_one_error_info_with_our_domain_and_its_reason() {
    each("one ErrorInfo", |one| {
        let mut infos = Vec::new();
        for detail in one.status.get_error_details_vec() {
            if let ErrorDetail::ErrorInfo(info) = detail {
                infos.push(info);
            }
        }
        let [info] = &infos[..] else { return false };
        info.domain == "contextengine.v1" && info.reason == one.reason.name()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_02_and_06_code_and_reason_and_delay_are_those_of_the_table() {
    each("code and delay", |one| {
        let row = TABLE.iter().find(|(name, ..)| *name == one.reason.name());
        let (_, code, delayed) = row.unwrap();
        (one.status.code(), retry_delay(&one.status).is_some()) == (*code, *delayed)
    })
    .await;
    let provoked: BTreeSet<_> = provoked()
        .await
        .iter()
        .map(|one| one.reason.name())
        .collect();
    let without: BTreeSet<_> = WITHOUT_A_CAUSE.map(Reason::name).into();
    let all: BTreeSet<_> = TABLE.map(|(name, ..)| name).into();
    assert_eq!(
        &provoked | &without,
        all,
        "a reason that nothing here provokes"
    );
    assert_eq!(
        &provoked & &without,
        BTreeSet::new(),
        "a reason that has a cause now"
    );
}

/// Words of a text that another call would say differently: numbers, paths, names of hooks.
fn variables(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_alphanumeric() || "._#[]-".contains(c);
    let words = text
        .split(|c| !part(c))
        .map(|word| word.trim_end_matches('.'));
    let varies = |word: &&str| {
        let path = word.chars().any(|c| "._#[".contains(c));
        let number = word.chars().any(|c| c.is_ascii_digit());
        !word.is_empty() && (path || number || Hook::from_name(word).is_some())
    };
    words.filter(varies).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_03_what_varies_in_a_text_is_in_the_metadata_as_well() {
    assert_eq!(
        variables("Assemble has 3 of call.session[2], not utf-8."),
        ["Assemble", "3", "call.session[2]", "utf-8"]
    );
    each("variables", |one| {
        let carried = metadata(&one.status);
        let known =
            |word: &&str| *word == "utf-8" || carried.values().any(|value| value.contains(*word));
        one.authored || variables(one.status.message()).iter().all(known)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_04_details_stay_within_4_kib() {
    each("details", |one| one.status.details().len() <= DETAILS_BYTES).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_05_no_content_and_no_cause_is_in_a_status() {
    each("canary", |one| {
        let details = String::from_utf8_lossy(one.status.details()).into_owned();
        !one.status.message().contains(CANARY) && !details.contains(CANARY)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn e_err_12_a_text_is_one_line_of_at_most_512_bytes() {
    each("text", |one| {
        let text = one.status.message();
        let sentences = text.split(". ").count();
        (1..=TEXT_BYTES).contains(&text.len()) && !text.contains('\n') && sentences == 1
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_at_fault_names_its_fields() {
    let invalid = [Reason::UnknownField, Reason::NotUnderstood];
    each("fields", |one| {
        !invalid.contains(&one.reason) || !violations(&one.status).is_empty()
    })
    .await;
    assert_eq!(
        reason_of(&tonic::Status::internal("of somebody else")),
        None
    );
}
