//! The host's stored log, for an engine that is behind (R3.3).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::transcript::Transcript;

/// The log, or nothing where the host cannot give it.
pub type LogAnswer<'a> = Pin<Box<dyn Future<Output = Option<Transcript>> + Send + 'a>>;

/// Who gives the host's log: a host in this process, or the stream of a hook.
pub trait LogSource: Send + Sync {
    /// The log as it is now.
    fn log(&self) -> LogAnswer<'_>;
}

impl LogSource for Transcript {
    fn log(&self) -> LogAnswer<'_> {
        Box::pin(std::future::ready(Some(self.clone())))
    }
}

/// The host's log as an engine reaches it; valid only while the hook runs.
#[derive(Clone, Default)]
pub struct HostLog(Option<Arc<dyn LogSource>>);

impl HostLog {
    /// A log that can be had.
    pub fn new(source: impl LogSource + 'static) -> Self {
        Self(Some(Arc::new(source)))
    }

    /// The log; `None` where the host cannot give it: the engine then goes on at once with what it
    /// has. Costs what the engine's side lacks of it, so ask only when
    /// [`log_head`](crate::HookContext::log_head) names another state than the stored one.
    pub async fn fetch(&self) -> Option<Transcript> {
        match &self.0 {
            Some(source) => source.log().await,
            None => None,
        }
    }
}

impl std::fmt::Debug for HostLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostLog")
            .field("available", &self.0.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;

    #[tokio::test]
    async fn r3_3_a_host_without_a_log_gives_none_and_one_with_a_log_gives_it() {
        assert_eq!(HostLog::default().fetch().await, None);
        let log: Transcript = [Message::from_payload("{}")].into_iter().collect();
        assert_eq!(HostLog::new(log.clone()).fetch().await, Some(log));
    }
}
