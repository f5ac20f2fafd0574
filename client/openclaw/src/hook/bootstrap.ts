// `bootstrap`, and the same without anybody waiting: the engine gets the LOG, with all that no other hook brings.

import type { BootstrapResult } from "contextwire-proto/v1/bootstrap";
import type { BootstrapAnswer, SessionParams } from "../host/types.ts";
import type { Runtime } from "../runtime.ts";
import type { Session } from "../session/session.ts";
import { Upload } from "../sync/upload.ts";
import { asFailure } from "../wire/failure.ts";
import { runtimeContext } from "../wire/runtime_context.ts";
import { runtimeSettings } from "../wire/runtime_settings.ts";
import { given } from "./host_calls.ts";
import { type Turn, callFacts } from "./turn.ts";

const DEADLINE_MS = 120_000;
const IDLE_MS = 15_000;

/** Answers the host, at the latest when the time before a prompt is over; the import then goes on. */
export async function bootstrap(turn: Turn, params: SessionParams): Promise<BootstrapAnswer> {
  const { runtime } = turn;
  const session = turn.session(params);
  turn.lastStep = "bootstrap";
  await turn.pump(session);
  if (!runtime.engine.hasMethod("Bootstrap")) return { bootstrapped: false, reason: "the engine imports nothing" };
  if (session.log.known === undefined) return { bootstrapped: false, reason: "the host's transcript cannot be read now" };
  const began = Date.now();
  const importing = send(runtime, session, params, false);
  const late = Symbol("late");
  const overhead = new Promise<typeof late>((resolve) => setTimeout(resolve, Math.max(0, turn.overheadMs), late).unref());
  const first = await Promise.race([importing, overhead]);
  turn.overheadMs -= Date.now() - began;
  return first === late ? { bootstrapped: false, reason: "the import goes on in the background" } : first;
}

/** Hands the LOG over when the engine does not have it yet. */
export async function settle(runtime: Runtime, session: Session): Promise<void> {
  if (session.scope === undefined || !runtime.wantsLog || !runtime.engine.hasMethod("Bootstrap")) return;
  const list = await session.log.pump(session.scope);
  const known = runtime.engine.book.newest(session.id, "LOG");
  if (list === undefined || list.length === 0) return;
  if (known?.count === list.state.count && known.chain === list.state.chain) return;
  const { agentId, sessionKey } = session.scope;
  await send(runtime, session, { sessionId: session.id, sessionKey, agentId }, true);
}

async function send(runtime: Runtime, session: Session, params: SessionParams, background: boolean): Promise<BootstrapAnswer> {
  try {
    const result = await runtime.engine.stream<BootstrapResult>("bootstrap", {
      ...callFacts(session, params, !background, DEADLINE_MS),
      idleMs: IDLE_MS,
      operation: "agent-run",
      start: (peer) => ({
        fields: {
          background,
          ...given({
            runtimeSettings: runtimeSettings(params.runtimeSettings),
            runtimeContext: runtimeContext(params.runtimeContext, runtime.config.runtimeContextKeys),
          }),
        },
        upload: Upload.ofLog(peer, session.log.list),
      }),
    });
    const { bootstrapped, importedMessages, reason } = result;
    return {
      bootstrapped,
      ...(importedMessages === undefined ? {} : { importedMessages: Number(importedMessages) }),
      ...given({ reason }),
    };
  } catch (error) {
    const failure = asFailure(error);
    runtime.engineFailed("bootstrap", failure);
    return { bootstrapped: false, reason: `the context engine did not answer: ${failure.code}` };
  }
}
