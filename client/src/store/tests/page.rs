//! Reading the log page by page.

use contextwire_engine::ReadTranscript;

use super::*;

async fn page(
    store: &AnyStore,
    cursor: Option<String>,
    max_bytes: u64,
) -> Result<TranscriptPage, StoreError> {
    store.read(ReadTranscript { cursor, max_bytes }).await
}

fn rows(count: usize) -> Vec<NewEntry> {
    let row = |n| message(&format!("e{n}"), &user(&format!("{n}")));
    (0..count).map(row).collect()
}

fn is_lost(page: &Result<TranscriptPage, StoreError>) -> bool {
    matches!(page, Err(StoreError::CursorLost))
}

#[tokio::test]
async fn pages_are_the_log_oldest_first_within_the_limit() {
    each_store(async |store| {
        store.append(rows(7)).await.unwrap();
        let size = user("0").len() as u64;
        let mut all = Transcript::new();
        let mut sizes = Vec::new();
        let mut cursor = None;
        loop {
            let page = page(&store, cursor, 3 * size).await.unwrap();
            sizes.push(page.messages.len());
            all.extend(page.messages);
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(sizes, [3, 3, 1]);
        assert_eq!(all, store.log().await.unwrap());
    })
    .await;
}

#[tokio::test]
async fn a_page_holds_one_message_at_least() {
    each_store(async |store| {
        let empty = page(&store, None, 10).await.unwrap();
        assert_eq!(empty, TranscriptPage::default());
        store.append(rows(2)).await.unwrap();
        let first = page(&store, None, 0).await.unwrap();
        assert_eq!(first.messages.len(), 1);
        let second = page(&store, first.next_cursor, 0).await.unwrap();
        assert_eq!((second.messages.len(), second.next_cursor), (1, None));
    })
    .await;
}

#[tokio::test]
async fn a_cursor_outlives_appends_and_is_lost_with_a_rewrite_branch_or_reset() {
    each_store(async |store| {
        store.append(rows(3)).await.unwrap();
        let cursor = async || page(&store, None, 0).await.unwrap().next_cursor;
        let kept = cursor().await;
        store
            .append(vec![message("x", &user("more"))])
            .await
            .unwrap();
        let next = page(&store, kept.clone(), 1000).await.unwrap();
        assert_eq!(next.messages.len(), 3);

        rewrite(&store, &[("x", "{}")]).await;
        assert!(
            is_lost(&page(&store, kept, 0).await),
            "also where the change is further on"
        );
        let kept = cursor().await;
        let native = natives(&store).await.swap_remove(2);
        store.branch(Some(native), NOW).await.unwrap();
        assert!(is_lost(&page(&store, kept, 0).await));
        let kept = cursor().await;
        store.append(vec![reset("r", Some("e0"))]).await.unwrap();
        assert!(is_lost(&page(&store, kept, 0).await));
    })
    .await;
}

#[tokio::test]
async fn a_cursor_of_another_log_or_of_nobody_is_lost() {
    each_store(async |store| {
        let other = MemoryStore::with_entry_ids();
        other.append(rows(3)).await.unwrap();
        store.append(rows(2)).await.unwrap();
        let foreign = page(&AnyStore::new(other), None, 10)
            .await
            .unwrap()
            .next_cursor;
        assert!(
            page(&store, foreign, 10).await.is_ok(),
            "equal so far, equal cursors"
        );
        for cursor in [
            "",
            "x",
            "0.1",
            "0.1.00",
            "0.99.0000000000000000",
            "1.1.1.1",
            "0.-1.00",
        ] {
            let page = page(&store, Some(cursor.to_owned()), 10).await;
            assert!(is_lost(&page), "{cursor}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_cursor_outlives_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(&folder).await;
    store.append(rows(3)).await.unwrap();
    rewrite(&store, &[("e0", "{}")]).await;
    let request = |cursor| ReadTranscript {
        cursor,
        max_bytes: 0,
    };
    let cursor = store.read(request(None)).await.unwrap().next_cursor;
    drop(store);
    let page = open(&folder).await.read(request(cursor)).await.unwrap();
    assert_eq!(page.messages[0].entry_id().as_str(), "e1");
}
