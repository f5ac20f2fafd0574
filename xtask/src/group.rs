//! Process groups: a test that hangs is a grandchild, and killing `cargo` alone would leave it running.

use std::process::{Command, Stdio};

/// Makes the command the leader of a new process group.
pub(crate) fn lead(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills the process `leader` and all that it started. A process that is gone already is no failure.
pub(crate) fn kill(leader: u32) {
    let mut command = killer(leader);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // Whether it worked shows in the end of the process, which the caller waits for.
    let _status = command.status();
}

#[cfg(unix)]
fn killer(leader: u32) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("kill -s KILL -- -{leader}")]);
    command
}

#[cfg(not(unix))]
fn killer(leader: u32) -> Command {
    let mut command = Command::new("taskkill");
    command.args(["/T", "/F", "/PID", &leader.to_string()]);
    command
}

#[cfg(all(test, unix))]
mod tests {
    use std::io::{BufRead, BufReader, Read};

    use super::*;

    #[test]
    fn what_a_command_started_is_killed_with_it() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 600 & echo started; sleep 600"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        lead(&mut command);
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");

        kill(child.id());
        // The pipe ends only when both processes that hold it are gone.
        assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
        assert!(!child.wait().unwrap().success());
    }
}
