//! The file of a store: its mode, its one writer, its readers.

use std::fs;
use std::path::Path;

use super::*;

async fn open_at(path: &Path, access: Access) -> Result<JsonlStore, StoreError> {
    let options = JsonlOptions {
        access,
        ..options()
    };
    JsonlStore::open(path, options).await
}

#[tokio::test]
async fn a_new_file_begins_with_a_header_and_belongs_to_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let options = JsonlOptions {
        cwd: Some("/w".to_owned()),
        ..JsonlOptions::new(session(), NOW)
    };
    let store = JsonlStore::open(&path, options).await.unwrap();
    store.append(vec![message("a", &user("1"))]).await.unwrap();
    let expected = concat!(
        r#"{"type":"session","version":3,"id":"main","timestamp":"2026-11-30T14:04:10.469Z","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-30T14:04:10.469Z","message":{"role":"user","content":"1","timestamp":1}}"#,
        "\n",
    );
    assert_eq!(fs::read_to_string(&path).unwrap(), expected);
    #[cfg(unix)]
    for name in ["main.jsonl", "main.jsonl.lock"] {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(folder.path().join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_that_others_could_read_is_made_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let store = open_at(&path, Access::Write).await.unwrap();
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    drop(store);
}

#[tokio::test]
async fn a_second_writer_is_refused_until_the_first_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let first = open_at(&path, Access::Write).await.unwrap();
    first.append(vec![message("a", &user("1"))]).await.unwrap();
    let refused = open_at(&path, Access::Write).await.unwrap_err();
    assert!(matches!(refused, StoreError::Locked { .. }));
    assert!(
        refused
            .to_string()
            .starts_with("another writer has the transcript `")
    );
    let clone = first.clone();
    drop(first);
    assert!(
        open_at(&path, Access::Write).await.is_err(),
        "a clone is the same writer"
    );
    drop(clone);
    let second = open_at(&path, Access::Write).await.unwrap();
    assert_eq!(branch(&second).await, ["a"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_the_file_is_the_same_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let link = folder.path().join("link.jsonl");
    let first = open_at(&path, Access::Write).await.unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let refused = open_at(&link, Access::Write).await;
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
    drop(first);
}

#[tokio::test]
async fn a_reader_sees_whole_lines_beside_a_writer_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let missing = open_at(&path, Access::Read).await;
    assert!(matches!(missing, Err(StoreError::Io { .. })));
    let writer = open_at(&path, Access::Write).await.unwrap();
    writer.append(vec![message("a", &user("1"))]).await.unwrap();
    let reader = open_at(&path, Access::Read).await.unwrap();
    assert_eq!(branch(&reader).await, ["a"]);
    let refused = reader.append(vec![message("b", &user("2"))]).await;
    assert!(matches!(refused, Err(StoreError::ReadOnly)));

    let mut unfinished = fs::read(&path).unwrap();
    unfinished.extend_from_slice(br#"{"type":"message","id":"b""#);
    let half = folder.path().join("half.jsonl");
    fs::write(&half, &unfinished).unwrap();
    let reader = open_at(&half, Access::Read).await.unwrap();
    assert_eq!(branch(&reader).await, ["a"]);
    assert_eq!(reader.cut_tail(), Some(CutTail { line: 3, bytes: 26 }));
    assert_eq!(fs::read(&half).unwrap(), unfinished);
    assert!(!folder.path().join("half.jsonl.lock").exists());
}

#[tokio::test]
async fn a_file_of_another_kind_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    for text in [
        "hello",
        "hello\n",
        "{\"a\":1}\n",
        "[1,2]",
        "{\"type\":\"message\"",
        "\0\0\n",
    ] {
        fs::write(&path, text).unwrap();
        let refused = open_at(&path, Access::Write).await;
        assert!(
            matches!(refused, Err(StoreError::NotATranscript)),
            "{text:?}"
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_change_that_nobody_waits_for_is_done_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let append = store.append(vec![message("a", &user("1"))]);
    let mut append = Box::pin(append);
    // Polled once: the work is with the pool now, or done.
    let polled = futures_util::poll!(&mut append);
    drop(append);
    drop(polled);
    // The next change waits for it.
    store.append(vec![message("b", &user("2"))]).await.unwrap();
    assert_eq!(branch(&store).await, ["a", "b"]);
}

#[tokio::test]
async fn changes_at_the_same_time_are_all_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let appends = (0..20).map(|n| {
        let store = store.clone();
        tokio::spawn(async move {
            let row = message(&format!("e{n}"), &user(&format!("{n}")));
            store.append(vec![row]).await
        })
    });
    let appends: Vec<_> = appends.collect();
    for append in appends {
        append.await.unwrap().unwrap();
    }
    let before = store.log().await.unwrap();
    assert_eq!(before.len(), 20);
    drop(store);
    assert_eq!(open(&folder).await.log().await.unwrap(), before);
}

#[tokio::test]
async fn a_last_line_that_only_lacks_its_end_is_kept_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let store = open(&folder).await;
    store.append(vec![message("a", &user("1"))]).await.unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    let store = open(&folder).await;
    assert_eq!((store.cut_tail(), branch(&store).await.len()), (None, 1));
    assert_eq!(fs::read(&path).unwrap(), whole);
}

#[tokio::test]
async fn an_unfinished_line_is_cut_and_reported_and_writing_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("main.jsonl");
    let store = open(&folder).await;
    store.append(vec![message("a", &user("1"))]).await.unwrap();
    drop(store);
    let whole = fs::read(&path).unwrap();
    for tail in [&b"{\"type\":\"mess"[..], b"\0\0\0\0", b"\xff"] {
        fs::write(&path, [&whole[..], tail].concat()).unwrap();
        let store = open(&folder).await;
        let cut = CutTail {
            line: 3,
            bytes: tail.len() as u64,
        };
        assert_eq!(store.cut_tail(), Some(cut));
        assert_eq!(fs::read(&path).unwrap(), whole);
        store.append(vec![message("b", &user("2"))]).await.unwrap();
        drop(store);
        assert_eq!(branch(&open(&folder).await).await, ["a", "b"]);
    }
}
