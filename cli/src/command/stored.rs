//! Where a command looks at what an engine stores: a file of the lossless engine, or an engine that
//! runs; and which session of it the command is about.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use contextwire_client::{AdminClient, Target};
use contextwire_engine::{
    AnyAdmin, EngineAdmin, EraseSession, Erasure, ExplainTurn, ExplainedTurn, PinEntry, SessionId,
    StandingPlan, StoreStatus, StoredSession,
};
use contextwire_lossless::{LosslessEngine, LosslessOptions, look, open_file};
use contextwire_store::StoreFile;

use crate::config::ConfigArgs;
use crate::engine::{EngineChoice, default_store};

/// Sessions that are named where one has to be chosen.
const NAMED: usize = 10;

/// Which store.
#[derive(Debug, Args)]
pub struct StoreArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The file of the lossless engine; by default the one that is configured (engine.store), else
    /// the one in your data folder. A look only reads it, and an engine may go on writing it.
    #[arg(long, value_name = "FILE", conflicts_with = "target")]
    pub store: Option<PathBuf>,
    /// Asks a running engine instead: `unix:/path/to/engine.sock` or `http://127.0.0.1:PORT`.
    #[arg(long, value_name = "ADDRESS")]
    pub target: Option<Target>,
    /// How long to wait for a running engine's answer, for instance `30s`.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    pub deadline: Duration,
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

/// A store that answers.
#[derive(Debug)]
pub(super) enum Stored {
    File(StoreFile),
    Running(AdminClient, Duration),
}

impl StoreArgs {
    fn path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.store {
            return Ok(path.clone());
        }
        let config = self.config.load(|_| {}).into_config(&[])?;
        let configured = config.engine.store;
        configured.map_or_else(|| default_store(EngineChoice::Lossless), Ok)
    }

    /// Opens it for looking.
    pub(super) fn open(&self) -> anyhow::Result<Stored> {
        Ok(match &self.target {
            Some(target) => Stored::Running(AdminClient::new(target)?, self.deadline),
            None => Stored::File(open_file(&self.path()?)?),
        })
    }

    /// Opens a file to be changed: an engine of this process does it, beside one that runs.
    fn change(&self) -> anyhow::Result<AnyAdmin> {
        let path = self.path()?;
        // A file that is not there would be made.
        drop(open_file(&path)?);
        let engine = LosslessEngine::open(&path, LosslessOptions::default())?;
        Ok(AnyAdmin::new(engine.admin()))
    }

    /// Pins an entry, or no longer.
    pub(super) async fn pin(&self, pin: PinEntry) -> anyhow::Result<Vec<String>> {
        let (id, session) = (pin.entry_id.clone(), pin.session.clone());
        let pins = match &self.target {
            Some(target) => {
                AdminClient::new(target)?
                    .pin_entry(pin, self.deadline)
                    .await?
            }
            None => self.change()?.pin_entry(pin).await?,
        };
        let pins =
            pins.with_context(|| format!("session `{session}` has no entry `{}`", id.as_str()))?;
        Ok(pins.iter().map(|id| id.as_str().to_owned()).collect())
    }

    /// Erases a session or entries of it.
    pub(super) async fn erase(&self, erase: EraseSession) -> anyhow::Result<Erasure> {
        Ok(match &self.target {
            Some(target) => {
                let client = AdminClient::new(target)?;
                client.erase_session(erase, self.deadline).await?
            }
            None => self.change()?.erase_session(erase).await?,
        })
    }
}

impl Stored {
    pub(super) async fn sessions(&self) -> anyhow::Result<Vec<StoredSession>> {
        Ok(match self {
            Self::File(file) => look::sessions(file.rows())?,
            Self::Running(client, deadline) => client.list_sessions(*deadline).await?,
        })
    }

    pub(super) async fn status(&self) -> anyhow::Result<StoreStatus> {
        match self {
            Self::File(file) => Ok(look::status(file.rows())?),
            Self::Running(client, deadline) => {
                let status = client.status(*deadline).await?;
                let id = status.engine_id;
                status
                    .store
                    .with_context(|| format!("the {id} engine tells no figures of its store"))
            }
        }
    }

    async fn plan_of(&self, session: &SessionId) -> anyhow::Result<Option<StandingPlan>> {
        Ok(match self {
            Self::File(file) => look::plan(file.rows(), session)?,
            Self::Running(client, deadline) => client.plan(session, *deadline).await?,
        })
    }

    async fn names(&self) -> anyhow::Result<Vec<SessionId>> {
        if let Self::File(file) = self {
            return Ok(file.sessions()?);
        }
        let sessions = self.sessions().await?.into_iter();
        Ok(sessions.map(|session| session.session).collect())
    }

    /// The session that is named, or the only one.
    async fn chosen(&self, named: Option<&str>) -> anyhow::Result<SessionId> {
        if let Some(named) = named {
            return SessionId::new(named).context("the session's id cannot be used");
        }
        match self.names().await?.as_slice() {
            [only] => Ok(only.clone()),
            [] => anyhow::bail!("the store holds no session yet"),
            several => anyhow::bail!(
                "the store holds several sessions, name one with --session: {}",
                names(several)
            ),
        }
    }

    /// What to say where a session is not there.
    async fn unknown(&self, session: &SessionId) -> anyhow::Error {
        match self.names().await {
            Ok(known) => {
                anyhow::anyhow!("no session `{session}`; the store holds {}", names(&known))
            }
            Err(error) => error,
        }
    }
}

fn names(sessions: &[SessionId]) -> String {
    let names: Vec<&str> = sessions.iter().take(NAMED).map(SessionId::as_str).collect();
    names.join(", ")
}

impl StoredSessionArgs {
    /// What stands for the session now.
    pub(super) async fn plan(&self) -> anyhow::Result<(SessionId, StandingPlan)> {
        let stored = self.store.open()?;
        let id = stored.chosen(self.session.as_deref()).await?;
        match stored.plan_of(&id).await? {
            Some(plan) => Ok((id, plan)),
            None => Err(stored.unknown(&id).await),
        }
    }
}

impl TurnArgs {
    /// What the model was shown then.
    pub(super) async fn explained(
        &self,
        payloads: bool,
    ) -> anyhow::Result<(SessionId, ExplainedTurn)> {
        let stored = self.session.store.open()?;
        let id = stored.chosen(self.session.session.as_deref()).await?;
        let question = ExplainTurn {
            session: id.clone(),
            turn: self.turn as u64,
            token_budget: self.budget,
            model: self.model.clone(),
            included: self.included,
            payloads,
        };
        let turn = match &stored {
            Stored::File(file) => look::explain(file.rows(), &question)?,
            Stored::Running(client, deadline) => client.explain_turn(question, *deadline).await?,
        };
        match turn {
            Some(turn) => Ok((id, turn)),
            None => Err(self.absent(&stored, &id).await),
        }
    }

    async fn absent(&self, stored: &Stored, id: &SessionId) -> anyhow::Error {
        let sessions = match stored.sessions().await {
            Ok(sessions) => sessions,
            Err(error) => return error,
        };
        match sessions.iter().find(|known| known.session == *id) {
            Some(known) => anyhow::anyhow!(
                "session `{id}` has no turn {}: it has {}",
                self.turn,
                known.turns
            ),
            None => stored.unknown(id).await,
        }
    }
}

#[cfg(test)]
mod tests;
