//! Rounds of calls, and the medians of them.

use std::future::Future;
use std::time::Duration;

/// Rounds whose median counts.
pub(super) const ROUNDS: usize = 5;

/// Something whose calls take time.
pub(super) trait Subject: Send {
    /// Makes one call and says how long it took; getting it ready does not count.
    fn call(&mut self) -> impl Future<Output = anyhow::Result<Duration>> + Send;
}

/// A number, alone or beside its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub(super) value: f64,
    pub(super) baseline: Option<f64>,
    /// Value by baseline.
    pub(super) ratio: Option<f64>,
}

impl Measured {
    /// A number with nothing beside it.
    pub(super) fn alone(value: f64) -> Self {
        Self {
            value,
            baseline: None,
            ratio: None,
        }
    }

    /// Two numbers of the same kind.
    pub(super) fn against(value: f64, baseline: f64) -> Self {
        Self {
            value,
            baseline: Some(baseline),
            ratio: Some(value / baseline),
        }
    }

    /// The medians over the rounds. That of the ratios is taken of its own: within a round both
    /// sides saw the same machine.
    pub(super) fn of_rounds(rounds: &[(f64, f64)]) -> Self {
        let each = |of: fn(&(f64, f64)) -> f64| median(rounds.iter().map(of).collect());
        Self {
            value: each(|(value, _)| *value),
            baseline: Some(each(|(_, baseline)| *baseline)),
            ratio: Some(each(|(value, baseline)| value / baseline)),
        }
    }
}

/// How calls alternate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Times that both sides have their turn, in a round.
    pub(super) batches: usize,
    /// Calls of the candidate in a batch.
    pub(super) candidate: usize,
    /// Calls of the baseline in a batch.
    pub(super) baseline: usize,
}

/// The p50 of each side in microseconds, medians of five rounds.
///
/// # Errors
/// The first call that failed.
pub(super) async fn pair(
    plan: Plan,
    candidate: &mut impl Subject,
    baseline: &mut impl Subject,
) -> anyhow::Result<Measured> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    // Connecting, describing and first allocations are nobody's p50.
    run(candidate, plan.candidate, &mut Vec::new()).await?;
    run(baseline, plan.baseline, &mut Vec::new()).await?;
    for _ in 0..ROUNDS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..plan.batches {
            run(candidate, plan.candidate, &mut ours).await?;
            run(baseline, plan.baseline, &mut theirs).await?;
        }
        rounds.push((median(ours), median(theirs)));
    }
    Ok(Measured::of_rounds(&rounds))
}

/// The p50 of `calls` calls a round in microseconds, median of five rounds.
///
/// # Errors
/// The first call that failed.
pub(super) async fn alone(calls: usize, subject: &mut impl Subject) -> anyhow::Result<Measured> {
    let mut rounds = Vec::with_capacity(ROUNDS);
    subject.call().await?;
    for _ in 0..ROUNDS {
        let mut times = Vec::with_capacity(calls);
        run(subject, calls, &mut times).await?;
        rounds.push(median(times));
    }
    Ok(Measured::alone(median(rounds)))
}

async fn run(subject: &mut impl Subject, calls: usize, times: &mut Vec<f64>) -> anyhow::Result<()> {
    for _ in 0..calls {
        times.push(micros(subject.call().await?));
    }
    Ok(())
}

/// Microseconds with their fraction.
pub(super) fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// The middle value, the upper one of two; not a number where there is none.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes the next of these times, and the last for ever.
    struct Scripted(Vec<u64>);

    impl Subject for Scripted {
        async fn call(&mut self) -> anyhow::Result<Duration> {
            let micros = if self.0.len() > 1 {
                self.0.remove(0)
            } else {
                self.0[0]
            };
            Ok(Duration::from_micros(micros))
        }
    }

    #[test]
    fn the_median_is_a_value_that_occurred() {
        let of = |values: &[f64]| Measured::alone(median(values.to_vec()));
        assert_eq!(of(&[3.0, 1.0, 2.0]), Measured::alone(2.0));
        assert_eq!(of(&[4.0, 1.0, 2.0, 3.0]), Measured::alone(3.0));
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_ratio_is_the_median_of_the_rounds_ratios() {
        let rounds = [(10.0, 10.0), (30.0, 20.0), (20.0, 5.0)];
        let measured = Measured::of_rounds(&rounds);
        let medians = Measured {
            value: 20.0,
            baseline: Some(10.0),
            ratio: Some(1.5),
        };
        assert_eq!(measured, medians);
    }

    #[tokio::test]
    async fn one_slow_round_and_the_first_calls_do_not_count() {
        let plan = Plan {
            batches: 1,
            candidate: 2,
            baseline: 1,
        };
        // Two calls to warm up, then a round that something disturbed.
        let mut candidate = Scripted(vec![900, 900, 500, 500, 20]);
        let measured = pair(plan, &mut candidate, &mut Scripted(vec![10])).await;
        assert_eq!(
            measured.unwrap(),
            Measured {
                value: 20.0,
                baseline: Some(10.0),
                ratio: Some(2.0)
            }
        );
        let alone = alone(3, &mut Scripted(vec![900, 7])).await.unwrap();
        assert_eq!(alone, Measured::alone(7.0));
    }
}
