// The newest part of a list that fits a budget: whole turns, so that no tool call loses its result.

import { estimate } from "./estimate.ts";

/** The list from some user message on; the newest turn is kept whatever it costs. */
export function fit(messages: readonly unknown[], budget: number | undefined): unknown[] {
  if (budget === undefined || budget <= 0) return [...messages];
  let tokens = 0;
  let from = messages.length;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    tokens += estimate(messages[at]);
    const isTurn = (messages[at] as { role?: unknown } | null)?.role === "user";
    const hasTurn = from < messages.length;
    if (tokens > budget && hasTurn) break;
    if (isTurn || at === 0) from = at;
  }
  return messages.slice(from);
}
