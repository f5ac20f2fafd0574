// The VIEW of a session, digested in slices: a long list must not hold up the gateway's other work.

import { performance } from "node:perf_hooks";
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { type Item, List, itemOf } from "./list.ts";
import { sameJson } from "./same_json.ts";

/** How long one slice may compute, in milliseconds. */
const SLICE_MS = 2;
/** How often the clock is looked at, in messages. */
const LOOK_EVERY = 16;

/** The digested list of messages. What equals a message of `before` at the same place is taken over from there. */
export async function digestView(messages: readonly unknown[], before: List): Promise<List> {
  const items: Item[] = new Array(messages.length);
  let began = performance.now();
  for (let at = 0; at < messages.length; at += 1) {
    items[at] = digested(messages[at], before.items[at]);
    if (at % LOOK_EVERY === LOOK_EVERY - 1 && performance.now() - began > SLICE_MS) {
      await turnOfTheLoop();
      began = performance.now();
    }
  }
  return List.of(items, before);
}

/** A host may change an object in place, so what it says decides and not which one it is. */
function digested(message: unknown, known: Item | undefined): Item {
  if (known?.snapshot !== undefined && sameJson(message, known.snapshot)) return withSource(known, message);
  const json = JSON.stringify(message) ?? "null";
  if (known === undefined || known.json !== json) return itemOf(message, "", json);
  // It came a second time: from now on it is compared, which costs a fraction of writing it.
  known.snapshot ??= JSON.parse(json);
  return withSource(known, message);
}

function withSource(known: Item, message: unknown): Item {
  return known.source === message ? known : { ...known, source: message };
}
