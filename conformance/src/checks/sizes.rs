//! Large, deep and odd things.

use contextwire_proto::{Reason, reason_of, v1};
use tonic::{Code, Request, Status};

use crate::check::{Check, Checked, Verdict, broken, check, ensure};
use crate::list::{self, message, text};
use crate::probe::Probe;
use crate::refusal::{accepted, accepted_or_refused};
use crate::request;

/// What every engine takes, in bytes.
const FLOOR: usize = 4 << 20;
/// Limits above this are not tried: the check would be about the memory of the machine.
const TRIED: u64 = 64 << 20;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "E-SIZ-01",
        ["R2.5"],
        Must,
        Core,
        [],
        floor,
        "a message of 4 MiB is taken, alone and in a list",
        "tool output of that size is ordinary"
    ),
    check!(
        "E-SIZ-02",
        ["R2.5", "R3.10"],
        Must,
        Core,
        [],
        above,
        "a message above the advertised limit fails, also as the first of a stream, and the connection survives",
        "the calls of others run on it; an empty OK stream would look like an answer"
    ),
    check!(
        "E-SIZ-11",
        ["R2.1"],
        Must,
        Core,
        [],
        deep,
        "payloads nest without limit: 100 000 levels are taken",
        "they are the host's bytes; a parser that recurses would take the process down"
    ),
    check!(
        "E-SIZ-12",
        ["R1.10"],
        Must,
        Core,
        [],
        metadata,
        "metadata of 8 KiB is accepted",
        "tracing and routing live there"
    ),
    check!(
        "E-SIZ-13",
        ["R2.1", "R2.2"],
        Must,
        Core,
        [],
        odd_payloads,
        "payloads that strict parsers reject are shown unharmed",
        "real transcripts hold them; one would block its session for ever"
    ),
    check!(
        "E-SEC-10",
        ["R1.9"],
        Must,
        Core,
        [],
        odd_ids,
        "ids with paths, control characters and right-to-left marks are opaque or INVALID_REQUEST",
        "an id that becomes a file name is a way out of the store"
    ),
    check!(
        "E-ROB-04",
        ["R1.5"],
        Must,
        Core,
        [],
        resets,
        "a burst of resets on one connection does not end calls on another",
        "one broken host must not take the engine from the others"
    ),
];

fn large(bytes: usize) -> v1::Message {
    message(
        "large",
        "user",
        format!(r#"{{"role":"user","content":"{}"}}"#, "x".repeat(bytes)),
    )
}

async fn floor(probe: Probe) -> Checked {
    let held = [large(FLOOR - 4096)];
    let ingest = request::ingest(probe.session(), large(FLOOR - 4096));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "an Ingest of 4 MiB")?;
    let start = request::assemble(probe.session(), &held);
    let mut stream = probe.started("Assemble", &start).await?;
    let result = stream.result::<v1::AssembleResult>(&held).await?;
    accepted(result, "an Assemble of 4 MiB").map(drop)
}

fn is_too_large(status: &Status) -> Checked {
    let by_reason = reason_of(status) == Some(Reason::MessageTooLarge);
    let by_library = matches!(status.code(), Code::OutOfRange | Code::ResourceExhausted);
    ensure(by_reason || by_library, || {
        format!("{:?} `{}`", status.code(), status.message())
    })
}

async fn above(probe: Probe) -> Checked {
    let limit = probe.engine.max_message_bytes();
    let Some(bytes) = usize::try_from(limit).ok().filter(|_| limit <= TRIED) else {
        let why = format!("the advertised limit of {limit} bytes is too large to try");
        return Err(Verdict::NotApplicable(why));
    };
    let ingest = request::ingest(probe.session(), large(bytes + 1));
    match probe.ask::<v1::IngestResponse>("Ingest", &ingest).await? {
        Ok(_) => return broken(format!("an Ingest of more than {limit} bytes is accepted")),
        Err(status) => is_too_large(&status)?,
    }
    let start = request::assemble(probe.session(), &[large(bytes + 1)]);
    let mut stream = probe.started("Assemble", &start).await?;
    match stream.word().await? {
        Ok(frame) => return broken(format!("{frame:?} of more than {limit} bytes")),
        Err(status) => is_too_large(&status)?,
    }
    let ingest = request::ingest(probe.session(), text("e0", "user", "small"));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted(answer, "a small message on the same connection").map(drop)
}

async fn deep(probe: Probe) -> Checked {
    let levels = 100_000;
    let payload = format!(
        r#"{{"role":"user","content":{}{}}}"#,
        "[".repeat(levels),
        "]".repeat(levels)
    );
    shown(&probe, vec![message("deep", "user", payload)]).await
}

/// Ingest and Assemble both take it.
async fn shown(probe: &Probe, held: Vec<v1::Message>) -> Checked {
    for message in &held {
        let ingest = request::ingest(probe.session(), message.clone());
        let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
        accepted(answer, "Ingest")?;
    }
    let start = request::assemble(probe.session(), &held);
    super::assemble::shown(probe, &start, &held).await.map(drop)
}

async fn odd_payloads(probe: Probe) -> Checked {
    let payloads = [
        r#"{"role":"user","content":"\ud800 alone"}"#,
        r#"{"role":"user","role":"user","content":"twice"}"#,
        r#"{"role":"user","content":"n","size":1e400,"id":12345678901234567890123}"#,
        r#"{"role":"user","content":null,"private":{"a":[1,null]}}"#,
        r#"{ "role" : "user" , "content" : "spaces" }"#,
    ];
    let held = payloads.iter().enumerate();
    let held = held.map(|(n, payload)| message(&format!("e{n}"), "user", *payload));
    shown(&probe, held.collect()).await
}

async fn metadata(probe: Probe) -> Checked {
    let ingest = request::ingest(probe.session(), text("e0", "user", "hello"));
    let mut request = Request::new(list::encoded(&ingest));
    let value = "x".repeat(1_700);
    for name in ["x-one", "x-two", "x-three", "x-four"] {
        let Ok(value) = value.parse() else {
            return Err(Verdict::Inconclusive("the value is no metadata".to_owned()));
        };
        request.metadata_mut().insert(name, value);
    }
    let answer = probe.unary_with("Ingest", request).await?;
    accepted(answer, "metadata of about 7 KB").map(drop)
}

async fn odd_ids(probe: Probe) -> Checked {
    let unique = probe.session().session_id;
    let ids = [
        "../../../etc/passwd",
        "a\nb",
        "a\0b",
        "\u{202e}abc",
        "C:\\x",
        "'; --",
        "%00",
        ".",
    ];
    for id in ids {
        let session = v1::Session {
            session_id: format!("{id}{unique}"),
            ..probe.session()
        };
        let ingest = request::ingest(session.clone(), text(id, "user", "hello"));
        let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
        accepted_or_refused(answer, &format!("the session id {id:?}"))?;
    }
    let long = v1::Session {
        session_id: "x".repeat(100_000),
        ..probe.session()
    };
    let ingest = request::ingest(long, text("e0", "user", "hello"));
    let answer = probe.ask::<v1::IngestResponse>("Ingest", &ingest).await?;
    accepted_or_refused(answer, "a session id of 100 000 bytes")
}

async fn resets(probe: Probe) -> Checked {
    use crate::probe::http2::{Http2, framed};
    let broken_host = Http2::connect(&probe.address).await?;
    let start = super::frames::unfinished(probe.session());
    let bytes = crate::probe::field(1, &prost::Message::encode_to_vec(&start));
    let path = format!("{}Assemble", crate::probe::SERVICE);
    for _ in 0..30 {
        let frame = framed(&bytes, bytes.len());
        if broken_host.abandon(&path, frame).await.is_err() {
            break;
        }
    }
    let held = list::conversation(2);
    let start = request::assemble(probe.session(), &held);
    super::assemble::shown(&probe, &start, &held)
        .await
        .map(drop)
}
