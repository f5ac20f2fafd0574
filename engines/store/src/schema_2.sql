-- The hook that said last that the entry is there; null for what only a LOG brought.
ALTER TABLE entry ADD COLUMN hook TEXT;
-- The newest hook whose LOG became the stored one, and its host's epoch; bits of unsigned numbers.
ALTER TABLE session ADD COLUMN log_hook TEXT;
ALTER TABLE session ADD COLUMN log_epoch INTEGER;
-- The epoch of the host's process whose first LOG was imported.
ALTER TABLE session ADD COLUMN process INTEGER;
