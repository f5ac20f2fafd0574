//! A running engine says of what it stores what its file says.

#![cfg(unix)]

use contextwire_engine::{
    AnyEngine, Bootstrap, Compact, ContextEngine, HookContext, Message, Session,
};
use contextwire_server::{Listen, Server};
use tempfile::TempDir;
use tokio::task::JoinHandle;

use super::*;
use crate::engine::SummarizerArgs;

/// A store with a compacted session, and an engine that serves it.
struct Served {
    folder: TempDir,
    serving: JoinHandle<Result<(), contextwire_server::ServeError>>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Served {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let built = EngineChoice::Lossless
            .build(
                Some(&folder.path().join("store")),
                &SummarizerArgs::default(),
            )
            .unwrap();
        tell(&built.engine, "one").await;
        tell(&built.engine, "two").await;
        let socket = folder.path().join("run/engine.sock");
        let server = Server::new(built.engine).admin(built.admin.unwrap());
        let bound = server.listen(Listen::Unix(socket)).bind().await.unwrap();
        let serving = tokio::spawn(bound.run(std::future::pending()));
        Self { folder, serving }
    }

    fn file(&self) -> StoreArgs {
        StoreArgs {
            config: ConfigArgs::default(),
            store: Some(self.folder.path().join("store")),
            target: None,
            deadline: Duration::from_mins(1),
        }
    }

    fn running(&self) -> StoreArgs {
        let socket = self.folder.path().join("run/engine.sock");
        StoreArgs {
            store: None,
            target: Some(format!("unix:{}", socket.display()).parse().unwrap()),
            ..self.file()
        }
    }
}

async fn tell(engine: &AnyEngine, id: &str) {
    let session = Session::new(SessionId::new(id).unwrap());
    let cx = HookContext::new(session, Duration::from_mins(1));
    let message = |n: usize| {
        let role = if n.is_multiple_of(2) {
            "user"
        } else {
            "assistant"
        };
        let text = format!("{id} entry {n}{}", " word".repeat(90));
        Message::from_payload(format!(r#"{{"role":"{role}","content":"{text}"}}"#))
            .with_entry_id(format!("e{n}"))
    };
    let request = Bootstrap {
        transcript: (0..80).map(message).collect(),
        ..Bootstrap::default()
    };
    engine.bootstrap(&cx, request).await.unwrap();
    let request = Compact {
        token_budget: contextwire_engine::TokenBudget::new(4_000),
        force: true,
        ..Compact::default()
    };
    let compacted = engine.compact(&cx, request).await.unwrap();
    assert!(compacted.compacted, "{compacted:?}");
}

fn turn(store: StoreArgs, turn: usize) -> TurnArgs {
    TurnArgs {
        turn,
        session: StoredSessionArgs {
            store,
            session: Some("one".to_owned()),
        },
        budget: 3_000,
        model: None,
        included: false,
    }
}

#[tokio::test]
async fn every_look_at_a_running_engine_is_that_at_its_file() {
    let served = Served::new().await;
    let (file, running) = (served.file(), served.running());
    let (of_file, asked) = (file.open().unwrap(), running.open().unwrap());
    let sessions = of_file.sessions().await.unwrap();
    assert_eq!(sessions.len(), 2);
    assert_eq!(asked.sessions().await.unwrap(), sessions);
    let status = of_file.status().await.unwrap();
    assert_eq!((status.sessions, status.entries), (2, 160));
    assert_eq!(asked.status().await.unwrap(), status);
    let plan = |store| StoredSessionArgs {
        store,
        session: Some("two".to_owned()),
    };
    let plan_of_file = plan(served.file()).plan().await.unwrap();
    assert!(
        plan_of_file
            .1
            .items
            .iter()
            .any(|item| item.summary.is_some())
    );
    assert_eq!(plan_of_file.1.faults, [""; 0]);
    assert_eq!(plan(served.running()).plan().await.unwrap(), plan_of_file);
    for (number, payloads) in [(1, false), (20, false), (41, true)] {
        let of_file = turn(served.file(), number)
            .explained(payloads)
            .await
            .unwrap();
        let asked = turn(served.running(), number)
            .explained(payloads)
            .await
            .unwrap();
        assert_eq!(asked, of_file, "turn {number}");
        let has = |item: &contextwire_engine::ExplainedItem| item.payload.is_some();
        assert!(of_file.1.items.iter().all(|item| has(item) == payloads));
    }
    for store in [served.file(), served.running()] {
        let none = turn(store, 42).explained(false).await.unwrap_err();
        assert_eq!(none.to_string(), "session `one` has no turn 42: it has 40");
    }
    for store in [served.file(), served.running()] {
        let several = StoredSessionArgs {
            store,
            session: None,
        };
        let error = several.plan().await.unwrap_err().to_string();
        assert!(
            error.ends_with("name one with --session: one, two"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_running_engine_examines_what_it_stores() {
    let served = Served::new().await;
    let target = served.running().target.unwrap();
    let client = AdminClient::new(&target).unwrap();
    let findings = client.doctor(None, Duration::from_mins(1)).await.unwrap();
    let checks: Vec<&str> = findings.iter().map(|finding| &*finding.check).collect();
    assert_eq!(checks, ["database", "index", "erasures", "plans", "debts"]);
    let status = client.status(Duration::from_mins(1)).await.unwrap();
    assert_eq!(status.engine_id, "lossless");
}

#[tokio::test]
async fn pins_and_erasures_reach_a_running_engine_and_its_file() {
    let served = Served::new().await;
    let pin = |entry: &str| PinEntry {
        session: SessionId::new("one").unwrap(),
        entry_id: contextwire_engine::EntryId::from(entry.to_owned()),
        pinned: true,
    };
    assert_eq!(served.running().pin(pin("e9")).await.unwrap(), ["e9"]);
    assert_eq!(served.file().pin(pin("e3")).await.unwrap(), ["e3", "e9"]);
    let unknown = served.running().pin(pin("nobody")).await.unwrap_err();
    assert_eq!(unknown.to_string(), "session `one` has no entry `nobody`");
    let erase = |id: &str| EraseSession {
        session: SessionId::new(id).unwrap(),
        entry_ids: Vec::new(),
    };
    let erasure = served.running().erase(erase("one")).await.unwrap();
    assert!(erasure.found && erasure.proof.is_clean(), "{erasure:?}");
    let again = served.running().erase(erase("one")).await.unwrap();
    assert!(!again.found && again.proof.is_clean(), "{again:?}");
    let erasure = served.file().erase(erase("two")).await.unwrap();
    assert!(erasure.found && erasure.proof.is_clean(), "{erasure:?}");
    let left = served.running().open().unwrap().sessions().await.unwrap();
    assert_eq!(left, []);
}

#[tokio::test]
async fn an_erasure_needs_a_yes_and_a_store_that_is_there() {
    use crate::command::erase::{EraseArgs, run};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none");
    let mut args = EraseArgs {
        session: "one".to_owned(),
        entries: vec!["e1".to_owned()],
        yes: false,
        store: StoreArgs {
            config: ConfigArgs::default(),
            store: Some(path.clone()),
            target: None,
            deadline: Duration::from_mins(1),
        },
        json: true,
    };
    let error = run(&args).await.unwrap_err().to_string();
    assert_eq!(
        error,
        "what is erased cannot be had back: give --yes to erase 1 entry of session `one`"
    );
    args.yes = true;
    assert!(run(&args).await.is_err());
    assert!(!path.exists(), "an erasure creates nothing");
    args.entries.push(String::new());
    let error = run(&args).await.unwrap_err().to_string();
    assert_eq!(error, "--entry needs the id of an entry");
}
