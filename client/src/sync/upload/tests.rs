//! Lists on their way out: from which state, by which numbers.

use contextwire_engine::{Message, Segment};

use super::*;

const LIMITS: PartLimits = PartLimits {
    first: 4096,
    rest: 4096,
};

fn session() -> SessionId {
    SessionId::new("s").unwrap()
}

fn list(count: usize) -> Transcript {
    (0..count)
        .map(|n| Message::from_payload(format!(r#"{{"content":"{n:0900}"}}"#)))
        .collect()
}

fn peer(book: &Arc<Book>) -> Peer {
    Peer {
        book: Arc::clone(book),
        session: session(),
        full: false,
        limits: LIMITS,
        debt: Debt::default(),
    }
}

fn begin(book: &Arc<Book>, transcript: Transcript) -> (Upload, TranscriptUpdate) {
    Upload::of_view(&peer(book), Site::BeforePrompt, transcript, None)
}

fn part(update: &TranscriptUpdate) -> &Part {
    match &update.body {
        UpdateBody::Part(part) => part,
        UpdateBody::Unavailable => panic!("a part"),
    }
}

fn need(seq: u32, have: Vec<TranscriptState>) -> NeedTranscript {
    NeedTranscript {
        seq,
        list: List::View,
        have,
    }
}

#[test]
fn a_host_that_just_started_names_its_head_and_sends_nothing() {
    let (mut upload, first) = begin(&Arc::new(Book::new()), list(3));
    assert_eq!(
        (part(&first).base, part(&first).head),
        (list(3).state(), list(3).state())
    );
    assert!(part(&first).segments.is_empty());
    assert_eq!(upload.next_part(), None);
}

#[test]
fn an_acknowledged_list_costs_one_range_and_what_is_new() {
    let book = Arc::new(Book::new());
    begin(&book, list(3)).0.acknowledge();
    let (_, first) = begin(&book, list(4));
    assert_eq!(part(&first).segments.len(), 2);
    assert_eq!(part(&first).segments[0], Segment::Keep(0..3));
}

#[test]
fn a_request_is_answered_from_the_highest_state_that_the_host_knows() {
    let (mut upload, _) = begin(&Arc::new(Book::new()), list(9));
    upload
        .answer(&need(
            2,
            vec![list(12).state(), list(5).state(), list(2).state()],
        ))
        .unwrap();
    let answer = upload.next_part().unwrap();
    assert_eq!((answer.seq, part(&answer).base), (2, list(5).state()));
}

#[test]
fn a_long_list_goes_in_parts_whose_heads_grow() {
    let (mut upload, _) = begin(&Arc::new(Book::new()), list(9));
    upload.answer(&need(2, Vec::new())).unwrap();
    let sent: Vec<_> = std::iter::from_fn(|| upload.next_part()).collect();
    assert!(sent.len() > 1);
    assert!(
        sent.iter()
            .all(|update| part(update).base == TranscriptState::EMPTY)
    );
    let heads: Vec<_> = sent.iter().map(|update| part(update).head.count).collect();
    assert!(heads.is_sorted() && heads.last() == Some(&9), "{heads:?}");
    assert_eq!(
        sent.iter().filter(|update| part(update).more).count(),
        sent.len() - 1
    );
}

#[test]
fn a_third_request_or_a_wrong_number_breaks_the_contract() {
    let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
    assert!(upload.answer(&need(3, Vec::new())).is_err());
    let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
    assert!(upload.answer(&need(2, Vec::new())).is_ok());
    assert!(upload.answer(&need(3, Vec::new())).is_ok());
    assert!(upload.answer(&need(4, Vec::new())).is_err());
}

#[test]
fn a_list_that_this_hook_does_not_carry_is_unavailable() {
    let (mut upload, _) = begin(&Arc::new(Book::new()), list(1));
    let log = NeedTranscript {
        seq: 1,
        list: List::Log,
        have: Vec::new(),
    };
    upload.answer(&log).unwrap();
    assert_eq!(upload.next_part().unwrap().body, UpdateBody::Unavailable);
}

fn need_log(seq: u32, have: Vec<TranscriptState>) -> NeedTranscript {
    NeedTranscript {
        seq,
        list: List::Log,
        have,
    }
}

#[test]
fn r3_3_a_view_and_the_log_go_out_in_one_call_each_by_its_own_numbers() {
    let book = Arc::new(Book::new());
    let (mut upload, first) =
        Upload::of_view(&peer(&book), Site::BeforePrompt, list(1), Some(list(3)));
    assert_eq!((first.list, first.seq), (List::View, 1));
    upload.answer(&need_log(1, vec![list(2).state()])).unwrap();
    assert!(upload.owes_parts() && !upload.owes_its_list());
    let log = upload.next_part().unwrap();
    assert_eq!((log.list, log.seq), (List::Log, 1));
    assert_eq!(part(&log).base, list(2).state());
    upload.answer(&need(2, Vec::new())).unwrap();
    let view = upload.next_part().unwrap();
    assert_eq!((view.list, view.seq), (List::View, 2));
    upload.acknowledge();
    let start = |list| book.start(&session(), list, Site::BeforePrompt);
    assert_eq!(start(List::View), Start::From(list(1)));
    assert_eq!(start(List::Log), Start::From(list(3)));
}

#[test]
fn r3_1_a_hook_of_the_log_carries_the_log() {
    let book = Arc::new(Book::new());
    let (upload, first) = Upload::of_log(&peer(&book), list(2));
    assert_eq!(
        (first.list, part(&first).head),
        (List::Log, list(2).state())
    );
    upload.acknowledge();
    let start = book.start(&session(), List::Log, Site::default());
    assert_eq!(start, Start::From(list(2)));
}

#[test]
fn r3_8_a_log_that_was_not_sent_in_whole_is_not_acknowledged() {
    let book = Arc::new(Book::new());
    let mut upload = Upload::on_demand(&peer(&book), Some(list(9)));
    upload.answer(&need_log(1, Vec::new())).unwrap();
    upload.next_part().unwrap();
    assert!(upload.owes_parts());
    upload.acknowledge();
    let start = book.start(&session(), List::Log, Site::default());
    assert_eq!(start, Start::Unknown);
}

#[test]
fn r3_7_a_log_that_was_asked_for_is_the_list_that_did_not_arrive() {
    let book = Arc::new(Book::new());
    let view = || Upload::of_view(&peer(&book), Site::BeforePrompt, list(1), Some(list(3))).0;
    let start = |list| book.start(&session(), list, Site::BeforePrompt);
    let mut upload = view();
    upload.answer(&need_log(1, Vec::new())).unwrap();
    upload.mismatch();
    assert_eq!(
        (start(List::View), start(List::Log)),
        (Start::Unknown, Start::Full)
    );
    view().mismatch();
    assert_eq!(start(List::View), Start::Full);
}

#[test]
fn r3_6_a_third_request_for_a_log_breaks_the_contract_too() {
    let mut upload = Upload::on_demand(&peer(&Arc::new(Book::new())), None);
    assert!(upload.answer(&need_log(1, Vec::new())).is_ok());
    assert!(upload.answer(&need_log(2, Vec::new())).is_ok());
    assert!(upload.answer(&need_log(3, Vec::new())).is_err());
}

#[test]
fn r3_4_a_call_is_in_debt_until_its_last_part_has_gone() {
    let peer = peer(&Arc::new(Book::new()));
    let (mut upload, _) = Upload::of_view(&peer, Site::BeforePrompt, list(30), None);
    assert!(!peer.debt.is_owed(), "only the head was named");
    upload.answer(&need(2, Vec::new())).unwrap();
    assert!(peer.debt.is_owed());
    let mut parts = 0;
    while upload.next_part().is_some() {
        parts += 1;
        assert_eq!(peer.debt.is_owed(), upload.owes_parts());
    }
    assert!(parts > 1 && !peer.debt.is_owed());

    let (mut upload, _) = Upload::of_view(
        &Peer {
            full: true,
            ..peer.clone()
        },
        Site::BeforePrompt,
        list(30),
        None,
    );
    upload.abandon_parts();
    assert!(peer.debt.is_owed(), "whoever judges the end looks later");
}
