-- Calls that have to reach their engine, in the order of their id. A number is never used twice, so that an
-- operator's number names one row for ever.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  engine TEXT NOT NULL,
  owner TEXT,
  session TEXT NOT NULL,
  lane TEXT NOT NULL,
  state TEXT NOT NULL,
  payload BLOB NOT NULL,
  created_ms INTEGER NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_attempt_ms INTEGER,
  last_error TEXT,
  due_ms INTEGER NOT NULL DEFAULT 0,
  aside_ms INTEGER,
  claim TEXT,
  claimed_until_ms INTEGER,
  UNIQUE (kind, key)
) STRICT;
-- Finds the first row of each lane without looking at those that are kept as a record.
CREATE INDEX outbox_lanes ON outbox (engine, lane, id)
  WHERE aside_ms IS NULL AND state NOT IN ('admitted', 'blocked');

-- When an engine was last in the slot of a host.
CREATE TABLE selected (
  engine TEXT PRIMARY KEY,
  seen_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Spawns that were asked for and not resolved.
CREATE TABLE spawn (
  spawn_id TEXT PRIMARY KEY,
  engine TEXT NOT NULL,
  owner TEXT,
  instance TEXT,
  payload BLOB NOT NULL,
  created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Hosts that have the file open; each holds a lock on a file of its name.
CREATE TABLE instance (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;

-- Native ids whose entries engines know by another one.
CREATE TABLE lineage (
  session TEXT NOT NULL,
  native TEXT NOT NULL,
  lineage TEXT NOT NULL,
  PRIMARY KEY (session, native)
) STRICT, WITHOUT ROWID;
