//! What was in the context of a run, as a value that is stored, printed and drawn (HOST-SEMANTICS 12).
//!
//! Sizes are characters, tokens where a field says so. Names on the wire are OpenClaw's, so that what
//! reads its reports reads these; what it has no word for stands in [`ContextReport::window`] and
//! [`ContextReport::engine`].

mod engine;
mod window;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use engine::{EngineShare, KeptRange, Recalled, Shortened, SummariesOfDepth};
pub use window::{Share, WindowShares};

/// Where a report comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReportSource {
    /// A run has sent exactly this.
    Run,
    /// Built on demand: what the next run would send, without its conversation.
    Estimate,
}

/// The whole account of one run's context.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextReport {
    /// Whether a run has sent this, or would.
    pub source: ReportSource,
    /// Milliseconds since 1970.
    pub generated_at: u64,
    /// The session, by its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The session, by its stable key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Who serves the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The folder whose files are injected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_dir: Option<PathBuf>,
    /// Most characters of one injected file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_max_chars: Option<usize>,
    /// Most characters of all injected files together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap_total_max_chars: Option<usize>,
    /// Whether commands of the agent are confined.
    pub sandbox: Sandbox,
    /// The system prompt as a whole.
    pub system_prompt: SystemPromptSize,
    /// The injected files, in the order of their injection; missing ones too.
    pub injected_workspace_files: Vec<InjectedFile>,
    /// The list of skills.
    pub skills: SkillsSize,
    /// The tools: their list in the prompt, and their schemas beside it.
    pub tools: ToolsSize,
    /// What the current turn adds that no later one sees.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_turn: Option<CurrentTurn>,
    /// Everything that counts against the window; only a run knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<WindowShares>,
    /// What the engine put in, and why; only a run knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<EngineShare>,
}

/// Whether commands of the agent are confined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sandbox {
    /// What is configured: `off`, or a name of the host's.
    pub mode: String,
    /// Whether this session's are.
    pub sandboxed: bool,
}

/// The size of the system prompt, in characters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SystemPromptSize {
    /// All of it.
    pub chars: usize,
    /// The injected files with their frame.
    pub project_context_chars: usize,
    /// Everything else.
    pub non_project_context_chars: usize,
    /// SHA-256 of the text, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A file of the workspace in the system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InjectedFile {
    /// Its name, as `AGENTS.md`.
    pub name: String,
    /// Where it is, or should be.
    pub path: PathBuf,
    /// Whether there is no such file.
    pub missing: bool,
    /// Its size, right-trimmed.
    pub raw_chars: usize,
    /// What of it stands in the prompt, markers included.
    pub injected_chars: usize,
    /// Whether less stands there than the file holds.
    pub truncated: bool,
    /// The reader's word where neither holds, as `native-unverified`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub injection_status: Option<String>,
}

/// The list of skills in the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillsSize {
    /// The whole section.
    pub prompt_chars: usize,
    /// SHA-256 of the section, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Skill by skill, in the order of the prompt.
    pub entries: Vec<SkillSize>,
}

/// A skill in that list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillSize {
    /// Its name.
    pub name: String,
    /// Its block: name, description and location.
    pub block_chars: usize,
}

/// The tools of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsSize {
    /// Their list in the system prompt.
    pub list_chars: usize,
    /// Their schemas, which go to the model beside it.
    pub schema_chars: usize,
    /// Tool by tool, in the order of the prompt.
    pub entries: Vec<ToolSize>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolSize {
    /// Its name.
    pub name: String,
    /// Its line in the system prompt.
    pub summary_chars: usize,
    /// SHA-256 of that line, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary_hash: Option<String>,
    /// Its schema as JSON.
    pub schema_chars: usize,
    /// SHA-256 of the schema, in hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema_hash: Option<String>,
    /// How many parameters it takes; none where its schema does not say.
    pub properties_count: Option<usize>,
}

/// What one turn adds that no later one sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CurrentTurn {
    /// Context of the runtime in front of the prompt.
    pub runtime_context_chars: usize,
    /// What of the prompt only the model sees.
    pub model_only_prompt_chars: usize,
}
