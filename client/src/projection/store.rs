//! Bindings on disk: one small file a session and backend, replaced as a whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use contextwire_engine::{Session, SessionId, digest};
use serde::{Deserialize, Serialize};

use super::binding::{Binding, BindingDraft};
use crate::atomic_file;

/// Which thread of which backend belongs to which session. Cheap to clone.
///
/// What is written is on the disk when a method returns, so each takes milliseconds; a host that
/// minds calls them where it may block. Two hosts must not share a folder and a session.
#[derive(Clone, Debug)]
pub struct BindingStore {
    folder: PathBuf,
    backend: String,
}

/// A binding could not be read or written. Without it nobody knows what a thread was shown: begin a
/// new thread, or fail the turn.
#[derive(Debug, thiserror::Error)]
#[error("the thread bindings in {} cannot be {doing}", folder.display())]
pub struct BindingError {
    folder: PathBuf,
    doing: &'static str,
    #[source]
    source: io::Error,
}

type Result<T> = std::result::Result<T, BindingError>;

/// A file, with whom it is about for people who look into it.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    session_id: String,
    backend: String,
    context_engine: Binding,
}

/// An injection that is under way. Dropped without [`confirm`](Self::confirm), whatever the reason,
/// the thread is never gone on in (R10.3).
#[derive(Debug)]
#[must_use = "a binding that is not confirmed begins a new thread"]
pub struct PendingBinding {
    store: BindingStore,
    session: Session,
    draft: BindingDraft,
}

impl BindingStore {
    /// The bindings of a backend (`codex`) in a folder, which is made with the first write.
    pub fn new(folder: impl Into<PathBuf>, backend: impl Into<String>) -> Self {
        Self {
            folder: folder.into(),
            backend: backend.into(),
        }
    }

    /// What is bound to the session. One that succeeded another takes over that one's binding
    /// where it has none of its own. A file that cannot be understood is no binding, and a warning.
    ///
    /// # Errors
    /// [`BindingError`] when a file is there and cannot be read.
    pub fn get(&self, session: &Session) -> Result<Option<Binding>> {
        if let Some(binding) = self.read(&session.id)? {
            return Ok(Some(binding));
        }
        let Some(previous) = &session.previous_id else {
            return Ok(None);
        };
        let Some(binding) = self.read(previous)? else {
            return Ok(None);
        };
        self.succeed(previous, &session.id)?;
        Ok(Some(binding))
    }

    /// First phase: the session's binding is pending, and whatever was bound is not any more.
    /// `thread_id` where the backend has begun the thread already.
    ///
    /// # Errors
    /// [`BindingError`]; then nothing must be injected.
    pub fn begin(
        &self,
        session: &Session,
        draft: BindingDraft,
        thread_id: Option<String>,
    ) -> Result<PendingBinding> {
        self.put(session, &draft.pending(thread_id))?;
        Ok(PendingBinding {
            store: self.clone(),
            session: session.clone(),
            draft,
        })
    }

    /// Stores a binding as it is.
    ///
    /// # Errors
    /// [`BindingError`].
    pub fn put(&self, session: &Session, binding: &Binding) -> Result<()> {
        self.write(&session.id, binding)?;
        // Its predecessor's would come back if this one were removed.
        match &session.previous_id {
            Some(previous) if *previous != session.id => self.delete(previous),
            Some(_) | None => Ok(()),
        }
    }

    /// Removes the session's binding, and that which it would take over.
    ///
    /// # Errors
    /// [`BindingError`].
    pub fn remove(&self, session: &Session) -> Result<()> {
        self.delete(&session.id)?;
        session
            .previous_id
            .iter()
            .try_for_each(|previous| self.delete(previous))
    }

    /// The session goes on under another id: its binding goes with it, in place of one that the
    /// successor has already (HOST-SEMANTICS 6.5).
    ///
    /// # Errors
    /// [`BindingError`]. The binding is then under the old id, or under both.
    pub fn succeed(&self, from: &SessionId, to: &SessionId) -> Result<()> {
        if from == to {
            return Ok(());
        }
        match self.read(from)? {
            Some(binding) => {
                self.write(to, &binding)?;
                self.delete(from)
            }
            None => Ok(()),
        }
    }

    fn path(&self, session: &SessionId) -> PathBuf {
        let name = format!(
            "{}:{}{}",
            self.backend.len(),
            self.backend,
            session.as_str()
        );
        let name = digest::Digest(digest::sha256(name.as_bytes()));
        self.folder.join(format!("{name}.json"))
    }

    fn read(&self, session: &SessionId) -> Result<Option<Binding>> {
        let path = self.path(session);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.failed("read", error)),
        };
        match serde_json::from_slice::<Stored>(&bytes) {
            Ok(stored) => Ok(Some(stored.context_engine)),
            Err(error) => {
                let path = path.display();
                tracing::warn!(%path, %error, "a thread binding is not understood: a new thread begins");
                Ok(None)
            }
        }
    }

    fn write(&self, session: &SessionId, binding: &Binding) -> Result<()> {
        let stored = Stored {
            session_id: session.as_str().to_owned(),
            backend: self.backend.clone(),
            context_engine: binding.clone(),
        };
        let written = serde_json::to_vec_pretty(&stored)
            .map_err(io::Error::from)
            .and_then(|bytes| atomic_file::write_durable(&self.path(session), &bytes));
        written.map_err(|error| self.failed("written", error))
    }

    fn delete(&self, session: &SessionId) -> Result<()> {
        let removed = match fs::remove_file(self.path(session)) {
            Ok(()) => atomic_file::sync_folder(&self.folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        removed.map_err(|error| self.failed("removed", error))
    }

    fn failed(&self, doing: &'static str, source: io::Error) -> BindingError {
        BindingError {
            folder: self.folder.clone(),
            doing,
            source,
        }
    }

    /// Where the files are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl PendingBinding {
    /// Second phase: the thread acknowledged that it has the context.
    ///
    /// # Errors
    /// [`BindingError`]; the turn goes on, and the next one begins a new thread.
    pub fn confirm(self, thread_id: impl Into<String>) -> Result<Binding> {
        let binding = self.draft.confirmed(thread_id);
        self.store.put(&self.session, &binding)?;
        Ok(binding)
    }
}
