use std::collections::BTreeMap;

use super::*;

fn paths(fields: &[RequestField]) -> Vec<&str> {
    fields.iter().map(|field| field.path.as_str()).collect()
}

#[test]
fn fields_are_named_from_the_request_and_from_the_start_of_a_stream() {
    let ingest = fields(Hook::Ingest);
    assert_eq!(
        ingest.iter().find(|field| field.path == "message.entry_id"),
        Some(&RequestField {
            path: "message.entry_id".to_owned(),
            since: 0,
            critical: true
        })
    );
    let assemble = fields(Hook::Assemble);
    for path in [
        "call",
        "call.session.target.thread_id",
        "transcript.segments.insert.omitted.sha256",
        "runtime_context.extra",
    ] {
        assert!(paths(&assemble).contains(&path), "{path}");
    }
    let foreign = [
        "start",
        "cancel",
        "runtime_context.extra.key",
        "transcript.segments.kind",
    ];
    assert!(!foreign.iter().any(|path| paths(&assemble).contains(path)));
}

#[test]
fn every_path_of_every_hook_leads_back_to_its_field() {
    for hook in Hook::ALL {
        let all = fields(hook);
        let unique: BTreeMap<_, _> = all.iter().map(|it| (&it.path, it)).collect();
        assert_eq!(unique.len(), all.len(), "{hook}");
        for expected in &all {
            assert_eq!(
                field(hook, &expected.path).as_ref(),
                Some(expected),
                "{hook}"
            );
            assert!(knows(hook, &expected.path), "{hook}");
        }
    }
}

#[test]
fn an_old_engine_lacks_what_came_after_its_minor_and_the_outermost_is_named() {
    assert_eq!(
        paths(&newer_than(Hook::Assemble, 0)),
        [
            "call.scope",
            "call.operation",
            "call.host_epoch",
            "call.session_seq",
            "call.abandoned_hooks",
            "call.log_head",
            "runtime_settings",
            "runtime_context",
            "known_projection",
        ]
    );
    assert_eq!(
        paths(&newer_than(Hook::Ingest, 2)),
        [
            "call.host_epoch",
            "call.session_seq",
            "call.abandoned_hooks",
            "call.log_head"
        ]
    );
    for hook in Hook::ALL {
        assert_eq!(newer_than(hook, 3), [], "{hook}");
    }
}

#[test]
fn the_fields_that_a_method_was_born_with_are_not_newer_than_it() {
    assert_eq!(method_since(Hook::CommitTurn), 3);
    assert_eq!(newer_than(Hook::CommitTurn, 0), []);
    assert_eq!(method_since(Hook::Maintain), 1);
    assert_eq!(newer_than(Hook::Maintain, 0), newer_than(Hook::Maintain, 1));
    assert!(!paths(&newer_than(Hook::Maintain, 0)).contains(&"runtime_settings"));
}

#[test]
fn in_the_first_release_no_critical_field_is_newer_than_its_method() {
    for hook in Hook::ALL {
        assert!(
            !newer_than(hook, 0).iter().any(|field| field.critical),
            "{hook}"
        );
    }
}

#[test]
fn a_violation_of_an_older_engine_is_resolved_by_number() {
    let resolve = |path| field(Hook::Assemble, path).map(|field| field.path);
    let cases = [
        ("call.#11", Some("call.log_head")),
        ("#2", Some("runtime_settings")),
        ("call.session.#3", Some("call.session.session_key")),
        (
            "transcript.segments[3].insert.#9",
            Some("transcript.segments.insert.synthetic"),
        ),
        (
            "transcript.segments[3].#2",
            Some("transcript.segments.insert"),
        ),
        ("call.#99", None),
        ("call.#", None),
        ("call.#-1", None),
        ("call.#99999999999", None),
        ("transcript.segments[x]", None),
        ("transcript.segments]", None),
        ("frame.#9", None),
        ("runtime_context.extra[0].#1", None),
        ("prompt.deeper", None),
        ("", None),
        (".call", None),
        ("call.", None),
    ];
    for (path, expected) in cases {
        assert_eq!(resolve(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn e_fld_02_to_04_a_name_is_known_or_not_by_itself() {
    let cases = [
        (Hook::Maintain, "reason", true),
        (Hook::Maintain, "reason=MAINTAIN_REASON_TURN", true),
        (Hook::Maintain, "reason=MAINTAIN_REASON_MOON", false),
        (Hook::Maintain, "reason=", false),
        (Hook::Maintain, "background=true", false),
        (Hook::Assemble, "transcript.list=TRANSCRIPT_LIST_VIEW", true),
        (Hook::Assemble, "call.session.target", true),
        (Hook::Assemble, "call.session=X", false),
        (Hook::Assemble, "reason", false),
        (Hook::Assemble, "start.call", false),
        (Hook::Assemble, "call.#1", false),
        (Hook::Assemble, "transcript.segments[0].insert", false),
        (Hook::Assemble, "runtime_context.extra", true),
        (Hook::Assemble, "runtime_context.extra.tier", false),
        (Hook::Assemble, "", false),
        (Hook::Assemble, "=", false),
    ];
    for (hook, name, known) in cases {
        assert_eq!(knows(hook, name), known, "{hook}: {name}");
    }
}
