use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, params};
use tempfile::TempDir;

use super::*;
use crate::session::{HistoryView, Strictness, read, read_chosen};

/// The entries of the tree that every format has as a fixture.
fn entries() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/tree-v4.jsonl");
    fs::read_to_string(path)
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

fn packed(text: &str) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest)
}

enum Content<'a> {
    Json(&'a str),
    Packed(&'a [u8]),
    Nothing,
}

fn add(connection: &Connection, session: &str, seq: usize, content: &Content<'_>) {
    let (json, zstd) = match content {
        Content::Json(json) => (Some(json), None),
        Content::Packed(zstd) => (None, Some(zstd)),
        Content::Nothing => (None, None),
    };
    let done = connection.execute(
        "INSERT INTO transcript_events (session_id, seq, event_json, created_at, event_zstd)
         VALUES (?1, ?2, ?3, ?2, ?4)",
        params![session, i64::try_from(seq).unwrap(), json, zstd],
    );
    assert_eq!(done.unwrap(), 1);
}

struct Store {
    folder: TempDir,
    path: PathBuf,
}

impl Store {
    /// A store with the fixture's session, every other row of it packed, and a child session.
    fn new(journal: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("openclaw agent?.sqlite");
        let store = Self { folder, path };
        let connection = store.writer();
        connection
            .pragma_update(None, "journal_mode", journal)
            .unwrap();
        connection
            .execute_batch(
                "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT,
                 created_at INTEGER, event_zstd BLOB, event_utf8_bytes INTEGER,
                 navigation_json TEXT, PRIMARY KEY (session_id, seq))",
            )
            .unwrap();
        for (seq, event) in entries().iter().enumerate() {
            let content = packed(event);
            let content = match seq % 2 {
                0 => Content::Json(event),
                _ => Content::Packed(&content),
            };
            add(&connection, "tree-v4", seq, &content);
        }
        let child = r#"{"type":"session","version":4,"id":"child"}"#;
        add(&connection, "child", 0, &Content::Json(child));
        store
    }

    fn writer(&self) -> Connection {
        Connection::open(&self.path).unwrap()
    }

    /// The files of the folder with their bytes.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        files(self.folder.path())
    }
}

fn files(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// What a killed host leaves: a copy of the files while one had them open.
fn of_a_killed_host(store: &Store, names: &[&str]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    for suffix in names {
        let from = format!("{}{suffix}", store.path.display());
        fs::copy(from, folder.path().join(format!("s.sqlite{suffix}"))).unwrap();
    }
    let path = folder.path().join("s.sqlite");
    (folder, path)
}

fn users(session: &Session) -> usize {
    session.turns(HistoryView::Full).len()
}

fn tree(path: &Path) -> Session {
    read_chosen(path, Some("tree-v4"), Strictness::Strict).unwrap()
}

#[test]
fn a_store_gives_the_session_that_its_lines_would_give() {
    let store = Store::new("delete");
    let lines = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/tree-v4.jsonl");
    let lines = read(&lines, Strictness::Strict).unwrap();
    let stored = tree(&store.path);
    assert_eq!(stored.format(), Format::Store);
    assert_eq!(stored.header(), lines.header());
    let json = |session: &Session| -> Vec<Bytes> {
        session
            .entries()
            .map(|entry| entry.json().clone())
            .collect()
    };
    assert_eq!(json(&stored), json(&lines));
    for history in [HistoryView::Full, HistoryView::Recorded] {
        let views = |session: &Session| -> Vec<Vec<Bytes>> {
            let turns = session.turns(history);
            let payloads = turns
                .iter()
                .map(|turn| turn.view.messages().map(|m| m.payload().clone()).collect());
            payloads.collect()
        };
        assert_eq!(views(&stored), views(&lines));
    }
}

#[test]
fn reading_leaves_no_trace_in_either_journal_mode() {
    for journal in ["delete", "wal"] {
        let store = Store::new(journal);
        let before = store.files();
        assert_eq!(before.len(), 1, "the writer closed: {journal}");
        assert_eq!(users(&tree(&store.path)), 3);
        assert!(read(&store.path, Strictness::Strict).is_err());
        assert!(store.files() == before, "{journal}");
    }
}

#[test]
fn a_host_that_is_running_is_read_beside_with_what_it_has_not_written_back() {
    let store = Store::new("wal");
    let host = store.writer();
    let late = r#"{"type":"message","id":"late","parentId":"a12","message":{"role":"user"}}"#;
    add(&host, "tree-v4", 99, &Content::Json(late));
    let before = store.files();
    assert_eq!(before.len(), 3, "database, changes and their index");
    assert_eq!(users(&tree(&store.path)), 4);
    // Within one process SQLite has one index for all, and notes each reader in it.
    let but_index = |files: Vec<(String, Vec<u8>)>| -> Vec<(String, Vec<u8>)> {
        let but = files.into_iter();
        but.filter(|(name, _)| !name.ends_with("-shm")).collect()
    };
    assert_eq!(store.files().len(), 3);
    assert!(but_index(store.files()) == but_index(before));
    // The host goes on as if nobody had been there.
    let later = late.replace("late", "later").replace("a12", "late");
    add(&host, "tree-v4", 100, &Content::Json(&later));
    assert_eq!(users(&tree(&store.path)), 5);
}

#[test]
fn what_a_killed_host_left_is_read_with_and_without_its_index() {
    let store = Store::new("wal");
    let host = store.writer();
    let late = r#"{"type":"message","id":"late","parentId":"a12","message":{"role":"user"}}"#;
    add(&host, "tree-v4", 99, &Content::Json(late));
    for names in [&["", "-wal", "-shm"][..], &["", "-wal"]] {
        let (folder, path) = of_a_killed_host(&store, names);
        let before = files(folder.path());
        assert_eq!(users(&tree(&path)), 4, "{names:?}");
        assert!(files(folder.path()) == before, "{names:?}");
    }
}

#[test]
fn a_store_of_several_sessions_wants_to_know_which() {
    let store = Store::new("delete");
    let error = read(&store.path, Strictness::Lenient).unwrap_err();
    assert_eq!(
        error.to_string(),
        "it holds 2 sessions, name one with --transcript: tree-v4, child"
    );
    let child = read_chosen(&store.path, Some("child"), Strictness::Strict).unwrap();
    assert_eq!(child.header().id.as_deref(), Some("child"));
    let error = read_chosen(&store.path, Some("x"), Strictness::Lenient).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no session `x` in it, it holds tree-v4, child"
    );
}

#[test]
fn a_database_of_somebody_else_is_told_from_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("other.sqlite");
    let other = Connection::open(&path).unwrap();
    other
        .execute_batch("CREATE TABLE threads (id TEXT); CREATE TABLE goals (id TEXT)")
        .unwrap();
    assert_eq!(
        read(&path, Strictness::Lenient).unwrap_err().to_string(),
        "an SQLite database, but not OpenClaw's store: it has no table `transcript_events` with \
         session_id, seq, event_json; it has goals, threads"
    );
}

#[test]
fn a_locked_store_says_so() {
    let store = Store::new("delete");
    let host = store.writer();
    host.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = read_within(&store.path, None, Duration::ZERO).unwrap_err();
    assert_eq!(
        error.to_string(),
        "database is locked by another program; stop that program or try again"
    );
}

#[test]
fn a_damaged_store_says_so() {
    let store = Store::new("delete");
    let mut bytes = fs::read(&store.path).unwrap();
    let start = 100;
    bytes[start..].fill(0x5a);
    fs::write(&store.path, bytes).unwrap();
    let error = read(&store.path, Strictness::Lenient).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("database is damaged or encrypted"),
        "{error}"
    );
}

#[test]
fn a_row_that_cannot_be_unpacked_is_reported_by_its_number() {
    let store = Store::new("delete");
    let host = store.writer();
    let rubbish = Content::Packed(b"\x28\xb5\x2f\xfdrubbish");
    add(&host, "tree-v4", 50, &rubbish);
    add(&host, "tree-v4", 51, &Content::Nothing);
    add(&host, "tree-v4", 52, &Content::Json("{oops"));
    let session = read_chosen(&store.path, Some("tree-v4"), Strictness::Lenient).unwrap();
    let shown: Vec<_> = session.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "row 50: compressed and cannot be unpacked; skipped",
            "row 51: compressed and cannot be unpacked; skipped",
            "row 52: not JSON (key must be a string, column 2); skipped",
        ]
    );
    assert_eq!(users(&session), 3);
}

#[test]
fn an_old_store_has_no_packed_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.sqlite");
    let old = Connection::open(&path).unwrap();
    old.execute_batch(
        r#"CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT);
        INSERT INTO transcript_events VALUES ('s', 0, '{"type":"session","version":4,"id":"s"}');
        INSERT INTO transcript_events VALUES
          ('s', 1, '{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}')"#,
    )
    .unwrap();
    assert_eq!(users(&read(&path, Strictness::Strict).unwrap()), 1);
}
