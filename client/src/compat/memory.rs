//! What was learnt of each build of an engine (R5.3, R5.4).

use std::collections::{BTreeSet, HashMap};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contextwire_engine::Hook;
use contextwire_proto::handshake::EngineDescription;
use lru::LruCache;

use super::adaptation::Adaptation;

/// Builds that are remembered; behind one address there are seldom more than two.
const BUILDS: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// What one build rejected.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    /// Paths that it does not know.
    pub(super) stripped: BTreeSet<String>,
    /// Names that it refused to ignore.
    pub(super) not_understood: BTreeSet<String>,
}

/// What is known of the engines behind one client; in memory only.
#[derive(Debug)]
pub(crate) struct Memory(Mutex<Known>);

#[derive(Debug)]
struct Known {
    builds: LruCache<Build, Learned>,
    /// The engine that was asked last, and what it is sent.
    current: Option<(Arc<EngineDescription>, HashMap<Hook, Adaptation>)>,
}

/// Id, version and build.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Build(String, String, String);

impl Build {
    fn of(engine: &EngineDescription) -> Self {
        let info = &engine.info;
        Self(info.id.clone(), info.version.clone(), info.build.clone())
    }
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Known {
            builds: LruCache::new(BUILDS),
            current: None,
        }))
    }

    /// What of a hook's requests the engine is sent now.
    pub(crate) fn adaptation(&self, hook: Hook, engine: &Arc<EngineDescription>) -> Adaptation {
        let mut known = self.lock();
        let Known { builds, current } = &mut *known;
        let plans = match current {
            Some((known, plans)) if Arc::ptr_eq(known, engine) => plans,
            Some(_) | None => &mut current.insert((Arc::clone(engine), HashMap::new())).1,
        };
        let plan = plans.entry(hook).or_insert_with(|| {
            let learned = builds.get(&Build::of(engine)).cloned();
            Adaptation::of(hook, engine, &learned.unwrap_or_default())
        });
        plan.clone()
    }

    /// What each build rejected: its id, version and build, what it is not sent for that, and what it
    /// refused to ignore.
    pub(crate) fn learned(&self) -> Vec<([String; 3], Vec<String>, Vec<String>)> {
        let known = self.lock();
        let builds = known.builds.iter();
        let texts = |set: &BTreeSet<String>| set.iter().cloned().collect();
        builds
            .map(|(Build(id, version, build), learned)| {
                let build = [id.clone(), version.clone(), build.clone()];
                (
                    build,
                    texts(&learned.stripped),
                    texts(&learned.not_understood),
                )
            })
            .collect()
    }

    /// Takes in something about the engine's build.
    pub(super) fn learn(&self, engine: &EngineDescription, note: impl FnOnce(&mut Learned)) {
        let mut known = self.lock();
        let learned = known
            .builds
            .get_or_insert_mut(Build::of(engine), Learned::default);
        note(learned);
        known.current = None;
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
