// The plugin's own file: what has to outlive the gateway's process. One writer, every write on the disk before it is
// answered (`synchronous = FULL`).

import { chmodSync, mkdirSync } from "node:fs";
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const SCHEMA = `
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS outbox (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL,
  engine TEXT NOT NULL,
  lane TEXT NOT NULL,
  key TEXT NOT NULL,
  payload TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_ms INTEGER NOT NULL DEFAULT 0,
  aside INTEGER NOT NULL DEFAULT 0,
  error TEXT,
  UNIQUE (engine, kind, key)
) STRICT;
CREATE TABLE IF NOT EXISTS lineage (
  session TEXT NOT NULL, native TEXT NOT NULL, lineage TEXT NOT NULL,
  PRIMARY KEY (session, native)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spawns (
  spawn_id TEXT PRIMARY KEY,
  engine TEXT NOT NULL,
  parent_session TEXT NOT NULL,
  parent_key TEXT NOT NULL,
  child_key TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process TEXT NOT NULL,
  expires_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
`;

/** Opens the file in a folder of its own, for its owner alone; both are created where they are missing. */
export function openDatabase(folder: string): DatabaseSync {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, "contextwire.sqlite");
  const db = new DatabaseSync(path);
  chmodSync(path, 0o600);
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 2000;");
  db.exec(SCHEMA);
  return db;
}

/** Small facts by name. */
export class Meta {
  private readonly db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.db = db;
  }

  get(key: string): string | undefined {
    const row = this.db.prepare("SELECT value FROM meta WHERE key = ?").get(key);
    return typeof row?.["value"] === "string" ? row["value"] : undefined;
  }

  set(key: string, value: string): void {
    const sql = "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    this.db.prepare(sql).run(key, value);
  }

  /** Raises the epoch of this host's process above every one before (R7.9). */
  nextEpoch(now: number): number {
    const stored = Number(this.get("host_epoch") ?? 0);
    const epoch = Math.max(now, stored + 1);
    this.set("host_epoch", String(epoch));
    return epoch;
  }

  /** The key that sessions are hashed with for the affinity header (R1.10). */
  affinityKey(): string {
    const stored = this.get("affinity_key");
    if (stored !== undefined) return stored;
    const minted = randomBytes(32).toString("hex");
    this.set("affinity_key", minted);
    return minted;
  }
}
