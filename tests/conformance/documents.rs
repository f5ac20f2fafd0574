//! docs/conformance.md holds what the suite itself says: the matrix of our engines and the mutants.

use contextwire::report::{ConformanceMatrix, Surface};
use contextwire_conformance::mutant::table;
use contextwire_proto::edge::UnknownFields;

use super::{Served, failures};
use crate::tidy::workspace;

const PAGE: &str = "docs/conformance.md";

/// Compares the part of the page between two marks with what it has to be, or writes it.
fn part(name: &str, due: &str) {
    let path = workspace().join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (
        format!("<!-- {name} -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("the mark before the part");
    let (found, after) = rest.split_once(&end).expect("the mark after the part");
    let due = format!("\n{due}\n");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{begin}{due}{end}{after}")).unwrap();
    } else {
        assert_eq!(found, due, "{PAGE}: cargo xtask golden writes it");
    }
}

/// Both parts in one test: two would write the page at once.
#[tokio::test(flavor = "multi_thread")]
async fn golden_our_engines_pass_and_the_page_says_what_each_came_to() {
    let engines = [
        ("windowed", Served::windowed().await),
        ("ledger", Served::ledger().await),
        ("lossless", Served::lossless(UnknownFields::Ignore).await),
        (
            "lossless, strict",
            Served::lossless(UnknownFields::Reject).await,
        ),
    ];
    let mut matrix = ConformanceMatrix::default();
    for (name, served) in engines {
        let report = served.run().await;
        assert_eq!(failures(&report), [""; 0], "{name}");
        matrix.add(name.to_owned(), report);
    }
    part("matrix", &matrix.to_text(Surface::Plain));
    part("mutants", &table::markdown());
}
