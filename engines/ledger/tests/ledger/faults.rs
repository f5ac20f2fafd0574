//! Files that are locked, foreign, newer or not there.

use std::time::Duration;

use contextwire_engine::{ContextEngine, ErrorKind};
use contextwire_ledger::{LedgerEngine, LedgerOptions, StoreError, open_file};

use super::support::*;

#[tokio::test]
async fn r6_5_a_file_that_somebody_else_holds_is_transient_and_reads_go_on() {
    let place = Place::new();
    let engine = place.open_with(Duration::from_millis(10));
    ingest(&engine, entry("a")).await;
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(
        kind(ingest_as(&engine, &call(), entry("b")).await),
        ErrorKind::Transient
    );
    assert!(engine.assemble(&call(), <_>::default()).await.is_ok());
    other.execute_batch("ROLLBACK").unwrap();
    assert!(ingest(&engine, entry("b")).await);
    assert_eq!(place.ids(), ["a", "b"]);
}

fn refused(place: &Place) -> StoreError {
    let file = open_file(&place.path()).unwrap_err();
    let engine = LedgerEngine::open(&place.path(), LedgerOptions::default()).unwrap_err();
    assert_eq!(file.to_string(), engine.to_string());
    engine
}

#[test]
fn a_database_of_something_else_is_refused_and_left_alone() {
    let place = Place::new();
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other
        .execute_batch("CREATE TABLE mine (a); PRAGMA user_version = 1")
        .unwrap();
    assert!(matches!(refused(&place), StoreError::Foreign { .. }));
    let tables: i64 = other
        .query_row("SELECT count(*) FROM sqlite_schema", (), |row| row.get(0))
        .unwrap();
    assert_eq!(tables, 1);
    let mode: String = other
        .pragma_query_value(None, "journal_mode", |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "delete", "not even the mode of its journal");
}

#[test]
fn a_database_of_something_else_that_is_in_use_is_refused_too() {
    let place = Place::new();
    let other = rusqlite::Connection::open(place.path()).unwrap();
    other
        .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE mine (a)")
        .unwrap();
    assert!(matches!(refused(&place), StoreError::Foreign { .. }));
}

fn beside(place: &Place) -> Vec<std::ffi::OsString> {
    let folder = place.path().parent().unwrap().to_owned();
    let files = std::fs::read_dir(folder).unwrap();
    files.map(|file| file.unwrap().file_name()).collect()
}

#[tokio::test]
async fn reading_a_store_that_nobody_has_open_leaves_nothing_beside_it() {
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("a")).await;
    drop(engine);
    assert_eq!(place.ids(), ["a"]);
    assert_eq!(beside(&place), ["ledger.sqlite3"]);
    // Names that mean something in a URI.
    let odd = place.path().with_file_name("100% ?#.sqlite3");
    std::fs::rename(place.path(), &odd).unwrap();
    let log = open_file(&odd).unwrap().log(&call().session.id).unwrap();
    assert_eq!(log.unwrap().entries.len(), 1);
    std::fs::rename(&odd, place.path()).unwrap();
    // An engine that opens it meanwhile may write what was read.
    let file = place.file();
    let _engine = place.open();
    assert!(file.log(&call().session.id).is_err());
}

#[test]
fn a_file_of_a_newer_release_is_refused() {
    let place = Place::new();
    drop(place.open());
    let file = rusqlite::Connection::open(place.path()).unwrap();
    file.execute_batch("PRAGMA user_version = 99").unwrap();
    assert!(matches!(
        refused(&place),
        StoreError::Newer { found: 99, .. }
    ));
}

#[test]
fn a_text_is_no_store_and_a_missing_folder_is_said() {
    let place = Place::new();
    std::fs::write(
        place.path(),
        "just a text, longer than a header of a database file is, so that it is read\n".repeat(4),
    )
    .unwrap();
    assert!(open_file(&place.path()).is_err());
    assert!(LedgerEngine::open(&place.path(), LedgerOptions::default()).is_err());
    let missing = place.path().with_file_name("none").join("x.sqlite3");
    let error = LedgerEngine::open(&missing, LedgerOptions::default()).unwrap_err();
    assert!(matches!(error, StoreError::Open { .. }), "{error}");
    assert!(open_file(&missing).is_err());
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_file_is_its_owners_alone_with_all_that_stands_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let engine = place.open();
    ingest(&engine, entry("a")).await;
    let folder = place.path().parent().unwrap().to_owned();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{:?}", file.file_name());
    }
}
