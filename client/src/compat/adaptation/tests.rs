use contextwire_proto::v1;

use super::*;
use crate::script::description;

fn field(path: &str, since: u32) -> RequestField {
    RequestField {
        path: path.to_owned(),
        since,
        critical: true,
    }
}

fn engine(minor: u32, honours: bool) -> Understanding {
    Understanding {
        minor,
        honours,
        refused: BTreeSet::new(),
    }
}

fn code(outcome: Result<Vec<&str>, CallError>) -> &'static str {
    outcome.unwrap_err().code()
}

#[test]
fn an_engine_of_this_contract_gets_every_request_as_it_is() {
    for hook in Hook::ALL {
        let adaptation = Adaptation::of(hook, &description(), &Learned::default());
        assert!(adaptation.0.is_none(), "{hook}");
    }
}

#[test]
fn r5_4_set_critical_fields_are_named() {
    let fields = [field("a", 2), field("b", 3)];
    let set: Vec<_> = fields.iter().collect();
    assert_eq!(must_understand(&set, &engine(3, true)).unwrap(), ["a", "b"]);
    assert_eq!(must_understand(&[], &engine(0, false)).unwrap(), [""; 0]);
}

#[test]
fn r5_4_what_an_older_engine_would_lose_is_not_sent() {
    let fields = [field("a", 2), field("b", 3)];
    let set: Vec<_> = fields.iter().collect();
    let error = must_understand(&set, &engine(2, true)).unwrap_err();
    assert_eq!(error.code(), "NOT_UNDERSTOOD");
    assert!(error.to_string().contains("ignore b,"), "{error}");
}

#[test]
fn r5_4_an_engine_that_does_not_honour_names_is_sent_no_critical_field() {
    let set = field("a", 1);
    assert_eq!(
        code(must_understand(&[&set], &engine(3, false))),
        "NOT_UNDERSTOOD"
    );
}

#[test]
fn r5_4_what_a_build_refused_once_is_not_sent_again() {
    let set = field("a", 1);
    let refused = Understanding {
        refused: BTreeSet::from(["a".to_owned()]),
        ..engine(3, true)
    };
    assert_eq!(code(must_understand(&[&set], &refused)), "NOT_UNDERSTOOD");
}

#[test]
fn r5_4_the_names_travel_in_the_call() {
    let plan = Plan {
        hook: Hook::Ingest,
        paths: BTreeSet::new(),
        left_out: Omission::default(),
        critical: vec![field("is_heartbeat", 1), field("message", 1)],
        engine: engine(3, true),
        takes_no_cancel: false,
    };
    let request = v1::IngestRequest {
        call: Some(v1::CallContext {
            attempt: 2,
            ..v1::CallContext::default()
        }),
        is_heartbeat: true,
        message: None,
    };
    let sent = Adaptation(Some(Arc::new(plan))).apply(request.clone());
    let mut expected = request;
    let call = expected.call.as_mut().unwrap();
    call.must_understand = vec!["is_heartbeat".to_owned()];
    assert_eq!(sent.unwrap(), expected);
}

#[test]
fn r4_2_without_a_version_in_common_settings_are_left_out() {
    let engine = EngineDescription {
        runtime_settings_versions: vec![7],
        ..description()
    };
    let of = |engine| Adaptation::of(Hook::Assemble, engine, &Learned::default());
    assert!(of(&engine).leaves_out("runtime_settings"));
    assert!(!of(&description()).leaves_out("runtime_settings"));
}
