-- Entries that are shown verbatim whatever the budget cuts, by their lineage ids.
CREATE TABLE pin (
    session  INTEGER NOT NULL REFERENCES session,
    entry_id TEXT NOT NULL,
    scope    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, entry_id)
) STRICT, WITHOUT ROWID;

-- Work that is left for Compact or Maintain, and why: one row a session however often it is found.
CREATE TABLE debt (
    session INTEGER PRIMARY KEY REFERENCES session,
    scope   INTEGER NOT NULL DEFAULT 0,
    reason  TEXT NOT NULL
) STRICT;

-- How often an operator changed a session beside its log: by it memory finds out that it is old.
CREATE TABLE revision (
    session INTEGER PRIMARY KEY REFERENCES session,
    scope   INTEGER NOT NULL DEFAULT 0,
    number  INTEGER NOT NULL
) STRICT;

-- A file of an older release may have text in pages that are free: its first erasure writes it anew.
INSERT OR REPLACE INTO progress (name, entry) SELECT 'rewrite', 1 WHERE EXISTS (SELECT 1 FROM entry);
