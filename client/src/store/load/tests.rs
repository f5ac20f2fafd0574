//! What stands in a file, and what does not.

use super::*;

const HEADER: &str = r#"{"type":"session","version":3,"id":"main","timestamp":"t"}"#;

fn read(lines: &[&str]) -> Result<Loaded, StoreError> {
    let file = Bytes::from(lines.join("\n") + "\n");
    load(&file, &SessionId::new("main").unwrap())
}

fn message(id: &str, parent: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user"}}}}"#)
}

fn problem(lines: &[&str]) -> Option<(u64, LineProblem)> {
    match read(lines) {
        Err(StoreError::Corrupt { line, problem }) => Some((line, problem)),
        Ok(_) | Err(_) => None,
    }
}

#[test]
fn a_plain_tree_of_another_host_is_read() {
    let loaded = read(&[
        HEADER,
        "",
        &message("a", "null"),
        r#"{"type":"new_kind","payload":1}"#,
        r#"{"type":"new_kind","id":"f","parentId":"a"}"#,
        &message("b", "\"f\""),
    ]);
    let loaded = loaded.unwrap();
    let branch: Vec<_> = loaded
        .tree
        .entries_from(0)
        .map(|entry| entry.id().as_str())
        .collect();
    // What is of an unknown type moves no leaf, and its child continues the conversation.
    assert_eq!(branch, ["a", "b"]);
    assert!(loaded.has_header && loaded.cut.is_none() && !loaded.lacks_line_feed);
}

#[test]
fn versions_without_a_tree_and_unknown_ones_are_refused() {
    for (version, accepted) in [("", false), ("2", true), ("4", true), ("5", false)] {
        let named = format!(r#","version":{version}"#);
        let named = if version.is_empty() { "" } else { &named };
        let header = format!(r#"{{"type":"session","id":"main"{named}}}"#);
        let refused = read(&[&header]);
        let unsupported = matches!(refused, Err(StoreError::UnsupportedVersion { .. }));
        assert_eq!(unsupported, !accepted, "{version}");
    }
}

#[test]
fn damage_before_the_last_line_is_named_and_never_skipped() {
    let (a, b) = (message("a", "null"), message("b", "\"gone\""));
    let unknown = LineProblem::Unknown("parentId");
    assert_eq!(problem(&[HEADER, &a, &b]), Some((3, unknown)));
    assert_eq!(
        problem(&[HEADER, &a, &a]),
        Some((3, LineProblem::DuplicateId))
    );
    assert_eq!(
        problem(&[HEADER, &a, HEADER]),
        Some((3, LineProblem::SecondHeader))
    );
    let cut = problem(&[HEADER, "", &a[..20], &a]);
    assert!(matches!(cut, Some((3, LineProblem::Json(_)))), "{cut:?}");
    let leaf = r#"{"type":"leaf","id":"l","parentId":null,"targetId":"gone"}"#;
    assert_eq!(
        problem(&[HEADER, leaf]),
        Some((2, LineProblem::Unknown("targetId")))
    );
    let lineage = r#"{"type":"custom","id":"c","lineageId":"gone","parentId":null}"#;
    assert_eq!(
        problem(&[HEADER, lineage]),
        Some((2, LineProblem::Unknown("lineageId")))
    );
}

#[test]
fn an_empty_file_is_a_transcript_that_has_not_begun() {
    let loaded = load(&Bytes::new(), &SessionId::new("main").unwrap()).unwrap();
    assert!(!loaded.has_header && loaded.cut.is_none());
    assert_eq!(loaded.tree.branch.len(), 0);
}
