//! Rows about the endpoints of an engine, and about a process that its host runs.

use contextwire_client::status::{EndpointStatus, ProcessStatus};

use super::figure::grouped;
use super::table::Tone;

type Row = (Tone, Vec<String>);

/// Nothing for a single address without a process: all of it is in the rows of its engine.
pub(super) fn rows(endpoints: &[EndpointStatus]) -> Vec<Row> {
    let mut rows = Vec::new();
    for endpoint in endpoints {
        if endpoints.len() > 1 {
            rows.push(endpoint_row(endpoint));
        }
        rows.extend(endpoint.process.iter().map(process_row));
    }
    rows
}

fn endpoint_row(endpoint: &EndpointStatus) -> Row {
    let EndpointStatus {
        target,
        health,
        breaker,
        described,
        running,
        answered,
        passed_on,
        process: _,
    } = endpoint;
    let described = described.as_deref().unwrap_or("never reached");
    let value = format!(
        "{target}: {health}, breaker {}, {described}; {} answered, {} passed on, {} running",
        breaker.state,
        grouped(*answered),
        grouped(*passed_on),
        grouped(*running),
    );
    let is_well = health != "unreachable" && health != "not-serving" && breaker.state == "closed";
    let tone = if is_well { Tone::Plain } else { Tone::Warning };
    (tone, vec!["endpoint".to_owned(), value])
}

fn process_row(process: &ProcessStatus) -> Row {
    let ProcessStatus {
        state,
        pid,
        starts,
        ended_because,
        last_lines,
    } = process;
    let pid = pid.map(|pid| format!(" as {pid}")).unwrap_or_default();
    let mut value = format!("{state}{pid}, {} starts", grouped(*starts));
    if let Some(why) = ended_because {
        value = format!("{value}; ended last: {why}");
    }
    if !last_lines.is_empty() {
        value = format!("{value}; its last lines: {}", last_lines.join(" / "));
    }
    let tone = match state.as_str() {
        "down" | "crash-loop" => Tone::Warning,
        _ => Tone::Plain,
    };
    (tone, vec!["process".to_owned(), value])
}

#[cfg(test)]
mod tests {
    use contextwire_client::status::BreakerStatus;

    use super::*;

    fn endpoint(target: &str) -> EndpointStatus {
        EndpointStatus {
            target: target.to_owned(),
            health: "serving".to_owned(),
            breaker: BreakerStatus {
                state: "closed".to_owned(),
                failures: 0,
                retry_in_ms: None,
            },
            described: Some("0.1.0, 1.3".to_owned()),
            running: 1,
            answered: 1_200,
            passed_on: 3,
            process: None,
        }
    }

    #[test]
    fn each_of_several_endpoints_has_a_row_and_a_single_one_has_none() {
        let one = endpoint("unix:/a");
        assert_eq!(rows(std::slice::from_ref(&one)), []);
        let other = EndpointStatus {
            health: "unreachable".to_owned(),
            ..endpoint("unix:/b")
        };
        let rows = rows(&[one, other]);
        let value = "unix:/a: serving, breaker closed, 0.1.0, 1.3; \
                     1,200 answered, 3 passed on, 1 running";
        assert_eq!(
            rows[0],
            (Tone::Plain, vec!["endpoint".to_owned(), value.to_owned()])
        );
        assert_eq!(rows[1].0, Tone::Warning);
    }

    #[test]
    fn a_process_that_ends_again_and_again_says_why() {
        let process = ProcessStatus {
            state: "crash-loop".to_owned(),
            pid: None,
            starts: 5,
            ended_because: Some("it ended with code 3".to_owned()),
            last_lines: vec!["no such store".to_owned()],
        };
        let spawned = EndpointStatus {
            process: Some(process),
            ..endpoint("spawn:e")
        };
        let rows = rows(&[spawned]);
        let value = "crash-loop, 5 starts; ended last: it ended with code 3; \
                     its last lines: no such store";
        let expected = (Tone::Warning, vec!["process".to_owned(), value.to_owned()]);
        assert_eq!(rows, [expected]);
    }
}
