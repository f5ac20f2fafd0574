//! A host with one engine: two turns, and what it knows of the engine afterwards.
//!
//! `cargo run -p contextwire-client --example host -- unix:/tmp/last-ten/engine.sock`

use contextwire_client::engine::{
    Assemble, CurrentTurn, Message, Session, SessionId, Site, TokenBudget, Transcript,
};
use contextwire_client::{Admission, Host, HostProfile, Target};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target: Target = match std::env::args().nth(1) {
        Some(target) => target.parse()?,
        None => Target::unix("/tmp/last-ten/engine.sock"),
    };
    let host = Host::builder()
        .id("example")
        .profile(HostProfile {
            id: "example".to_owned(),
            label: "The example host".to_owned(),
            capabilities: vec!["assemble-before-prompt".to_owned(), "compact".to_owned()],
        })
        .engine("last-ten", target) // connects with the first call
        .build()?;

    let session = Session::new(SessionId::new("main")?);
    let mut transcript = Transcript::new();
    for turn in 1..=2 {
        for n in 1..=15 {
            // The host's own JSON, byte for byte; the id is the entry's own, or none.
            let payload = format!(r#"{{"role":"user","content":"message {n} of turn {turn}"}}"#);
            transcript.push(Message::from_payload(payload).with_entry_id(format!("t{turn}e{n}")));
        }
        // One engine from the first prompt of the turn to its last tool round.
        let admission = Admission::Unrecorded(format!("turn-{turn}"));
        let this_turn = host.turn(&session, admission).await?;
        for site in [Site::BeforePrompt, Site::ToolLoop] {
            let request = Assemble {
                transcript: transcript.clone(),
                current_turn: CurrentTurn::Included,
                token_budget: TokenBudget::new(60_000),
                site,
                ..Assemble::default()
            };
            let served = this_turn.assemble(&session, request).await?;
            let messages = served.result.messages().count();
            println!(
                "turn {turn}, {site:?}: {messages} messages by {}",
                served.by
            );
            if let Some(reason) = &served.reason {
                println!("  not by the engine: {} ({reason})", reason.code());
            }
        }
    }
    host.dispose().await;
    let status = host.status();
    let engine = status.engines.first().ok_or("no engine")?;
    println!(
        "{}: {} calls by the engine, {} in its place, breaker {}",
        engine.id, engine.calls.by_engine, engine.calls.in_process, engine.breaker.state
    );
    Ok(())
}
