//! A backend whose threads remember: the context of an epoch is sent once, then prompts alone.
//!
//! `cargo run -p contextwire-client --example persistent_threads -- unix:/run/.../engine.sock`, with
//! an engine that names epochs (`contextwire serve`, the engine lossless). Run it twice: the second
//! run goes on in the thread that the first one bound, where the epoch is still the same.

use std::collections::BTreeMap;
use std::path::PathBuf;

use contextwire_client::engine::{Assemble, Message, Session, SessionId, Transcript};
use contextwire_client::projection::{
    Assembly, BindingStep, BindingStore, Content, Plan, Planner, ProjectionOptions, Prompt, Step,
    ThreadChoice, ToolSurface, Turn,
};
use contextwire_client::{Context, Host, Served, Target};

type Failure = Box<dyn std::error::Error>;

/// A scripted backend: it counts its threads and answers everything with a word.
struct Backend {
    threads: BTreeMap<String, usize>,
}

impl Backend {
    /// Begins a thread. A real backend is given the developer instructions here.
    fn begin(&mut self) -> String {
        let id = format!("thread-{}", self.threads.len() + 1);
        self.threads.insert(id.clone(), 0);
        id
    }

    /// Tells a thread something; what comes back is the backend's word that it has it.
    fn say(&mut self, thread: &str, text: &str) -> String {
        let turns = self.threads.entry(thread.to_owned()).or_default();
        *turns += 1;
        format!("answer {turns}, to {} characters", text.chars().count())
    }
}

/// All that a turn needs.
struct Agent {
    host: Host,
    planner: Planner,
    store: BindingStore,
    backend: Backend,
    session: Session,
    transcript: Transcript,
    tools: ToolSurface,
}

impl Agent {
    /// Asks the engine, and decides what its answer comes to.
    async fn assemble(&self) -> Result<(Plan, Served<Context>), Failure> {
        let bound = self.store.get(&self.session)?;
        let known = self.planner.known(
            self.host.active_info().as_ref(),
            bound.as_ref(),
            &self.tools,
        );
        // What is known first; without it where the engine was told of a thread that is not so.
        for known in [known, None] {
            let request = Assemble {
                transcript: self.transcript.clone(),
                known_projection: known.clone(),
                ..Assemble::default()
            };
            let answer = self.host.assemble(&self.session, request).await;
            let step = self.planner.plan(&Turn {
                engine: self.host.active_info().as_ref(),
                bound: bound.as_ref(),
                tools: &self.tools,
                assembly: Assembly::of(&answer, known.as_ref()),
            });
            if let Step::Run(plan) = step {
                return Ok((*plan, answer?));
            }
        }
        Err("the engine says `unchanged` of a thread that it was not told of".into())
    }

    async fn turn(&mut self, prompt: &str) -> Result<String, Failure> {
        let (plan, served) = self.assemble().await?;
        let text = match &plan.content {
            Content::Bare => prompt.to_owned(),
            Content::Projected(framing) => {
                let framed = framing.turn_text(served.result.messages(), &Prompt::new(prompt));
                framed.text
            }
        };
        let thread = match &plan.thread {
            ThreadChoice::Keep(thread) => thread.clone(),
            ThreadChoice::Fresh { .. } => self.backend.begin(),
        };
        // Before the thread is told: from here on a crash means a new thread.
        let pending = match plan.binding {
            BindingStep::Leave => None,
            BindingStep::Put(binding) => {
                self.store.put(&self.session, &binding)?;
                None
            }
            BindingStep::Remove => {
                self.store.remove(&self.session)?;
                None
            }
            BindingStep::Begin(draft) => Some(self.store.begin(
                &self.session,
                draft,
                Some(thread.clone()),
            )?),
        };
        let answer = self.backend.say(&thread, &text);
        if let Some(pending) = pending {
            pending.confirm(&*thread)?;
        }
        for (role, said) in [("user", prompt), ("assistant", &*answer)] {
            let payload = format!(r#"{{"role":"{role}","content":"{said}"}}"#);
            let id = format!("e{}", self.transcript.len());
            self.transcript
                .push(Message::from_payload(payload).with_entry_id(id));
        }
        Ok(format!("{} in {thread}: {answer}", plan.reason))
    }
}

#[tokio::main]
#[expect(clippy::print_stdout, reason = "an example shows what it did")]
async fn main() -> Result<(), Failure> {
    let target: Target = match std::env::args().nth(1) {
        Some(target) => target.parse()?,
        None => Target::unix("/tmp/last-ten/engine.sock"),
    };
    let folder = std::env::args()
        .nth(2)
        .map_or_else(|| PathBuf::from("/tmp/persistent-threads"), PathBuf::from);
    let mut agent = Agent {
        host: Host::builder()
            .id("example")
            .engine("engine", target)
            .build()?,
        planner: Planner::new(ProjectionOptions {
            window_tokens: Some(200_000),
            ..ProjectionOptions::default()
        }),
        store: BindingStore::new(folder, "scripted"),
        backend: Backend {
            threads: BTreeMap::new(),
        },
        session: Session::new(SessionId::new("main")?),
        transcript: Transcript::new(),
        tools: ToolSurface::of(["read", "write"]),
    };
    for prompt in ["one", "two", "three"] {
        println!("{}", agent.turn(prompt).await?);
    }
    agent.host.dispose().await;
    Ok(())
}
