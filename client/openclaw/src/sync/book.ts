// What the engine acknowledged of each session's lists (R3.8, R3.9).

import { MIRROR_STATES } from "contextwire-proto";
import type { List, State } from "./list.ts";

/** Which list. */
export type ListName = "LOG" | "VIEW";

/** Which call sends it: a site's next list is most like its last one. */
export type Site = "before-prompt" | "tool-loop" | "sync" | "log";

/** Where an upload starts: from an acknowledged list, from nothing, or with the head alone. */
export type Start = { from: List } | "full" | "unknown";

/** Sessions whose states are remembered; a forgotten one costs one request for what the engine has. */
const SESSIONS = 512;
/** Full sends in a row that may arrive otherwise than announced (R3.7). */
const MISMATCHES = 3;

interface Acknowledged {
  /** Newest first. */
  states: { site: Site; list: List }[];
  mismatches: number;
}

/** The acknowledged states of one engine. */
export class Book {
  private readonly lists = new Map<string, Acknowledged>();
  private alwaysFull = false;

  start(session: string, name: ListName, site: Site): Start {
    if (this.alwaysFull) return "full";
    const known = this.lists.get(key(session, name));
    if (known === undefined) return "unknown";
    if (known.mismatches > 0) return "full";
    const state = known.states.find((one) => one.site === site) ?? known.states[0];
    return state === undefined ? "unknown" : { from: state.list };
  }

  /** The longest acknowledged list in one of the offered states. */
  known(session: string, name: ListName, offered: readonly State[]): List | undefined {
    const held = this.lists.get(key(session, name))?.states ?? [];
    let best: List | undefined;
    for (const { list } of held) {
      for (const state of offered) {
        if (list.startsWith(state) && state.count >= (best?.length ?? 0)) best = list.prefix(state.count);
      }
    }
    return best;
  }

  acknowledge(session: string, name: ListName, site: Site, list: List): void {
    const id = key(session, name);
    const known = this.lists.get(id) ?? { states: [], mismatches: 0 };
    known.mismatches = 0;
    const others = known.states.filter((one) => one.site !== site);
    known.states = [{ site, list }, ...others].slice(0, MIRROR_STATES);
    this.lists.delete(id);
    this.lists.set(id, known);
    for (const oldest of this.lists.keys()) {
      if (this.lists.size <= SESSIONS) break;
      this.lists.delete(oldest);
    }
  }

  /** The engine could not follow. True when it gets full lists from now on. */
  mismatch(session: string, name: ListName): boolean {
    const id = key(session, name);
    const known = this.lists.get(id) ?? { states: [], mismatches: 0 };
    known.mismatches += 1;
    known.states = [];
    this.lists.set(id, known);
    const gaveUp = known.mismatches >= MISMATCHES && !this.alwaysFull;
    if (gaveUp) this.alwaysFull = true;
    return gaveUp;
  }

  /** The last state that the engine acknowledged of a list, if any. */
  newest(session: string, name: ListName): State | undefined {
    return this.lists.get(key(session, name))?.states[0]?.list.state;
  }
}

function key(session: string, name: ListName): string {
  return `${name}\n${session}`;
}
