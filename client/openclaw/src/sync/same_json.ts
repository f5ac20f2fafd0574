// Whether a value would be written as the JSON that another one was read from. Walking both is much cheaper than
// writing the one.

/** Equal values, keys in the same order. `held` is plain JSON; anything else in `value` makes it another. */
export function sameJson(value: unknown, held: unknown): boolean {
  if (typeof value !== "object" || value === null || typeof held !== "object" || held === null) {
    // What JSON cannot hold (NaN, a function) equals nothing that was read from it.
    return value === held;
  }
  if (Array.isArray(value)) return Array.isArray(held) && sameItems(value, held);
  return !Array.isArray(held) && sameFields(value as Record<string, unknown>, held as Record<string, unknown>);
}

function sameItems(value: readonly unknown[], held: readonly unknown[]): boolean {
  if (value.length !== held.length) return false;
  for (let at = 0; at < value.length; at += 1) if (!sameJson(value[at], held[at])) return false;
  return true;
}

function sameFields(value: Record<string, unknown>, held: Record<string, unknown>): boolean {
  if (typeof value["toJSON"] === "function") return false;
  const keys = Object.keys(held);
  let at = 0;
  for (const key in value) {
    if (keys[at] !== key || !sameJson(value[key], held[key])) return false;
    at += 1;
  }
  return at === keys.length;
}
