//! The layers together.

use std::num::NonZeroU32;

use super::*;

fn layers(file: &str, environment: &[(&str, &str)]) -> Layers {
    let variable = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
    Layers {
        file: Some(("conf/a.toml".into(), Ok(file.to_owned()))),
        environment: environment.iter().map(variable).collect(),
    }
}

fn load(file: &str, environment: &[(&str, &str)]) -> Loaded {
    layers(file, environment).load(|_| {})
}

/// Where, which key, and what to do of each problem.
fn problems(loaded: &Loaded) -> Vec<(String, Option<&str>, &str)> {
    let problems = loaded.problems().iter();
    problems
        .map(|problem| {
            let place = problem.origin.to_string();
            (place, problem.key.as_deref(), problem.advice.as_str())
        })
        .collect()
}

fn shown(value: &serde_json::Value) -> String {
    let text = value.as_str().map(str::to_owned);
    text.unwrap_or_else(|| value.to_string())
}

fn row(loaded: &Loaded, key: &str) -> (Option<String>, String) {
    let values = loaded.values();
    let (_, value, origin) = values.iter().find(|(known, ..)| *known == key).unwrap();
    (value.as_ref().map(shown), origin.to_string())
}

#[test]
fn without_any_layer_every_value_is_the_built_in_one() {
    let loaded = Layers::default().load(|_| {});
    assert_eq!(loaded.problems(), []);
    assert!(
        loaded
            .values()
            .iter()
            .all(|(_, _, origin)| *origin == Origin::Default)
    );
    let config = loaded.into_config(&SECTIONS).unwrap();
    let server = contextwire_server::ServerOptions {
        build: env!("CARGO_PKG_VERSION").to_owned(),
        ..contextwire_server::ServerOptions::default()
    };
    assert_eq!(config.server.options, server);
    assert_eq!(config.host.deadline, std::time::Duration::from_secs(5));
}

/// What is shown as built in is what holds where nobody says anything.
#[test]
fn the_built_in_values_given_by_hand_change_nothing() {
    let given = Layers::default().load(|settings| settings.options = Options::defaults());
    let silent = Layers::default().load(|_| {});
    // Saying who answers and that somebody does is the same as saying nothing.
    assert_eq!(given.problems(), []);
    assert_eq!(
        format!("{:?}", given.despite_problems().server),
        format!("{:?}", silent.despite_problems().server)
    );
    assert_eq!(
        format!("{:?}", given.despite_problems().host),
        format!("{:?}", silent.despite_problems().host)
    );
}

#[test]
fn a_later_layer_wins_and_each_value_knows_where_it_is_from() {
    let file = "[server]\nmax_hooks = 3\nmax_streams = 4\n\nmax_session_hooks = 2\n";
    let environment = [
        ("CONTEXTWIRE_SERVER_MAX_HOOKS", "5"),
        ("CONTEXTWIRE_SERVER_MAX_STREAMS", "6"),
        ("HOME", "/nowhere"),
        ("CONTEXTWIRE_SERVER_SERVICE_HOST", "10.0.0.1"),
        ("CONTEXTWIRE_SERVER_PORT_50551_TCP_ADDR", "10.0.0.1"),
    ];
    let loaded = layers(file, &environment).load(|settings| {
        let seven = NonZeroU32::new(7);
        settings.flag("server.max_hooks", "--max-hooks", seven.as_ref(), |o| {
            &mut o.server.max_hooks
        });
    });
    assert_eq!(loaded.problems(), []);
    for (key, value, origin) in [
        ("server.max_hooks", "7", "--max-hooks"),
        ("server.max_streams", "6", "CONTEXTWIRE_SERVER_MAX_STREAMS"),
        ("server.max_session_hooks", "2", "conf/a.toml:5"),
        ("server.mirror_bytes", "512MiB", "default"),
    ] {
        let expected = (Some(value.to_owned()), origin.to_owned());
        assert_eq!(row(&loaded, key), expected, "{key}");
    }
    let options = loaded.despite_problems().server.options.clone();
    let limits = (
        options.max_hooks,
        options.max_streams,
        options.max_session_hooks,
    );
    assert_eq!(limits, (7, 6, 2));
}

#[test]
fn every_problem_is_named_at_once_in_the_order_of_the_lines() {
    let file = r#"
        [sever]
        a = 1
        [server]
        max_hoks = 3
        max_hooks = 0
        max_session_hooks = "many"
        drain_grace = 30
        listen = "0.0.0.0:1"
        max_message_bytes = "1KiB"
        [log]
        filter = "a=b=c"
        [engine]
        name = "best"
        store = "/"
    "#;
    let loaded = load(file, &[("CONTEXTWIRE_SERVER_SOKET", "/x")]);
    let at = |line: usize| format!("conf/a.toml:{line}");
    let wrong: Vec<_> = problems(&loaded)
        .into_iter()
        .map(|(place, key, _)| (place, key))
        .collect();
    let expected = vec![
        (at(2), Some("sever")),
        (at(5), Some("server.max_hoks")),
        (at(6), Some("server.max_hooks")),
        (at(7), Some("server.max_session_hooks")),
        (at(8), Some("server.drain_grace")),
        (at(9), Some("server.listen")),
        (at(10), Some("server.max_message_bytes")),
        (at(12), Some("log.filter")),
        (at(14), Some("engine.name")),
        (at(15), Some("engine.store")),
        ("CONTEXTWIRE_SERVER_SOKET".to_owned(), None),
    ];
    assert_eq!(wrong, expected);
}

#[test]
fn a_slip_gets_the_word_that_was_meant() {
    let loaded = load(
        "[server]\nmax_hoks = 3\n[sever]\n",
        &[("CONTEXTWIRE_SERVER_STORE", "/x")],
    );
    let advice: Vec<_> = problems(&loaded).into_iter().map(|row| row.2).collect();
    assert_eq!(
        advice,
        [
            "did you mean server.max_hooks?",
            "did you mean [server]?",
            "did you mean CONTEXTWIRE_ENGINE_STORE?",
        ]
    );
}

#[test]
fn a_text_that_is_no_toml_still_gives_the_problems_of_its_other_lines() {
    let loaded = load("[server]\nmax_hooks = \nmax_streams = 0\n", &[]);
    let places: Vec<_> = problems(&loaded).into_iter().map(|row| row.0).collect();
    assert!(places.contains(&"conf/a.toml:2".to_owned()), "{places:?}");
    assert!(places.contains(&"conf/a.toml:3".to_owned()), "{places:?}");
}

#[test]
fn what_contradicts_something_is_named() {
    for (file, environment, key) in [
        (
            "[engine]\nname = 'windowed'\nstore = 'a.db'",
            None,
            "engine.store",
        ),
        (
            "[engine]\nname = 'windowed'\n[summarizer]\nby = 'host'",
            None,
            "summarizer.by",
        ),
        (
            "[engine]\nname = 'legacy'\n[summarizer]\nwindow = 9",
            None,
            "summarizer.window",
        ),
        (
            "[engine]\nname = 'legacy'\n[summarizer]\nby = 'https://a.example/v1'",
            None,
            "summarizer.model",
        ),
        (
            "[engine]\nname = 'legacy'\n[summarizer]\nmodel = 'm'",
            Some(("CONTEXTWIRE_SUMMARIZER_BY", "http://a.example/v1")),
            "summarizer.by",
        ),
        (
            "[server]\nmax_bytes_in_flight = '8MiB'",
            None,
            "server.max_bytes_in_flight",
        ),
        (
            "[host]\nfallback = 'legacy'\non_engine_failure = 'fail'",
            None,
            "host.fallback",
        ),
        ("[host]\ndeadline = '0s'", None, "host.deadline"),
        #[cfg(unix)]
        ("[server]\nsocket = 'none'", None, "server.socket"),
    ] {
        let loaded = load(file, environment.as_slice());
        let keys: Vec<_> = problems(&loaded).into_iter().map(|row| row.1).collect();
        assert_eq!(keys, [Some(key)], "{file}");
    }
}

#[test]
fn a_key_file_that_is_missing_or_empty_is_named_beside_a_bad_address() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty"), "\n").unwrap();
    for name in ["missing", "empty"] {
        let text = format!(
            "[engine]\nname = 'legacy'\n[summarizer]\nby = 'ftp://a/v1'\nmodel = 'm'\n\
             key_file = '{name}'"
        );
        let path = folder.path().join("a.toml");
        let layers = Layers {
            file: Some((path, Ok(text))),
            environment: Vec::new(),
        };
        let loaded = layers.load(|_| {});
        let keys: Vec<_> = problems(&loaded).into_iter().map(|row| row.1).collect();
        assert_eq!(keys, [Some("summarizer.by"), Some("summarizer.key_file")]);
    }
}

#[test]
fn a_command_is_stopped_only_by_what_it_reads() {
    let loaded = load("[server]\nmax_hooks = 0", &[]);
    assert!(loaded.clone().into_config(&["host"]).is_ok());
    let error = loaded.into_config(&["server"]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the configuration cannot be used\n  conf/a.toml:2: server.max_hooks: invalid value: \
         integer `0`, expected a whole number above 0: correct it, or leave out max_hooks"
    );
    for of_all in ["[sever]", "max_hooks ="] {
        assert!(
            load(of_all, &[]).into_config(&["host"]).is_err(),
            "{of_all}"
        );
    }
}

#[test]
fn paths_in_a_file_count_from_its_folder() {
    let file = "[engine]\nname = 'ledger'\nstore = 'a.db'\n[host]\ntarget = 'unix:e.sock'";
    let loaded = load(file, &[("CONTEXTWIRE_SERVER_SOCKET", "none")]);
    assert_eq!(row(&loaded, "engine.store").0.as_deref(), Some("conf/a.db"));
    let target = row(&loaded, "host.target").0;
    assert_eq!(target.as_deref(), Some("unix:conf/e.sock"));
    assert_eq!(row(&loaded, "server.socket").0.as_deref(), Some("none"));
}

#[test]
fn no_secret_of_an_address_is_shown() {
    let loaded = load(
        "[summarizer]\nby = 'https://u:secret@a.example/v1?k=secret'",
        &[],
    );
    let shown = serde_json::to_string(&crate::report::ConfigReport::values(&loaded)).unwrap();
    assert!(shown.contains("a.example"), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema = schema();
    let mut keys = Vec::new();
    for (section, of_section) in schema["properties"].as_object().unwrap() {
        assert_eq!(of_section["additionalProperties"], false);
        for (name, of_key) in of_section["properties"].as_object().unwrap() {
            assert!(of_key["description"].is_string(), "{section}.{name}");
            keys.push(format!("{section}.{name}"));
        }
    }
    let mut known = KEYS.to_vec();
    known.sort_unstable();
    assert_eq!(keys, known);
    assert_eq!(
        schema["properties"]["server"]["properties"]["max_hooks"]["default"],
        1024
    );
}

#[test]
fn the_golden_schema_is_the_one_that_is_printed() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/config.schema.json");
    let printed = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    if std::env::vars_os().any(|(name, _)| name == "UPDATE_GOLDEN") {
        std::fs::write(path, &printed).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap(), printed);
}

/// The page for people names every key with its built-in value, and its example is a good one.
#[test]
fn the_documentation_names_every_key_and_its_example_is_in_order() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
    let page = std::fs::read_to_string(page).unwrap();
    let loaded = Layers::default().load(|_| {});
    for (key, value, _) in loaded.values() {
        let value = value.map(|value| format!("`{}`", shown(&value)));
        let line = format!("| `{key}` | {} |", value.unwrap_or_default());
        assert!(page.contains(&line), "{line}");
    }
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let problems = load(example, &[]).problems().to_vec();
    let missing = |problem: &Problem| problem.key.as_deref() == Some("summarizer.key_file");
    assert!(problems.iter().all(missing), "{problems:?}");
}

#[test]
fn i15_a_pattern_that_is_none_is_named_and_only_an_engine_with_summaries_masks() {
    let wrong = load("[engine]\nredact = ['sk-(']\n", &[]);
    assert_eq!(problems(&wrong)[0].1, Some("engine.redact"));
    let other = load("[engine]\nname = \"windowed\"\nredact = ['sk-']\n", &[]);
    let advice = "leave it out, or set engine.name = \"lossless\"";
    assert_eq!(problems(&other)[0].2, advice);
    let variable = [("CONTEXTWIRE_ENGINE_REDACT", "['sk-[0-9]+']")];
    let loaded = load("", &variable);
    assert_eq!(loaded.problems(), []);
    assert_eq!(row(&loaded, "engine.redact").0.unwrap(), r#"["sk-[0-9]+"]"#);
}
