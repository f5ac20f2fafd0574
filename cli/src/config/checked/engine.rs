//! The engine, its store and its summariser.

use std::path::Path;

use contextwire_legacy::{EndpointError, OpenAiEndpoint, OpenAiOptions};
use contextwire_lossless::Redaction;

use super::EngineConfig;
use crate::config::Settings;
use crate::config::options::SummarizerOptions;
use crate::engine::{EngineChoice, SummarizerArgs, SummarizerChoice};

const BY: &str = "summarizer.by";
const MODEL: &str = "summarizer.model";
const KEY_FILE: &str = "summarizer.key_file";

pub(super) fn check(settings: &mut Settings) -> EngineConfig {
    let choice = settings
        .options
        .engine
        .name
        .unwrap_or(EngineChoice::Lossless);
    let store = settings.options.engine.store.clone();
    if let Some(path) = &store {
        check_store(choice, path, settings);
    }
    let redaction = redaction(choice, settings);
    let summarizer = settings.options.summarizer.clone();
    if choice.summarizes() {
        check_summarizer(&summarizer, settings);
    } else {
        refuse_summarizer(choice, &summarizer, settings);
    }
    EngineConfig {
        choice,
        store,
        redaction,
        summarizer: SummarizerArgs {
            summarizer: summarizer.by.map(|by| by.0),
            summarizer_model: summarizer.model,
            summarizer_key_file: summarizer.key_file,
            summarizer_window: summarizer.window,
        },
    }
}

fn redaction(choice: EngineChoice, settings: &mut Settings) -> Redaction {
    const REDACT: &str = "engine.redact";
    let Some(patterns) = settings.options.engine.redact.clone() else {
        return Redaction::default();
    };
    if choice != EngineChoice::Lossless {
        let problem = format!("the {} engine masks nothing", choice.name());
        let advice = "leave it out, or set engine.name = \"lossless\"";
        settings.refuse(REDACT, problem, advice);
    }
    Redaction::of(patterns).unwrap_or_else(|error| {
        let advice = "correct it: each is a regular expression that matches no text of nothing";
        settings.refuse(REDACT, error.to_string(), advice);
        Redaction::default()
    })
}

fn check_store(choice: EngineChoice, path: &Path, settings: &mut Settings) {
    const STORE: &str = "engine.store";
    if !choice.has_store() {
        let problem = format!("the {} engine stores nothing", choice.name());
        let advice = "leave it out, or choose an engine that stores (engine.name)";
        settings.refuse(STORE, problem, advice);
    } else if path.as_os_str().is_empty() || path.is_dir() {
        let problem = format!("`{}` is no file", path.display());
        settings.refuse(
            STORE,
            problem,
            "name a file; it is created where it is missing",
        );
    }
}

/// The keys of the section that are given.
fn given(summarizer: &SummarizerOptions) -> impl Iterator<Item = &'static str> {
    let keys = [
        (BY, summarizer.by.is_some()),
        (MODEL, summarizer.model.is_some()),
        (KEY_FILE, summarizer.key_file.is_some()),
        ("summarizer.window", summarizer.window.is_some()),
    ];
    keys.into_iter()
        .filter(|(_, is_given)| *is_given)
        .map(|(key, _)| key)
}

fn refuse_summarizer(
    choice: EngineChoice,
    summarizer: &SummarizerOptions,
    settings: &mut Settings,
) {
    for key in given(summarizer) {
        let problem = format!("the {} engine writes no summaries", choice.name());
        let advice = "leave it out, or set engine.name = \"lossless\" or \"legacy\"";
        settings.refuse(key, problem, advice);
    }
}

fn check_summarizer(summarizer: &SummarizerOptions, settings: &mut Settings) {
    let Some(SummarizerChoice::Endpoint(url)) = summarizer.by.as_ref().map(|by| &by.0) else {
        for key in given(summarizer).filter(|key| *key != BY) {
            let advice = "name the endpoint's URL with summarizer.by, or leave it out";
            settings.refuse(key, "describes an endpoint, and there is none", advice);
        }
        return;
    };
    let model = summarizer.model.as_deref().unwrap_or_default();
    if model.trim().is_empty() {
        let advice = "name the model at that URL with summarizer.model";
        settings.refuse_at(BY, MODEL, "an endpoint needs a model", advice);
    }
    // Its own problem below; what is left of the address is looked at in any case.
    let model = if model.trim().is_empty() {
        "model"
    } else {
        model
    };
    if let Err(error) = OpenAiEndpoint::open(&OpenAiOptions::new(url, model)) {
        settings.refuse(BY, error.to_string(), "correct the address");
    }
    if summarizer.key_file.is_some() {
        // The address has its verdict; this one is good, so that the key gets its own.
        let mut endpoint = OpenAiOptions::new("https://localhost/v1", model);
        endpoint.key_file.clone_from(&summarizer.key_file);
        if let Err(error) = OpenAiEndpoint::open(&endpoint) {
            settings.refuse(
                KEY_FILE,
                caused(&error),
                "name a file that holds the key; the key itself does not belong here",
            );
        }
    }
}

/// An error with what the system said.
fn caused(error: &EndpointError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
