//! A process that dies at any byte: at most the last append is lost, and a rewrite is whole or
//! nothing.

use std::fs;

use bytes::Bytes;
use contextwire_engine::TranscriptState;

use super::*;

/// A store's file and lists after one change.
struct Moment {
    len: usize,
    log: TranscriptState,
    context: TranscriptState,
    branch: Vec<NativeId>,
}

struct Recorded {
    folder: TempDir,
    store: JsonlStore,
    moments: Vec<Moment>,
}

impl Recorded {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = open(&folder).await;
        let mut recorded = Self {
            folder,
            store,
            moments: Vec::new(),
        };
        recorded.note().await;
        recorded
    }

    fn file(&self) -> Bytes {
        fs::read(self.folder.path().join("main.jsonl"))
            .unwrap()
            .into()
    }

    async fn note(&mut self) {
        self.moments.push(Moment {
            len: self.file().len(),
            log: self.store.log().await.unwrap().state(),
            context: self.store.context().await.unwrap().state(),
            branch: natives(&self.store).await,
        });
    }

    async fn append(&mut self, entry: NewEntry) {
        self.store.append(vec![entry]).await.unwrap();
        self.note().await;
    }

    async fn rewrite(&mut self, id: &str, payload: &str) {
        assert!(rewrite(&self.store, &[(id, payload)]).await.changed);
        self.note().await;
    }

    async fn branch(&mut self, place: usize) {
        let after = natives(&self.store).await.get(place).cloned();
        self.store.branch(after, NOW).await.unwrap();
        self.note().await;
    }
}

async fn a_whole_session() -> Recorded {
    let mut session = Recorded::start().await;
    session.append(message("a", &user("1"))).await;
    session
        .append(message("b", &tool_result("long \u{1f600} text")))
        .await;
    session.append(message("c", &assistant("3"))).await;
    session.append(message("x", &user("beside")).aside()).await;
    session.rewrite("b", &tool_result("cut")).await;
    session.append(compaction("k", Some("b"))).await;
    session.append(label("l", "c")).await;
    session.rewrite("a", &user("one")).await;
    session.append(message("d", &user("4"))).await;
    session.append(reset("r", Some("d"))).await;
    session.rewrite("d", &user("four")).await;
    session.branch(1).await;
    session.append(message("e", &user("5"))).await;
    session
}

#[tokio::test]
async fn a_file_cut_at_any_byte_holds_everything_up_to_the_last_whole_change() {
    let session = a_whole_session().await;
    let file = session.file();
    for cut in 0..=file.len() {
        let loaded = load::load(&file.slice(..cut), &super::session());
        let loaded = loaded.unwrap_or_else(|error| panic!("cut at {cut}: {error}"));
        // The line feed is the one byte that a line can miss and still be whole.
        let whole = session
            .moments
            .iter()
            .rev()
            .find(|moment| moment.len - 1 <= cut);
        let (log, context, branch) = whole.map_or_else(Default::default, |moment| {
            (moment.log, moment.context, moment.branch.clone())
        });
        let tree = &loaded.tree;
        assert_eq!(tree.branch.log().state(), log, "cut at {cut}");
        assert_eq!(tree.context().state(), context, "cut at {cut}");
        let natives = tree.entries_from(0).map(|entry| entry.id().clone());
        assert_eq!(natives.collect::<Vec<_>>(), branch, "cut at {cut}");
        let is_torn = cut > 0 && file[cut - 1] != b'\n';
        let is_whole = loaded.lacks_line_feed || !is_torn;
        assert_eq!(loaded.cut.is_none(), is_whole, "cut at {cut}");
    }
}

#[tokio::test]
async fn a_rewrite_without_its_last_line_never_happened_and_the_old_branch_goes_on() {
    let mut session = Recorded::start().await;
    session.append(message("a", &user("1"))).await;
    session.append(message("b", &assistant("2"))).await;
    session.rewrite("a", &user("one")).await;
    let file = session.file();
    let Recorded {
        folder,
        store,
        moments,
    } = session;
    drop(store);
    // Cut within the line that commits the rewrite.
    fs::write(folder.path().join("main.jsonl"), &file[..file.len() - 9]).unwrap();
    let store = open(&folder).await;
    assert!(store.cut_tail().is_some());
    assert_eq!(store.log().await.unwrap().state(), moments[2].log);
    store.append(vec![message("c", &user("3"))]).await.unwrap();
    drop(store);
    let store = open(&folder).await;
    assert_eq!(natives(&store).await, ["a", "b", "c"].map(native));
    // And what was left over is in nobody's way.
    assert!(rewrite(&store, &[("a", &user("one"))]).await.changed);
    assert_eq!(branch(&store).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn an_append_of_several_cut_short_leaves_the_first_few_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    let before = fs::read(folder.path().join("main.jsonl")).unwrap().len();
    let rows = (0..3).map(|n| message(&format!("e{n}"), &user(&format!("{n}"))));
    store.append(rows.collect()).await.unwrap();
    let all = store.log().await.unwrap();
    let file = Bytes::from(fs::read(folder.path().join("main.jsonl")).unwrap());
    let mut lens = Vec::new();
    for cut in before..=file.len() {
        let loaded = load::load(&file.slice(..cut), &session()).unwrap();
        let log = loaded.tree.branch.log();
        assert!(all.starts_with(&log.state()), "cut at {cut}");
        lens.push(log.len());
    }
    assert!(lens.is_sorted());
    lens.dedup();
    assert_eq!(lens, [0, 1, 2, 3]);
}

#[tokio::test]
async fn nothing_is_ever_written_twice_or_over() {
    let session = a_whole_session().await;
    let file = session.file();
    let mut again = session.store.changes();
    again.mark_unchanged();
    let unchanged = rewrite(&session.store, &[("gone", "{}")]).await;
    assert!(!unchanged.changed && !again.has_changed().unwrap());
    assert_eq!(session.file(), file);
    session.store.append(Vec::new()).await.unwrap();
    let leaf = natives(&session.store).await.pop();
    session.store.branch(leaf, NOW).await.unwrap();
    assert_eq!(session.file(), file);
    session
        .store
        .append(vec![message("z", &user("9"))])
        .await
        .unwrap();
    assert!(session.file().starts_with(&file));
}
