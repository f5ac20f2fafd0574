//! Where branches end.

use bytes::Bytes;

use super::*;
use crate::store::entry::{Parsed, parse};

/// Each item is `id parent`, `~id parent` beside the conversation, `!id target append` a leaf; `-`
/// is no entry.
fn tree(items: &[&str]) -> Tree {
    let mut tree = Tree::new(EntryIds::Sent);
    for item in items {
        let json = line(item);
        let Ok(Parsed::Entry(entry)) = parse(&Bytes::from(json)) else {
            panic!("{item}");
        };
        tree.insert(entry).unwrap();
    }
    tree.settle();
    tree
}

fn line(item: &str) -> String {
    let words: Vec<&str> = item.split(' ').collect();
    let reference = |word: &str| match word {
        "-" => "null".to_owned(),
        id => format!("\"{id}\""),
    };
    let parent = reference(words[1]);
    if let Some(id) = words[0].strip_prefix('!') {
        let append = words.get(2).map_or(String::new(), |append| {
            format!(r#","appendParentId":{}"#, reference(append))
        });
        return format!(
            r#"{{"type":"leaf","id":"{id}","parentId":null,"targetId":{parent}{append}}}"#
        );
    }
    let id = words[0].trim_start_matches('~');
    let side = if id == words[0] {
        ""
    } else {
        r#","appendMode":"side""#
    };
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"message":{{"role":"user"}}{side}}}"#
    )
}

fn branch(items: &[&str]) -> String {
    let tree = tree(items);
    let ids = tree.entries_from(0).map(|entry| entry.id().as_str());
    ids.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_branch_ends_with_the_newest_entry() {
    assert_eq!(branch(&[]), "");
    assert_eq!(branch(&["a -", "b a", "c b"]), "a b c");
    assert_eq!(branch(&["a -", "b a", "c a"]), "a c");
    assert_eq!(branch(&["a -", "b -"]), "b");
}

#[test]
fn an_entry_beside_the_conversation_moves_nothing_and_its_child_goes_on_at_the_leaf() {
    assert_eq!(branch(&["a -", "~x a"]), "a");
    assert_eq!(branch(&["a -", "~x a", "b x"]), "a b");
    assert_eq!(branch(&["a -", "~x a", "~y x", "b y"]), "a b");
    assert_eq!(branch(&["a -", "~x a", "b a"]), "a b");
}

#[test]
fn a_leaf_moves_the_end_and_is_part_of_no_branch() {
    assert_eq!(branch(&["a -", "b a", "!l a"]), "a");
    assert_eq!(branch(&["a -", "b a", "!l a", "c a"]), "a c");
    assert_eq!(branch(&["a -", "b a", "!l a", "c l"]), "a c");
    assert_eq!(branch(&["a -", "!l -"]), "");
    assert_eq!(branch(&["a -", "!l -", "b -"]), "b");
    assert_eq!(branch(&["a -", "b a", "!l a b", "c b"]), "a c");
}

#[test]
fn a_chain_beside_the_conversation_becomes_it_with_one_leaf() {
    let items = ["a -", "b a", "c b", "~b2 a", "~c2 b2", "!l c2"];
    assert_eq!(branch(&items), "a b2 c2");
    assert_eq!(branch(&items[..5]), "a b c");
    let more = [&items[..], &["d c2", "e d"]].concat();
    assert_eq!(branch(&more), "a b2 c2 d e");
}

#[test]
fn what_is_refused_leaves_the_tree_as_it_was() {
    let mut tree = tree(&["a -"]);
    for (item, problem) in [
        ("a -", LineProblem::DuplicateId),
        ("b x", LineProblem::Unknown("parentId")),
        ("!l x", LineProblem::Unknown("targetId")),
        ("!l a x", LineProblem::Unknown("appendParentId")),
    ] {
        let Ok(Parsed::Entry(entry)) = parse(&Bytes::from(line(item))) else {
            panic!("{item}");
        };
        assert_eq!(tree.insert(entry), Err(problem), "{item}");
        tree.settle();
        assert_eq!(tree.branch.len(), 1, "{item}");
    }
}
