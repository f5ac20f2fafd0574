//! What a person or a script reads: results on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use contextwire_client::{CallError, FailureClass};
use contextwire_conformance::engine::Unreachable;

use crate::config::ConfigErrors;
use crate::report::Surface;

/// The exit code of a configuration that cannot be used.
pub const WRONG_CONFIGURATION: u8 = 3;

/// Whether a result could not be written.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints a result; a reader that went away is no failure of ours, any other is told at the end
/// ([`result_is_lost`]).
pub fn line(text: impl Display) {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    // A closed pipe ends the output, not the work.
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        problem(format_args!("error: cannot write the result: {error}"));
    }
}

/// Whether something that was to be read could not be written, as on a full disk.
pub fn result_is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// Prints a problem, or something worth knowing that is no result.
pub fn problem(text: impl Display) {
    let _closed = writeln!(std::io::stderr().lock(), "{text}").is_err();
}

/// Whether a person watches standard error, where progress goes.
pub fn progress_is_watched() -> bool {
    std::io::stderr().is_terminal()
}

/// What results are drawn on.
pub fn surface() -> Surface {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return Surface::Plain;
    }
    // The terminal crate answers with a default where the size cannot be read.
    Surface::Terminal {
        columns: console::Term::stdout().size().1,
    }
}

/// 2 usage, 3 configuration, 4 the engine cannot be reached, 5 the engine answered with an error,
/// 1 anything else.
pub fn exit_code(error: &anyhow::Error) -> u8 {
    if error.downcast_ref::<ConfigErrors>().is_some() {
        return WRONG_CONFIGURATION;
    }
    if error.is::<Unreachable>() {
        return 4;
    }
    let call = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<CallError>());
    match call.map(CallError::class) {
        Some(FailureClass::Transient) => 4,
        Some(FailureClass::Engine | FailureClass::Contract | FailureClass::Caller) => 5,
        None => 1,
    }
}
