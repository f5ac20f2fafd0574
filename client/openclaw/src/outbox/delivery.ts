// Brings the outbox to the engine, in the background and in order. It runs outside of any turn's context, since the
// host shows a turn only what was there before it.

import { create } from "@bufbuild/protobuf";
import { CommitStatus, type CommitTurnResponse, EntryAnchorSchema } from "contextwire-proto/v1/commit_turn";
import { SpawnOutcome } from "contextwire-proto/v1/subagent";
import { MESSAGE_BYTES } from "contextwire-proto";
import type { StoredCommit } from "../hook/commit.ts";
import type { StoredErasure } from "../hook/erase.ts";
import type { StoredEnd } from "../hook/subagent.ts";
import { given } from "../hook/host_calls.ts";
import { callFacts } from "../hook/turn.ts";
import type { AnchorParams } from "../host/types.ts";
import type { Runtime } from "../runtime.ts";
import { wireOf } from "../sync/list.ts";
import { HookFailure, asFailure } from "../wire/failure.ts";
import { runtimeContext } from "../wire/runtime_context.ts";
import type { StoredResolve } from "./spawn_journal.ts";
import type { Row } from "./store.ts";

const TRY_MS = 5000;
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;
const WEEK_MS = 7 * 24 * 3600 * 1000;
/** Looks at a transcript that does not show a turn yet, before the turn counts as rewritten. */
const RANGE_TRIES = 5;

/** No later try can end otherwise (R7.11). */
const TERMINAL = new Set([
  "INVALID_REQUEST",
  "UNKNOWN_FIELD",
  "IDEMPOTENCY_CONFLICT",
  "MESSAGE_TOO_LARGE",
  "PREPARATION_EXPIRED",
  "NOT_UNDERSTOOD",
]);

/** Sends the rows of one engine, of every lane one at a time. */
export class Delivery {
  private readonly runtime: Runtime;
  private readonly busy = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private isPaused = false;
  private isStopped = false;

  constructor(runtime: Runtime) {
    this.runtime = runtime;
  }

  /** Something was written, or the engine is back. */
  wake(): void {
    this.isPaused = false;
    this.runtime.outside(() => this.pass());
  }

  /** Nothing more is begun until the next wake. */
  pause(): void {
    clearTimeout(this.timer);
    this.isPaused = true;
  }

  /** For good. */
  stop(): void {
    this.pause();
    this.isStopped = true;
  }

  /** Begins what is due in every lane that is free; a slow call holds up no other lane. */
  private pass(): void {
    if (this.isPaused || this.isStopped) return;
    clearTimeout(this.timer);
    const free = this.runtime.outbox.heads().filter(({ lane }) => !this.busy.has(lane));
    const now = Date.now();
    for (const row of free.filter(({ nextMs }) => nextMs <= now)) {
      this.busy.add(row.lane);
      void this.deliver(row).catch((error: unknown) => this.broken(error)).finally(() => {
        this.busy.delete(row.lane);
        this.pass();
      });
    }
    const later = free.map(({ nextMs }) => nextMs).filter((nextMs) => nextMs > now);
    if (later.length === 0) return;
    this.timer = setTimeout(() => this.pass(), Math.max(50, Math.min(...later) - now));
    this.timer.unref();
  }

  /** The file itself cannot be written: said once, and not tried in a loop. */
  private async broken(error: unknown): Promise<void> {
    this.runtime.warnOnce("outbox", `the outbox in ${this.runtime.folder} cannot be written (${String(error)})`);
    await new Promise((resolve) => setTimeout(resolve, FIRST_WAIT_MS).unref());
  }

  /** One try of a row. */
  private async deliver(row: Row): Promise<void> {
    const { outbox } = this.runtime;
    try {
      await this.send(row);
      if (!this.isStopped) outbox.remove(row.id);
    } catch (error) {
      if (this.isStopped) return;
      const failure = asFailure(error);
      const cannot = failure.kind === "absent" || (row.kind === "erase" && failure.reason === "METHOD_ABSENT");
      const isOver = TERMINAL.has(failure.reason ?? "") || cannot;
      if (isOver || Date.now() - row.createdMs > WEEK_MS) {
        outbox.setAside(row.id, `${failure.code}: ${failure.message}`);
        const what = `${row.kind === "end" || row.kind === "erase" ? "an" : "a"} ${row.kind} could not be brought to the engine and was set aside`;
        this.runtime.warnOnce(`aside ${row.kind} ${failure.code}`, `${what}: ${failure.code}: ${failure.message}`);
        return;
      }
      const wait = Math.min(FIRST_WAIT_MS * 2 ** row.attempts, LONGEST_WAIT_MS);
      outbox.failed(row.id, `${failure.code}: ${failure.message}`, Date.now() + (failure.retryAfterMs ?? wait));
    }
  }

  private async send(row: Row): Promise<void> {
    const payload: unknown = JSON.parse(row.payload);
    if (row.kind === "commit") return this.commit(row, payload as StoredCommit);
    if (row.kind === "resolve") return this.resolve(payload as StoredResolve);
    if (row.kind === "erase") return this.erase(payload as StoredErasure);
    return this.end(row, payload as StoredEnd);
  }

  /** An erasure that leaves something behind is tried again: what the engine still had open may be closed by then. */
  private async erase({ sessionId, sessionKey }: StoredErasure): Promise<void> {
    const { proof } = await this.runtime.engine.erase({ id: sessionId, key: sessionKey });
    if (proof?.clean === false) throw new HookFailure("refused", `something of the session is left: ${proof.remains.join("; ")}`);
  }

  private async commit(row: Row, stored: StoredCommit): Promise<void> {
    const { runtime } = this;
    const session = runtime.sessions.get(stored.sessionId, stored);
    const range = await this.range(row, stored);
    const answer = (await runtime.engine.unary("commitTurn", callFacts(session, stored, false, TRY_MS), {
      advancementKey: stored.advancementKey,
      admission: { anchor: anchor(stored.admission), logicalTurnId: stored.admission.logicalTurnId, role: "user" },
      terminal: anchor(stored.terminal),
      messages: range.map((item) => wireOf(item, MESSAGE_BYTES / 2)),
      isHeartbeat: stored.isHeartbeat === true,
      ...given({ runtimeContext: runtimeContext(stored.runtimeContext, []) }),
    })) as CommitTurnResponse;
    if (answer.status !== CommitStatus.COMMITTED && answer.status !== CommitStatus.DUPLICATE) {
      throw new HookFailure("contract", "the engine did not say that the turn is stored");
    }
  }

  /** The closed range between the anchors, with the ids and bytes that the LOG has (R2.3). */
  private async range(row: Row, stored: StoredCommit): ReturnType<Delivery["read"]> {
    const { log, scope } = this.runtime.sessions.get(stored.sessionId, stored);
    if (scope === undefined) throw new HookFailure("absent", "the session of the turn cannot be found");
    await log.pump(scope);
    const found = this.read(stored);
    if ((await found).length > 0) return found;
    log.restart();
    await log.pump(scope);
    const anew = await this.read(stored);
    if (anew.length > 0) return anew;
    const kind = row.attempts >= RANGE_TRIES ? "absent" : "unreachable";
    throw new HookFailure(kind, "the host's transcript does not show the turn; the log brings what is left of it");
  }

  private async read(stored: StoredCommit) {
    const { log } = this.runtime.sessions.get(stored.sessionId, stored);
    const lineage = this.runtime.lineage.of(stored.sessionId);
    const id = (native: string): string => lineage.get(native) ?? native;
    const { items } = log.list;
    const from = items.findIndex((item) => item.entryId === id(stored.admission.entryId));
    const to = items.findIndex((item) => item.entryId === id(stored.terminal.entryId));
    return from < 0 || to < from ? [] : items.slice(from, to + 1);
  }

  private async resolve({ spawnId, parentSessionId, parentSessionKey, outcome }: StoredResolve): Promise<void> {
    const session = this.runtime.sessions.get(parentSessionId, { sessionKey: parentSessionKey });
    const facts = callFacts(session, { sessionId: session.id }, false, TRY_MS);
    await this.runtime.engine.unary("resolveSubagentSpawn", facts, { spawnId, outcome: SpawnOutcome[outcome] });
  }

  private async end(row: Row, { childSessionKey, reason, sessionId }: StoredEnd): Promise<void> {
    const session = this.runtime.sessions.get(sessionId, { sessionKey: childSessionKey });
    const facts = callFacts(session, { sessionId: session.id }, false, TRY_MS);
    const hookId = keyed(row.id, row.createdMs);
    await this.runtime.engine.unary("endSubagent", { ...facts, hookId }, { childSessionKey, reason });
  }
}

/** The same hook id in every try of a row, whatever process makes it. */
function keyed(id: number, createdMs: number): string {
  const time = createdMs.toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7000-8000-${id.toString(16).padStart(12, "0")}`;
}

function anchor(params: AnchorParams) {
  return create(EntryAnchorSchema, {
    agentId: params.agentId,
    sessionId: params.sessionId,
    sessionKey: params.sessionKey,
    storePath: params.storePath,
    generation: params.generation,
    entryId: params.entryId,
    rawSeq: BigInt(params.rawSeq),
    activeMessagePosition: BigInt(params.activeMessagePosition),
    ...given({ effectiveParentId: params.effectiveParentId, idempotencyKey: params.idempotencyKey }),
  } as never);
}
