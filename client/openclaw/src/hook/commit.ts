// `commitTurn`: the turn is written into the plugin's own outbox and is committed to the host from then on. The engine
// gets it in the background, whenever it is there.

import type { CommitParams } from "../host/types.ts";
import { json } from "../wire/runtime_context.ts";
import type { Turn } from "./turn.ts";

/** Model facts of a turn; nothing else of its context is kept. */
const FACTS = ["provider", "modelId", "modelContextWindow", "tokenBudget"];

/** What a row holds: keys and anchors. The messages are read from the host when they are delivered. */
export type StoredCommit = Pick<
  CommitParams,
  "advancementKey" | "admission" | "terminal" | "sessionId" | "sessionKey" | "sessionTarget" | "isHeartbeat" | "runtimeSettings"
> & { runtimeContext?: Record<string, unknown> };

/** Answers the host.
 * @throws when the outbox cannot be written; the host then keeps the turn itself. */
export async function commitTurn(turn: Turn, params: CommitParams): Promise<{ status: "committed" }> {
  const { runtime } = turn;
  turn.session(params);
  turn.lastStep = "commit";
  if (!runtime.engine.hasMethod("CommitTurn")) return { status: "committed" };
  runtime.outbox.add("commit", params.sessionId, params.advancementKey, JSON.stringify(stored(params)), Date.now());
  runtime.delivery.wake();
  return { status: "committed" };
}

function stored(params: CommitParams): StoredCommit {
  const { advancementKey, admission, terminal, sessionId, sessionKey, sessionTarget, isHeartbeat } = params;
  const facts = FACTS.filter((key) => json(params.runtimeContext?.[key]) !== undefined);
  const row: StoredCommit = { advancementKey, admission, terminal, sessionId };
  if (sessionKey !== undefined) row.sessionKey = sessionKey;
  if (sessionTarget !== undefined) row.sessionTarget = sessionTarget;
  if (isHeartbeat !== undefined) row.isHeartbeat = isHeartbeat;
  if (facts.length > 0) row.runtimeContext = Object.fromEntries(facts.map((key) => [key, params.runtimeContext?.[key]]));
  return row;
}
