//! How a list travels, spoken by hand: bases, heads, requests for more, parts (PROTOCOL 3).

use contextwire_engine::{Transcript, TranscriptState};
use contextwire_proto::status::violations;
use contextwire_proto::v1;
use contextwire_proto::v1::assemble_request::Frame as HostFrame;
use contextwire_proto::{Reason, reason_of};
use tonic::Code;

use crate::harness::{
    Gate, Place, RawAssemble, Running, Stub, TestEngine, edit_update, message, refusal, session,
    start, start_over, stub, transcript, update,
};

const DIGEST_MISMATCH: (Code, Option<Reason>) =
    (Code::DataLoss, Some(Reason::TranscriptDigestMismatch));

struct Bench {
    engine: TestEngine,
    _running: Running,
    stub: Stub,
}

/// A server that has the list `held` of the session `raw`.
async fn holding(held: &Transcript) -> Bench {
    let (place, engine) = (Place::new(), TestEngine::keep());
    let running = place.serve(engine.clone()).await;
    let stub = stub(&place.target());
    RawAssemble::start(&stub, start(held)).await.result().await;
    Bench {
        engine,
        _running: running,
        stub,
    }
}

impl Bench {
    /// The newest list that the engine saw, and how many it saw.
    fn last_seen(&self) -> (Transcript, usize) {
        let mut seen = self.engine.seen();
        (seen.pop().unwrap(), seen.len() + 1)
    }

    /// Whether the server still has exactly this list.
    async fn has(&self, list: &Transcript) -> bool {
        let mut hook =
            RawAssemble::start(&self.stub, start_over(&session("raw"), list, list)).await;
        matches!(
            hook.next().await.unwrap(),
            Some(v1::assemble_response::Frame::Result(_))
        )
    }
}

fn wire(state: TranscriptState) -> v1::TranscriptState {
    state.into()
}

fn keep(start: u64, count: u64) -> v1::Segment {
    v1::Segment {
        kind: Some(v1::segment::Kind::Keep(v1::Keep { start, count })),
    }
}

/// Another list than any prefix of [`transcript`].
fn foreign(len: usize) -> Transcript {
    (1000..1000 + len).map(message).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_01_an_equal_base_is_continued_and_its_head_verified() {
    let (old, new) = (transcript(3), transcript(5));
    let bench = holding(&old).await;
    let hook = start_over(&session("raw"), &old, &new);
    assert_eq!(
        hook.transcript.as_ref().unwrap().segments.len(),
        3,
        "one range, two messages"
    );
    assert_eq!(
        RawAssemble::start(&bench.stub, hook).await.kept().await,
        [(0, 5)]
    );
    let (seen, _) = bench.last_seen();
    assert_eq!(seen, new);
    assert!(seen.iter().eq(new.iter()), "payloads, headers and ids too");
    assert!(bench.has(&new).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_02_a_base_behind_the_engines_doubles_nothing() {
    let (old, new) = (transcript(3), transcript(5));
    let bench = holding(&old).await;
    for attempt in 1..=2 {
        let mut retry = start_over(&session("raw"), &old, &new);
        retry.call.as_mut().unwrap().attempt = attempt;
        assert_eq!(
            RawAssemble::start(&bench.stub, retry).await.kept().await,
            [(0, 5)]
        );
        assert_eq!(bench.last_seen(), (new.clone(), 1 + attempt as usize));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_05_with_nothing_in_common_the_engine_asks_and_gets_the_whole_list() {
    let (held, theirs) = (transcript(3), foreign(4));
    let bench = holding(&held).await;
    let resumed = start_over(&session("raw"), &theirs, &theirs);
    let mut hook = RawAssemble::start(&bench.stub, resumed).await;
    let need = hook.need().await;
    assert_eq!((need.seq, need.list), (2, v1::TranscriptList::View.into()));
    let offered = [held.state(), held.prefix(2).state(), held.prefix(1).state()];
    assert_eq!(need.have, offered.map(wire));
    hook.send(HostFrame::Transcript(update(
        2,
        &Transcript::new(),
        &theirs,
    )))
    .await;
    assert_eq!(hook.kept().await, [(0, 4)]);
    assert_eq!(bench.last_seen(), (theirs, 2));
    assert!(
        bench.has(&held).await,
        "a branch does not push out the other"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_07_a_wrong_head_after_a_send_from_zero_is_a_digest_mismatch_and_nothing_stays() {
    let (held, new) = (transcript(3), foreign(4));
    let bench = holding(&held).await;
    let wrong_head = edit_update(start(&new), |update| update.head = Some(wire(held.state())));
    let status = RawAssemble::start(&bench.stub, wrong_head)
        .await
        .failure()
        .await;
    assert_eq!(refusal(&status), DIGEST_MISMATCH);
    assert_eq!(
        bench.last_seen(),
        (held.clone(), 1),
        "the engine saw nothing of it"
    );
    assert!(!bench.has(&new).await && bench.has(&held).await);
    // Its twin: the same frame with the right head.
    assert_eq!(
        RawAssemble::start(&bench.stub, start(&new))
            .await
            .kept()
            .await,
        [(0, 4)]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn e_syn_07_a_wrong_head_over_a_known_base_asks_for_everything_first() {
    let (old, new) = (transcript(3), transcript(5));
    let bench = holding(&old).await;
    let wrong_head = edit_update(start_over(&session("raw"), &old, &new), |update| {
        update.head = Some(wire(foreign(5).state()));
    });
    let mut hook = RawAssemble::start(&bench.stub, wrong_head).await;
    let need = hook.need().await;
    assert_eq!(
        (need.seq, need.have.len()),
        (2, 0),
        "nothing to start from is offered"
    );
    hook.send(HostFrame::Transcript(update(2, &Transcript::new(), &new)))
        .await;
    assert_eq!(hook.kept().await, [(0, 5)]);
    assert_eq!(bench.last_seen(), (new, 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_the_engine_asks_twice_at_most_then_gives_up() {
    let bench = holding(&transcript(3)).await;
    let theirs = foreign(4);
    let resumed = start_over(&session("raw"), &theirs, &theirs);
    let mut hook = RawAssemble::start(&bench.stub, resumed).await;
    for seq in 2..=3 {
        assert_eq!(hook.need().await.seq, seq);
        hook.send(HostFrame::Transcript(update(seq, &theirs, &theirs)))
            .await;
    }
    let status = hook.failure().await;
    assert_eq!(refusal(&status), DIGEST_MISMATCH);
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_6_parts_of_a_lower_number_are_ignored_and_of_a_higher_one_refused() {
    let bench = holding(&transcript(3)).await;
    let theirs = foreign(4);
    let resumed = start_over(&session("raw"), &theirs, &theirs);
    let mut hook = RawAssemble::start(&bench.stub, resumed.clone()).await;
    hook.need().await;
    hook.send(HostFrame::Transcript(update(
        1,
        &Transcript::new(),
        &foreign(9),
    )))
    .await;
    hook.send(HostFrame::Transcript(update(
        2,
        &Transcript::new(),
        &theirs,
    )))
    .await;
    assert_eq!(hook.kept().await, [(0, 4)]);

    let unasked = edit_update(resumed, |update| update.seq = 2);
    let status = RawAssemble::start(&bench.stub, unasked)
        .await
        .failure()
        .await;
    assert_eq!(reason_of(&status), Some(Reason::ContractViolation));
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_and_r3_8_parts_share_their_base_and_what_arrived_is_kept_when_the_rest_never_comes() {
    let (old, new) = (transcript(2), transcript(6));
    let bench = holding(&old).await;
    let half = new.prefix(4);
    let first = || {
        edit_update(start_over(&session("raw"), &old, &half), |update| {
            update.more = true;
        })
    };
    let rest = |base: &Transcript| v1::TranscriptUpdate {
        base: Some(wire(base.state())),
        segments: update(1, &half, &new).segments.split_off(1),
        head: Some(wire(new.state())),
        ..update(1, &Transcript::new(), &Transcript::new())
    };
    let mut hook = RawAssemble::start(&bench.stub, first()).await;
    assert_eq!(hook.applied().await, 4);
    hook.half_close();
    assert_eq!(
        reason_of(&hook.failure().await),
        Some(Reason::TranscriptUnavailable)
    );
    assert!(bench.has(&half).await, "the upload goes on from here");

    let mut hook = RawAssemble::start(&bench.stub, first()).await;
    hook.send(HostFrame::Transcript(rest(&half))).await;
    assert_eq!(hook.applied().await, 4);
    assert_eq!(
        reason_of(&hook.failure().await),
        Some(Reason::ContractViolation)
    );

    let mut hook = RawAssemble::start(&bench.stub, first()).await;
    hook.send(HostFrame::Transcript(rest(&old))).await;
    assert_eq!(hook.applied().await, 4);
    assert_eq!(hook.kept().await, [(0, 6)]);
    assert_eq!(bench.last_seen().0, new);
}

/// What is wrong with the kept ranges of an update over a base of three, by the field that is named.
async fn refused(segments: Vec<v1::Segment>, field: &str) {
    let held = transcript(3);
    let bench = holding(&held).await;
    let wrong = edit_update(start_over(&session("raw"), &held, &held), |update| {
        update.segments = segments;
    });
    let status = RawAssemble::start(&bench.stub, wrong).await.failure().await;
    assert_eq!(
        refusal(&status),
        (Code::InvalidArgument, Some(Reason::InvalidRequest))
    );
    let named: Vec<_> = violations(&status)
        .into_iter()
        .map(|violation| violation.field)
        .collect();
    assert_eq!(named, [field]);
    assert_eq!(bench.last_seen().1, 1, "the engine saw nothing of it");
    assert!(
        bench.has(&held).await,
        "the connection lives, the next call works"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_5_a_range_outside_the_base_is_refused() {
    refused(vec![keep(0, 4)], "transcript.segments").await;
    refused(vec![keep(0, 3), keep(3, 1)], "transcript.segments").await;
    refused(vec![keep(u64::MAX - 1, 1)], "transcript.segments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_5_overlapping_keeps_are_refused() {
    refused(vec![keep(0, 2), keep(1, 2)], "transcript.segments").await;
    refused(vec![keep(0, 3), keep(0, 3)], "transcript.segments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_5_ranges_that_do_not_ascend_are_refused() {
    refused(vec![keep(2, 1), keep(0, 2)], "transcript.segments").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_5_an_empty_range_or_one_beyond_all_numbers_is_refused() {
    refused(vec![keep(0, 0)], "transcript.segments[0].keep.count").await;
    refused(vec![keep(1, u64::MAX)], "transcript.segments[0].keep.count").await;
    refused(
        vec![v1::Segment { kind: None }],
        "transcript.segments[0].kind",
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_is_no_digest_is_refused() {
    let bench = holding(&transcript(3)).await;
    let wrong = edit_update(start(&transcript(3)), |update| {
        update.head.as_mut().unwrap().chain.truncate(31);
    });
    let status = RawAssemble::start(&bench.stub, wrong).await.failure().await;
    assert_eq!(reason_of(&status), Some(Reason::InvalidRequest));
    assert_eq!(violations(&status)[0].field, "transcript.head.chain");
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_and_lists_do_not_see_each_others_mirrors() {
    let held = transcript(3);
    let bench = holding(&held).await;
    let other = start_over(&session("other"), &held, &held);
    let need = RawAssemble::start(&bench.stub, other).await.need().await;
    assert_eq!(need.have, [], "another session has nothing");

    // A host whose prompt list is its log says LOG (R3.1).
    let as_log = |start| edit_update(start, |update| update.list = v1::TranscriptList::Log.into());
    let resumed = as_log(start_over(&session("raw"), &held, &held));
    let mut hook = RawAssemble::start(&bench.stub, resumed).await;
    let need = hook.need().await;
    assert_eq!(
        (need.list, need.have),
        (v1::TranscriptList::Log.into(), vec![])
    );
    let mut answer = update(2, &Transcript::new(), &held);
    answer.list = v1::TranscriptList::Log.into();
    hook.send(HostFrame::Transcript(answer)).await;
    assert_eq!(hook.kept().await, [(0, 3)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r3_4_a_sync_applies_the_list_and_assembles_nothing() {
    let (old, new) = (transcript(3), transcript(5));
    let bench = holding(&old).await;
    let mut sync = start_over(&session("raw"), &old, &new);
    sync.site = v1::AssembleSite::Sync.into();
    assert_eq!(RawAssemble::start(&bench.stub, sync).await.kept().await, []);
    assert_eq!(bench.last_seen().1, 1);
    assert!(bench.has(&new).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn r1_3_a_part_in_flight_when_the_list_was_complete_is_dropped() {
    let (place, gate) = (Place::new(), Gate::new());
    let engine = gate.engine();
    let _running = place.serve(engine.clone()).await;
    let stub = stub(&place.target());
    let list = transcript(3);
    let mut hook = RawAssemble::start(&stub, start(&list)).await;
    gate.arrived(1).await;
    hook.send(HostFrame::Transcript(update(1, &list, &transcript(5))))
        .await;
    gate.open();
    assert_eq!(hook.kept().await, [(0, 3)]);
    assert_eq!(engine.seen(), [list]);
}
