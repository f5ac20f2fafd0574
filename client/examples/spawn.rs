//! A child from the wish for it to its end, with an engine at a socket and an outbox on the disk.
//!
//! `contextwire serve --unix /tmp/cw/engine.sock` in one terminal, and in another
//! `cargo run -p contextwire-client --features outbox --example spawn -- unix:/tmp/cw/engine.sock`.

use contextwire_client::engine::{ContextMode, Scope, Session, SessionId};
use contextwire_client::outbox::{Addressee, Outbox, OutboxOptions};
use contextwire_client::spawn::{ChildEnd, EndReason, Found, SpawnRequest, Subagents};
use contextwire_client::{Host, Target};

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target: Target = match std::env::args().nth(1) {
        Some(target) => target.parse()?,
        None => Target::unix("/tmp/cw/engine.sock"),
    };
    let host = Host::builder().engine("lossless", target).build()?;
    let client = host.engine("lossless")?;
    let outbox = Outbox::open("/tmp/contextwire-spawn.sqlite3", OutboxOptions::default())?;
    let subagents = Subagents::new(&client, &outbox);

    // A process that ended may have left spawns behind. This host knows none of them.
    let recovered = subagents.recover(|_| Found::Unknown).await?;
    println!("{} left behind, rolled back", recovered.rolled_back);

    let (parent, child) = (session("parent")?, session("child")?);
    let wish = SpawnRequest {
        mode: ContextMode::Fork,
        ..SpawnRequest::new(parent, child.clone())
    };
    let spawn = subagents.prepare(wish).await?;
    println!("prepared: {}", spawn.is_prepared());
    // Here the host starts the child; where that fails, `spawn.roll_back()`.
    spawn.started().await?;
    let end = ChildEnd {
        child: child.clone(),
        spawn_id: Some(spawn.spawn_id().to_owned()),
        reason: EndReason::of_cleanup(false),
        scope: Scope::default(),
    };
    println!("its end: {:?}", subagents.end(end).await?);

    // A host delivers in the background; this one is about to end.
    let to = Addressee::new("lossless");
    let drained = outbox.drain(&to, &child, &client, 16).await?;
    println!("{} rows delivered", drained.delivered);
    host.dispose().await;
    Ok(())
}

/// A session with a key: a child's end and its hooks are told by it.
fn session(key: &str) -> Result<Session, Box<dyn std::error::Error>> {
    Ok(Session {
        key: Some(format!("agent:main:{key}")),
        ..Session::new(SessionId::new(key)?)
    })
}
