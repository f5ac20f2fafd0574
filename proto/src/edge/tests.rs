use super::*;
use crate::status::{metadata, violations};

fn call(names: &[&str]) -> v1::CallContext {
    v1::CallContext {
        must_understand: names.iter().map(|&name| name.to_owned()).collect(),
        ..v1::CallContext::default()
    }
}

fn compact(start: v1::CompactStart) -> v1::CompactRequest {
    v1::CompactRequest {
        frame: Some(v1::compact_request::Frame::Start(start)),
    }
}

fn settings(schema_version: u32) -> v1::RuntimeSettings {
    v1::RuntimeSettings {
        schema_version,
        ..v1::RuntimeSettings::default()
    }
}

#[test]
fn e_fld_02_an_unknown_name_is_refused_and_exactly_it_is_named() {
    let request = v1::IngestRequest {
        call: Some(call(&[
            "call.session",
            "message.audio",
            "is_heartbeat",
            "#7",
        ])),
        ..v1::IngestRequest::default()
    };
    let refusal = understood(&request).unwrap_err();
    assert_eq!(refusal.reason(), Reason::NotUnderstood);
    let named: Vec<_> = violations(&refusal.into_status())
        .into_iter()
        .map(|it| it.field)
        .collect();
    assert_eq!(named, ["message.audio", "#7"]);
}

#[test]
fn e_fld_03_known_names_pass_and_so_does_a_request_without_any() {
    let known = v1::MaintainStart {
        call: Some(call(&[
            "call.session.target",
            "reason=MAINTAIN_REASON_TURN",
        ])),
        ..v1::MaintainStart::default()
    };
    let known = v1::MaintainRequest {
        frame: Some(v1::maintain_request::Frame::Start(known)),
    };
    assert_eq!(understood(&known), Ok(()));
    assert_eq!(understood(&v1::IngestRequest::default()), Ok(()));
    assert_eq!(understood(&v1::CompactRequest::default()), Ok(()));
    assert_eq!(understood(&v1::DescribeRequest::default()), Ok(()));
}

#[test]
fn names_are_judged_for_their_own_hook() {
    let start = v1::CompactStart {
        call: Some(call(&["force", "reason"])),
        ..v1::CompactStart::default()
    };
    let status = understood(&compact(start)).unwrap_err().into_status();
    assert_eq!(violations(&status)[0].field, "reason");
    assert_eq!(violations(&status).len(), 1);
}

#[test]
fn a_list_that_is_too_long_is_left_to_the_one_who_reads_the_call() {
    let mut names = vec!["call"; MUST_UNDERSTAND_PATHS];
    names.push("unknown");
    let request = v1::IngestRequest {
        call: Some(call(&names)),
        ..v1::IngestRequest::default()
    };
    assert_eq!(understood(&request), Ok(()));
}

#[test]
fn e_fld_19_settings_of_another_version_are_refused_with_those_that_are_read() {
    let start = |version| {
        compact(v1::CompactStart {
            runtime_settings: Some(settings(version)),
            ..v1::CompactStart::default()
        })
    };
    let refusal = understood(&start(2)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::VersionUnsupported);
    let metadata = metadata(&refusal.into_status());
    assert_eq!(
        (&*metadata["supported"], &*metadata["schema_version"]),
        ("1", "2")
    );
    for version in [0, 1] {
        assert_eq!(understood(&start(version)), Ok(()));
    }
}

#[test]
fn there_is_no_choice_outside_of_an_edge() {
    assert_eq!(current(), None);
}
