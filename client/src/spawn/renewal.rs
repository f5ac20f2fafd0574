//! A preparation that waits for its child is renewed before its time ends (R9.1).

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use contextwire_engine::durable::DEFAULT_TTL;
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::call::{Answer, ServedBy};
use crate::error::CallError;
use crate::request::EngineReply;

/// A preparation is renewed so many times within its time.
const TIMES: u32 = 3;

/// What renewing found out.
#[derive(Debug, Default)]
pub(super) struct Watched(AtomicBool);

impl Watched {
    /// Whether the engine gave the preparation up.
    pub(super) fn is_lost(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Renews until it is dropped.
#[derive(Debug)]
pub(super) struct Renewal(#[expect(dead_code, reason = "ends with it")] DropGuard);

impl Renewal {
    /// A failed renewal is tried again with the next one.
    pub(super) fn start<F>(
        ttl: Option<Duration>,
        at_once: bool,
        watched: Arc<Watched>,
        ask: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<Answer, CallError>> + Send,
    {
        let ends = CancellationToken::new();
        let every = ttl.unwrap_or(DEFAULT_TTL) / TIMES;
        let work = async move {
            if !at_once {
                sleep(every).await;
            }
            loop {
                match ask().await {
                    Ok(answer) if is_given_up(&answer) => {
                        watched.0.store(true, Ordering::Relaxed);
                        return;
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(code = error.code(), "a preparation was not renewed");
                    }
                }
                sleep(every).await;
            }
        };
        tokio::spawn(ends.clone().run_until_cancelled_owned(work));
        Self(ends.drop_guard())
    }
}

/// Whether the engine says that there is nothing to renew.
fn is_given_up(answer: &Answer) -> bool {
    let said = if let EngineReply::SpawnPrepared(said) = &answer.result {
        said.prepared
    } else {
        true
    };
    answer.by != ServedBy::InProcess && !said
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use contextwire_engine::SpawnPrepared;
    use tokio::time::Instant;

    use super::*;
    use crate::call::Served;
    use crate::script::broken;

    const TTL: Duration = Duration::from_secs(90);

    fn says(prepared: bool) -> Answer {
        Served {
            result: EngineReply::SpawnPrepared(SpawnPrepared {
                prepared,
                system_prompt_addition: None,
            }),
            by: ServedBy::Engine("e".to_owned()),
            reason: None,
            said: <_>::default(),
            traffic: <_>::default(),
        }
    }

    /// The seconds at which the engine is asked, within ten minutes.
    async fn asked(at_once: bool, answers: &'static [&'static str]) -> (Vec<u64>, bool) {
        let (watched, times) = (Arc::<Watched>::default(), Arc::<Mutex<Vec<u64>>>::default());
        let (began, noted) = (Instant::now(), Arc::clone(&times));
        let ask = move || {
            let mut noted = noted.lock().unwrap();
            let answer = answers.get(noted.len()).copied().unwrap_or("renewed");
            noted.push(began.elapsed().as_secs());
            std::future::ready(match answer {
                "lost" => Ok(says(false)),
                "broken" => Err(broken()),
                _ => Ok(says(true)),
            })
        };
        let renewal = Renewal::start(Some(TTL), at_once, Arc::clone(&watched), ask);
        sleep(Duration::from_secs(100)).await;
        drop(renewal);
        sleep(Duration::from_mins(10)).await;
        let times = times.lock().unwrap().clone();
        (times, watched.is_lost())
    }

    #[tokio::test(start_paused = true)]
    async fn r9_1_a_waiting_preparation_is_renewed_at_a_third_of_its_time_until_it_is_settled() {
        assert_eq!(asked(false, &[]).await, (vec![30, 60, 90], false));
        assert_eq!(asked(true, &[]).await, (vec![0, 30, 60, 90], false));
    }

    #[tokio::test(start_paused = true)]
    async fn r9_1_a_failed_renewal_is_tried_with_the_next_one() {
        let answers = &["broken", "broken"];
        assert_eq!(asked(false, answers).await, (vec![30, 60, 90], false));
    }

    #[tokio::test(start_paused = true)]
    async fn r9_2_a_preparation_that_the_engine_gave_up_is_not_renewed_any_more() {
        assert_eq!(
            asked(false, &["renewed", "lost"]).await,
            (vec![30, 60], true)
        );
    }
}
