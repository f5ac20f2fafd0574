// Spawns that were prepared at the engine and are not resolved yet (R9.3). A process that ends between preparing and
// starting a child leaves its row, and the next one resolves it.

import { randomUUID } from "node:crypto";
import type { DatabaseSync } from "node:sqlite";
import type { OutboxStore } from "./store.ts";

/** What a `resolve` row of the outbox holds. */
export interface StoredResolve {
  spawnId: string;
  parentSessionId: string;
  parentSessionKey: string;
  outcome: "STARTED" | "ROLLED_BACK";
}

/** A spawn as it is journaled. */
export interface JournaledSpawn {
  spawnId: string;
  parentSessionId: string;
  parentSessionKey: string;
  childSessionKey: string;
  /** When the engine rolls it back by itself, in Unix milliseconds. */
  expiresMs: number;
}

/** Tells this process from an earlier one that had its number. The module may be evaluated several times. */
const PROCESS = Symbol.for("contextwire-openclaw.process");

function thisProcess(): string {
  const holder = globalThis as unknown as Record<symbol, string | undefined>;
  return (holder[PROCESS] ??= randomUUID());
}

/** The journal of one engine. */
export class SpawnJournal {
  private readonly db: DatabaseSync;
  private readonly engine: string;
  private readonly outbox: OutboxStore;

  constructor(db: DatabaseSync, engine: string, outbox: OutboxStore) {
    this.db = db;
    this.engine = engine;
    this.outbox = outbox;
  }

  /** Writes a spawn down before the engine is asked; on the disk when this returns. */
  open(spawn: JournaledSpawn): void {
    const sql = `INSERT INTO spawns (spawn_id, engine, parent_session, parent_key, child_key, pid, process, expires_ms)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`;
    const { spawnId, parentSessionId, parentSessionKey, childSessionKey, expiresMs } = spawn;
    this.db
      .prepare(sql)
      .run(spawnId, this.engine, parentSessionId, parentSessionKey, childSessionKey, process.pid, thisProcess(), expiresMs);
  }

  /** Out of the journal and into the outbox, in one transaction. False when it was resolved before. */
  settle(spawnId: string, outcome: StoredResolve["outcome"], now: number): boolean {
    this.db.exec("BEGIN IMMEDIATE");
    try {
      const row = this.db.prepare("DELETE FROM spawns WHERE spawn_id = ? RETURNING *").get(spawnId);
      if (row !== undefined) {
        const resolve: StoredResolve = {
          spawnId,
          parentSessionId: String(row["parent_session"]),
          parentSessionKey: String(row["parent_key"]),
          outcome,
        };
        this.outbox.add("resolve", String(row["child_key"]), spawnId, JSON.stringify(resolve), now);
      }
      this.db.exec("COMMIT");
      return row !== undefined;
    } catch (error) {
      this.db.exec("ROLLBACK");
      throw error;
    }
  }

  /** The engine was never asked. */
  forget(spawnId: string): void {
    this.db.prepare("DELETE FROM spawns WHERE spawn_id = ?").run(spawnId);
  }

  /** Spawns whose process is gone. A child that had started was settled by the process that started it. */
  orphans(now: number): string[] {
    const sql = "SELECT spawn_id, pid, process, expires_ms FROM spawns WHERE engine = ? AND process <> ?";
    const rows = this.db.prepare(sql).all(this.engine, thisProcess());
    return rows
      .filter((row) => Number(row["pid"]) === process.pid || !isAlive(Number(row["pid"])) || Number(row["expires_ms"]) < now)
      .map((row) => String(row["spawn_id"]));
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
