//! What a call allocates does not depend on how long the conversation is: counted in a process that
//! does nothing else.

use std::alloc::System;
use std::process::Command;

use contextwire_client::{EngineClient, ServedBy};
use contextwire_engine::Transcript;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::harness::{PATIENT, Place, TestEngine, message, session, transcript, view};

const ALONE: &str = "counts-alone";
const CHILD: &str = "allocations::child_that_counts";

/// Histories to compare.
const SHORT: usize = 100;
/// The newest chunk of both is equally full.
const LONG: usize = SHORT + 80 * 256;
const CALLS: usize = 20;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn r3_11_what_a_turn_allocates_does_not_grow_with_its_history() {
    let child = Command::new(std::env::current_exe().unwrap())
        .args([CHILD, "--exact", "--nocapture", ALONE])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{said}");
}

/// The most bytes that one of some turns allocates, each with a message more; server and client.
async fn most(client: &EngineClient, id: &str, mut list: Transcript) -> usize {
    let session = session(id);
    let mut counted = Vec::new();
    for _ in 0..CALLS {
        list.push(message(list.len()));
        let request = view(&list);
        let region = Region::new(ALLOCATOR);
        let served = client.assemble_within(&session, request, PATIENT).await;
        let bytes = region.change().bytes_allocated;
        let served = served.unwrap();
        assert_eq!(served.by, ServedBy::Engine("test".to_owned()));
        counted.push(bytes);
    }
    // The first one uploads the list.
    counted.into_iter().skip(1).max().unwrap()
}

/// In the child: counts. In a run of all tests there is nothing to do.
#[tokio::test]
async fn child_that_counts() {
    if !std::env::args().any(|arg| arg == ALONE) {
        return;
    }
    let place = Place::new();
    let _running = place.serve(TestEngine::keep()).await;
    let client = place.client();
    let short = most(&client, "short", transcript(SHORT)).await;
    let long = most(&client, "long", transcript(LONG)).await;
    // A list is held in chunks: what is there of them may be touched, not what is in them.
    assert!(long < short + short / 2, "{short} bytes, then {long}");
}
