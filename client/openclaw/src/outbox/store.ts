// Calls that have to reach the engine whatever becomes of this process: rows in order, one lane a session.

import type { DatabaseSync } from "node:sqlite";

/** What a row asks for. */
export type RowKind = "commit" | "resolve" | "end" | "erase";

/** One call that waits. */
export interface Row {
  id: number;
  kind: RowKind;
  lane: string;
  key: string;
  payload: string;
  createdMs: number;
  attempts: number;
  nextMs: number;
}

/** How many rows there are of a kind. */
export interface RowCounts {
  waiting: number;
  aside: number;
  /** When the oldest waiting one was written; absent where none waits. */
  oldestMs?: number;
  lastError?: string;
}

const COLUMNS = "id, kind, lane, key, payload, created_ms, attempts, next_ms";

/** The rows of one engine. */
export class OutboxStore {
  private readonly db: DatabaseSync;
  private readonly engine: string;

  constructor(db: DatabaseSync, engine: string) {
    this.db = db;
    this.engine = engine;
  }

  /** Writes a row; one with the same key stays as it is. It is on the disk when this returns. */
  add(kind: RowKind, lane: string, key: string, payload: string, now: number): void {
    const sql = `INSERT INTO outbox (kind, engine, lane, key, payload, created_ms) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (engine, kind, key) DO NOTHING`;
    this.db.prepare(sql).run(kind, this.engine, lane, key, payload, now);
  }

  /** The first waiting row of each lane; later ones of a lane wait for it. */
  heads(): Row[] {
    const sql = `SELECT ${COLUMNS} FROM outbox WHERE id IN
      (SELECT MIN(id) FROM outbox WHERE engine = ? AND aside = 0 GROUP BY lane) ORDER BY id`;
    return this.db.prepare(sql).all(this.engine).map(rowOf);
  }

  /** An erasure in the session's lane; turns of it that wait or were set aside are not brought any more. */
  eraseSession(lane: string, payload: string, now: number): void {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      this.db.prepare("DELETE FROM outbox WHERE engine = ? AND lane = ? AND kind = 'commit'").run(this.engine, lane);
      this.add("erase", lane, lane, payload, now);
      this.db.exec("COMMIT");
    } catch (error) {
      this.db.exec("ROLLBACK");
      throw error;
    }
  }

  remove(id: number): void {
    this.db.prepare("DELETE FROM outbox WHERE id = ?").run(id);
  }

  failed(id: number, error: string, nextMs: number): void {
    const sql = "UPDATE outbox SET attempts = attempts + 1, error = ?, next_ms = ? WHERE id = ?";
    this.db.prepare(sql).run(error, nextMs, id);
  }

  /** Never delivered, never deleted, holds nothing back. */
  setAside(id: number, error: string): void {
    this.db.prepare("UPDATE outbox SET aside = 1, attempts = attempts + 1, error = ? WHERE id = ?").run(error, id);
  }

  counts(): RowCounts {
    const sql = `SELECT SUM(aside = 0) AS waiting, SUM(aside) AS aside, MIN(iif(aside = 0, created_ms, NULL)) AS oldest
      FROM outbox WHERE engine = ?`;
    const row = this.db.prepare(sql).get(this.engine);
    const last = this.db
      .prepare("SELECT error FROM outbox WHERE engine = ? AND error IS NOT NULL ORDER BY id LIMIT 1")
      .get(this.engine);
    const counts: RowCounts = { waiting: Number(row?.["waiting"] ?? 0), aside: Number(row?.["aside"] ?? 0) };
    if (row?.["oldest"] != null) counts.oldestMs = Number(row["oldest"]);
    if (typeof last?.["error"] === "string") counts.lastError = last["error"];
    return counts;
  }
}

function rowOf(row: Record<string, unknown>): Row {
  return {
    id: Number(row["id"]),
    kind: String(row["kind"]) as RowKind,
    lane: String(row["lane"]),
    key: String(row["key"]),
    payload: String(row["payload"]),
    createdMs: Number(row["created_ms"]),
    attempts: Number(row["attempts"]),
    nextMs: Number(row["next_ms"]),
  };
}
