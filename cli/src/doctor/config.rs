//! A configuration: everything that is wrong with it, then the engines that it names.

use std::path::Path;
use std::time::Duration;

use contextwire_client::Target;
use contextwire_server::Listen;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::examine_engine;
use crate::command::serve;
use crate::config::{Config, ConfigArgs, Loaded, Origin};
use crate::report::Finding;

const CHECK: &str = "configuration";

/// Every finding about the configuration in this file, with the variables of the environment, and
/// about the engines that it names. Each answer is waited for at most this long, or as long as the
/// configuration says.
pub async fn examine_config(path: &Path, within: Option<Duration>) -> Vec<Finding> {
    let loaded = load(path);
    let mut findings = problems(&loaded);
    let config = loaded.despite_problems();
    findings.extend(limits(config));
    findings.extend(key_file(config));
    let within = within.unwrap_or(config.doctor_deadline);
    if let Some(target) = &config.host.target {
        findings.push(Finding::ok("target", format!("{target} of host.target")));
        findings.extend(examine_engine(target, within).await);
    }
    for target in served(config) {
        if Some(&target) == config.host.target.as_ref() {
            continue;
        }
        findings.extend(service(&target, path, within).await);
    }
    findings
}

/// The engine that a configuration is about: the one that its host calls, else its service.
///
/// # Errors
/// When it names none.
pub fn target_of(path: &Path) -> anyhow::Result<Target> {
    let loaded = load(path);
    let config = loaded.despite_problems();
    let target = config.host.target.clone();
    let target = target.or_else(|| served(config).into_iter().next());
    target.ok_or_else(|| anyhow::anyhow!("{} names no engine: set host.target", path.display()))
}

fn load(path: &Path) -> Loaded {
    let args = ConfigArgs {
        config: Some(path.to_owned()),
    };
    args.load(|_| {})
}

fn problems(loaded: &Loaded) -> Vec<Finding> {
    let found = loaded.problems().iter().map(|problem| {
        let key = problem.key.as_ref();
        let key = key.map_or_else(String::new, |key| format!("{key}: "));
        let found = format!("{}: {key}{}", problem.origin, problem.problem);
        Finding::problem(CHECK, found, problem.advice.clone())
    });
    let found: Vec<_> = found.collect();
    if !found.is_empty() {
        return found;
    }
    let values = loaded.values();
    let from = |is: fn(&Origin) -> bool| values.iter().filter(|(_, _, origin)| is(origin)).count();
    let file = from(|origin| matches!(origin, Origin::File { .. }));
    let variables = from(|origin| matches!(origin, Origin::Variable { .. }));
    let found = format!("{file} values from the file, {variables} from the environment");
    vec![Finding::ok(CHECK, found)]
}

/// Limits that can be kept, and that nobody wants together.
fn limits(config: &Config) -> Vec<Finding> {
    let options = &config.server.options;
    let mut findings = Vec::new();
    if options.max_streams <= options.max_hooks {
        findings.push(Finding::warning(
            "limits",
            format!(
                "server.max_streams ({}) is not above server.max_hooks ({})",
                options.max_streams, options.max_hooks
            ),
            "raise it: hosts wait for a stream where they could be refused and fall back",
        ));
    }
    if options.max_session_hooks > options.max_hooks {
        findings.push(Finding::warning(
            "limits",
            format!(
                "server.max_session_hooks ({}) is above server.max_hooks ({})",
                options.max_session_hooks, options.max_hooks
            ),
            "lower it: one session could take the room of all others",
        ));
    }
    findings
}

#[cfg(unix)]
fn key_file(config: &Config) -> Option<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let path = config.engine.summarizer.summarizer_key_file.as_ref()?;
    let mode = path.metadata().ok()?.permissions().mode() & 0o777;
    let for_others = mode & 0o077;
    if for_others == 0 {
        return Some(Finding::ok("key", format!("its file has mode {mode:03o}")));
    }
    Some(Finding::warning(
        "key",
        format!("others can read {} (mode {mode:03o})", path.display()),
        format!("chmod 600 {}", path.display()),
    ))
}

#[cfg(not(unix))]
fn key_file(_: &Config) -> Option<Finding> {
    None
}

/// Where the configured service listens, as far as that is known before it runs.
fn served(config: &Config) -> Vec<Target> {
    let listen = serve::addresses(&config.server).unwrap_or_default();
    let target = |listen| match listen {
        Listen::Tcp(address) if address.port() == 0 => None,
        Listen::Tcp(address) => Some(Target::Tcp(address)),
        #[cfg(unix)]
        Listen::Unix(path) => Some(Target::Unix(path)),
    };
    listen.into_iter().filter_map(target).collect()
}

/// The configured service, where it runs.
async fn service(target: &Target, config: &Path, within: Duration) -> Vec<Finding> {
    if !is_listening(target, within).await {
        return vec![Finding::warning(
            "service",
            format!("nobody listens at {target}"),
            format!(
                "`contextwire serve --config {}` starts it",
                config.display()
            ),
        )];
    }
    let mut findings = vec![Finding::ok("service", format!("{target} of [server]"))];
    findings.extend(examine_engine(target, within).await);
    findings
}

async fn is_listening(target: &Target, within: Duration) -> bool {
    let connected = async {
        match target {
            #[cfg(unix)]
            Target::Unix(path) => tokio::net::UnixStream::connect(path).await.is_ok(),
            #[cfg(not(unix))]
            Target::Unix(_) => false,
            Target::Tcp(address) => TcpStream::connect(address).await.is_ok(),
            // A service listens at addresses of its own.
            Target::Spawn(_) | Target::Replicas(_) => false,
        }
    };
    timeout(within, connected).await.unwrap_or(false)
}
