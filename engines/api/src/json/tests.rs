use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;

fn whole(source: &[u8]) -> Result<Range<usize>> {
    let mut cursor = Cursor::new(source);
    let span = cursor.skip_value()?;
    cursor.finish()?;
    Ok(span)
}

fn decoded(source: &[u8]) -> String {
    Cursor::new(source)
        .text()
        .expect("a string")
        .decode()
        .into_owned()
}

#[test]
fn real_payload_oddities_pass_whole() {
    let rows: [&[u8]; 13] = [
        b"1e400",
        b"-0.1E-7",
        b"9007199254740993123456789",
        b"[NaN,-Infinity,Infinity]",
        br#""\ud800""#,
        br#""\udc00\ud83d""#,
        b"\"\xff\xfe\"",
        b"\"raw\nbreak\"",
        br#"{"a":1,"a":2,"":{}}"#,
        b" [ ] ",
        b"{ }",
        br#"[{"a":[null,true,false,"x"]}]"#,
        br#""\\""#,
    ];
    for row in rows {
        assert!(whole(row).is_ok(), "{}", String::from_utf8_lossy(row));
    }
}

#[test]
fn malformed_json_is_a_typed_error_with_its_offset() {
    let ended = |offset| JsonError {
        offset,
        problem: Problem::Ended,
    };
    let due = |offset, what| JsonError {
        offset,
        problem: Problem::Expected(what),
    };
    let rows: [(&str, JsonError); 17] = [
        ("", ended(0)),
        ("  ", ended(2)),
        ("[1", ended(2)),
        ("\"a", ended(2)),
        ("\"a\\", ended(3)),
        ("tru", ended(3)),
        ("-", ended(1)),
        ("nul1", due(0, "a value")),
        ("[1,]", due(3, "a value")),
        ("[1 2]", due(3, "`,` or `]`")),
        ("[}", due(1, "a value")),
        ("{\"a\" 1}", due(5, "`:`")),
        ("{1:2}", due(1, "a key")),
        ("{\"a\":1]", due(6, "`,` or `}`")),
        ("{,}", due(1, "a key")),
        ("1.x", due(2, "a digit")),
        (
            "{} {}",
            JsonError {
                offset: 3,
                problem: Problem::Trailing,
            },
        ),
    ];
    for (source, error) in rows {
        assert_eq!(whole(source.as_bytes()), Err(error), "{source}");
    }
    assert_eq!(ended(7).to_string(), "the json ends too early at byte 7");
}

#[test]
fn a_hundred_thousand_nested_containers_need_no_stack() {
    let depth = 100_000;
    let arrays = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(whole(arrays.as_bytes()), Ok(0..2 * depth));
    let objects = format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    assert_eq!(whole(objects.as_bytes()), Ok(0..6 * depth + 1));
    let crossed = format!("{}{}", "[{\"a\":".repeat(depth), "]}".repeat(depth));
    assert!(whole(crossed.as_bytes()).is_err());
    let open = "[".repeat(depth);
    assert_eq!(
        whole(open.as_bytes()).map_err(|e| e.problem),
        Err(Problem::Ended)
    );
}

#[test]
fn strings_decode_and_broken_parts_become_the_replacement_character() {
    let rows: [(&[u8], &str); 12] = [
        (br#""plain""#, "plain"),
        (br#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"),
        (br#""\u0041\u00e9""#, "Aé"),
        (br#""\ud83d\ude00!""#, "😀!"),
        (br#""ok \ud83c""#, "ok \u{fffd}"),
        (br#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
        (br#""\ud83d\u0041""#, "\u{fffd}A"),
        (br#""\ud83dx""#, "\u{fffd}x"),
        (br#""\u12""#, "\u{fffd}12"),
        (br#""\x""#, "\u{fffd}x"),
        (b"\"a\xffb\"", "a\u{fffd}b"),
        ("\"\\é\"".as_bytes(), "\u{fffd}é"),
    ];
    for (source, text) in rows {
        assert_eq!(decoded(source), text, "{}", String::from_utf8_lossy(source));
    }
}

#[test]
fn keys_are_compared_decoded() {
    let mut cursor = Cursor::new(br#"{"r\u006fle":1}"#);
    cursor.begin_object().unwrap();
    let key = cursor.next_key().unwrap().unwrap();
    assert!(key.is("role"));
    assert_eq!(key.span(), 1..12);
}

/// Walks a value with the entering calls and writes down what it met.
fn walk(cursor: &mut Cursor<'_>, seen: &mut Vec<String>) -> Result<()> {
    match cursor.kind()? {
        Kind::Object => {
            cursor.begin_object()?;
            while let Some(key) = cursor.next_key()? {
                seen.push(format!("{}:", key.decode()));
                walk(cursor, seen)?;
            }
            seen.push("}".to_owned());
        }
        Kind::Array => {
            cursor.begin_array()?;
            while cursor.next_element()? {
                walk(cursor, seen)?;
            }
            seen.push("]".to_owned());
        }
        Kind::String => seen.push(cursor.text()?.decode().into_owned()),
        Kind::Number => seen.push(cursor.number()?.to_owned()),
        Kind::Bool | Kind::Null => {
            let span = cursor.skip_value()?;
            seen.push(String::from_utf8_lossy(cursor.raw(span)).into_owned());
        }
    }
    Ok(())
}

#[test]
fn values_can_be_entered_at_any_depth() {
    let mut seen = Vec::new();
    let mut cursor = Cursor::new(br#" {"a":[1,[2,[]],{"b":"c"},{}],"d":null, "e":-1.5}"#);
    assert_eq!(walk(&mut cursor, &mut seen), Ok(()));
    assert_eq!(cursor.finish(), Ok(()));
    let met = [
        "a:", "1", "2", "]", "]", "b:", "c", "}", "}", "]", "d:", "null", "e:", "-1.5", "}",
    ];
    assert_eq!(seen, met);
}

#[test]
fn values_can_be_skipped_between_entered_ones() {
    let mut cursor = Cursor::new(br#"{"a":[1,[2],{"b":"c"}],"d":7}"#);
    cursor.begin_object().unwrap();
    cursor.next_key().unwrap();
    cursor.begin_array().unwrap();
    let mut spans = Vec::new();
    while cursor.next_element().unwrap() {
        spans.push(cursor.skip_value().unwrap());
    }
    assert_eq!(spans, [6..7, 8..11, 12..21]);
    assert!(cursor.next_key().unwrap().unwrap().is("d"));
    assert_eq!(cursor.number(), Ok("7"));
    assert_eq!(cursor.next_key(), Ok(None));
}

#[test]
fn a_splice_leaves_every_other_byte() {
    let source = br#"{ "n" : 1e400, "t":"old" ,"k":1}"#;
    let out = splice(
        source,
        &[Edit::new(19..24, quote("ne\"w")), Edit::new(30..31, "2")],
    );
    assert_eq!(out.unwrap(), br#"{ "n" : 1e400, "t":"ne\"w" ,"k":2}"#);
}

#[test]
fn edits_out_of_range_or_order_are_refused() {
    assert_eq!(
        splice(b"abc", &[Edit::new(2..4, "")]),
        Err(SpliceError::OutOfRange { edit: 0 })
    );
    let overlap = [Edit::new(0..2, "x"), Edit::new(1..3, "y")];
    assert_eq!(
        splice(b"abc", &overlap),
        Err(SpliceError::Overlap { edit: 1 })
    );
    let touching = [
        Edit::new(0..1, "x"),
        Edit::new(1..1, "y"),
        Edit::new(1..2, "z"),
    ];
    assert_eq!(splice(b"abc", &touching).unwrap(), b"xyzc");
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        any::<String>().prop_map(Into::into),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            prop::collection::btree_map(any::<String>(), inner, 0..6)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(source in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = whole(&source);
        drop(Cursor::new(&source).text().map(|text| text.decode().into_owned()));
        let _ = Cursor::new(&source).number();
    }

    #[test]
    fn no_json_like_bytes_make_it_panic(source in r#"[\[\]{}:,"\\u0-9dDeEt.nulrae \-]{0,60}"#) {
        let _ = whole(source.as_bytes());
        drop(Cursor::new(source.as_bytes()).text().map(|text| text.decode().into_owned()));
    }

    #[test]
    fn all_that_a_strict_parser_writes_is_read_and_every_cut_is_an_error(
        value in any_json(), cut in any::<prop::sample::Index>(),
    ) {
        let source = serde_json::to_vec_pretty(&value).unwrap();
        prop_assert_eq!(whole(&source), Ok(0..source.len()));
        if matches!(source.first(), Some(b'[' | b'{' | b'"')) {
            prop_assert!(whole(&source[..cut.index(source.len())]).is_err());
        }
    }

    #[test]
    fn all_that_a_strict_parser_accepts_is_accepted(source in r#"[\[\]{}:,"\\u0-9dDeEt.nulrae \-]{0,40}"#) {
        if serde_json::from_str::<&serde_json::value::RawValue>(&source).is_ok() {
            prop_assert!(whole(source.as_bytes()).is_ok());
        }
    }

    #[test]
    fn quoting_and_decoding_is_the_identity(text in any::<String>()) {
        prop_assert_eq!(decoded(quote(&text).as_bytes()), text.as_str());
        prop_assert_eq!(serde_json::from_str::<String>(&quote(&text)).unwrap(), text);
    }

    #[test]
    fn strings_decode_as_a_strict_parser_reads_them(text in any::<String>()) {
        let mut literal = String::from('"');
        for unit in text.encode_utf16() {
            write!(literal, "\\u{unit:04x}").unwrap();
        }
        literal.push('"');
        prop_assert_eq!(decoded(literal.as_bytes()), text);
    }
}
