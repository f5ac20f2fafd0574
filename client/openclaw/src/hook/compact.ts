// `compact`: makes the session smaller. The host bars an engine whose compaction throws, so a fault that will pass is
// answered instead.

import { CompactionTarget } from "contextwire-proto/v1/compaction";
import type { CompactResult } from "contextwire-proto/v1/compact";
import type { CompactAnswer, CompactParams } from "../host/types.ts";
import { hookId } from "../session/session.ts";
import { Upload } from "../sync/upload.ts";
import { answerOf } from "../wire/compaction.ts";
import { HookFailure, asFailure } from "../wire/failure.ts";
import { runtimeContext } from "../wire/runtime_context.ts";
import { runtimeSettings } from "../wire/runtime_settings.ts";
import { HostCalls, given } from "./host_calls.ts";
import { type Turn, callFacts } from "./turn.ts";

const DEADLINE_MS = 180_000;
const IDLE_MS = 30_000;

/** Answers the host.
 * @throws the engine's own failure, and the caller's abort. */
export async function compact(turn: Turn, params: CompactParams): Promise<CompactAnswer> {
  const { runtime } = turn;
  const session = turn.session(params);
  await turn.pump(session);
  const calls = new HostCalls({ session, params, sdk: await runtime.sdk(), lineage: runtime.lineage, compact: params });
  const id = hookId(Date.now());
  turn.lastStep = "compact";
  try {
    const result = await runtime.engine.stream<CompactResult>("compact", {
      ...callFacts(session, params, true, DEADLINE_MS),
      idleMs: IDLE_MS,
      hookId: id,
      operation: params.runtimeContext?.["trigger"] === "manual" ? "manual-compact" : "agent-run",
      start: (peer) => ({ fields: startFields(turn, params), upload: Upload.onDemand(peer, session.log.known) }),
      serve: calls.serve,
      accept: (answer) => {
        const { result: made } = answer as CompactResult;
        if (session.refuses(made?.sessionId) || session.refuses(made?.sessionTarget?.sessionId)) {
          throw new HookFailure("contract", "the successor session was made by a compaction that this host gave up");
        }
      },
    });
    session.lastGood = undefined;
    // An engine that leaves compaction to the host may say so instead of asking for it (R1.2). The host takes its word
    // for a failed compaction and ends the turn.
    if (!result.ok && calls.delegated === undefined && compactsItself(turn)) return (await runtime.sdk()).delegateCompaction(params);
    return answerOf(result, (entry) => session.log.nativeOf(entry));
  } catch (error) {
    await calls.close();
    session.abandon(id);
    if (params.abortSignal?.aborted === true) throw error;
    const failure = asFailure(error);
    runtime.engineFailed("compact", failure);
    session.lastGood = undefined;
    return calls.delegated ?? instead(turn, params, failure);
  }
}

function startFields(turn: Turn, params: CompactParams): object {
  const { tokenBudget, currentTokenCount } = params;
  return {
    force: params.force === true,
    compactionTarget: params.compactionTarget === "threshold" ? CompactionTarget.THRESHOLD : CompactionTarget.BUDGET,
    ...given({
      runtimeSettings: runtimeSettings(params.runtimeSettings),
      runtimeContext: runtimeContext(params.runtimeContext, turn.runtime.config.runtimeContextKeys),
      tokenBudget: tokenBudget === undefined ? undefined : BigInt(Math.max(0, Math.floor(tokenBudget))),
      currentTokenCount: currentTokenCount === undefined ? undefined : BigInt(Math.max(0, Math.floor(currentTokenCount))),
      customInstructions: params.customInstructions,
    }),
  };
}

/** Who compacts when the engine did not. */
async function instead(turn: Turn, params: CompactParams, failure: HookFailure): Promise<CompactAnswer> {
  const { runtime } = turn;
  // The engine's own fault, which the host is to know of.
  if (failure.countsAs === "engine") throw failure;
  if (compactsItself(turn)) {
    return (await runtime.sdk()).delegateCompaction(params);
  }
  return { ok: false, compacted: false, reason: `the context engine did not compact: ${failure.code}: ${failure.message}` };
}

/** Whether the host's own compaction may stand in. */
function compactsItself({ runtime }: Turn): boolean {
  const known = runtime.engine.acquaintance.lastSeen?.engine;
  const byDefault = known !== undefined && !known.ownsCompaction ? "legacy" : "rethrow";
  return (runtime.config.compactFallback ?? byDefault) === "legacy";
}
