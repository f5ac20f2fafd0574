//! What the descriptor says about every field and method.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use contextwire_engine::Hook;
use contextwire_proto::FILE_DESCRIPTOR_SET;
use contextwire_proto::limits::PROTOCOL;
use prost_reflect::{
    DescriptorPool, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, ServiceDescriptor,
    Value,
};

pub(crate) fn pool() -> DescriptorPool {
    static POOL: LazyLock<DescriptorPool> =
        LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).unwrap());
    POOL.clone()
}

pub(crate) fn service(pool: &DescriptorPool) -> ServiceDescriptor {
    pool.get_service_by_name("contextengine.v1.ContextEngineService")
        .unwrap()
}

fn method_since(method: &MethodDescriptor) -> Option<u32> {
    let option = method
        .parent_pool()
        .get_extension_by_name("contextengine.v1.method_since")?;
    let options = method.options();
    options
        .has_extension(&option)
        .then(|| options.get_extension(&option).as_u32())?
}

pub(crate) fn since(field: &FieldDescriptor) -> Option<u32> {
    let option = field
        .parent_pool()
        .get_extension_by_name("contextengine.v1.since")?;
    let options = field.options();
    options
        .has_extension(&option)
        .then(|| options.get_extension(&option).as_u32())?
}

pub(crate) fn is_critical(field: &FieldDescriptor) -> bool {
    let option = field
        .parent_pool()
        .get_extension_by_name("contextengine.v1.critical")
        .unwrap();
    field.options().get_extension(&option).as_ref() == &Value::Bool(true)
}

/// The request of a unary method, the start of a streaming one.
pub(crate) fn root(method: &MethodDescriptor) -> MessageDescriptor {
    let input = method.input();
    match input.get_field_by_name("start").map(|field| field.kind()) {
        Some(Kind::Message(start)) => start,
        Some(_) | None => input,
    }
}

/// Every message that a host can send, itself included.
fn sent_by_hosts(pool: &DescriptorPool) -> Vec<MessageDescriptor> {
    let mut open: Vec<_> = service(pool)
        .methods()
        .map(|method| method.input())
        .collect();
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(message) = open.pop() {
        if message.is_map_entry() || !seen.insert(message.full_name().to_owned()) {
            continue;
        }
        open.extend(
            message
                .fields()
                .filter_map(|field| field.kind().as_message().cloned()),
        );
        found.push(message);
    }
    found
}

#[test]
fn every_field_that_a_host_can_send_says_since_when() {
    let pool = pool();
    for message in sent_by_hosts(&pool) {
        for field in message.fields() {
            let since = since(&field);
            assert!(
                since.is_some_and(|minor| minor <= PROTOCOL.minor),
                "{}: {since:?}",
                field.full_name()
            );
        }
    }
}

#[test]
fn every_method_says_since_when_and_its_fields_are_not_older() {
    let pool = pool();
    for method in service(&pool).methods() {
        let minor = method_since(&method).unwrap();
        assert!(minor <= PROTOCOL.minor);
        for field in root(&method).fields() {
            assert!(since(&field) >= Some(minor), "{}", field.full_name());
        }
    }
}

#[test]
fn the_methods_are_the_hooks_in_order_and_the_required_ones_are_of_minor_0() {
    let pool = pool();
    let by_name = |hook: Hook| {
        service(&pool)
            .methods()
            .find(|m| m.name() == hook.name())
            .unwrap()
    };
    assert_eq!(service(&pool).methods().len(), Hook::ALL.len());
    for hook in Hook::ALL {
        let (method, profile) = (by_name(hook), hook.profile());
        assert_eq!(method.is_client_streaming(), profile.streaming, "{hook}");
        assert_eq!(method.is_server_streaming(), profile.streaming, "{hook}");
        assert!(
            !profile.required || method_since(&method) == Some(0),
            "{hook}"
        );
    }
}

#[test]
fn the_minors_of_a_call_are_those_of_the_protocol() {
    let call = pool()
        .get_message_by_name("contextengine.v1.CallContext")
        .unwrap();
    let of_minor = |minor| {
        let fields = call
            .fields()
            .filter(move |field| since(field) == Some(minor));
        fields
            .map(|field| field.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        of_minor(0),
        [
            "hook_id",
            "attempt",
            "budget_ms",
            "session",
            "must_understand"
        ]
    );
    assert_eq!(of_minor(1), ["scope", "operation"]);
    assert_eq!(of_minor(2), [""; 0]);
    assert_eq!(
        of_minor(3),
        ["host_epoch", "session_seq", "abandoned_hooks", "log_head"]
    );
}

#[test]
fn what_a_strict_engine_may_make_a_host_drop_exists_and_is_not_critical() {
    let pool = pool();
    for method in service(&pool).methods() {
        let hook = Hook::from_name(method.name()).unwrap();
        for path in hook.profile().droppable {
            let mut at = root(&method);
            let mut field = None;
            for name in path.split('.') {
                let next = at.get_field_by_name(name);
                assert!(next.is_some(), "{hook}: {path}");
                if let Some(Kind::Message(inner)) = next.as_ref().map(FieldDescriptor::kind) {
                    at = inner;
                }
                field = next;
            }
            assert!(!is_critical(&field.unwrap()), "{hook}: {path}");
        }
    }
}

#[test]
fn every_request_but_describe_starts_with_the_call() {
    let pool = pool();
    for method in service(&pool)
        .methods()
        .filter(|method| method.name() != "Describe")
    {
        let root = root(&method);
        assert_eq!(root.get_field(1).unwrap().name(), "call", "{}", root.name());
        for (number, name) in [(2, "runtime_settings"), (3, "runtime_context")] {
            let field = root.get_field(number);
            assert!(
                field.is_none_or(|field| field.name() == name),
                "{}",
                root.name()
            );
        }
    }
}

#[test]
fn comments_travel_with_the_descriptor() {
    let pool = pool();
    let file = pool
        .get_file_by_name("contextengine/v1/call.proto")
        .unwrap();
    let source = file
        .file_descriptor_proto()
        .source_code_info
        .as_ref()
        .unwrap();
    assert!(
        source
            .location
            .iter()
            .any(|at| at.leading_comments().contains("R7.9"))
    );
}
