//! Any transcript store behind one cloneable handle.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use contextwire_engine::{
    EntryAnchor, EntryId, ReadTranscript, RewriteEntries, Rewritten, Transcript, TranscriptPage,
};
use tokio::sync::watch;

use super::TranscriptStore;
use super::entry::Entry;
use super::error::StoreError;
use super::id::NativeId;
use super::new_entry::NewEntry;
use super::rewrite::RewriteTerms;
use super::state::StoreChange;
use super::turn::{RangeLimits, TurnRange};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A handle to a store of any type; a clone is one reference count.
#[derive(Clone)]
pub struct AnyStore(Arc<dyn Erased>);

impl AnyStore {
    /// Erases the store's type.
    pub fn new(store: impl TranscriptStore) -> Self {
        Self(Arc::new(store))
    }
}

impl std::fmt::Debug for AnyStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyStore").finish_non_exhaustive()
    }
}

/// One line a method: its erased form, the way to it, and the way back.
macro_rules! methods {
    ($($method:ident($($argument:ident: $type:ty),*) => $result:ty;)*) => {
        trait Erased: Send + Sync {
            fn changes(&self) -> watch::Receiver<StoreChange>;
            $(fn $method(&self, $($argument: $type),*) -> Answer<'_, $result>;)*
        }

        impl<S: TranscriptStore> Erased for S {
            fn changes(&self) -> watch::Receiver<StoreChange> {
                TranscriptStore::changes(self)
            }
            $(fn $method(&self, $($argument: $type),*) -> Answer<'_, $result> {
                Box::pin(TranscriptStore::$method(self, $($argument),*))
            })*
        }

        impl TranscriptStore for AnyStore {
            fn changes(&self) -> watch::Receiver<StoreChange> {
                self.0.changes()
            }
            $(async fn $method(&self, $($argument: $type),*) -> Result<$result, StoreError> {
                self.0.$method($($argument),*).await
            })*
        }
    };
}

methods! {
    append(entries: Vec<NewEntry>) => Vec<EntryId>;
    branch(after: Option<NativeId>, now_ms: i64) => ();
    rewrite(request: RewriteEntries, terms: RewriteTerms) => Rewritten;
    log() => Transcript;
    log_ids() => Vec<EntryId>;
    context() => Transcript;
    read(request: ReadTranscript) => TranscriptPage;
    entries() => Vec<Entry>;
    anchor(entry: EntryId) => Option<EntryAnchor>;
    turn(admission: EntryAnchor, terminal: EntryAnchor, limits: RangeLimits) => TurnRange;
}
