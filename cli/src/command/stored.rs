//! The store of the lossless engine, and which session of it a command is about.

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use contextwire_engine::{CurrentTurn, SessionId, TokenBudget};
use contextwire_lossless::fit::Fitted;
use contextwire_lossless::{PastSession, open_file};
use contextwire_store::StoreFile;
use contextwire_windowed::Window;

use crate::engine::{EngineChoice, default_store};

/// Sessions that are named where one has to be chosen.
const NAMED: usize = 10;

/// Which store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// The file of the lossless engine; by default the one in your data folder. It is only read,
    /// and an engine may go on writing it.
    #[arg(long, value_name = "FILE", env = "CONTEXTWIRE_SERVER_STORE")]
    pub store: Option<PathBuf>,
}

/// Which session of which store.
#[derive(Debug, Args)]
pub struct StoredSessionArgs {
    /// The store.
    #[command(flatten)]
    pub store: StoreArgs,
    /// The session's id; may be left out where the store has one session only.
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
}

/// Which turn, and what it is fitted into.
#[derive(Debug, Args)]
pub struct TurnArgs {
    /// The turn, counted from 1: a user message and what follows it. One beyond the last is the
    /// turn that comes next.
    pub turn: usize,
    /// The session.
    #[command(flatten)]
    pub session: StoredSessionArgs,
    /// The budget in tokens; 0 is none.
    #[arg(long, value_name = "TOKENS", default_value_t = 200_000)]
    pub budget: u64,
    /// The model that reads it: decides how tokens are counted.
    #[arg(long, value_name = "NAME")]
    pub model: Option<String>,
    /// Whether the turn's own user message is in the list, as hosts do that do not append it
    /// themselves.
    #[arg(long)]
    pub included: bool,
}

impl StoreArgs {
    /// Opens it.
    pub(super) fn open(&self) -> anyhow::Result<StoreFile> {
        let named = self.store.clone();
        let path = named.map_or_else(|| default_store(EngineChoice::Lossless), Ok)?;
        Ok(open_file(&path)?)
    }
}

impl StoredSessionArgs {
    /// Opens the store and reads the session.
    pub(super) fn read(&self) -> anyhow::Result<(StoreFile, SessionId, PastSession)> {
        let file = self.store.open()?;
        let known = file.sessions()?;
        let named = self.session.as_ref();
        let id = match (named, known.as_slice()) {
            (Some(named), _) => {
                SessionId::new(named.as_str()).context("the session's id cannot be used")?
            }
            (None, [only]) => only.clone(),
            (None, []) => anyhow::bail!("the store holds no session yet"),
            (None, several) => anyhow::bail!(
                "the store holds several sessions, name one with --session: {}",
                names(several)
            ),
        };
        let past = PastSession::read(file.rows(), &id)?
            .with_context(|| format!("no session `{id}`; the store holds {}", names(&known)))?;
        Ok((file, id, past))
    }
}

fn names(sessions: &[SessionId]) -> String {
    let names: Vec<&str> = sessions.iter().take(NAMED).map(SessionId::as_str).collect();
    names.join(", ")
}

impl TurnArgs {
    /// What the model was shown then.
    pub(super) fn fitted(&self) -> anyhow::Result<(SessionId, PastSession, Fitted)> {
        let (file, id, past) = self.session.read()?;
        let window = Window {
            budget: TokenBudget::new(self.budget),
            model: self.model.as_deref(),
            provider: None,
            current_turn: if self.included {
                CurrentTurn::Included
            } else {
                CurrentTurn::Excluded
            },
        };
        let fitted = past
            .assemble_at(file.rows(), self.turn, window)?
            .with_context(|| {
                format!(
                    "session `{id}` has no turn {}: it has {}",
                    self.turn,
                    past.turns()
                )
            })?;
        Ok((id, past, fitted))
    }
}
