-- A summary. What it says never changes, only its state.
CREATE TABLE summary (
    id             INTEGER PRIMARY KEY,
    scope          INTEGER NOT NULL DEFAULT 0,
    session        INTEGER NOT NULL REFERENCES session,
    -- Hash of its text and its sources.
    node           BLOB NOT NULL,
    -- Hash of the work that wrote it: an interrupted compaction finds it again.
    work           BLOB NOT NULL,
    -- `leaf` over entries, `condensed` over summaries.
    kind           TEXT NOT NULL,
    depth          INTEGER NOT NULL,
    span_start     INTEGER NOT NULL,
    span_end       INTEGER NOT NULL,
    state          TEXT NOT NULL,
    text           TEXT NOT NULL,
    source_tokens  INTEGER NOT NULL,
    first_ms       INTEGER,
    last_ms        INTEGER,
    -- `model`, `extract` or `provisional`.
    provenance     TEXT NOT NULL,
    summarizer     TEXT,
    model          TEXT,
    prompt_version INTEGER,
    instructions   TEXT,
    UNIQUE (session, node)
) STRICT;
CREATE INDEX summary_work ON summary (session, work);
CREATE INDEX summary_open ON summary (session) WHERE state = 'repair';

-- What a summary was made of: digests of entries, or nodes.
CREATE TABLE summary_source (
    summary INTEGER NOT NULL REFERENCES summary,
    ordinal INTEGER NOT NULL,
    scope   INTEGER NOT NULL DEFAULT 0,
    source  BLOB NOT NULL,
    PRIMARY KEY (summary, ordinal)
) STRICT, WITHOUT ROWID;

-- A version of what stands for a session's log. None is ever changed; the newest is in force.
CREATE TABLE plan (
    id      INTEGER PRIMARY KEY,
    scope   INTEGER NOT NULL DEFAULT 0,
    session INTEGER NOT NULL REFERENCES session,
    version INTEGER NOT NULL,
    digest  BLOB NOT NULL,
    -- Entries of the log when it was published.
    log     INTEGER NOT NULL,
    -- The chain of the log up to the end of the last summary.
    chain   BLOB NOT NULL,
    UNIQUE (session, version)
) STRICT;

-- The summaries of a plan in order; entries between them and behind them stand for themselves.
CREATE TABLE plan_item (
    plan       INTEGER NOT NULL REFERENCES plan,
    ordinal    INTEGER NOT NULL,
    scope      INTEGER NOT NULL DEFAULT 0,
    span_start INTEGER NOT NULL,
    span_end   INTEGER NOT NULL,
    node       BLOB NOT NULL,
    -- Hash of the entries that it stands for.
    content    BLOB NOT NULL,
    PRIMARY KEY (plan, ordinal)
) STRICT, WITHOUT ROWID;

-- What a prepared child sees of its parent.
CREATE TABLE fork (
    spawn_id          TEXT NOT NULL,
    scope             INTEGER NOT NULL DEFAULT 0,
    child_session_key TEXT NOT NULL,
    parent            INTEGER NOT NULL REFERENCES session,
    -- The parent's log and plan at the fork.
    log               INTEGER NOT NULL,
    chain             BLOB NOT NULL,
    plan_version      INTEGER,
    PRIMARY KEY (spawn_id, scope)
) STRICT, WITHOUT ROWID;
CREATE INDEX fork_child ON fork (child_session_key);

-- Work that is owed to a session, one row a kind.
CREATE TABLE debt (
    session INTEGER NOT NULL REFERENCES session,
    kind    TEXT NOT NULL,
    scope   INTEGER NOT NULL DEFAULT 0,
    -- The state that it was noted for.
    state   BLOB NOT NULL,
    PRIMARY KEY (session, kind)
) STRICT, WITHOUT ROWID;

-- How far work over all entries is: the number of the last entry that it did.
CREATE TABLE progress (
    name  TEXT PRIMARY KEY,
    entry INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Texts of entries by their number, for finding; the bodies themselves are in `entry`.
CREATE VIRTUAL TABLE entry_text USING fts5 (
    body, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
);
