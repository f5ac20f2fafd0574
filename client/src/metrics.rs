//! Where a client's figures go. Nothing is exported here; a host hands them to what it uses.

/// A label and its value; values are from small sets: hooks, codes, engine ids.
pub type Label<'a> = (&'static str, &'a str);

/// Takes a client's figures. Called in the way of calls, so it must not wait.
///
/// | name | kind | labels |
/// | --- | --- | --- |
/// | `contextwire_client_calls_total` | counter | `engine`, `hook`, `served_by` (`engine`, `in-process`, `nobody`), `code` (empty where the engine answered) |
/// | `contextwire_client_call_seconds` | histogram | `engine`, `hook`, `served_by` |
/// | `contextwire_client_sent_bytes_total`, `contextwire_client_received_bytes_total` | counter | `engine`, `hook` |
/// | `contextwire_client_attempts_total` | counter | `engine`, `hook` |
/// | `contextwire_client_host_calls_total` | counter | `engine`, `kind`, `code` (`OK`, or a reason) |
/// | `contextwire_client_host_call_seconds` | histogram | `engine`, `kind` |
/// | `contextwire_client_breaker_total` | counter | `engine`, `to` (`open`, `closed`) |
pub trait Metrics: Send + Sync + std::fmt::Debug {
    /// Adds to a counter.
    fn add(&self, name: &'static str, labels: &[Label<'_>], by: u64);

    /// Notes a value of a histogram; times are in seconds.
    fn record(&self, name: &'static str, labels: &[Label<'_>], value: f64);
}
