//! Turns that another look at the engine decides about: the next one, a barred one, one switched off.

use super::*;

fn admission() -> Admission {
    Admission::Unrecorded("t".to_owned())
}

async fn mode(host: &Host) -> TurnMode {
    let turn = host.turn(&session("s"), admission()).await.unwrap();
    turn.engine().mode
}

#[tokio::test]
async fn c135_the_next_turn_looks_again_at_what_the_engine_requires() {
    let host = refusing(Policy::Lease);
    assert_eq!(mode(&host).await, TurnMode::LegacyDegraded);
    host.engine("lossless").unwrap().known.learn(description());
    assert_eq!(mode(&host).await, TurnMode::Configured);
    assert_eq!(host.status().engines[0].quarantine, []);
}

#[tokio::test]
async fn c159_a_turn_by_lease_has_a_barred_engine_all_the_same() {
    for (policy, code) in [
        (Policy::Lease, "UNREACHABLE"),
        (Policy::Guarded, "QUARANTINED"),
    ] {
        let list = Quarantines::new();
        let options = ClientOptions {
            quarantine: QuarantineOptions {
                list: list.clone(),
                ..QuarantineOptions::default()
            },
            ..ClientOptions::default()
        };
        let host = Host::builder()
            .options(options)
            .engine("lossless", nowhere())
            .policy(policy)
            .build()
            .unwrap();
        host.engine("lossless").unwrap().known.learn(description());
        list.bar(QuarantineRecord::new("lossless", "assemble", "bug"));
        let turn = host.turn(&session("s"), admission()).await.unwrap();
        assert_eq!(turn.engine().mode, TurnMode::Configured);
        assert_eq!(origin(&turn).await, in_process(code));
        let own = host.active_info().unwrap().id == "scripted";
        assert_eq!(own, policy == Policy::Lease);
        assert_eq!(list.records().len(), 1);
    }
}

#[tokio::test]
async fn br_009_a_switched_off_engine_is_a_plan_and_status_says_so() {
    for policy in [Policy::Guarded, Policy::Lease] {
        let off = Registration {
            lifecycle: Lifecycle::Disabled,
            ..Registration::new("my-engine", "plugin:my-plugin", nowhere())
        };
        let host = builder().register(off).policy(policy).build().unwrap();
        assert_eq!(host.selected(), "my-engine");
        assert_eq!(origin(&host).await, (ServedBy::InProcess, None));
        let turn = host.turn(&session("s"), admission()).await.unwrap();
        let engine = turn.engine();
        assert_eq!(engine.registered_id, "legacy");
        assert_eq!((engine.mode, engine.reason), (TurnMode::Configured, None));
        assert_eq!(origin(&turn).await, (ServedBy::InProcess, None));
        let status = host.status();
        assert_eq!(
            (&*status.selected, &*status.active),
            ("my-engine", "legacy")
        );
        let reason = status.inactive_because.unwrap();
        assert_eq!(reason, "it is switched off");
        assert_eq!(status.engines[0].quarantine, []);
    }
}
