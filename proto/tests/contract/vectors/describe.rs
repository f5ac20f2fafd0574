//! Describe, both ways.

use contextwire_proto::v1;

use super::Vector;

const REQUEST: &str = "contextengine.v1.DescribeRequest";
const RESPONSE: &str = "contextengine.v1.DescribeResponse";

pub(super) fn vectors() -> Vec<Vector> {
    let request = |name, why, value: &v1::DescribeRequest| Vector::new(REQUEST, name, why, value);
    let response =
        |name, why, value: &v1::DescribeResponse| Vector::new(RESPONSE, name, why, value);
    let minimal = v1::DescribeRequest {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 0 }),
        ..Default::default()
    };
    let mut unknown = answer();
    unknown.state = 77;
    if let Some(info) = &mut unknown.engine {
        (info.transcript_sync, info.turn_maintenance_mode) = (77, 77);
        info.methods.push("Dream".to_owned());
    }
    let mut none = answer();
    if let Some(info) = &mut none.engine {
        info.accepted_host_params = Some(v1::HostParams::default());
    }
    let bare = v1::DescribeResponse {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 0 }),
        engine: Some(v1::EngineInfo {
            id: "last-ten".to_owned(),
            name: "Last ten".to_owned(),
            methods: ["Describe", "Ingest", "Assemble", "Compact"]
                .map(str::to_owned)
                .to_vec(),
            ..Default::default()
        }),
        ..Default::default()
    };
    vec![
        request("describe_request", "a host of minor 3", &question()),
        request(
            "describe_request_minor_0",
            "what a refused Describe is repeated with",
            &minimal,
        ),
        request("describe_request_unknown_tag", "a newer host", &question()).with_unknown_tag(),
        response(
            "describe_response",
            "an engine that declares everything",
            &answer(),
        ),
        response(
            "describe_response_bare",
            "an engine that declares what it must; all else is absent",
            &bare,
        ),
        response(
            "describe_response_accepts_none",
            "an empty set is not an absent one",
            &none,
        ),
        response(
            "describe_response_unknown_numbers",
            "unknown enum numbers and an unknown method",
            &unknown,
        ),
        response("describe_response_unknown_tag", "a newer engine", &answer()).with_unknown_tag(),
    ]
}

fn question() -> v1::DescribeRequest {
    v1::DescribeRequest {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 3 }),
        host: Some(v1::HostIdentity {
            id: "openclaw-embedded".to_owned(),
            label: "OpenClaw embedded runner".to_owned(),
            version: "2026.11.2".to_owned(),
        }),
        host_instance: "0f8e1c52".to_owned(),
        host_capabilities: ["bootstrap", "assemble-before-prompt", "compact"]
            .map(str::to_owned)
            .to_vec(),
        runtime_settings_versions: vec![1],
        limits: Some(v1::Limits {
            max_message_bytes: Some(16 << 20),
            ..Default::default()
        }),
    }
}

fn answer() -> v1::DescribeResponse {
    let requirement = v1::HostRequirement {
        operation: "agent-run".to_owned(),
        capabilities: vec!["assemble-before-prompt".to_owned()],
        unsupported_message: Some("use the embedded runner".to_owned()),
    };
    v1::DescribeResponse {
        protocol: Some(v1::ProtocolVersion { major: 1, minor: 3 }),
        engine: Some(v1::EngineInfo {
            id: "lossless".to_owned(),
            name: "Lossless".to_owned(),
            version: "0.1.0".to_owned(),
            build: "3f2a".to_owned(),
            instance_id: "b1946ac9".to_owned(),
            methods: ["Describe", "Ingest", "Assemble", "Compact", "Maintain"]
                .map(str::to_owned)
                .to_vec(),
            owns_compaction: true,
            turn_maintenance_mode: v1::TurnMaintenanceMode::Background.into(),
            host_requirements: vec![requirement],
            accepted_host_params: Some(v1::HostParams {
                names: vec!["prompt".to_owned()],
            }),
            transcript_semantics: Some(v1::TranscriptSemantics {
                current_turn_fence: Some("before-current-turn-entry-v1".to_owned()),
                turn_advancement_idempotency: None,
            }),
            transcript_sync: v1::TranscriptSync::Delta.into(),
            max_silence_ms: Some(0),
            projection_version: Some(String::new()),
        }),
        honours_must_understand: true,
        runtime_settings_versions: vec![1],
        limits: Some(v1::Limits {
            max_message_bytes: Some(16 << 20),
            max_mirror_states: Some(4),
            max_streams: Some(200),
            ..Default::default()
        }),
        state: v1::EngineState::Ready.into(),
        ttl_ms: 60_000,
    }
}
