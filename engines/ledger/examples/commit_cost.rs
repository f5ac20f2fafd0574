//! Prints what a commit costs: `cargo run --release -p contextwire-ledger --features bench --example commit_cost`.

use std::error::Error;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "this is what it is for")]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    for _ in 0..5 {
        let folder = tempfile::tempdir()?;
        let cost = contextwire_ledger::bench::commit_cost(folder.path(), 2_000).await?;
        let ratio = cost.ledger.as_secs_f64() / cost.bare.as_secs_f64();
        println!(
            "ledger {:?}, bare {:?}, ratio {ratio:.2}",
            cost.ledger, cost.bare
        );
    }
    Ok(())
}
