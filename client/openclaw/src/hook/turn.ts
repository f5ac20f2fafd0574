// One engine object of the host: a logical turn, a compaction, a spawn. What has to survive it lives in the session.

import type { Runtime } from "../runtime.ts";
import type { SessionParams } from "../host/types.ts";
import type { Session } from "../session/session.ts";
import type { CallFacts } from "../engine/engine.ts";
import { targetToWire } from "../wire/compaction.ts";

/** What went before a maintenance; the host does not say. */
export type Step = "start" | "bootstrap" | "commit" | "compact";

/** State of one engine object. */
export class Turn {
  readonly runtime: Runtime;
  /** The engine failed an assembly of this turn: the rest of it is served here (R7.4). */
  isDegraded = false;
  lastStep: Step = "start";
  /** Milliseconds that are left for what runs before a prompt besides assembling (R7.1). */
  overheadMs = 5500;
  readonly sessions = new Set<Session>();
  private readonly atEnd: (() => void)[] = [];

  constructor(runtime: Runtime) {
    this.runtime = runtime;
    runtime.start();
  }

  session(params: SessionParams): Session {
    const session = this.runtime.sessions.get(params.sessionId, params);
    this.sessions.add(session);
    return session;
  }

  /** Does something when the host lets go of this object. */
  onDispose(act: () => void): void {
    this.atEnd.push(act);
  }

  /** The host lets go: nothing of the connection is closed, and what its sessions still have to say follows. */
  dispose(): void {
    for (const act of this.atEnd.splice(0)) act();
    for (const session of this.sessions) this.runtime.settleLater(session);
    this.sessions.clear();
  }

  /** Reads the host's transcript on, where the engine has a use for it. */
  async pump(session: Session): Promise<void> {
    if (session.scope === undefined || !this.runtime.wantsLog) return;
    await session.log.pump(session.scope).catch((error: unknown) => {
      this.runtime.warnOnce("log", `the transcript cannot be read (${String(error)}); the engine gets no log`);
    });
  }
}

/** What every hook says of itself to the engine. */
export function callFacts(session: Session, params: SessionParams, isOrdered: boolean, deadlineMs: number): CallFacts {
  const facts: CallFacts = { session, isOrdered, deadlineMs };
  if (params.sessionTarget !== undefined) facts.sessionTarget = targetToWire(params.sessionTarget);
  if (params.sessionFile !== undefined) facts.locator = params.sessionFile;
  if (params.abortSignal !== undefined) facts.signal = params.abortSignal;
  return facts;
}
