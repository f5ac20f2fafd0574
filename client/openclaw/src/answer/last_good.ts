// The engine's last good answer, joined to the list as it is now (R7.13): an engine that compacts by itself must not be
// undone by one call that it did not answer.

import type { Item, List } from "../sync/list.ts";
import { type AnswerRun, materialise } from "./segments.ts";

/** What was answered, and to what. */
export interface LastGood {
  base: List;
  runs: readonly AnswerRun[];
  /** Bytes of the list, roughly. */
  bytes: number;
}

/** Remembers an answer. */
export function lastGood(base: List, runs: readonly AnswerRun[]): LastGood {
  return { base, runs, bytes: base.bytes };
}

/** The answer up to the newest user message that both lists have, then the new list from there. Absent where there is
 * no such message, or where the lists differ before it: something was rewritten, and must not come back. */
export function join(good: LastGood, list: List): unknown[] | undefined {
  const common = newestCommonUser(good.base, list);
  if (common === undefined || good.base.stateAt(common.was).chain !== list.stateAt(common.is).chain) return undefined;
  const sources = good.base.items.map((item) => item.source);
  return [...materialise(before(good.runs, common.was), sources), ...list.items.slice(common.is).map((item) => item.source)];
}

/** The runs that come of messages before `end`, and what the engine put in front of the first later one. */
function before(runs: readonly AnswerRun[], end: number): AnswerRun[] {
  const earlier: AnswerRun[] = [];
  let isBehind = false;
  for (const run of runs) {
    if ("insert" in run) {
      if (!isBehind) earlier.push(run);
      continue;
    }
    isBehind ||= run.keep.end > end;
    if (run.keep.start < end) earlier.push({ keep: { start: run.keep.start, end: Math.min(run.keep.end, end) } });
  }
  return earlier;
}

function newestCommonUser(base: List, list: List): { was: number; is: number } | undefined {
  const places = new Map<string, number | "several">();
  for (const [at, item] of list.items.entries()) {
    for (const id of identities(item)) places.set(id, places.has(id) ? "several" : at);
  }
  for (let was = base.length - 1; was >= 0; was -= 1) {
    const id = identities(base.items[was])[0];
    const is = id === undefined ? undefined : places.get(id);
    if (is === "several") return undefined;
    if (is !== undefined) return { was, is };
  }
  return undefined;
}

/** What tells a user message from all others, the surest first. */
function identities(item: Item | undefined): string[] {
  if (item === undefined || item.header.role !== "user") return [];
  const key = (item.source as { idempotencyKey?: unknown }).idempotencyKey;
  const named = typeof key === "string" ? [`key ${key}`] : [];
  const time = item.header.timestampMs;
  return [...named, ...(time === undefined ? [] : [`time ${time}`])];
}
