//! Two server processes on one file, two hosts on one session, and packets that come late: what
//! holds is what the file says, whichever process a call reaches (R7.2, R7.9).

mod host;

use contextwire_client::Target;
use contextwire_engine::HookId;
use contextwire_proto::status::metadata;
use contextwire_proto::{Reason, v1};
use host::{Store, after_turn, assemble, commit, ingest, ordered, unordered};
use tokio::task::JoinSet;
use tonic::Code;
use tonic::transport::Channel;

use crate::harness::{Process, Relay, channel, refusal, soon};

const CONFLICT: (Code, Option<Reason>) = (Code::Aborted, Some(Reason::GenerationConflict));
const CLOSED: (Code, Option<Reason>) = (Code::Aborted, Some(Reason::HookClosed));

/// Two servers of one file.
struct Pair {
    store: Store,
    one: Process,
    other: Process,
}

impl Pair {
    async fn new() -> Self {
        let store = Store::new();
        let one = Process::serve(&store.path()).await;
        let other = Process::serve(&store.path()).await;
        Self { store, one, other }
    }

    /// A connection to the first server on which packets can be held up.
    async fn slow(&self) -> (Relay, Channel) {
        let Target::Tcp(address) = self.one.place().target() else {
            panic!("an address")
        };
        let relay = Relay::to(address).await;
        let channel = channel(&Target::Tcp(relay.address));
        (relay, channel)
    }

    fn fast(&self) -> Channel {
        channel(&self.other.place().target())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_9_a_packet_that_was_held_up_loses_and_a_live_host_gets_on() {
    let pair = Pair::new().await;
    let ((relay, mine), theirs) = (pair.slow().await, pair.fast());
    assert!(ingest(&mine, ordered(10, 1), "mine").await.unwrap());
    relay.hold();
    let late = ordered(10, 2);
    let held = tokio::spawn({
        let (mine, late) = (mine.clone(), late.clone());
        async move { ingest(&mine, late, "late").await }
    });
    relay.sent(|sent| sent.opened == 2).await;
    assert!(ingest(&theirs, ordered(20, 1), "theirs").await.unwrap());
    relay.release();
    let refused = soon(held).await.unwrap().unwrap_err();
    assert_eq!(refusal(&refused), CONFLICT);
    let recorded = metadata(&refused);
    assert_eq!(
        (&*recorded["host_epoch"], &*recorded["session_seq"]),
        ("20", "1")
    );
    assert_eq!(pair.store.ids(), ["mine", "theirs"], "nothing changed");

    // The host still owns the session: it goes above what is recorded, under the same key.
    let raised = v1::CallContext {
        hook_id: late.hook_id.clone(),
        attempt: 2,
        ..ordered(21, 1)
    };
    assert!(ingest(&mine, raised, "late").await.unwrap());
    let again = v1::CallContext { attempt: 3, ..late };
    assert!(
        ingest(&theirs, again, "late").await.unwrap(),
        "the recorded answer"
    );
    assert_eq!(pair.store.ids(), ["mine", "theirs", "late"]);

    // Now the other host is the one that is behind, at either server.
    for channel in [&mine, &theirs] {
        let refused = ingest(channel, ordered(20, 2), "behind").await.unwrap_err();
        assert_eq!(refusal(&refused), CONFLICT);
        assert_eq!(metadata(&refused)["host_epoch"], "21");
    }
    assert_eq!(pair.store.ids().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_9_a_log_that_was_held_up_never_takes_the_stored_one_back() {
    let pair = Pair::new().await;
    let ((relay, mine), theirs) = (pair.slow().await, pair.fast());
    after_turn(&mine, ordered(10, 1), &["a", "b", "c"])
        .await
        .unwrap();
    relay.hold();
    let held = tokio::spawn({
        let mine = mine.clone();
        async move { after_turn(&mine, ordered(10, 2), &["a"]).await }
    });
    relay.sent(|sent| sent.opened == 2).await;
    after_turn(&theirs, ordered(10, 3), &["a", "b", "c", "d"])
        .await
        .unwrap();
    relay.release();
    assert_eq!(refusal(&soon(held).await.unwrap().unwrap_err()), CONFLICT);
    assert_eq!(pair.store.ids(), ["a", "b", "c", "d"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_2_an_effect_of_a_hook_that_was_given_up_is_refused_wherever_it_arrives() {
    let pair = Pair::new().await;
    let ((relay, mine), theirs) = (pair.slow().await, pair.fast());
    assert!(ingest(&mine, unordered(), "a").await.unwrap());
    relay.hold();
    let given_up = unordered();
    let held = tokio::spawn({
        let (mine, given_up) = (mine.clone(), given_up.clone());
        async move { after_turn(&mine, given_up, &["a", "b"]).await }
    });
    relay.sent(|sent| sent.opened == 2).await;
    // The host has done something else in its place; a read is enough to tell.
    let reader = v1::CallContext {
        abandoned_hooks: vec![given_up.hook_id],
        ..unordered()
    };
    assert_eq!(assemble(&theirs, reader).await.late, []);
    relay.release();
    assert_eq!(refusal(&soon(held).await.unwrap().unwrap_err()), CLOSED);
    assert_eq!(pair.store.ids(), ["a"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r7_2_a_hook_that_was_given_up_after_its_effect_is_told_late_by_every_server() {
    let pair = Pair::new().await;
    let ((_relay, mine), theirs) = (pair.slow().await, pair.fast());
    // Nobody heard the answer.
    let unheard = unordered();
    after_turn(&mine, unheard.clone(), &["a", "b"])
        .await
        .unwrap();
    let never_came = HookId::mint().to_string();
    let carrying = || v1::CallContext {
        abandoned_hooks: vec![never_came.clone(), unheard.hook_id.clone()],
        ..unordered()
    };
    let told = [
        assemble(&theirs, carrying()).await,
        assemble(&mine, carrying()).await,
        after_turn(&theirs, carrying(), &["a", "b", "c"])
            .await
            .unwrap(),
    ];
    for reply in told {
        let [late] = &reply.late[..] else {
            panic!("one hook, not {:?}", reply.late)
        };
        assert_eq!(
            (&late.hook_id, &*late.method),
            (&unheard.hook_id, "AfterTurn")
        );
    }
    // What never came never will.
    let refused = ingest(
        &mine,
        v1::CallContext {
            hook_id: never_came,
            ..unordered()
        },
        "x",
    )
    .await;
    assert_eq!(refusal(&refused.unwrap_err()), CLOSED);
    assert_eq!(pair.store.ids(), ["a", "b", "c"]);
}

/// The turns `0..turns` in the order of the log.
fn whole(turns: usize) -> Vec<String> {
    (0..turns)
        .flat_map(|n| [format!("u{n}"), format!("a{n}")])
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e_rep_05_a_turn_that_both_servers_get_at_once_is_committed_by_one() {
    const TURNS: usize = 25;
    let pair = Pair::new().await;
    let channels = [channel(&pair.one.place().target()), pair.fast()];
    let mut commits = JoinSet::new();
    for n in 0..TURNS {
        for channel in channels.clone() {
            commits.spawn(async move { (n, commit(&channel, n).await.unwrap()) });
        }
    }
    let committed = commits.join_all().await;
    for n in 0..TURNS {
        let new = committed
            .iter()
            .filter(|(of, new)| *of == n && *new)
            .count();
        assert_eq!(new, 1, "turn {n}");
    }
    assert_eq!(pair.store.ids(), whole(TURNS));
}

#[tokio::test(flavor = "multi_thread")]
async fn e_rep_06_what_a_killed_server_left_open_is_settled_at_the_other_by_its_key() {
    const TURNS: usize = 30;
    let mut pair = Pair::new().await;
    let (dying, other) = (channel(&pair.one.place().target()), pair.fast());
    let mut commits = JoinSet::new();
    for n in 0..TURNS {
        let dying = dying.clone();
        commits.spawn(async move { (n, commit(&dying, n).await.is_ok()) });
    }
    let (first, committed) = soon(commits.join_next()).await.unwrap().unwrap();
    assert!(committed, "turn {first}");
    pair.one.kill();
    let mut unknown: Vec<_> = commits.join_all().await.into_iter().collect();
    unknown.retain(|(_, committed)| !committed);
    for (n, _) in unknown {
        commit(&other, n).await.unwrap();
    }
    assert!(
        !commit(&other, first).await.unwrap(),
        "acknowledged is stored"
    );
    assert_eq!(pair.store.ids(), whole(TURNS));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn e_tim_12_a_server_that_was_paused_goes_on_and_repeats_no_effect() {
    let pair = Pair::new().await;
    let ((relay, paused), other) = (pair.slow().await, pair.fast());
    assert!(commit(&paused, 0).await.unwrap());
    pair.one.pause();
    let held = tokio::spawn({
        let paused = paused.clone();
        async move { commit(&paused, 1).await }
    });
    relay.sent(|sent| sent.opened == 2).await;
    assert!(
        commit(&other, 1).await.unwrap(),
        "the other one serves meanwhile"
    );
    pair.one.resume();
    assert!(!soon(held).await.unwrap().unwrap(), "a duplicate");
    assert!(commit(&paused, 2).await.unwrap());
    assert_eq!(pair.store.ids(), whole(3));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn r7_2_what_a_paused_server_would_still_do_is_refused_by_what_the_other_one_wrote_down() {
    let pair = Pair::new().await;
    let ((relay, paused), other) = (pair.slow().await, pair.fast());
    assert!(ingest(&paused, unordered(), "a").await.unwrap());
    pair.one.pause();
    let given_up = unordered();
    let held = tokio::spawn({
        let (paused, given_up) = (paused.clone(), given_up.clone());
        async move { after_turn(&paused, given_up, &["a", "b"]).await }
    });
    relay.sent(|sent| sent.opened == 2).await;
    // The host did something else in its place, and tells whoever answers.
    let acted = v1::CallContext {
        abandoned_hooks: vec![given_up.hook_id],
        ..unordered()
    };
    after_turn(&other, acted, &["a", "c"]).await.unwrap();
    pair.one.resume();
    assert_eq!(refusal(&soon(held).await.unwrap().unwrap_err()), CLOSED);
    assert_eq!(pair.store.ids(), ["a", "c"]);
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn e_err_05_no_content_and_no_key_is_in_the_log_of_a_server() {
    const CANARY: &str = "canary-7f3a";
    let store = Store::new();
    let server = Process::serve(&store.path()).await;
    let channel = channel(&server.place().target());
    let secret = || {
        let mut call = unordered();
        let session = call.session.as_mut().unwrap();
        session.session_key = Some(CANARY.to_owned());
        session.locator = Some(CANARY.to_owned());
        call
    };
    assert!(ingest(&channel, secret(), CANARY).await.unwrap());
    after_turn(&channel, secret(), &[CANARY]).await.unwrap();
    assemble(&channel, secret()).await;
    // A conflict, an abandoned hook and a wrong id, each with the same texts.
    let key = secret();
    assert!(ingest(&channel, key.clone(), CANARY).await.is_ok());
    let conflict = ingest(&channel, key, "other").await.unwrap_err();
    assert_eq!(conflict.code(), Code::AlreadyExists);
    let closed = v1::CallContext {
        abandoned_hooks: vec![HookId::mint().to_string()],
        ..secret()
    };
    assemble(&channel, closed).await;
    let wrong = v1::CallContext {
        hook_id: "no uuid".to_owned(),
        ..secret()
    };
    assert!(ingest(&channel, wrong, CANARY).await.is_err());
    let log = server.stop().await;
    assert!(
        log.contains("serving") && log.contains("the engine refused a call"),
        "{log}"
    );
    assert!(!log.contains(CANARY), "{log}");
}
