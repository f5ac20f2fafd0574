// `maintain`: the engine may tidy up. The host does not say what went before; the turn knows.

import { MaintainReason, type MaintainResult } from "contextwire-proto/v1/maintain";
import type { MaintainAnswer, SessionParams } from "../host/types.ts";
import { hookId } from "../session/session.ts";
import { Upload } from "../sync/upload.ts";
import { asFailure } from "../wire/failure.ts";
import { runtimeContext } from "../wire/runtime_context.ts";
import { runtimeSettings } from "../wire/runtime_settings.ts";
import { HostCalls, given } from "./host_calls.ts";
import { type Step, type Turn, callFacts } from "./turn.ts";

const FOREGROUND = { deadlineMs: 10_000, idleMs: 10_000 };
const BACKGROUND = { deadlineMs: 300_000, idleMs: 15_000 };

const REASONS: Record<Step, MaintainReason> = {
  start: MaintainReason.BOOTSTRAP,
  bootstrap: MaintainReason.BOOTSTRAP,
  commit: MaintainReason.TURN,
  compact: MaintainReason.COMPACTION,
};

/** Answers the host.
 * @throws only the caller's abort. */
export async function maintain(turn: Turn, params: SessionParams): Promise<MaintainAnswer> {
  const { runtime } = turn;
  const session = turn.session(params);
  const reason = REASONS[turn.lastStep];
  const background = reason === MaintainReason.TURN && params.runtimeContext?.["allowDeferredCompactionExecution"] === true;
  if (!runtime.engine.hasMethod("Maintain")) return nothing("the engine needs no maintenance");
  await turn.pump(session);
  const limits = background ? BACKGROUND : FOREGROUND;
  const deadlineMs = reason === MaintainReason.BOOTSTRAP ? Math.max(500, Math.min(limits.deadlineMs, turn.overheadMs)) : limits.deadlineMs;
  const calls = new HostCalls({ session, params, sdk: await runtime.sdk(), lineage: runtime.lineage });
  const id = hookId(Date.now());
  const began = Date.now();
  try {
    const result = await runtime.engine.stream<MaintainResult>("maintain", {
      ...callFacts(session, params, !background, deadlineMs),
      idleMs: limits.idleMs,
      hookId: id,
      operation: "agent-run",
      start: (peer) => ({
        fields: {
          reason,
          background,
          ...given({
            runtimeSettings: runtimeSettings(params.runtimeSettings),
            runtimeContext: runtimeContext(params.runtimeContext, runtime.config.runtimeContextKeys),
          }),
        },
        upload: Upload.onDemand(peer, session.log.known),
      }),
      serve: calls.serve,
    });
    const { changed, bytesFreed, rewrittenEntries, reason: said } = result;
    return { changed, bytesFreed: Number(bytesFreed), rewrittenEntries: Number(rewrittenEntries), ...given({ reason: said }) };
  } catch (error) {
    await calls.close();
    session.abandon(id);
    if (params.abortSignal?.aborted === true) throw error;
    const failure = asFailure(error);
    runtime.engineFailed("maintain", failure);
    return nothing(`the context engine did not answer: ${failure.code}`);
  } finally {
    if (reason === MaintainReason.BOOTSTRAP) turn.overheadMs -= Date.now() - began;
  }
}

function nothing(reason: string): MaintainAnswer {
  return { changed: false, bytesFreed: 0, rewrittenEntries: 0, reason };
}
