// Spawns: prepared at the engine before the child runs, resolved and ended through the outbox.

import { randomUUID } from "node:crypto";
import { ContextMode, type PrepareSubagentSpawnResponse } from "contextwire-proto/v1/subagent";
import type { SpawnParams, SubagentEndParams } from "../host/types.ts";
import type { StoredResolve } from "../outbox/spawn_journal.ts";
import type { Runtime } from "../runtime.ts";
import { asFailure } from "../wire/failure.ts";
import { given } from "./host_calls.ts";
import { type Turn, callFacts } from "./turn.ts";

const DEADLINE_MS = 3000;
/** The engine rolls back by itself what nobody resolved in this time (R9.1). */
const SHORTEST_TTL_MS = 60_000;

/** What an `end` row holds. */
export type StoredEnd = Pick<SubagentEndParams, "childSessionKey" | "reason"> & { sessionId: string };

/** Prepares a child. The host bars an engine that throws here, so only the engine's own failure is thrown; where it
 * cannot be reached the child starts unprepared, and its own log brings everything.
 * @throws the engine's failure. */
export async function prepareSubagentSpawn(turn: Turn, params: SpawnParams): Promise<{ rollback(): void } | undefined> {
  const { runtime } = turn;
  if (!runtime.engine.hasMethod("PrepareSubagentSpawn")) return undefined;
  const { parentSessionKey, childSessionKey, contextMode } = params;
  const sessionId = params.parentSessionId ?? runtime.sessions.idOf(parentSessionKey) ?? parentSessionKey;
  const session = runtime.sessions.get(sessionId, { sessionKey: parentSessionKey });
  const spawnId = randomUUID();
  const ttlMs = Math.max(params.ttlMs ?? 600_000, SHORTEST_TTL_MS);
  const resolve = (outcome: StoredResolve["outcome"]): void => {
    if (runtime.spawns.settle(spawnId, outcome, Date.now())) runtime.delivery.wake();
  };
  runtime.spawns.open({ spawnId, parentSessionId: session.id, parentSessionKey, childSessionKey, expiresMs: Date.now() + ttlMs });
  try {
    const answer = (await runtime.engine.unary(
      "prepareSubagentSpawn",
      { ...callFacts(session, { sessionId: session.id }, true, DEADLINE_MS), operation: "subagent-spawn" },
      {
        spawnId,
        parentSessionKey,
        childSessionKey,
        ttlMs: BigInt(ttlMs),
        ...given({
          contextMode: contextMode === undefined ? undefined : contextMode === "fork" ? ContextMode.FORK : ContextMode.ISOLATED,
          parentSessionId: params.parentSessionId,
          parentLocator: params.parentSessionFile,
          childSessionId: params.childSessionId,
          childLocator: params.childSessionFile,
        }),
      },
    )) as PrepareSubagentSpawnResponse;
    if (!answer.prepared) {
      runtime.spawns.forget(spawnId);
      return undefined;
    }
    // Released without a rollback means started; what is resolved once stays so.
    turn.onDispose(() => resolve("STARTED"));
    return { rollback: () => resolve("ROLLED_BACK") };
  } catch (error) {
    const failure = asFailure(error);
    runtime.engineFailed("prepareSubagentSpawn", failure);
    if (failure.kind === "breaker-open" || failure.kind === "absent") runtime.spawns.forget(spawnId);
    else resolve("ROLLED_BACK");
    if (failure.countsAs === "engine") throw failure;
    return undefined;
  }
}

/** Tells the engine that a child ended, after what became of its preparation. */
export function subagentEnded(runtime: Runtime, params: SubagentEndParams): void {
  if (!runtime.engine.hasMethod("EndSubagent")) return;
  const { childSessionKey, reason } = params;
  const row: StoredEnd = { childSessionKey, reason, sessionId: runtime.sessions.idOf(childSessionKey) ?? childSessionKey };
  runtime.outbox.add("end", childSessionKey, `${childSessionKey} ${reason} ${randomUUID()}`, JSON.stringify(row), Date.now());
  runtime.delivery.wake();
}
