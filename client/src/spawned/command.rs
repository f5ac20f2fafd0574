//! The command of an engine that its host runs.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// Stands for the path of the socket in a word of a command.
const SOCKET: &str = "{socket}";

/// A program and its arguments, as a host runs them.
///
/// The engine is told where to listen twice over: `{socket}` in an argument is replaced by the path
/// of a Unix socket, and the environment has it as `CONTEXTENGINE_SOCKET`, and as
/// `CONTEXTWIRE_SERVER_SOCKET`, which `contextwire serve` reads. The socket's folder is new with
/// every start, belongs to the user alone (0700), and is removed with the engine. Everything else
/// of the environment is the host's own. What the engine prints goes into the host's log, line by
/// line.
///
/// No shell reads the words; as a text they are quoted as for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpawnCommand {
    program: String,
    args: Vec<String>,
}

/// A text that is no command: it is empty, or ends inside of quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no command: write a program and its arguments, and close every quote")]
pub struct InvalidCommand;

impl SpawnCommand {
    /// A program, found as a shell finds it.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
        }
    }

    /// With one more argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// The words to run for a socket.
    pub(super) fn words(&self, socket: &Path) -> Vec<String> {
        let socket = socket.display().to_string();
        let words = std::iter::once(&self.program).chain(&self.args);
        words.map(|word| word.replace(SOCKET, &socket)).collect()
    }
}

impl FromStr for SpawnCommand {
    type Err = InvalidCommand;

    fn from_str(text: &str) -> Result<Self, InvalidCommand> {
        let mut words = shlex::split(text).ok_or(InvalidCommand)?.into_iter();
        let program = words.next().filter(|it| !it.is_empty());
        Ok(Self {
            program: program.ok_or(InvalidCommand)?,
            args: words.collect(),
        })
    }
}

impl fmt::Display for SpawnCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = std::iter::once(&self.program).chain(&self.args);
        for (at, word) in words.enumerate() {
            let space = if at == 0 { "" } else { " " };
            // A word that no shell could read is shown as it is.
            let quoted = match shlex::try_quote(word) {
                Ok(quoted) if !word.contains(SOCKET) => quoted,
                Ok(_) | Err(_) => word.as_str().into(),
            };
            write!(f, "{space}{quoted}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_a_shell_reads_it_and_written_so_that_it_is_read_again() {
        for text in ["contextwire serve", "a 'b c' d", "e --at={socket} f"] {
            let command: SpawnCommand = text.parse().unwrap();
            assert_eq!(command.to_string(), text);
            assert_eq!(command.to_string().parse(), Ok(command));
        }
        for text in ["", "  ", "''", "a 'b"] {
            assert_eq!(text.parse::<SpawnCommand>(), Err(InvalidCommand), "{text}");
        }
    }

    #[test]
    fn the_socket_takes_its_place_in_every_word() {
        let command = SpawnCommand::new("e")
            .arg("--listen=unix:{socket}")
            .arg("x");
        let words = command.words(Path::new("/run/x y/e.sock"));
        assert_eq!(words, ["e", "--listen=unix:/run/x y/e.sock", "x"]);
    }
}
