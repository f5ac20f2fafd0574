//! The entries of a log as assembly and compaction read them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use contextwire_engine::tokens::{ModelFamily, estimate_message};
use contextwire_engine::{Message, Omitted};
use contextwire_windowed::form::{self, Look, Reader};
use sha2::{Digest as _, Sha256};

/// An entry of the log, with what was found out about it. Keep it while its session is in use: what
/// is remembered here is not computed again for the next assembly.
#[derive(Debug)]
pub struct Entry {
    message: Message,
    bytes: u64,
    look: OnceLock<Look>,
    form: Mutex<Option<(Asked, Option<Message>)>>,
}

/// The form that a reader wants of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Whoever reads, as [`reader_name`] says.
    pub(crate) reader: Arc<str>,
    /// How many of its oldest images give way to a reference.
    pub(crate) images: usize,
    /// Most tokens, where the entry can be shortened.
    pub(crate) limit: Option<u32>,
    pub(crate) family: ModelFamily,
    /// What a cut names as the place of the whole text.
    pub(crate) handle: Option<u64>,
}

impl Entry {
    /// An entry of the log, or a message that only the host's view holds yet.
    pub fn new(message: Message) -> Self {
        Self {
            bytes: message.payload().len() as u64,
            message,
            look: OnceLock::new(),
            form: Mutex::new(None),
        }
    }

    /// The same entry without its body: its header, identity, size and look, for what plans over many
    /// entries and shows none.
    pub fn outline(message: &Message) -> Self {
        let tokens = estimate_message(ModelFamily::Other, message);
        let omitted = message.omitted().cloned().unwrap_or_else(|| Omitted {
            bytes: message.payload().len() as u64,
            sha256: Sha256::digest(message.payload()).into(),
        });
        let outline = Message::with_header(Bytes::new(), message.header().clone())
            .with_entry_id(message.entry_id().clone())
            .with_omitted(Some(omitted))
            .with_cached_tokens(ModelFamily::Other, tokens);
        Self {
            bytes: message.payload().len() as u64,
            message: outline,
            look: OnceLock::from(Look::of(message)),
            form: Mutex::new(None),
        }
    }

    /// Bytes of its payload, whether that is here or not.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The message as the log has it.
    pub fn message(&self) -> &Message {
        &self.message
    }

    pub(crate) fn look(&self) -> Look {
        *self.look.get_or_init(|| Look::of(&self.message))
    }

    pub(crate) fn tokens(&self, family: ModelFamily) -> u32 {
        estimate_message(family, &self.message)
    }

    /// The message in another form than its own; none where its own will do.
    pub(crate) fn form(&self, asked: &Asked, reader: &Reader<'_>) -> Option<Message> {
        let is_long = asked
            .limit
            .filter(|_| form::can_shorten(&self.message))
            .is_some_and(|limit| self.tokens(asked.family) > limit);
        if self.look().is_plain && !is_long {
            return None;
        }
        let mut remembered = self.form.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, form)) = remembered.as_ref()
            && known == asked
        {
            return form.clone();
        }
        let form = self.make(asked, reader);
        *remembered = Some((asked.clone(), form.clone()));
        form
    }

    fn make(&self, asked: &Asked, reader: &Reader<'_>) -> Option<Message> {
        let cleaned = form::cleaned(&self.message, reader, asked.images);
        let current = cleaned.as_ref().unwrap_or(&self.message);
        let handle = asked.handle.map(handle);
        let limit = asked.limit.filter(|_| form::can_shorten(&self.message));
        let short =
            limit.and_then(|limit| form::shorten(current, limit, asked.family, handle.as_deref()));
        short.or(cleaned)
    }
}

/// What the model is shown as the handle of an entry.
pub fn handle(place: u64) -> String {
    format!("msg:{place}")
}

pub(crate) fn reader_name(reader: &Reader<'_>) -> Arc<str> {
    let part = |part: Option<&str>| part.unwrap_or_default().to_ascii_lowercase();
    Arc::from(format!("{}\0{}", part(reader.provider), part(reader.model)))
}

/// A session's log as it is at one moment. Reading it never waits for a writer.
pub trait Log: Send + Sync {
    /// One beyond the last place.
    fn end(&self) -> u64;

    /// The entry at a place; absent where there is none any more.
    fn entry(&self, place: u64) -> Option<Arc<Entry>>;

    /// Estimated tokens of all entries before a place, so that what is not shown can be counted
    /// without reading it.
    fn tokens_before(&self, place: u64) -> u64;
}

/// A log in memory, with sums of its tokens. A clone costs what the list costs; keep it in an `Arc`.
#[derive(Clone, Debug, Default)]
pub struct LogList {
    entries: Vec<Arc<Entry>>,
    /// Tokens of the entries up to and with each place.
    sums: Vec<u64>,
}

impl LogList {
    /// Appends an entry and counts it.
    pub fn push(&mut self, message: Message) {
        let entry = Entry::new(message);
        let before = self.sums.last().copied().unwrap_or_default();
        self.sums
            .push(before + u64::from(entry.tokens(ModelFamily::Other)));
        self.entries.push(Arc::new(entry));
    }
}

impl Extend<Message> for LogList {
    fn extend<I: IntoIterator<Item = Message>>(&mut self, messages: I) {
        messages.into_iter().for_each(|message| self.push(message));
    }
}

impl FromIterator<Message> for LogList {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        let mut list = Self::default();
        list.extend(messages);
        list
    }
}

impl Log for LogList {
    fn end(&self) -> u64 {
        self.entries.len() as u64
    }

    fn entry(&self, place: u64) -> Option<Arc<Entry>> {
        self.entries.get(usize::try_from(place).ok()?).cloned()
    }

    fn tokens_before(&self, place: u64) -> u64 {
        let last = place.min(self.end()).checked_sub(1);
        last.and_then(|last| self.sums.get(usize::try_from(last).ok()?))
            .copied()
            .unwrap_or_default()
    }
}
