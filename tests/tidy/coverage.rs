//! COVERAGE.md says where the host's numbered cases are tested: by tests that exist, and all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{none, rust_texts, workspace};

const MAP: &str = "tests/COVERAGE.md";
/// Before the numbers of an area; what the tests' names have before them.
const KINDS: [(&str, &str); 2] = [("Cases: ", "c"), ("Reports: ", "br_")];
/// How a reason begins in the place of a test.
const REASONS: [&str; 3] = ["Not here: ", "Not yet: ", "Otherwise: "];

/// An area of the map.
#[derive(Debug, Default)]
struct Area {
    name: String,
    prefix: &'static str,
    numbers: BTreeSet<u32>,
    rows: Vec<Row>,
}

#[derive(Debug, Default)]
struct Row {
    numbers: BTreeSet<u32>,
    place: String,
}

fn map() -> Vec<Area> {
    let text = std::fs::read_to_string(workspace().join(MAP));
    areas(&text.unwrap_or_else(|error| panic!("{MAP} cannot be read: {error}")))
}

fn areas(text: &str) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            areas.push(Area {
                name: name.to_owned(),
                ..Area::default()
            });
        }
        let Some(area) = areas.last_mut() else {
            continue;
        };
        for (begin, prefix) in KINDS {
            if let Some(list) = line.strip_prefix(begin) {
                area.prefix = prefix;
                area.numbers.extend(numbers(list));
            }
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        if let ["", first, _, place, ""] = *cells
            && (!numbers(first).is_empty() || is_engine_case(first))
        {
            area.rows.push(Row {
                numbers: numbers(first),
                place: place.to_owned(),
            });
        }
    }
    areas
}

/// `A01` and the like: a case of engines, which tests name by its letter.
fn is_engine_case(first: &str) -> bool {
    let mut letters = first.chars();
    let is_upper = letters
        .next()
        .is_some_and(|letter| letter.is_ascii_uppercase());
    is_upper && letters.as_str().len() == 2 && letters.all(|letter| letter.is_ascii_digit())
}

/// `1, 3-5` and the like; nothing where a part is no number.
fn numbers(list: &str) -> BTreeSet<u32> {
    let mut numbers = BTreeSet::new();
    for part in list.trim_end_matches('.').split(',') {
        let (first, last) = part.trim().split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u32>(), last.trim().parse()) else {
            return BTreeSet::new();
        };
        numbers.extend(first..=last);
    }
    numbers
}

/// The functions of each Rust file.
fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let named = |line: &str| {
        let (_, rest) = line.split_once("fn ")?;
        let end = rest.find(['(', '<'])?;
        Some(rest[..end].to_owned())
    };
    rust_texts()
        .map(|text| (text.path, text.body.lines().filter_map(named).collect()))
        .collect()
}

/// The numbers that a test's name carries behind this prefix: `c031_to_c033`, `br_020_br_036`.
fn carried(name: &str, prefix: &str) -> BTreeSet<u32> {
    let mut found = BTreeSet::new();
    let (mut before, mut is_range) = (None, false);
    let name = name.replace("br_", "br");
    let prefix = prefix.trim_end_matches('_');
    for word in name.split('_') {
        let digits = word.strip_prefix(prefix).filter(|rest| rest.len() == 3);
        let number = digits.and_then(|digits| digits.parse::<u32>().ok());
        match (number, before) {
            (Some(number), Some(first)) if is_range => found.extend(first..=number),
            (Some(number), _) => {
                found.insert(number);
            }
            (None, _) => {}
        }
        is_range = word == "to" && before.is_some();
        if !is_range {
            before = number;
        }
    }
    found
}

/// The tests that a row names: its code spans with `::`.
fn tests(place: &str) -> impl Iterator<Item = (&str, &str)> {
    let spans = place.split('`').skip(1).step_by(2);
    spans.filter_map(|span| span.split_once("::"))
}

#[test]
fn the_coverage_names_tests_that_exist() {
    let functions = functions();
    let is_there = |file: &str, test: &str| {
        let known = functions.get(file);
        known.is_some_and(|known| known.contains(test))
    };
    let mut gone = Vec::new();
    for area in map() {
        for row in &area.rows {
            let missing = tests(&row.place).filter(|(file, test)| !is_there(file, test));
            gone.extend(missing.map(|(file, test)| format!("{}: {file}::{test}", area.name)));
            let says_why = REASONS.iter().any(|begin| row.place.starts_with(begin));
            if tests(&row.place).next().is_none() && !says_why {
                gone.push(format!("{}: a row without a test or a reason", area.name));
            }
        }
    }
    none("COVERAGE.md names what is not there", &gone);
}

#[test]
fn every_case_of_a_covered_area_is_tested_or_has_its_reason() {
    let functions = functions();
    let names: BTreeSet<&String> = functions.values().flatten().collect();
    let areas = map();
    assert!(areas.iter().any(|area| !area.numbers.is_empty()));
    let mut open = Vec::new();
    for area in areas.iter().filter(|area| !area.numbers.is_empty()) {
        let mut known: BTreeSet<u32> = BTreeSet::new();
        known.extend(names.iter().flat_map(|name| carried(name, area.prefix)));
        let rows: BTreeSet<u32> = area
            .rows
            .iter()
            .flat_map(|row| row.numbers.clone())
            .collect();
        let missing = area.numbers.difference(&known);
        let missing = missing.filter(|number| !rows.contains(number));
        open.extend(missing.map(|number| format!("{}: {}{number:03}", area.name, area.prefix)));
        let foreign = rows.difference(&area.numbers);
        open.extend(foreign.map(|number| format!("{}: {number} is not its number", area.name)));
    }
    none("These cases have neither a test nor a reason", &open);
}

#[test]
fn numbers_are_read_from_lists_and_from_names() {
    assert_eq!(numbers("1, 3-5."), [1, 3, 4, 5].into());
    assert_eq!(numbers("case"), [].into());
    assert_eq!(carried("c031_to_c033_a_failed", "c"), [31, 32, 33].into());
    assert_eq!(carried("c008_c009_no_slot_c12", "c"), [8, 9].into());
    assert_eq!(carried("br_020_br_036_that", "br_"), [20, 36].into());
    assert_eq!(carried("br_020_to_the_c036", "br_"), [20].into());
}

#[test]
fn a_row_is_a_case_with_its_place() {
    let text = "## Area\n\nCases: 1-2.\n\n| case | rule | where |\n| --- | --- | --- |\n\
        | 1 | so | `a.rs::c001_so`, `b.rs::too` |\n| 2 | not | Not here: no |\n";
    let areas = areas(text);
    let [area] = &*areas else { panic!("one area") };
    assert_eq!((area.prefix, &area.numbers), ("c", &[1, 2].into()));
    let [first, second] = &*area.rows else {
        panic!("two rows")
    };
    let named: Vec<_> = tests(&first.place).collect();
    assert_eq!(named, [("a.rs", "c001_so"), ("b.rs", "too")]);
    assert_eq!(second.numbers, [2].into());
    assert_eq!(tests(&second.place).count(), 0);
}
