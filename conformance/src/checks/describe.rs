//! Discovery: what an engine says of itself before anything else.

use contextwire_proto::{Reason, v1};

use crate::check::{Check, Checked, check, ensure};
use crate::probe::Probe;
use crate::refusal::{accepted, refused_as};
use crate::request;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-NEG-01",
        ["R1.1", "R1.2"],
        Must,
        Core,
        [],
        first,
        "Describe answers without a session and names the engine and the required methods",
        "a host asks before it has a session; without id, name and the four methods it quarantines the engine"
    ),
    check!(
        "E-NEG-02",
        ["R1.1"],
        Must,
        Core,
        [],
        twice,
        "two Describes in a row are equal apart from state and ttl",
        "hosts cache the description per build; one that wanders makes each host relearn the engine"
    ),
    check!(
        "E-NEG-05",
        ["R1.1"],
        Must,
        Core,
        [],
        absent,
        "a method that is not declared answers UNIMPLEMENTED / METHOD_ABSENT, unary or stream",
        "a host does what it would do without the hook; another status opens its breaker"
    ),
    check!(
        "E-NEG-06",
        ["R5.5"],
        Must,
        Core,
        [],
        major,
        "a Describe of another protocol major is VERSION_UNSUPPORTED",
        "the host has to fail before the run, not in the middle of a turn"
    ),
    check!(
        "E-NEG-07",
        ["R5.5"],
        Must,
        Core,
        [],
        minor,
        "a Describe of a newer minor is served, with the engine's own version",
        "a host that is newer than the engine must go on working with it"
    ),
    check!(
        "E-NEG-09",
        ["R5.1"],
        Must,
        Core,
        [],
        capabilities,
        "unknown capabilities of the host are ignored",
        "hosts gain capabilities without asking engines"
    ),
    check!(
        "E-NEG-17",
        ["R5.1"],
        Must,
        Core,
        [],
        names,
        "name and version of the host do not alter the answer",
        "an engine that knows hosts by name breaks for the next one"
    ),
    check!(
        "E-NEG-18",
        ["R5.5"],
        Must,
        Core,
        [],
        bare,
        "a Describe with the fields of minor 0 alone is served",
        "it is what a host sends after a strict engine refused the rest"
    ),
    check!(
        "E-ROB-05",
        ["R1.1"],
        Must,
        Core,
        [],
        unknown_method,
        "an unknown method and an unknown service are UNIMPLEMENTED",
        "a newer host tells an older engine by exactly that"
    ),
];

async fn describe(
    probe: &Probe,
    change: impl FnOnce(&mut v1::DescribeRequest),
) -> Result<v1::DescribeResponse, crate::check::Verdict> {
    let mut describe = request::describe();
    change(&mut describe);
    accepted(probe.ask("Describe", &describe).await?, "Describe")
}

/// Without what may differ between two answers.
fn lasting(described: v1::DescribeResponse) -> v1::DescribeResponse {
    v1::DescribeResponse {
        state: 0,
        ttl_ms: 0,
        ..described
    }
}

async fn first(probe: Probe) -> Checked {
    let described = describe(&probe, |_| {}).await?;
    let info = described.engine.unwrap_or_default();
    ensure(!info.id.trim().is_empty(), || {
        "engine.id is missing".to_owned()
    })?;
    ensure(!info.name.trim().is_empty(), || {
        "engine.name is missing".to_owned()
    })?;
    for method in ["Describe", "Ingest", "Assemble", "Compact"] {
        ensure(info.methods.iter().any(|it| it == method), || {
            format!("engine.methods lacks the required {method}")
        })?;
    }
    Ok(())
}

async fn twice(probe: Probe) -> Checked {
    let (one, two) = (
        describe(&probe, |_| {}).await?,
        describe(&probe, |_| {}).await?,
    );
    let (one, two) = (lasting(one), lasting(two));
    ensure(one == two, || format!("{one:?} became {two:?}"))
}

async fn absent(probe: Probe) -> Checked {
    let session = probe.session();
    let unary = [
        "CommitTurn",
        "PrepareSubagentSpawn",
        "ResolveSubagentSpawn",
        "EndSubagent",
    ];
    for method in unary.into_iter().filter(|it| !probe.engine.has(it)) {
        let ingest = request::ingest(session.clone(), crate::list::text("e0", "user", "x"));
        let bytes = crate::list::encoded(&v1::IngestRequest {
            message: None,
            ..ingest
        });
        let refused = refused_as(probe.unary(method, bytes).await?, &[Reason::MethodAbsent]);
        refused.map(drop)?;
    }
    let streams = ["Bootstrap", "AfterTurn", "Maintain"];
    for method in streams.into_iter().filter(|it| !probe.engine.has(it)) {
        let mut stream = probe
            .started(method, &request::compact(session.clone(), false))
            .await?;
        let status = stream.failure().await?;
        refused_as::<()>(Err(status), &[Reason::MethodAbsent]).map(drop)?;
    }
    Ok(())
}

async fn major(probe: Probe) -> Checked {
    let mut describe = request::describe();
    describe.protocol = Some(v1::ProtocolVersion { major: 9, minor: 0 });
    let answer = probe
        .ask::<v1::DescribeResponse>("Describe", &describe)
        .await?;
    refused_as(answer, &[Reason::VersionUnsupported]).map(drop)
}

async fn minor(probe: Probe) -> Checked {
    let own = describe(&probe, |_| {}).await?.protocol;
    let newer = v1::ProtocolVersion {
        major: 1,
        minor: 250,
    };
    let answered = describe(&probe, |it| it.protocol = Some(newer))
        .await?
        .protocol;
    ensure(answered == own, || format!("{own:?} became {answered:?}"))
}

async fn capabilities(probe: Probe) -> Checked {
    let some = vec!["x-conformance".to_owned(), "SUMMON".to_owned()];
    describe(&probe, |it| it.host_capabilities = some)
        .await
        .map(drop)
}

async fn names(probe: Probe) -> Checked {
    let own = lasting(describe(&probe, |_| {}).await?);
    for name in ["openclaw", "codex", "pi", "hermes", "", "Ω", "a b"] {
        let host = v1::HostIdentity {
            id: name.to_owned(),
            label: name.to_uppercase(),
            version: "99.1".to_owned(),
        };
        let answered = lasting(describe(&probe, |it| it.host = Some(host)).await?);
        ensure(answered == own, || {
            format!("for the host `{name}`: {answered:?}")
        })?;
    }
    Ok(())
}

async fn bare(probe: Probe) -> Checked {
    describe(&probe, |it| {
        *it = v1::DescribeRequest {
            protocol: Some(v1::ProtocolVersion { major: 1, minor: 0 }),
            ..v1::DescribeRequest::default()
        };
    })
    .await
    .map(drop)
}

async fn unknown_method(probe: Probe) -> Checked {
    for path in ["Foresee", "/contextengine.v1.OracleService/Foresee"] {
        let answer = probe.unary(path, bytes::Bytes::new()).await?;
        let code = answer.err().map(|status| status.code());
        ensure(code == Some(tonic::Code::Unimplemented), || {
            format!("{path} answers {code:?}")
        })?;
    }
    Ok(())
}
