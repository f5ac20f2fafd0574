-- One session: its place in the host's order, and the two ends of its log.
--
-- `scope` is whose rows these are; 0 while all hosts of a file are one user's. Whatever a host
-- names is unique within a scope.
CREATE TABLE session (
    id           INTEGER PRIMARY KEY,
    scope        INTEGER NOT NULL DEFAULT 0,
    name         TEXT NOT NULL,
    -- The highest pair that had an effect; bits of unsigned numbers.
    host_epoch   INTEGER,
    session_seq  INTEGER,
    -- Entries that an update of the LOG placed, and the chain over them.
    placed       INTEGER NOT NULL,
    placed_chain BLOB NOT NULL,
    -- The same with the provisional tail behind them.
    total        INTEGER NOT NULL,
    total_chain  BLOB NOT NULL,
    -- Not used any more; 0.
    ingest_floor INTEGER NOT NULL,
    UNIQUE (scope, name)
) STRICT;

-- Large payloads, each once.
CREATE TABLE blob (
    id     INTEGER PRIMARY KEY,
    scope  INTEGER NOT NULL DEFAULT 0,
    sha256 BLOB NOT NULL,
    bytes  BLOB NOT NULL,
    UNIQUE (scope, sha256)
) STRICT;

-- Every body that was ever stored; none is changed or deleted. The log is those with a place.
CREATE TABLE entry (
    id             INTEGER PRIMARY KEY,
    scope          INTEGER NOT NULL DEFAULT 0,
    session        INTEGER NOT NULL REFERENCES session,
    -- Counted from 0; null for a body that was replaced or left the log.
    place          INTEGER,
    -- The chain up to this entry.
    chain          BLOB,
    -- Empty where the host has none.
    entry_id       TEXT NOT NULL,
    digest         BLOB NOT NULL,
    -- Whether an Ingest without an entry id meant this entry, or none may any more.
    ingested       INTEGER NOT NULL,
    -- Whether a heartbeat poll brought it.
    heartbeat      INTEGER NOT NULL,
    -- The turn that committed it, and where that turn began.
    turn           TEXT,
    generation     TEXT,
    raw_seq        INTEGER,
    synthetic      INTEGER NOT NULL,
    omitted_bytes  INTEGER,
    omitted_sha256 BLOB,
    -- What it costs in a prompt, where the engine counts that.
    tokens         INTEGER,
    -- A large payload is a blob instead.
    body           INTEGER REFERENCES blob,
    payload        BLOB
) STRICT;
CREATE UNIQUE INDEX entry_place ON entry (session, place) WHERE place IS NOT NULL;
CREATE INDEX entry_identity ON entry (session, entry_id, digest);

-- A key and its content; running while it has a holder, done when it has an answer.
CREATE TABLE key (
    key         TEXT NOT NULL,
    hook        TEXT NOT NULL,
    session     INTEGER NOT NULL REFERENCES session,
    scope       INTEGER NOT NULL DEFAULT 0,
    fingerprint BLOB NOT NULL,
    holder      TEXT,
    until_ms    INTEGER,
    answer      BLOB,
    PRIMARY KEY (key, hook, session)
) STRICT, WITHOUT ROWID;

-- Hooks that their host gave up.
CREATE TABLE closed (
    hook  TEXT NOT NULL,
    scope INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (hook, scope)
) STRICT, WITHOUT ROWID;

CREATE TABLE preparation (
    id                INTEGER PRIMARY KEY,
    scope             INTEGER NOT NULL DEFAULT 0,
    spawn_id          TEXT NOT NULL,
    child_session_key TEXT NOT NULL,
    fingerprint       BLOB,
    stage             TEXT NOT NULL,
    resolved          TEXT,
    prepared_ms       INTEGER NOT NULL,
    expires_ms        INTEGER NOT NULL,
    answer            BLOB NOT NULL,
    UNIQUE (scope, spawn_id)
) STRICT;
CREATE INDEX preparation_open ON preparation (child_session_key) WHERE stage = 'open';
CREATE INDEX preparation_due ON preparation (expires_ms) WHERE stage IN ('open', 'tombstone');
