//! Engines that are killed, stopped and cut off under many sessions: no call of the host fails, and
//! what is stored is every turn, once.
//!
//! `CONTEXTWIRE_TAKEOVER_SESSIONS` and `CONTEXTWIRE_TAKEOVER_TURNS` set the size; 64 sessions are
//! the figure that docs/bench.md gives.

mod hosts;

use contextwire_client::Target;

use crate::harness::{Flow, Process, Proxy, soon};
#[cfg(target_os = "linux")]
use crate::spawned;
use hosts::Hosts;

/// Three servers of one file.
async fn three(hosts: &Hosts) -> Vec<Process> {
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(Process::serve(&hosts.store()).await);
    }
    servers
}

fn replicas(servers: &[Process]) -> Target {
    Target::replicas(servers.iter().map(|it| it.place().target())).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_replicas_is_killed_under_sessions_and_no_turn_is_lost_or_doubled() {
    let hosts = Hosts::new();
    let mut servers = three(&hosts).await;
    let talk = hosts.talk(&replicas(&servers));
    hosts.turns(1).await;
    servers[0].kill();
    hosts.turns(3).await;
    let figures = soon(talk).await.unwrap();
    figures.show("one of three replicas killed");
    assert_eq!(figures.failed, 0);
    assert_eq!(figures.nobody, 0, "another replica took every call");
    hosts.audit();
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn one_of_three_replicas_is_told_to_stop_under_sessions_and_nobody_notices() {
    let hosts = Hosts::new();
    let mut servers = three(&hosts).await;
    let talk = hosts.talk(&replicas(&servers));
    hosts.turns(1).await;
    // DRAINING for what is new, GOAWAY for the connection, then nobody.
    soon(servers.remove(0).stop()).await;
    let figures = soon(talk).await.unwrap();
    figures.show("one of three replicas drained");
    assert_eq!((figures.failed, figures.nobody), (0, 0));
    hosts.audit();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_only_engine_is_killed_under_sessions_and_run_again_and_no_turn_is_lost_or_doubled() {
    let hosts = Hosts::new();
    let target = Target::spawn(spawned::engine(hosts.store().parent().unwrap()));
    let (client, talk) = hosts.talk_by(&target);
    for turn in [1, 3] {
        hosts.turns(turn).await;
        spawned::kill(&client);
    }
    let figures = soon(talk).await.unwrap();
    figures.show("the only engine killed twice");
    assert_eq!(figures.failed, 0);
    hosts.audit();
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn e_tim_12_a_replica_that_is_paused_under_sessions_goes_on_and_repeats_no_effect() {
    let hosts = Hosts::new();
    let servers = three(&hosts).await;
    let talk = hosts.talk(&replicas(&servers));
    hosts.turns(1).await;
    servers[0].pause();
    hosts.turns(3).await;
    servers[0].resume();
    let figures = soon(talk).await.unwrap();
    figures.show("one of three replicas paused");
    assert_eq!(figures.failed, 0);
    hosts.audit();
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_behind_a_network_that_fails_by_a_seed_lose_and_double_nothing() {
    for seed in [1, 7, 42] {
        let hosts = Hosts::new();
        let servers = three(&hosts).await;
        let mut proxies = Vec::new();
        for server in &servers {
            proxies.push(Proxy::to(server.place()).await);
        }
        let targets = proxies.iter().map(|it| it.place().target());
        let talk = hosts.talk(&Target::replicas(targets).unwrap());
        let mut dice = Dice(seed);
        for step in 0..hosts.all_turns() {
            hosts.turns(step).await;
            let proxy = &proxies[dice.roll(3)];
            match dice.roll(5) {
                0 => proxy.cut(),
                1 => proxy.to_server(Flow::Lose),
                2 => proxy.to_host(Flow::Lose),
                3 => proxy.to_server(Flow::Hold),
                _ => proxies.iter().for_each(Proxy::mend),
            }
            // One at least is always whole: a host without any has its own tests.
            proxies[dice.roll(3)].mend();
        }
        for proxy in &proxies {
            proxy.mend();
            // Bytes are missing from what was lost on the way.
            proxy.cut();
        }
        let figures = soon(talk).await.unwrap();
        figures.show(&format!("a network that fails, seed {seed}"));
        assert_eq!(figures.failed, 0, "seed {seed}");
        hosts.audit();
    }
}

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // Knuth's constants for a linear congruence.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}
