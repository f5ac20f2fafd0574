//! Audits of the built-in session against ledgers that were told parts of it.

use contextwire_engine::{ContextEngine, HookContext, Ingest};
use contextwire_ledger::{LedgerEngine, LedgerOptions};
use contextwire_lossless::{LosslessEngine, LosslessOptions};
use tempfile::TempDir;

use super::*;

/// A folder with the built-in session in a file, and a ledger that was told these of its
/// messages, by number.
async fn told(pick: impl Fn(usize) -> Vec<usize>) -> (TempDir, AuditArgs) {
    told_of(session::SAMPLE.as_bytes(), pick).await
}

async fn told_of(text: &[u8], pick: impl Fn(usize) -> Vec<usize>) -> (TempDir, AuditArgs) {
    let folder = tempfile::tempdir().unwrap();
    let session = folder.path().join("session.jsonl");
    std::fs::write(&session, text).unwrap();
    let store = folder.path().join("ledger.sqlite3");
    let recording = session::read(&session, Strictness::Strict).unwrap();
    let id = SessionId::new(recording.header().id.clone().unwrap()).unwrap();
    let messages = messages(&recording);
    let engine = LedgerEngine::open(&store, LedgerOptions::default()).unwrap();
    for at in pick(messages.len()) {
        let message = messages[at].message().clone();
        let cx = HookContext::new(SessionOfCall::new(id.clone()), Duration::from_mins(1));
        engine
            .ingest(
                &cx,
                Ingest {
                    message,
                    is_heartbeat: false,
                },
            )
            .await
            .unwrap();
    }
    let args = AuditArgs {
        config: ConfigArgs::default(),
        strict: false,
        transcript: None,
        session,
        store: Some(store),
        target: None,
        session_id: None,
        deadline: Duration::from_secs(5),
        json: false,
    };
    (folder, args)
}

#[tokio::test]
async fn the_lossless_engines_file_is_audited_like_the_ledgers() {
    let (_folder, mut args) = told(|_| Vec::new()).await;
    let recording = session::read(&args.session, Strictness::Strict).unwrap();
    let id = SessionId::new(recording.header().id.clone().unwrap()).unwrap();
    let store = args.session.with_file_name("lossless.sqlite3");
    let engine = LosslessEngine::open(&store, LosslessOptions::default()).unwrap();
    let messages = messages(&recording);
    let transcript = messages.iter().map(|message| message.message().clone());
    let request = contextwire_engine::Bootstrap {
        transcript: transcript.collect(),
        ..contextwire_engine::Bootstrap::default()
    };
    let cx = HookContext::new(SessionOfCall::new(id), Duration::from_mins(1));
    engine.bootstrap(&cx, request).await.unwrap();
    args.store = Some(store);
    let report = audit(&args).await.unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!((report.stored, report.provisional), (report.messages, 0));
}

#[tokio::test]
async fn sessions_of_every_host_are_audited() {
    for name in ["codex-rollout.jsonl", "codex-old.jsonl", "pi-v1.jsonl"] {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions");
        let text = std::fs::read(path.join(name)).unwrap();
        let (_folder, args) = told_of(&text, |len| (0..len).collect()).await;
        let report = audit(&args).await.unwrap();
        assert!(report.ok, "{name}: {report:?}");
        let (_folder, args) = told_of(&text, |len| (1..len).collect()).await;
        let report = audit(&args).await.unwrap();
        assert_eq!(report.findings.len(), 1, "{name}");
        assert_eq!(report.findings[0].kind, "missing", "{name}");
    }
}

#[tokio::test]
async fn a_session_that_was_told_whole_is_clean_beside_the_running_engine() {
    let (_folder, args) = told(|len| (0..len).collect()).await;
    let report = audit(&args).await.unwrap();
    assert!(report.ok && report.findings.is_empty());
    assert_eq!(
        (report.stored, report.provisional),
        (report.messages, report.messages)
    );
    assert!(report.messages > 10);
    assert_eq!(run(&args).await.unwrap(), ExitCode::SUCCESS);
}

#[tokio::test]
async fn what_is_not_there_or_elsewhere_is_named_with_its_line() {
    let (_folder, args) = told(|len| (1..len).rev().take(3).chain(1..len - 3).collect()).await;
    let report = audit(&args).await.unwrap();
    let kinds: Vec<_> = report
        .findings
        .iter()
        .map(|finding| finding.kind.as_str())
        .collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == "missing").count(), 1);
    assert_eq!(
        kinds.iter().filter(|kind| **kind == "out of order").count(),
        3
    );
    assert!(report.findings.iter().all(|finding| finding.line.is_some()));
    assert_eq!(run(&args).await.unwrap(), ExitCode::FAILURE);
}

#[tokio::test]
async fn an_audit_that_cannot_be_made_is_neither_verdict() {
    let (folder, args) = told(|_| vec![0]).await;
    let other = AuditArgs {
        session_id: Some("other".into()),
        ..args
    };
    let error = audit(&other).await.unwrap_err().to_string();
    assert!(
        error.contains("holds no session `other`; it holds "),
        "{error}"
    );
    assert_eq!(run(&other).await.unwrap(), ExitCode::from(NO_AUDIT));
    let missing = AuditArgs {
        store: Some(folder.path().join("none")),
        ..other
    };
    assert_eq!(run(&missing).await.unwrap(), ExitCode::from(NO_AUDIT));
    assert!(
        !folder.path().join("none").exists(),
        "an audit creates nothing"
    );
}

/// Whether an engine shows its entries to operators.
#[derive(Clone, Copy)]
enum Shows {
    Entries,
    Nothing,
}

/// The audit of the same session by asking an engine that serves the store.
async fn asked(folder: &TempDir, args: &AuditArgs, shows: Shows) -> anyhow::Result<AuditReport> {
    let store = args.store.clone().unwrap();
    let engine = LedgerEngine::open(&store, LedgerOptions::default()).unwrap();
    let socket = folder.path().join("run/engine.sock");
    let admin = engine.admin();
    let server = contextwire_server::Server::new(contextwire_engine::AnyEngine::new(engine));
    let server = match shows {
        Shows::Entries => server.admin(admin),
        Shows::Nothing => server,
    };
    let bound = server
        .listen(contextwire_server::Listen::Unix(socket.clone()))
        .bind()
        .await
        .unwrap();
    let serving = tokio::spawn(bound.run(std::future::pending()));
    let args = AuditArgs {
        config: ConfigArgs::default(),
        session: args.session.clone(),
        transcript: None,
        store: None,
        target: Some(format!("unix:{}", socket.display()).parse().unwrap()),
        session_id: None,
        ..*args
    };
    let report = audit(&args).await;
    serving.abort();
    report
}

#[cfg(unix)]
#[tokio::test]
async fn a_running_engine_tells_what_its_file_tells() {
    let orders: [fn(usize) -> Vec<usize>; 4] = [
        |len| (0..len).collect(),
        |len| (0..len - 2).collect(),
        |len| (1..len).collect(),
        |len| (0..len).rev().collect(),
    ];
    for order in orders {
        let (folder, args) = told(order).await;
        let running = asked(&folder, &args, Shows::Entries).await.unwrap();
        assert_eq!(running, audit(&args).await.unwrap());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_running_engine_that_does_not_store_the_session_gives_no_verdict() {
    let (folder, args) = told(|_| vec![0]).await;
    let other = folder.path().join("other.sqlite3");
    let args = AuditArgs {
        store: Some(other),
        ..args
    };
    let error = asked(&folder, &args, Shows::Entries).await.unwrap_err();
    assert!(error.to_string().contains("stores no session"), "{error}");
}

#[cfg(unix)]
#[tokio::test]
async fn an_engine_that_shows_no_entries_tells_how_its_log_compares() {
    let shows = Shows::Nothing;
    let (folder, args) = told(|len| (0..len).collect()).await;
    assert!(asked(&folder, &args, shows).await.unwrap().ok);
    let (folder, args) = told(|len| (0..len - 2).collect()).await;
    let behind = asked(&folder, &args, shows).await.unwrap();
    let kinds: Vec<_> = behind.findings.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(kinds, ["missing"; 2]);
    let (folder, args) = told(|len| (1..len).collect()).await;
    let differs = asked(&folder, &args, shows).await.unwrap();
    assert_eq!(differs.findings[0].kind, "differs");
}

#[cfg(unix)]
#[tokio::test]
async fn an_engine_that_does_not_answer_is_no_verdict() {
    let (folder, args) = told(|_| vec![0]).await;
    let target = format!("unix:{}", folder.path().join("nobody.sock").display());
    let args = AuditArgs {
        config: ConfigArgs::default(),
        store: None,
        target: Some(target.parse().unwrap()),
        ..args
    };
    assert!(audit(&args).await.is_err());
    assert_eq!(run(&args).await.unwrap(), ExitCode::from(NO_AUDIT));
}

#[tokio::test]
async fn what_could_not_be_read_of_the_session_is_said() {
    let (folder, args) = told(|len| (0..len).collect()).await;
    let mut text = std::fs::read(&args.session).unwrap();
    text.extend_from_slice(b"{\"type\": \"message\", \"id\": \n");
    let damaged = folder.path().join("damaged.jsonl");
    std::fs::write(&damaged, text).unwrap();
    let args = AuditArgs {
        session: damaged,
        ..args
    };
    assert_eq!(audit(&args).await.unwrap().lines_skipped, 1);
    let strict = AuditArgs {
        strict: true,
        ..args
    };
    assert_eq!(run(&strict).await.unwrap(), ExitCode::from(NO_AUDIT));
}

#[tokio::test]
async fn a_body_that_was_changed_in_the_store_is_found() {
    let (_folder, args) = told(|len| (0..len).collect()).await;
    let store = rusqlite::Connection::open(args.store.as_ref().unwrap()).unwrap();
    let changed = store.execute("UPDATE entry SET payload = x'7b7d' WHERE place = 1", ());
    assert_eq!(changed.unwrap(), 1);
    let report = audit(&args).await.unwrap();
    let found: Vec<_> = report.findings.iter().map(|it| it.kind.as_str()).collect();
    assert_eq!(found, ["changed", "total"]);
}

#[tokio::test]
async fn a_total_that_its_entries_do_not_make_is_found() {
    for forged in [
        "total_chain = zeroblob(32)",
        "placed = 1, placed_chain = zeroblob(32)",
    ] {
        let (_folder, args) = told(|len| (0..len).collect()).await;
        assert!(audit(&args).await.unwrap().ok);
        let file = rusqlite::Connection::open(args.store.as_ref().unwrap()).unwrap();
        file.execute_batch(&format!("UPDATE session SET {forged}"))
            .unwrap();
        drop(file);
        let report = audit(&args).await.unwrap();
        let kinds: Vec<_> = report
            .findings
            .iter()
            .map(|found| &found.kind[..])
            .collect();
        assert_eq!(kinds, ["total"], "{forged}");
        assert!(!report.ok);
    }
}
