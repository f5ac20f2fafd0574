-- Entries whose bodies were erased: what the host sends again under such an id is not stored again.
CREATE TABLE erased (
    session  INTEGER NOT NULL REFERENCES session,
    entry_id TEXT NOT NULL,
    scope    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (session, entry_id)
) STRICT, WITHOUT ROWID;
