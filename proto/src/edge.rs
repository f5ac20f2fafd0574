//! What a serving side judges before a handler sees a request, the same for every hook: unknown
//! fields (R5.6), names that must be understood (R5.4), the version of the runtime settings (R4.2).
//!
//! All of it happens where a request is decoded, so no hook can forget it and nothing can have
//! happened yet.

use std::task::{Context, Poll};

use contextwire_engine::Hook;
use tokio::task::futures::TaskLocalFuture;
use tonic::codegen::Service;
use tonic::server::NamedService;

use crate::limits::{MUST_UNDERSTAND_PATHS, RUNTIME_SETTINGS_VERSIONS};
use crate::reason::Reason;
use crate::schema;
use crate::status::Refusal;
use crate::v1;

tokio::task_local! {
    /// Set while the service of an [`Edge`] makes its codecs.
    static CURRENT: UnknownFields;
}

/// What an engine does about fields of a request that it does not know (R5.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownFields {
    /// Drops them in silence.
    #[default]
    Ignore,
    /// Refuses the request, naming all of them, before any effect.
    Reject,
}

/// A generated service whose requests are judged; without it, they are only decoded.
///
/// The generated code makes its codec by `Default`, for every call and inside of it, and gives it
/// nothing to tell one server from another. So the choice goes through a task-local that is set
/// while the service runs: the codec takes it along when it is made, and its decoder keeps it also
/// where a stream is read on another task. The other ways cost more: a second set of stubs for
/// strict servers doubles the generated code and every handler; a layer around the body would have
/// to take frames apart, and decompress them, a second time.
#[derive(Clone, Debug)]
pub struct Edge<S> {
    service: S,
    unknown_fields: UnknownFields,
}

impl<S> Edge<S> {
    /// Judges the requests of a service.
    pub fn new(service: S, unknown_fields: UnknownFields) -> Self {
        Self {
            service,
            unknown_fields,
        }
    }
}

impl<S: NamedService> NamedService for Edge<S> {
    const NAME: &'static str = S::NAME;
}

impl<S: Service<R>, R> Service<R> for Edge<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = TaskLocalFuture<UnknownFields, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let Self {
            service,
            unknown_fields,
        } = self;
        let answer = CURRENT.sync_scope(*unknown_fields, || service.call(request));
        CURRENT.scope(*unknown_fields, answer)
    }
}

/// The choice of the [`Edge`] that this is called inside of; `None` outside of any.
pub(crate) fn current() -> Option<UnknownFields> {
    CURRENT.try_with(|choice| *choice).ok()
}

/// A request message of a hook: the whole request, or one frame of it.
pub trait EdgeRequest {
    /// Which hook.
    const HOOK: Hook;

    /// What the call says of itself, where this is the message that says it.
    fn call(&self) -> Option<&v1::CallContext>;

    /// The settings in the same message.
    fn runtime_settings(&self) -> Option<&v1::RuntimeSettings>;
}

/// Refuses a request whose meaning would be lost here.
pub(crate) fn understood<R: EdgeRequest>(request: &R) -> Result<(), Refusal> {
    if let Some(call) = request.call() {
        names_known(R::HOOK, &call.must_understand)?;
    }
    match request.runtime_settings() {
        Some(settings) => version_known(settings.schema_version),
        None => Ok(()),
    }
}

fn names_known(hook: Hook, names: &[String]) -> Result<(), Refusal> {
    // A longer list is refused for its length when the call is read.
    let names = names.iter().take(MUST_UNDERSTAND_PATHS);
    let unknown: Vec<_> = names.filter(|name| !schema::knows(hook, name)).collect();
    let Some(first) = unknown.first() else {
        return Ok(());
    };
    let text = format!("this engine does not understand {first}, which must not be ignored");
    let refusal = Refusal::new(Reason::NotUnderstood, text)
        .with("count", &unknown.len())
        .with("name", first);
    Err(unknown.into_iter().fold(refusal, |refusal, name| {
        refusal.violation(name, "not understood")
    }))
}

/// Zero says nothing: no field of the settings is ever required (R4.2).
fn version_known(version: u32) -> Result<(), Refusal> {
    if version == 0 || RUNTIME_SETTINGS_VERSIONS.contains(&version) {
        return Ok(());
    }
    let supported = RUNTIME_SETTINGS_VERSIONS
        .map(|known| known.to_string())
        .join(",");
    let text = format!("runtime settings of version {version}; this engine reads {supported}");
    Err(Refusal::new(Reason::VersionUnsupported, text)
        .with("schema_version", &version)
        .with("supported", &supported)
        .violation("runtime_settings.schema_version", "not supported"))
}

macro_rules! unary {
    ($($request:ident of $hook:ident: $call:expr, $settings:expr;)*) => {$(
        impl EdgeRequest for v1::$request {
            const HOOK: Hook = Hook::$hook;

            fn call(&self) -> Option<&v1::CallContext> {
                let call: fn(&Self) -> Option<&v1::CallContext> = $call;
                call(self)
            }

            fn runtime_settings(&self) -> Option<&v1::RuntimeSettings> {
                let settings: fn(&Self) -> Option<&v1::RuntimeSettings> = $settings;
                settings(self)
            }
        }
    )*};
}

unary! {
    DescribeRequest of Describe: |_| None, |_| None;
    IngestRequest of Ingest: |it| it.call.as_ref(), |_| None;
    IngestBatchRequest of IngestBatch: |it| it.call.as_ref(), |_| None;
    CommitTurnRequest of CommitTurn: |it| it.call.as_ref(), |it| it.runtime_settings.as_ref();
    PrepareSubagentSpawnRequest of PrepareSubagentSpawn: |it| it.call.as_ref(), |_| None;
    ResolveSubagentSpawnRequest of ResolveSubagentSpawn: |it| it.call.as_ref(), |_| None;
    EndSubagentRequest of EndSubagent: |it| it.call.as_ref(), |_| None;
    DisposeRequest of Dispose: |it| it.call.as_ref(), |_| None;
}

macro_rules! streaming {
    ($($request:ident of $hook:ident, $frame:path;)*) => {$(
        impl EdgeRequest for v1::$request {
            const HOOK: Hook = Hook::$hook;

            fn call(&self) -> Option<&v1::CallContext> {
                use $frame as Frame;
                match self.frame.as_ref()? {
                    Frame::Start(start) => start.call.as_ref(),
                    Frame::Transcript(_) | Frame::HostCallResult(_) | Frame::Cancel(_) => None,
                }
            }

            fn runtime_settings(&self) -> Option<&v1::RuntimeSettings> {
                use $frame as Frame;
                match self.frame.as_ref()? {
                    Frame::Start(start) => start.runtime_settings.as_ref(),
                    Frame::Transcript(_) | Frame::HostCallResult(_) | Frame::Cancel(_) => None,
                }
            }
        }
    )*};
}

streaming! {
    BootstrapRequest of Bootstrap, v1::bootstrap_request::Frame;
    AssembleRequest of Assemble, v1::assemble_request::Frame;
    CompactRequest of Compact, v1::compact_request::Frame;
    AfterTurnRequest of AfterTurn, v1::after_turn_request::Frame;
    MaintainRequest of Maintain, v1::maintain_request::Frame;
}

#[cfg(test)]
mod tests;
