// What an engine's answer may not do to the list that it was given (R7.7). A defect that the host's list had already is
// not the engine's.

import type { Item, List } from "../sync/list.ts";
import { headerOf } from "contextwire-proto";
import { HookFailure } from "../wire/failure.ts";
import type { AnswerRun } from "./segments.ts";

/** Under this budget an estimate is too rough to be judged. */
const SMALL_BUDGET = 1024;

/** Judges an answer's messages.
 * @throws HookFailure when it cannot be used. */
export function judge(runs: readonly AnswerRun[], view: List, isIncluded: boolean): void {
  const only = runs[0];
  if (runs.length === 1 && only !== undefined && "keep" in only && only.keep.end - only.keep.start === view.length) return;
  const newest = view.items.findLastIndex((item) => item.header.role === "user" && !isBlank(item));
  if (runs.length === 0 && newest >= 0) throw violation("it is empty although the list holds a user message");
  if (isIncluded && newest >= 0 && !runs.some((run) => "keep" in run && run.keep.start <= newest && newest < run.keep.end)) {
    throw violation(`the newest user message, index ${newest}, is lost`);
  }
  judgePairs(runs, view);
}

/** Whether the estimate leaves the size to the host's own check.
 * @throws HookFailure when it is far over the budget. */
export function judgeSize(estimated: number, budget: number | undefined): boolean {
  if (budget === undefined || budget <= 0) return false;
  if (estimated > budget * 1.1 && budget >= SMALL_BUDGET) {
    throw new HookFailure("over-budget", `the context has ${estimated} tokens, the budget is ${budget}`);
  }
  return estimated > budget;
}

interface Half {
  calls: string[];
  answers: string | undefined;
}

function judgePairs(runs: readonly AnswerRun[], view: List): void {
  const had = halves(view.items.map(({ header }) => ({ calls: header.toolCallIds, answers: header.toolResultFor })));
  const has = halves(runs.flatMap((run) => ("keep" in run ? kept(view, run.keep) : [invented(run)])));
  for (const [kind, before, after] of [
    ["a tool call has lost its result", had.open, has.open],
    ["a tool result has lost its call", had.orphans, has.orphans],
  ] as const) {
    const broken = [...after].find((id) => !before.has(id));
    if (broken !== undefined) throw violation(`${kind} (\`${broken}\`)`);
  }
}

/** Calls without a result, and results without a call before them. */
function halves(messages: readonly Half[]): { open: Set<string>; orphans: Set<string> } {
  const open = new Set<string>();
  const called = new Set<string>();
  const orphans = new Set<string>();
  for (const { calls, answers } of messages) {
    for (const id of calls) {
      open.add(id);
      called.add(id);
    }
    if (answers === undefined) continue;
    if (!called.has(answers)) orphans.add(answers);
    open.delete(answers);
  }
  return { open, orphans };
}

function kept(view: List, { start, end }: { start: number; end: number }): Half[] {
  return view.items.slice(start, end).map(({ header }) => ({ calls: header.toolCallIds, answers: header.toolResultFor }));
}

function invented({ insert }: Extract<AnswerRun, { insert: unknown }>): Half {
  let payload: unknown;
  try {
    payload = JSON.parse(Buffer.from(insert.payload).toString("utf8"));
  } catch {
    return { calls: [], answers: undefined };
  }
  const { toolCallIds, toolResultFor } = headerOf(payload);
  return { calls: toolCallIds, answers: toolResultFor };
}

function isBlank(item: Item): boolean {
  const content = (item.source as { content?: unknown } | null)?.content;
  if (typeof content === "string") return content.trim() === "";
  return !Array.isArray(content) || content.length === 0;
}

function violation(problem: string): HookFailure {
  return new HookFailure("contract", `messages: ${problem}`);
}
