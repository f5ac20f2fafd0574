// What a list is made of, seen from one that the other side holds: kept ranges and inserted messages (R3.5).

import type { Item, List } from "./list.ts";

/** A run of the base, or an item that the base lacks at this place. */
export type Run = { keep: { start: number; count: number } } | { insert: Item };

/** The list as ascending, disjoint runs over the base. */
export function diff(base: List, list: List): Run[] {
  const runs: Run[] = [];
  const places = new Map<string, number[]>();
  let next = 0;
  for (const [at, item] of list.items.entries()) {
    const found = base.items[next]?.digest === item.digest ? next : later(base, places, item.digest, next);
    if (found === undefined) {
      runs.push({ insert: item });
      continue;
    }
    const last = runs.at(-1);
    if (at > 0 && last !== undefined && "keep" in last && last.keep.start + last.keep.count === found) {
      last.keep.count += 1;
    } else {
      runs.push({ keep: { start: found, count: 1 } });
    }
    next = found + 1;
  }
  return runs;
}

/** The first place of a digest in the base from `from` on. */
function later(base: List, places: Map<string, number[]>, digest: string, from: number): number | undefined {
  if (places.size === 0) {
    for (const [at, item] of base.items.entries()) {
      const held = places.get(item.digest);
      if (held === undefined) places.set(item.digest, [at]);
      else held.push(at);
    }
  }
  return places.get(digest)?.find((place) => place >= from);
}
