//! What the host says when Codex asks for permission.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::rpc::{Answer, Answers};
use crate::tools::Tools;

/// How requests for permission are answered. A person is never asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Approvals {
    /// No command beyond the sandbox, no change of files.
    #[default]
    Decline,
    /// Whatever the model wants to run or change.
    Accept,
}

const UNKNOWN_METHOD: i64 = -32601;

/// Answers the app-server's requests.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) approvals: Approvals,
    pub(crate) tools: Arc<Tools>,
}

impl Policy {
    /// The answer to a request; nothing where it is none that is settled by policy.
    fn settled(&self, method: &str) -> Option<Value> {
        let (accepted, answer) = match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => (
                json!({ "decision": "accept" }),
                json!({ "decision": "decline" }),
            ),
            "execCommandApproval" | "applyPatchApproval" => (
                json!({ "decision": "approved" }),
                json!({ "decision": { "denied": { "rejection": "this host approves nothing" } } }),
            ),
            // More than the sandbox has is never granted, and nobody is there to be asked.
            "item/permissions/requestApproval" => {
                return Some(json!({ "permissions": {}, "scope": "turn" }));
            }
            "item/tool/requestUserInput" => return Some(json!({ "answers": {} })),
            "mcpServer/elicitation/request" => {
                return Some(json!({ "action": "decline", "content": null, "_meta": null }));
            }
            _ => return None,
        };
        Some(match self.approvals {
            Approvals::Accept => accepted,
            Approvals::Decline => answer,
        })
    }
}

impl Answers for Policy {
    fn answer(&self, method: String, params: Value) -> Answer<'_> {
        Box::pin(async move {
            if let Some(answer) = self.settled(&method) {
                tracing::info!(method, policy = ?self.approvals, "Codex asked for permission");
                return Ok(answer);
            }
            if method == "item/tool/call" {
                return Ok(self.tools.call(&params).await);
            }
            Err((
                UNKNOWN_METHOD,
                format!("this host does not answer `{method}`"),
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn answer(approvals: Approvals, method: &str) -> Result<Value, (i64, String)> {
        let policy = Policy {
            approvals,
            tools: Arc::default(),
        };
        policy.answer(method.to_owned(), json!({})).await
    }

    #[tokio::test]
    async fn approvals_go_by_the_policy_and_nothing_is_ever_granted_beyond_them() {
        use Approvals::{Accept, Decline};
        for method in [
            "item/commandExecution/requestApproval",
            "item/fileChange/requestApproval",
        ] {
            let declined = Ok(json!({"decision": "decline"}));
            assert_eq!(answer(Decline, method).await, declined);
            let accepted = Ok(json!({"decision": "accept"}));
            assert_eq!(answer(Accept, method).await, accepted);
        }
        let denied = answer(Decline, "execCommandApproval").await.unwrap();
        assert!(denied["decision"]["denied"].is_object());
        for approvals in [Accept, Decline] {
            let granted = answer(approvals, "item/permissions/requestApproval").await;
            assert_eq!(granted.unwrap()["permissions"], json!({}));
        }
        let unknown = answer(Accept, "account/chatgptAuthTokens/refresh").await;
        assert_eq!(unknown.unwrap_err().0, UNKNOWN_METHOD);
    }
}
