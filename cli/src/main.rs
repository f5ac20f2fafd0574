//! `contextwire`: run, replay and inspect context engines.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use contextwire::command::{
    assemble_at, audit, bench, call, codex_run, completions, config, conformance, describe, doctor,
    erase, explain, generate, man, outbox, pin, replay, serve, session, sessions, show, stats,
    status, tokens,
};
use contextwire::output;

/// Runs, replays and inspects context engines: what decides what an agent's model sees.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Replay(replay::ReplayArgs),
    Describe(describe::DescribeArgs),
    Status(status::StatusArgs),
    Call(call::CallArgs),
    CodexRun(Box<codex_run::CodexRunArgs>),
    Generate(generate::GenerateArgs),
    Bench(bench::BenchArgs),
    Audit(audit::AuditArgs),
    Doctor(doctor::DoctorArgs),
    Config(config::ConfigCommandArgs),
    Conformance(conformance::ConformanceArgs),
    Session(session::SessionArgs),
    Tokens(tokens::TokensArgs),
    Sessions(sessions::SessionsArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
    Outbox(outbox::OutboxArgs),
    AssembleAt(assemble_at::AssembleAtArgs),
    Stats(stats::StatsArgs),
    Pin(pin::PinArgs),
    Erase(erase::EraseArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Serve(args) => serve::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Replay(args) => replay::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Describe(args) => describe::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Status(args) => status::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::Call(args) => call::run(args).await.map(|()| ExitCode::SUCCESS),
        Command::CodexRun(args) => codex_run::run(*args).await.map(|()| ExitCode::SUCCESS),
        Command::Generate(args) => generate::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Bench(args) => bench::run(args).await,
        Command::Audit(args) => audit::run(&args).await,
        Command::Doctor(args) => doctor::run(args).await,
        Command::Config(args) => config::run(&args),
        Command::Conformance(args) => conformance::run(args).await,
        Command::Session(args) => session::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Tokens(args) => tokens::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Sessions(args) => sessions::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Show(args) => show::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Explain(args) => explain::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Outbox(args) => outbox::run(&args).map(|()| ExitCode::SUCCESS),
        Command::AssembleAt(args) => assemble_at::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Stats(args) => stats::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Pin(args) => pin::run(&args).await.map(|()| ExitCode::SUCCESS),
        Command::Erase(args) => erase::run(&args).await,
        Command::Completions(args) => {
            completions::run(&args, Cli::command()).map(|()| ExitCode::SUCCESS)
        }
        Command::Man(args) => man::run(&args, Cli::command()).map(|()| ExitCode::SUCCESS),
    };
    let code = done.unwrap_or_else(|error| {
        output::problem(format_args!("error: {error:#}"));
        ExitCode::from(output::exit_code(&error))
    });
    if output::result_is_lost() && code == ExitCode::SUCCESS {
        return ExitCode::FAILURE;
    }
    code
}
