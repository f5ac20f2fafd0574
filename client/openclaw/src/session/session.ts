// What the plugin keeps of a session between hooks: the host makes a new engine object for every turn.

import { randomUUID } from "node:crypto";
import type { LateHook } from "contextwire-proto/v1/call";
import { List } from "../sync/list.ts";
import type { LastGood } from "../answer/last_good.ts";
import type { HostSdk, SessionParams, TranscriptScope } from "../host/types.ts";
import type { Lineage } from "../outbox/lineage.ts";
import { SessionLog } from "./log.ts";

/** Sessions that are remembered; a forgotten one is read anew. */
const SESSIONS = 256;
/** Bytes of logs, views and last good results that are held in all, as JSON. */
const HELD_BYTES = 64 * 1024 * 1024;
/** Hook ids that a call may name (R7.2). */
const ABANDONED = 32;

/** One session. */
export class Session {
  readonly id: string;
  key: string | undefined;
  agentId: string | undefined;
  readonly log: SessionLog;
  /** The view as it was digested last, so that what did not change is not digested again. */
  view: List = List.empty;
  lastGood: LastGood | undefined;
  lastAddition: string | undefined;
  /** Counts the mutating foreground hooks (R7.9). */
  seq = 0;
  /** The engine did something that this host had given up: the next call names the log, whatever is in it. */
  owesLogHead = false;
  private readonly abandoned = new Set<string>();
  private readonly refusedSuccessors = new Set<string>();

  constructor(id: string, log: SessionLog) {
    this.id = id;
    this.log = log;
  }

  /** Where the host finds the transcript; absent while its agent or key is not known. */
  get scope(): TranscriptScope | undefined {
    if (this.agentId === undefined || this.key === undefined) return undefined;
    return { agentId: this.agentId, sessionId: this.id, sessionKey: this.key };
  }

  /** A hook of this id must not have an effect any more. */
  abandon(hookId: string): void {
    this.abandoned.add(hookId);
    for (const oldest of this.abandoned) {
      if (this.abandoned.size <= ABANDONED) break;
      this.abandoned.delete(oldest);
    }
  }

  get abandonedHooks(): string[] {
    return [...this.abandoned];
  }

  /** A call that named these ended well: the engine knows them. */
  acknowledgeAbandoned(hookIds: readonly string[]): void {
    for (const id of hookIds) this.abandoned.delete(id);
  }

  /** Given-up hooks that had taken effect at the engine: the sessions that they made are none of this host's (R7.2). */
  refuseSuccessors(late: readonly LateHook[]): void {
    for (const { hookId: id, sessionTarget } of late) {
      this.abandoned.delete(id);
      if (sessionTarget?.sessionId !== undefined) this.refusedSuccessors.add(sessionTarget.sessionId);
      this.owesLogHead = true;
    }
    for (const oldest of this.refusedSuccessors) {
      if (this.refusedSuccessors.size <= ABANDONED) break;
      this.refusedSuccessors.delete(oldest);
    }
  }

  refuses(successor: string | undefined): boolean {
    return successor !== undefined && this.refusedSuccessors.has(successor);
  }

  /** Takes in what a hook says of the session. */
  learn(params: Pick<SessionParams, "sessionKey" | "agentId" | "sessionTarget">): void {
    this.key = params.sessionKey ?? params.sessionTarget?.sessionKey ?? this.key;
    this.agentId = params.agentId ?? params.sessionTarget?.agentId ?? agentOf(this.key) ?? this.agentId;
  }
}

/** Session keys name their agent: `agent:main:…`. */
function agentOf(key: string | undefined): string | undefined {
  const parts = key?.split(":") ?? [];
  return parts[0] === "agent" && parts[1] !== "" ? parts[1] : undefined;
}

/** The sessions of this process, the least recently used out first. */
export class Sessions {
  private readonly sdk: () => Promise<HostSdk>;
  private readonly lineage: Lineage;
  private readonly held = new Map<string, Session>();

  constructor(sdk: () => Promise<HostSdk>, lineage: Lineage) {
    this.sdk = sdk;
    this.lineage = lineage;
  }

  get(id: string, params: Pick<SessionParams, "sessionKey" | "agentId" | "sessionTarget"> = {}): Session {
    const session = this.held.get(id) ?? new Session(id, new SessionLog(this.sdk, this.lineage));
    session.learn(params);
    this.held.delete(id);
    this.held.set(id, session);
    this.evict();
    return session;
  }

  private static bytesOf({ log, view, lastGood }: Session): number {
    return log.size + view.bytes + (lastGood?.bytes ?? 0);
  }

  get count(): number {
    return this.held.size;
  }

  forget(id: string): void {
    this.held.delete(id);
  }

  /** The id of the session with this key that was used last. */
  idOf(key: string): string | undefined {
    return [...this.held.values()].findLast((session) => session.key === key)?.id;
  }

  private evict(): void {
    let bytes = 0;
    for (const session of this.held.values()) bytes += Sessions.bytesOf(session);
    for (const [id, session] of this.held) {
      if (this.held.size <= 1 || (this.held.size <= SESSIONS && bytes <= HELD_BYTES)) return;
      bytes -= Sessions.bytesOf(session);
      this.held.delete(id);
    }
  }
}

/** A UUID of version 7: its first 48 bits are the time, so that hook ids sort as they were minted. */
export function hookId(now: number): string {
  const random = randomUUID();
  const time = now.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${random.slice(15)}`;
}
