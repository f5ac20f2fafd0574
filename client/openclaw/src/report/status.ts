// `/contextwire status`: what is selected, what is active, and why.

import type { Runtime } from "../runtime.ts";

/** Everything a person or a script asks first. */
export interface StatusReport {
  selected: boolean;
  active: string;
  target: string;
  engine: { id: string; name: string; version: string; ownsCompaction: boolean } | undefined;
  /** Process id of the engine that the plugin started; absent with a `target`, and while none runs. */
  enginePid: number | undefined;
  breaker: string;
  servedBy: string;
  calls: { answered: number; failed: number };
  lastFailure: { hook: string; code: string; message: string; at: string } | undefined;
  outbox: { waiting: number; aside: number; oldest: string | undefined; lastError: string | undefined };
  sessions: number;
  own: ReturnType<Runtime["own"]["report"]>;
}

/** Reads the state; asks nobody. `slot` is what the host's configuration selects. */
export function status(runtime: Runtime, slot: string | undefined): StatusReport {
  const { engine, outbox, sessions, own } = runtime;
  const seen = engine.acquaintance.lastSeen?.engine;
  const { state, opensForMs } = engine.breaker.report(Date.now());
  const counts = outbox.counts();
  const failure = engine.lastFailure;
  const selected = slot === "contextwire";
  return {
    selected,
    active: activeOf(selected, state, seen?.name),
    target: runtime.target,
    engine:
      seen === undefined
        ? undefined
        : { id: seen.id, name: seen.name, version: seen.version, ownsCompaction: seen.ownsCompaction },
    enginePid: runtime.spawned?.pid,
    breaker: state === "open" ? `open for ${Math.ceil(opensForMs / 1000)} s more` : state,
    servedBy: runtime.servedBy,
    calls: { answered: engine.answered, failed: engine.failed },
    lastFailure:
      failure === undefined
        ? undefined
        : { hook: failure.hook, code: failure.code, message: failure.message, at: new Date(failure.atMs).toISOString() },
    outbox: {
      waiting: counts.waiting,
      aside: counts.aside,
      oldest: counts.oldestMs === undefined ? undefined : new Date(counts.oldestMs).toISOString(),
      lastError: counts.lastError,
    },
    sessions: sessions.count,
    own: own.report(),
  };
}

/** The report for people. */
export function statusText(report: StatusReport): string {
  const { engine, lastFailure, outbox } = report;
  const lines = [
    `selected: ${report.selected ? "yes" : "no; set plugins.slots.contextEngine to \"contextwire\""}`,
    `active: ${report.active}`,
    `engine: ${engine === undefined ? "never seen" : `${engine.name} ${engine.version} (${engine.id})`} at ${report.target}${report.enginePid === undefined ? "" : `, process ${report.enginePid}`}`,
    `circuit: ${report.breaker}`,
    `last context from: ${report.servedBy}`,
    `calls: ${report.calls.answered} answered, ${report.calls.failed} not`,
    `outbox: ${outbox.waiting} waiting, ${outbox.aside} set aside${outbox.lastError === undefined ? "" : ` (${outbox.lastError})`}`,
  ];
  if (lastFailure !== undefined) {
    lines.push(`last failure: ${lastFailure.hook} ${lastFailure.code} at ${lastFailure.at}: ${lastFailure.message}`);
  }
  return lines.join("\n");
}

function activeOf(selected: boolean, breaker: string, name: string | undefined): string {
  if (!selected) return "another engine, as the host's configuration says";
  if (breaker !== "closed") return "this process, since the engine does not answer";
  return name ?? "unknown: the engine was never seen; it is asked at the next turn";
}
