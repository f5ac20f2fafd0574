// Native entry ids and the lineage ids that the engine knows entries by (R2.3): the host gives a rewritten entry a new
// id, and every entry behind it as well.

import type { DatabaseSync } from "node:sqlite";

/** An entry as the host has it. */
export interface NativeEntry {
  id: string;
  role: string;
  timestamp: unknown;
}

/** The map of one file, per session; an entry without a row has its own id as lineage. */
export class Lineage {
  private readonly db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  /** Native id to lineage id, where they differ. */
  of(session: string): Map<string, string> {
    const rows = this.db.prepare("SELECT native, lineage FROM lineage WHERE session = ?").all(session);
    return new Map(rows.map((row) => [String(row["native"]), String(row["lineage"])]));
  }

  /** Of a session that is no more. */
  forget(session: string): void {
    this.db.prepare("DELETE FROM lineage WHERE session = ?").run(session);
  }

  /** Records which entries of `after` are which of `before`, on the disk before this returns. */
  rewritten(session: string, before: readonly NativeEntry[], after: readonly NativeEntry[]): void {
    const known = this.of(session);
    const sql = "INSERT OR REPLACE INTO lineage (session, native, lineage) VALUES (?, ?, ?)";
    const insert = this.db.prepare(sql);
    this.db.exec("BEGIN IMMEDIATE");
    try {
      for (const [old, now] of pairs(before, after)) {
        const lineage = known.get(old.id) ?? old.id;
        if (lineage !== now.id) insert.run(session, now.id, lineage);
      }
      this.db.exec("COMMIT");
    } catch (error) {
      this.db.exec("ROLLBACK");
      throw error;
    }
  }
}

/** The entries of two branches that are one, in order. The host drops repeated user messages when it re-appends. */
export function pairs(
  before: readonly NativeEntry[],
  after: readonly NativeEntry[],
): [NativeEntry, NativeEntry][] {
  const found: [NativeEntry, NativeEntry][] = [];
  let at = 0;
  for (const now of after) {
    const same = (old: NativeEntry): boolean =>
      old.id === now.id || (old.role === now.role && old.timestamp === now.timestamp);
    let next = at;
    while (next < before.length && !same(before[next] as NativeEntry)) next += 1;
    const old = before[next];
    if (old === undefined) continue;
    found.push([old, now]);
    at = next + 1;
  }
  return found;
}
