//! Makes a small coding session of our own: plausible, and the same for the same seed.

mod output;
mod record;
mod rng;
mod story;

use record::{
    Arguments, Block, Body, Checkpoint, EntryLine, HeaderLine, Message, Usage, iso, text,
};
use rng::Rng;
use serde::Serialize;
use story::{Scene, Work};

/// The session that the repository ships: [`generate()`] of [`SAMPLE_SEED`] and [`SAMPLE_TURNS`].
pub const SAMPLE: &str = include_str!("../../assets/sample-session.jsonl");

/// Seed of [`SAMPLE`].
pub const SAMPLE_SEED: u64 = 20_260_302;

/// User turns of [`SAMPLE`].
pub const SAMPLE_TURNS: usize = 40;

/// 2026-03-02T09:00:00Z
const START_MS: u64 = 1_772_442_000_000;

const PROVIDER: &str = "example";
const MODEL: &str = "example-large-1";

/// Characters a token, roughly; only the made-up usage is computed with it.
const CHARS_PER_TOKEN: u64 = 4;

/// A session file (version 3, a tree) with this many user turns on its active branch.
///
/// The same arguments give the same bytes on every platform. From 20 turns on, every kind of entry
/// occurs: tool calls one at a time and in parallel, failed ones, thinking, text in other scripts,
/// bash executions (one excluded from the context), a custom message, an abandoned branch with its
/// summary, and one compaction. A turn takes about 5 KB.
pub fn generate(seed: u64, turns: usize) -> String {
    let mut script = Script::new(seed);
    for turn in 0..turns {
        script.events_before(turn, turns);
        let round = turn / story::SCENES.len();
        if let Some(scene) = story::SCENES.get(turn % story::SCENES.len()) {
            script.play(scene, round);
        }
    }
    script.file
}

struct Script {
    rng: Rng,
    file: String,
    parent: Option<String>,
    clock_ms: u64,
    /// Characters in the context.
    context: u64,
    /// Tokens of the context that the provider has cached.
    cached: u64,
    /// The user entries of the active branch.
    users: Vec<String>,
}

impl Script {
    fn new(seed: u64) -> Self {
        let mut script = Self {
            rng: Rng::new(seed),
            file: String::new(),
            parent: None,
            clock_ms: START_MS,
            context: 9_000,
            cached: 0,
            users: Vec::new(),
        };
        let id = format!("{}-{}", script.rng.hex(8), script.rng.hex(12));
        script.line(&HeaderLine {
            r#type: "session",
            version: 3,
            id: &id,
            timestamp: &iso(START_MS),
            cwd: "/srv/tidewatch",
        });
        script.entry(&Body::ModelChange {
            provider: PROVIDER,
            model_id: MODEL,
        });
        script.entry(&Body::ThinkingLevel {
            thinking_level: "low",
        });
        script
    }

    /// What happens beside the conversation, at fixed fractions of it.
    fn events_before(&mut self, turn: usize, turns: usize) {
        let at = |tenths: usize| turns >= 20 && turn == turns * tenths / 10;
        if turn == 1 {
            self.entry(&Body::SessionInfo {
                name: "tidewatch 0.4",
            });
        }
        if at(1) {
            self.bash(
                "git status --short",
                " M src/gauge.rs\n?? notes.txt\n",
                None,
            );
        }
        if at(2) {
            let content = "The branch `main` moved: 2 new commits by Mara. ☕".to_owned();
            self.message_beside(content.len());
            self.entry(&Body::CustomMessage {
                custom_type: "git-watch",
                content,
                display: true,
            });
            let data = Checkpoint {
                commit: self.rng.hex(12),
                dirty: true,
            };
            self.entry(&Body::Custom {
                custom_type: "checkpoint",
                data,
            });
        }
        if at(4) {
            self.abandoned_branch();
        }
        if at(5) {
            self.bash(
                "env | grep TIDE",
                "TIDEWATCH_TOKEN=not-a-real-token\n",
                Some(true),
            );
        }
        if at(6) {
            self.compact();
        }
        if at(8)
            && let Some(target_id) = self.users.last().cloned()
        {
            self.entry(&Body::Label {
                target_id,
                label: "before the release",
            });
        }
    }

    fn play(&mut self, scene: &Scene, round: usize) {
        self.clock_ms += self.rng.between(20_000, 400_000);
        let prompt = match round {
            0 => scene.prompt.to_owned(),
            _ => format!("(round {}) {}", round + 1, scene.prompt),
        };
        self.message_beside(prompt.len());
        let timestamp = self.clock_ms;
        let id = self.entry(&Body::Message {
            message: Message::User {
                content: text(prompt),
                timestamp,
            },
        });
        self.users.push(id);
        for calls in story::steps(scene.work, &mut self.rng) {
            self.step(calls);
        }
        let mut content = Vec::new();
        if self.rng.one_in(3) || matches!(scene.work, Work::Talk) {
            content.push(self.thinking());
        }
        content.push(Block::Text {
            text: scene.reply.to_owned(),
        });
        self.assistant(content, "stop");
    }

    /// One message of the assistant with its tool calls, and their results.
    fn step(&mut self, calls: Vec<Arguments>) {
        let mut content = Vec::new();
        if self.rng.one_in(2) {
            content.push(self.thinking());
        }
        if let Some(remark) = story::remark(&mut self.rng) {
            content.push(Block::Text {
                text: remark.to_owned(),
            });
        }
        let mut results = Vec::new();
        for arguments in calls {
            let id = format!("call_{}", self.rng.hex(16));
            let name = arguments.tool();
            content.push(Block::ToolCall {
                id: id.clone(),
                name,
                arguments: arguments.clone(),
            });
            results.push((id, arguments));
        }
        self.assistant(content, "toolUse");
        for (tool_call_id, arguments) in results {
            let (output, is_error) = output::answer(&arguments, &mut self.rng);
            self.clock_ms += self.rng.between(5, 9_000);
            self.message_beside(output.len());
            let message = Message::ToolResult {
                tool_call_id,
                tool_name: arguments.tool(),
                content: text(output),
                is_error,
                timestamp: self.clock_ms,
            };
            self.entry(&Body::Message { message });
        }
    }

    fn thinking(&mut self) -> Block {
        let thinking = story::thought(&mut self.rng);
        Block::Thinking {
            thinking,
            thinking_signature: self.rng.hex(16),
        }
    }

    fn assistant(&mut self, content: Vec<Block>, stop_reason: &'static str) {
        self.clock_ms += self.rng.between(900, 14_000);
        let prompt = self.context / CHARS_PER_TOKEN;
        let output = content.iter().map(spoken_chars).sum::<u64>() / CHARS_PER_TOKEN + 1;
        let input = prompt.saturating_sub(self.cached);
        let usage = Usage {
            input,
            output,
            cache_read: self.cached,
            cache_write: input,
            total_tokens: prompt + output,
        };
        self.cached = prompt;
        self.context += output * CHARS_PER_TOKEN;
        let message = Message::Assistant {
            content,
            api: "example-messages",
            provider: PROVIDER,
            model: MODEL,
            usage,
            stop_reason,
            timestamp: self.clock_ms,
        };
        self.entry(&Body::Message { message });
    }

    fn bash(&mut self, command: &'static str, output: &str, exclude_from_context: Option<bool>) {
        self.clock_ms += 12_000;
        if exclude_from_context.is_none() {
            self.message_beside(output.len());
        }
        let message = Message::BashExecution {
            command,
            output: output.to_owned(),
            exit_code: 0,
            cancelled: false,
            truncated: false,
            timestamp: self.clock_ms,
            exclude_from_context,
        };
        self.entry(&Body::Message { message });
    }

    /// A turn that the user takes back: its entries stay in the file, beside the active branch.
    fn abandoned_branch(&mut self) {
        let (fork, context) = (self.parent.clone(), self.context);
        self.play(&story::ABANDONED, 0);
        let from_id = self.parent.clone().unwrap_or_default();
        self.users.pop();
        (self.parent, self.context, self.cached) = (fork, context, 0);
        let summary = story::BRANCH_SUMMARY.to_owned();
        self.message_beside(summary.len());
        self.entry(&Body::BranchSummary { from_id, summary });
    }

    fn compact(&mut self) {
        const KEPT_TURNS: usize = 3;
        let kept = self.users.iter().rev().nth(KEPT_TURNS - 1).cloned();
        let Some(first_kept_entry_id) = kept else {
            return;
        };
        let tokens_before = self.context / CHARS_PER_TOKEN;
        let summary = story::COMPACTION_SUMMARY.to_owned();
        self.context = self.context / 4 + summary.len() as u64;
        self.cached = 0;
        self.entry(&Body::Compaction {
            summary,
            first_kept_entry_id,
            tokens_before,
        });
    }

    /// Counts a message that is not the assistant's into the context.
    fn message_beside(&mut self, bytes: usize) {
        self.context += bytes as u64;
    }

    fn entry(&mut self, body: &Body) -> String {
        self.clock_ms += self.rng.between(1, 40);
        let id = self.rng.hex(8);
        let parent = self.parent.replace(id.clone());
        let timestamp = iso(self.clock_ms);
        self.line(&EntryLine {
            r#type: body.entry_type(),
            id: &id,
            parent_id: parent.as_deref(),
            timestamp: &timestamp,
            body,
        });
        id
    }

    #[expect(
        clippy::expect_used,
        reason = "text and numbers in structs always serialise"
    )]
    fn line(&mut self, line: &impl Serialize) {
        self.file
            .push_str(&serde_json::to_string(line).expect("plain data"));
        self.file.push('\n');
    }
}

fn spoken_chars(block: &Block) -> u64 {
    match block {
        Block::Text { text } => text.len() as u64,
        Block::Thinking { thinking, .. } => thinking.len() as u64,
        Block::ToolCall { .. } => 120,
    }
}

#[cfg(test)]
mod tests;
