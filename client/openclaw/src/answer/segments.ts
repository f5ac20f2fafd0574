// An engine's answer as runs over the list that it was given: kept ranges and invented messages.

import type { Segment } from "contextwire-proto/v1/transcript";
import type { Message } from "contextwire-proto/v1/message";
import { HookFailure } from "../wire/failure.ts";

/** A run of the request's list, or a message of the engine. */
export type AnswerRun = { keep: { start: number; end: number } } | { insert: Message };

/** Reads segments over a list of `length` messages.
 * @throws HookFailure when a range lies outside, or an index comes twice (R3.5). */
export function readSegments(segments: readonly Segment[], length: number): AnswerRun[] {
  const used = new Uint8Array(length);
  return segments.map(({ kind }) => {
    if (kind.case === "insert") return { insert: kind.value };
    if (kind.case !== "keep") throw violation("a segment of an unknown kind");
    const start = Number(kind.value.start);
    const end = start + Number(kind.value.count);
    if (end <= start || end > length) throw violation(`the range ${start}..${end} lies outside a list of ${length}`);
    for (let at = start; at < end; at += 1) {
      if (used[at] === 1) throw violation(`message ${at} is there twice`);
      used[at] = 1;
    }
    return { keep: { start, end } };
  });
}

/** The messages of an answer: the caller's own objects where they are kept.
 * @throws HookFailure when an invented message is no JSON object. */
export function materialise(runs: readonly AnswerRun[], list: readonly unknown[]): unknown[] {
  return runs.flatMap((run) => ("keep" in run ? list.slice(run.keep.start, run.keep.end) : [parsed(run.insert)]));
}

function parsed(message: Message): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(message.payload).toString("utf8"));
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Said below, for both.
  }
  throw violation("an invented message is no JSON object");
}

function violation(problem: string): HookFailure {
  return new HookFailure("contract", `messages: ${problem}`);
}
