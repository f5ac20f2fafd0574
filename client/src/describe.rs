//! Layer: an engine is described before its first hook and again after a loss (PROTOCOL 1).

mod asking;

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use contextwire_engine::Hook;
use contextwire_proto::handshake::{EngineDescription, HostDescription, Limits};
use contextwire_proto::{limits, schema, v1};
use futures_util::future::{BoxFuture, select_ok};
use tokio::time::{Instant, timeout, timeout_at};
use tower::{Layer, Service};

use crate::call::{Answer, Call};
use crate::classify::complaint;
use crate::compat::Adaptation;
use crate::connect::Stub;
use crate::error::{CallError, FailureClass};
use crate::info_file::InfoFile;
use crate::neutral;
use crate::options::ClientOptions;
use crate::quarantine::Bar;
use crate::request::EngineRequest;
use crate::requirements::{HostProfile, operation};
use crate::target::Target;

use asking::{of_first_minor, send};

/// A call and the engine that it goes to.
#[derive(Clone, Debug)]
pub(crate) struct KnownCall {
    pub(crate) call: Call,
    pub(crate) engine: Arc<EngineDescription>,
    pub(crate) adaptation: Adaptation,
}

/// What is known of one engine; shared by all clones of a client.
#[derive(Debug)]
pub(crate) struct Acquaintance {
    way: Way,
    target: Target,
    host: HostDescription,
    profile: Option<HostProfile>,
    bar: Bar,
    /// Of several endpoints, all write the same one.
    file: Option<Arc<InfoFile>>,
    /// What the engine said last, valid or not (R7.12).
    last: Mutex<Option<Arc<EngineDescription>>>,
    known: Mutex<Option<(Arc<EngineDescription>, Option<Instant>)>>,
    asking: tokio::sync::Mutex<()>,
}

/// Whom to ask.
#[derive(Debug)]
enum Way {
    /// The engine, at the one endpoint that this is about.
    Endpoint(Stub),
    /// Those who know its endpoints.
    Several(Vec<Arc<Acquaintance>>),
}

impl Acquaintance {
    /// What is known of an engine with one endpoint.
    pub(crate) fn new(stub: Stub, target: &Target, options: &ClientOptions) -> Self {
        Self::by(Way::Endpoint(stub), target, options)
    }

    /// What is known of an engine with these endpoints, each by a stub of its own; and of each
    /// endpoint.
    pub(crate) fn several(
        endpoints: Vec<(Stub, Target)>,
        target: &Target,
        options: &ClientOptions,
    ) -> (Self, Vec<Arc<Self>>) {
        let mut whole = Self::by(Way::Several(Vec::new()), target, options);
        let each = endpoints.into_iter().map(|(stub, target)| {
            Arc::new(Self {
                way: Way::Endpoint(stub),
                target,
                host: whole.host.clone(),
                profile: whole.profile.clone(),
                bar: whole.bar.clone(),
                file: whole.file.clone(),
                last: Mutex::default(),
                known: Mutex::default(),
                asking: tokio::sync::Mutex::default(),
            })
        });
        let each: Vec<_> = each.collect();
        whole.way = Way::Several(each.clone());
        (whole, each)
    }

    fn by(way: Way, target: &Target, options: &ClientOptions) -> Self {
        let engine_id = options.engine_id.clone();
        let file = options.info_file.clone().map(InfoFile::new).map(Arc::new);
        let profile = options.profile.clone();
        let shown = profile.clone().unwrap_or_else(|| HostProfile {
            id: options.host_id.clone(),
            label: options.host_id.clone(),
            capabilities: Vec::new(),
        });
        let host = HostDescription {
            protocol: limits::PROTOCOL,
            id: shown.id,
            label: shown.label,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instance: uuid::Uuid::now_v7().to_string(),
            capabilities: shown.capabilities,
            runtime_settings_versions: limits::RUNTIME_SETTINGS_VERSIONS.to_vec(),
            limits: Limits {
                max_message_bytes: Some(options.max_message_bytes as u64),
                ..Limits::default()
            },
        };
        Self {
            way,
            target: target.clone(),
            host,
            bar: Bar::new(engine_id.unwrap_or_else(|| target.to_string()), options),
            last: Mutex::new(file.as_deref().and_then(InfoFile::read).map(Arc::new)),
            profile,
            file,
            known: Mutex::new(None),
            asking: tokio::sync::Mutex::new(()),
        }
    }

    /// Where the engine is.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Those who know the endpoints of an engine that has several.
    fn endpoints(&self) -> &[Arc<Self>] {
        match &self.way {
            Way::Endpoint(_) => &[],
            Way::Several(endpoints) => endpoints,
        }
    }

    /// What bars the engine.
    pub(crate) fn bar(&self) -> &Bar {
        &self.bar
    }

    /// What the engine said last, whether or not it still holds; nothing while it was never reached.
    /// Of several endpoints the newest one speaks: what only it can is done there.
    pub(crate) fn last(&self) -> Option<Arc<EngineDescription>> {
        let endpoints = self.endpoints().iter().filter_map(|it| it.last());
        if let Some(newest) = endpoints.max_by_key(|it| it.protocol.minor) {
            return Some(newest);
        }
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.clone()
    }

    /// Whether the engine is known to have no such method.
    pub(crate) fn lacks(&self, hook: Hook) -> bool {
        self.last().is_some_and(|engine| !has(&engine, hook))
    }

    /// What this host calls itself: random per start.
    pub(crate) fn host_instance(&self) -> &str {
        &self.host.instance
    }

    /// The largest message that both sides take, in bytes; the host's own limit while the engine is
    /// not known by `ends`.
    pub(crate) async fn max_message_bytes(&self, ends: Instant) -> usize {
        let engine = timeout_at(ends, self.engine())
            .await
            .ok()
            .and_then(Result::ok);
        let theirs = engine.and_then(|engine| engine.limits.max_message_bytes);
        let smaller = theirs
            .into_iter()
            .chain(self.host.limits.max_message_bytes)
            .min();
        smaller
            .and_then(|bytes| usize::try_from(bytes).ok())
            .unwrap_or(usize::MAX)
    }

    /// The engine's description, asked for at most once at a time.
    pub(crate) async fn engine(&self) -> Result<Arc<EngineDescription>, CallError> {
        if let Some(known) = self.current() {
            return Ok(known);
        }
        let _turn = self.asking.lock().await;
        if let Some(known) = self.current() {
            return Ok(known);
        }
        let asked = self.ask(Hook::Describe.profile().deadline).await;
        match (asked, self.last()) {
            (Err(error), Some(last)) if complaint(&error).is_some() => {
                tracing::debug!(%error, "the engine will not be described: taken as it was last");
                *self.lock() = Some((Arc::clone(&last), None));
                Ok(last)
            }
            (asked, _) => asked,
        }
    }

    /// Asks the engine now; of several endpoints all of them, and takes the first answer.
    pub(crate) async fn ask(&self, share: Duration) -> Result<Arc<EngineDescription>, CallError> {
        let endpoints = match &self.way {
            Way::Endpoint(stub) => return self.ask_at(stub, share).await,
            Way::Several(endpoints) => endpoints,
        };
        let asked = endpoints.iter().filter_map(|it| match &it.way {
            Way::Endpoint(stub) => Some(Box::pin(it.ask_at(stub, share))),
            Way::Several(_) => None,
        });
        let asked: Vec<_> = asked.collect();
        if asked.is_empty() {
            let nobody = "there is no endpoint".to_owned();
            return Err(CallError::Unsupported(nobody));
        }
        let (engine, _) = select_ok(asked).await?;
        Ok(engine)
    }

    async fn ask_at(
        &self,
        stub: &Stub,
        share: Duration,
    ) -> Result<Arc<EngineDescription>, CallError> {
        let answer = timeout(share, self.introduce(stub, Instant::now() + share));
        let answer = answer
            .await
            .map_err(|_| CallError::DeadlineExceeded { share })?
            .map_err(CallError::of_describing)?;
        let engine: EngineDescription = answer
            .try_into()
            .map_err(|error| CallError::Malformed(format!("Describe: {error}")))?;
        let engine = Arc::new(check(engine)?);
        let expires = (!engine.ttl.is_zero()).then(|| Instant::now() + engine.ttl);
        *self.lock() = Some((Arc::clone(&engine), expires));
        let before = {
            let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.replace(Arc::clone(&engine))
        };
        if let Some(file) = &self.file
            && before.is_none_or(|before| before.info != engine.info)
        {
            file.write(Arc::clone(&engine));
        }
        Ok(engine)
    }

    /// What the host lacks of what the engine requires for this call, and the name of the operation
    /// that it belongs to; nothing is judged for a host that does not say what it can.
    fn operation(
        &self,
        engine: &EngineDescription,
        request: &EngineRequest,
    ) -> Result<Option<&'static str>, CallError> {
        let Some((profile, operation)) = self.profile.as_ref().zip(operation(request)) else {
            return Ok(None);
        };
        match profile.unmet(&engine.info, operation) {
            Some(unmet) => Err(CallError::Unmet(Box::new(unmet))),
            None => Ok(Some(operation)),
        }
    }

    /// Says who the host is; to an engine that refuses that, once more in the words of the first
    /// minor (R5.5).
    async fn introduce(
        &self,
        stub: &Stub,
        share_ends: Instant,
    ) -> Result<v1::DescribeResponse, CallError> {
        let request = v1::DescribeRequest::from(self.host.clone());
        let refused = match send(stub, request.clone(), share_ends).await {
            Err(error) if complaint(&error).is_some() => error,
            outcome => return outcome,
        };
        tracing::info!(error = %refused, "the engine refused to be described: asked anew, as of old");
        send(stub, of_first_minor(&request)?, share_ends).await
    }

    /// The connection was lost: what comes back may be another build.
    pub(crate) fn forget(&self) {
        self.endpoints().iter().for_each(|it| it.forget());
        *self.lock() = None;
    }

    /// The description while it is valid.
    pub(crate) fn current(&self) -> Option<Arc<EngineDescription>> {
        let endpoints = self.endpoints().iter().filter_map(|it| it.current());
        if let Some(newest) = endpoints.max_by_key(|it| it.protocol.minor) {
            return Some(newest);
        }
        let known = self.lock();
        let (engine, expires) = known.as_ref()?;
        expires
            .is_none_or(|at| Instant::now() < at)
            .then(|| Arc::clone(engine))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Arc<EngineDescription>, Option<Instant>)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the engine has a method: named in its description, and no newer than its minor.
fn has(engine: &EngineDescription, hook: Hook) -> bool {
    engine.info.methods.contains(&hook) && schema::method_since(hook) <= engine.protocol.minor
}

/// Refuses an engine that this host cannot work with (HOST-SEMANTICS 3.2, BR-171).
fn check(engine: EngineDescription) -> Result<EngineDescription, CallError> {
    let (ours, theirs) = (limits::PROTOCOL, engine.protocol);
    if ours.major != theirs.major {
        return Err(CallError::Incompatible {
            ours: format!("{}.{}", ours.major, ours.minor),
            theirs: format!("{}.{}", theirs.major, theirs.minor),
        });
    }
    match engine.info.problems() {
        problems if problems.is_empty() => Ok(engine),
        problems => Err(CallError::Malformed(problems.join("; "))),
    }
}

/// Wraps a service of known calls in [`Describe`].
#[derive(Clone, Debug)]
pub(crate) struct DescribeLayer(pub(crate) Arc<Acquaintance>);

impl<S> Layer<S> for DescribeLayer {
    type Service = Describe<S>;

    fn layer(&self, inner: S) -> Describe<S> {
        Describe {
            inner,
            acquaintance: Arc::clone(&self.0),
        }
    }
}

/// Sends a call on together with its engine's description. A method that the description does not
/// name is never called (R1.1).
#[derive(Clone, Debug)]
pub(crate) struct Describe<S> {
    inner: S,
    acquaintance: Arc<Acquaintance>,
}

impl<S> Service<Call> for Describe<S>
where
    S: Service<KnownCall, Response = Answer, Error = CallError> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Answer;
    type Error = CallError;
    type Future = BoxFuture<'static, Result<Answer, CallError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CallError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut call: Call) -> Self::Future {
        // The service that said it is ready is the one that is called.
        let spare = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, spare);
        let acquaintance = Arc::clone(&self.acquaintance);
        Box::pin(async move {
            let engine = acquaintance.engine().await?;
            if !has(&engine, call.hook()) {
                return neutral::absent(&call);
            }
            let operation = acquaintance.operation(&engine, &call.request)?;
            call.operation = call.operation.or(operation.map(str::to_owned));
            let adaptation = Adaptation::default();
            let known = KnownCall {
                call,
                engine,
                adaptation,
            };
            let outcome = inner.call(known).await;
            if outcome
                .as_ref()
                .is_err_and(|error| error.class() == FailureClass::Transient)
            {
                acquaintance.forget();
            }
            outcome
        })
    }
}

#[cfg(test)]
mod tests;
