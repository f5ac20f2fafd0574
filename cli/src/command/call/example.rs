//! Requests to start from: every field of each hook, with a value that an engine takes.

pub(super) const ASSEMBLE: &str = r#"{
  "session_id": "debug",
  "messages": [
    { "role": "user", "content": "When is high tide?" },
    { "role": "assistant", "content": [{ "type": "text", "text": "At ten past six." }] },
    { "role": "user", "content": "And low tide?" }
  ],
  "entry_ids": ["e1", "e2", "e3"],
  "token_budget": 4000,
  "model": "gpt-5",
  "prompt": "And low tide?",
  "current_turn": "included"
}"#;

pub(super) const INGEST: &str = r#"{
  "session_id": "debug",
  "message": { "role": "user", "content": "When is high tide?" },
  "entry_id": "e1",
  "is_heartbeat": false
}"#;

pub(super) const INGEST_BATCH: &str = r#"{
  "session_id": "debug",
  "messages": [
    { "role": "user", "content": "When is high tide?" },
    { "role": "assistant", "content": [{ "type": "text", "text": "At ten past six." }] }
  ],
  "entry_ids": ["e1", "e2"],
  "is_heartbeat": false
}"#;

pub(super) const COMPACT: &str = r#"{
  "session_id": "debug",
  "token_budget": 4000,
  "force": true,
  "current_token_count": 3900,
  "target": "budget",
  "custom_instructions": "Keep every time of day."
}"#;

pub(super) const BOOTSTRAP: &str = r#"{
  "session_id": "debug",
  "messages": [
    { "role": "user", "content": "When is high tide?" },
    { "role": "assistant", "content": [{ "type": "text", "text": "At ten past six." }] }
  ],
  "entry_ids": ["e1", "e2"],
  "background": false
}"#;

pub(super) const AFTER_TURN: &str = r#"{
  "session_id": "debug",
  "messages": [
    { "role": "user", "content": "When is high tide?" },
    { "role": "assistant", "content": [{ "type": "text", "text": "At ten past six." }] }
  ],
  "entry_ids": ["e1", "e2"],
  "background": false,
  "pre_prompt_message_count": 0,
  "auto_compaction_summary": null,
  "is_heartbeat": false,
  "token_budget": 4000
}"#;

pub(super) const COMMIT_TURN: &str = r#"{
  "session_id": "debug",
  "advancement_key": "t1",
  "messages": [
    { "role": "user", "content": "When is high tide?" },
    { "role": "assistant", "content": [{ "type": "text", "text": "At ten past six." }] }
  ],
  "entry_ids": ["e1", "e2"],
  "is_heartbeat": false
}"#;

pub(super) const MAINTAIN: &str = r#"{
  "session_id": "debug",
  "reason": "turn",
  "background": false
}"#;

pub(super) const PREPARE_SUBAGENT_SPAWN: &str = r#"{
  "session_id": "debug",
  "spawn_id": "s1",
  "parent_session_key": "parent",
  "child_session_key": "child",
  "child_session_id": "debug-child",
  "context_mode": "fork",
  "ttl_ms": 60000
}"#;

pub(super) const RESOLVE_SUBAGENT_SPAWN: &str = r#"{
  "session_id": "debug",
  "spawn_id": "s1",
  "outcome": "started"
}"#;

pub(super) const END_SUBAGENT: &str = r#"{
  "session_id": "debug-child",
  "spawn_id": "s1",
  "child_session_key": "child",
  "reason": "completed"
}"#;

pub(super) const DISPOSE: &str = r#"{
  "host_instance": "h1"
}"#;
