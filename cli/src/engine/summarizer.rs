//! Who writes the summaries of an engine's own compaction.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use anyhow::Context;
use clap::Args;
use contextwire_legacy::{
    CompactionSite, Extract, HostModel, LegacyOptions, OpenAiEndpoint, OpenAiOptions, Summarizer,
};

/// Where summaries come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummarizerChoice {
    /// The model of the host that calls.
    Host,
    /// No model: quotes that say what they are.
    None,
    /// An OpenAI-compatible endpoint.
    Endpoint(String),
}

impl FromStr for SummarizerChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "host" => Ok(Self::Host),
            "none" => Ok(Self::None),
            url if url.contains("://") => Ok(Self::Endpoint(url.to_owned())),
            _ => Err("write `host`, `none`, or an address as https://host/v1".to_owned()),
        }
    }
}

impl fmt::Display for SummarizerChoice {
    /// As people may read it: a password in an address, or what stands behind its `?`, is left out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host => f.write_str("host"),
            Self::None => f.write_str("none"),
            Self::Endpoint(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
                let (address, query) = match rest.split_once('?') {
                    Some((address, _)) => (address, "?***"),
                    None => (rest, ""),
                };
                let (user, host) = match address.rsplit_once('@') {
                    Some((_, host)) => ("***@", host),
                    None => ("", address),
                };
                write!(f, "{scheme}://{user}{host}{query}")
            }
        }
    }
}

impl SummarizerChoice {
    /// One word for a log; an address may hold more than a log should.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::None => "none",
            Self::Endpoint(_) => "endpoint",
        }
    }
}

/// How `--engine lossless` and `--engine legacy` compact.
#[derive(Clone, Debug, Default, Args)]
pub struct SummarizerArgs {
    /// Who writes summaries: the model of the `host` that calls, the model behind an
    /// OpenAI-compatible URL, or `none`, which only quotes. Without it, the host's model, and quotes
    /// where it has none; `--engine legacy` first leaves it to the host's own compaction.
    #[arg(long, value_name = "host|none|URL")]
    pub summarizer: Option<SummarizerChoice>,
    /// The model at that URL.
    #[arg(long, value_name = "NAME")]
    pub summarizer_model: Option<String>,
    /// A file that holds the key for that URL and nothing else; none is sent without it.
    #[arg(long, value_name = "FILE")]
    pub summarizer_key_file: Option<PathBuf>,
    /// Tokens that this model reads and writes in one call; 100000 where nobody says.
    #[arg(long, value_name = "TOKENS")]
    pub summarizer_window: Option<NonZeroU64>,
}

impl SummarizerArgs {
    /// Whether any of them is given.
    pub fn is_given(&self) -> bool {
        self.summarizer.is_some() || self.describes_endpoint()
    }

    /// The options of an engine.
    ///
    /// # Errors
    /// When something is missing or does not belong together, or the key cannot be read.
    pub fn options(&self) -> anyhow::Result<LegacyOptions> {
        let summarizer: Arc<dyn Summarizer> = match &self.summarizer {
            Some(SummarizerChoice::Endpoint(url)) => Arc::new(self.endpoint(url)?),
            other => {
                anyhow::ensure!(
                    !self.describes_endpoint(),
                    "--summarizer-model, --summarizer-key-file and --summarizer-window describe an \
                     endpoint: name its URL with --summarizer"
                );
                match other {
                    Some(SummarizerChoice::None) => Arc::new(Extract),
                    Some(SummarizerChoice::Host) => Arc::new(HostModel),
                    Some(SummarizerChoice::Endpoint(_)) | None => {
                        return Ok(LegacyOptions::default());
                    }
                }
            }
        };
        Ok(LegacyOptions {
            site: CompactionSite::Engine,
            summarizer,
            ..LegacyOptions::default()
        })
    }

    fn describes_endpoint(&self) -> bool {
        self.summarizer_model.is_some()
            || self.summarizer_key_file.is_some()
            || self.summarizer_window.is_some()
    }

    fn endpoint(&self, url: &str) -> anyhow::Result<OpenAiEndpoint> {
        let model = self
            .summarizer_model
            .clone()
            .context("an endpoint needs a model: name it with --summarizer-model")?;
        let mut options = OpenAiOptions::new(url, model);
        options.key_file.clone_from(&self.summarizer_key_file);
        if let Some(window) = self.summarizer_window {
            options.window = window.get();
        }
        Ok(OpenAiEndpoint::open(&options)?)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: SummarizerArgs,
    }

    fn options(line: &[&str]) -> Result<(CompactionSite, &'static str), String> {
        let line = std::iter::once("serve").chain(line.iter().copied());
        let args = Command::try_parse_from(line)
            .map_err(|error| error.to_string())?
            .args;
        let options = args.options().map_err(|error| format!("{error:#}"))?;
        Ok((options.site, options.summarizer.name()))
    }

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (url, shown) in [
            ("https://a.example/v1", "https://a.example/v1"),
            (
                "https://me:secret@a.example/v1?key=secret",
                "https://***@a.example/v1?***",
            ),
        ] {
            let choice: SummarizerChoice = url.parse().unwrap();
            assert_eq!(choice.to_string(), shown);
        }
    }

    #[test]
    fn without_a_choice_the_host_compacts_and_with_one_the_engine() {
        assert_eq!(options(&[]), Ok((CompactionSite::Host, "host")));
        for (line, name) in [
            (&["--summarizer", "host"][..], "host"),
            (&["--summarizer", "none"], "extract"),
            (
                &[
                    "--summarizer",
                    "http://127.0.0.1:1/v1",
                    "--summarizer-model",
                    "m",
                ],
                "openai",
            ),
        ] {
            assert_eq!(options(line), Ok((CompactionSite::Engine, name)));
        }
    }

    #[test]
    fn what_does_not_belong_together_is_refused_with_what_to_do() {
        for (line, expected) in [
            (&["--summarizer", "maybe"][..], "write `host`, `none`"),
            (
                &["--summarizer", "https://a.example/v1"],
                "--summarizer-model",
            ),
            (
                &["--summarizer-model", "m"],
                "name its URL with --summarizer",
            ),
            (
                &["--summarizer", "none", "--summarizer-window", "9"],
                "name its URL with --summarizer",
            ),
            (
                &[
                    "--summarizer",
                    "http://a.example/v1",
                    "--summarizer-model",
                    "m",
                ],
                "use https",
            ),
            (
                &[
                    "--summarizer",
                    "https://a.example/v1",
                    "--summarizer-model",
                    "m",
                    "--summarizer-key-file",
                    "/nowhere/key",
                ],
                "/nowhere/key cannot be read",
            ),
        ] {
            let error = options(line).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
