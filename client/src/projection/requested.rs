//! What an engine asks for, as a host reads it (HOST-SEMANTICS 6.1).

use contextwire_engine::{ContextProjection, KnownProjection, ProjectionMode};
use serde::{Deserialize, Serialize};

/// How the engine wants its context to reach a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requested {
    /// With every turn.
    PerTurn {
        /// Whether the engine asked for a bootstrap without saying which: a fault of the engine,
        /// worth one warning.
        is_epoch_blank: bool,
    },
    /// Once for an epoch.
    Bootstrap(ThreadProjection),
}

/// The identity of what a thread was shown, both parts trimmed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadProjection {
    schema_version: u32,
    mode: Mode,
    /// Which summaries and pins; never blank.
    pub epoch: String,
    /// Of which content, where the engine said so; never blank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
}

/// The only one that is ever stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Mode {
    ThreadBootstrap,
}

impl Requested {
    /// Reads an engine's word. Absent, or a bootstrap without an epoch, is per turn.
    pub fn read(projection: Option<&ContextProjection>) -> Self {
        let Some(projection) = projection else {
            return Self::PerTurn {
                is_epoch_blank: false,
            };
        };
        match projection.mode {
            ProjectionMode::PerTurn => Self::PerTurn {
                is_epoch_blank: false,
            },
            ProjectionMode::ThreadBootstrap => {
                let epoch = projection.epoch.as_deref().unwrap_or_default();
                let bootstrap = ThreadProjection::new(epoch, projection.fingerprint.as_deref());
                bootstrap.map_or(
                    Self::PerTurn {
                        is_epoch_blank: true,
                    },
                    Self::Bootstrap,
                )
            }
        }
    }

    /// What would be stored with a thread that got it.
    pub fn projection(&self) -> Option<&ThreadProjection> {
        match self {
            Self::PerTurn { .. } => None,
            Self::Bootstrap(projection) => Some(projection),
        }
    }
}

impl ThreadProjection {
    /// Trims both; `None` where the epoch is blank.
    pub fn new(epoch: &str, fingerprint: Option<&str>) -> Option<Self> {
        let fingerprint = fingerprint.map(str::trim).filter(|text| !text.is_empty());
        let epoch = epoch.trim();
        (!epoch.is_empty()).then(|| Self {
            schema_version: super::SCHEMA_VERSION,
            mode: Mode::ThreadBootstrap,
            epoch: epoch.to_owned(),
            fingerprint: fingerprint.map(str::to_owned),
        })
    }

    /// The same, as an engine is told of it.
    pub fn known(&self) -> KnownProjection {
        KnownProjection {
            epoch: self.epoch.clone(),
            fingerprint: self.fingerprint.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bootstrap(epoch: Option<&str>, fingerprint: Option<&str>) -> Requested {
        Requested::read(Some(&ContextProjection {
            mode: ProjectionMode::ThreadBootstrap,
            epoch: epoch.map(str::to_owned),
            fingerprint: fingerprint.map(str::to_owned),
        }))
    }

    #[test]
    fn c259_spaces_around_an_epoch_are_ignored() {
        let read = bootstrap(Some(" epoch-1 "), None);
        assert_eq!(read.projection().unwrap().epoch, "epoch-1");
    }

    #[test]
    fn c260_a_blank_epoch_is_per_turn_and_a_fault() {
        let fault = Requested::PerTurn {
            is_epoch_blank: true,
        };
        for blank in [None, Some(""), Some(" \n\t")] {
            assert_eq!(bootstrap(blank, Some("f")), fault);
        }
        let asked = Requested::PerTurn {
            is_epoch_blank: false,
        };
        assert_eq!(Requested::read(None), asked);
        assert_eq!(
            Requested::read(Some(&ContextProjection {
                epoch: Some("e1".to_owned()),
                ..ContextProjection::default()
            })),
            asked,
            "an epoch beside the mode per turn says nothing"
        );
    }

    #[test]
    fn c265_spaces_around_a_fingerprint_are_ignored_and_a_blank_one_is_none() {
        let of = |text| bootstrap(Some("e"), Some(text));
        assert_eq!(of(" f "), of("f"));
        assert_eq!(of("  "), bootstrap(Some("e"), None));
        assert_ne!(of("f"), of("g"));
    }

    #[test]
    fn what_is_stored_has_the_words_of_the_design() {
        let projection = ThreadProjection::new("e1", None).unwrap();
        let json = serde_json::to_string(&projection).unwrap();
        assert_eq!(
            json,
            r#"{"schemaVersion":1,"mode":"thread_bootstrap","epoch":"e1"}"#
        );
        assert_eq!(
            serde_json::from_str::<ThreadProjection>(&json).unwrap(),
            projection
        );
    }
}
