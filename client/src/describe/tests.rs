use super::*;
use crate::script::description;

impl Acquaintance {
    /// One whose engine nobody will ever find.
    pub(crate) fn of_nobody() -> Arc<Self> {
        Self::with_quarantine(crate::options::QuarantineOptions {
            list: crate::quarantine::Quarantines::new(),
            ..<_>::default()
        })
    }

    /// The same, barred in this way.
    pub(crate) fn with_quarantine(quarantine: crate::options::QuarantineOptions) -> Arc<Self> {
        let target = "unix:/nobody/listens/here".parse().unwrap();
        let stub = crate::connect::stub(&target, 1 << 20).unwrap();
        let options = ClientOptions {
            engine_id: Some("scripted".to_owned()),
            owner: Some("plugin:scripted".to_owned()),
            quarantine,
            ..ClientOptions::default()
        };
        Arc::new(Self::new(stub, &target, &options))
    }

    /// As if the engine had said so.
    pub(crate) fn learn(&self, engine: EngineDescription) {
        let engine = Arc::new(engine);
        *self.last.lock().unwrap() = Some(Arc::clone(&engine));
        *self.lock() = Some((engine, None));
    }
}

#[test]
fn a_method_that_is_newer_than_the_engines_minor_is_absent_whatever_it_lists() {
    let mut engine = description();
    for (minor, has_maintain, has_commit) in [(0, false, false), (2, true, false), (3, true, true)]
    {
        engine.protocol.minor = minor;
        assert!(has(&engine, Hook::Assemble));
        assert_eq!(has(&engine, Hook::Maintain), has_maintain, "{minor}");
        assert_eq!(has(&engine, Hook::CommitTurn), has_commit, "{minor}");
    }
    engine.info.methods.retain(|hook| *hook != Hook::Maintain);
    assert!(!has(&engine, Hook::Maintain));
}

#[test]
fn r5_5_the_first_minor_knows_all_of_the_request_but_the_settings_versions() {
    let request = v1::DescribeRequest::from(HostDescription {
        id: "host".to_owned(),
        runtime_settings_versions: vec![1],
        limits: Limits {
            max_message_bytes: Some(9),
            ..Limits::default()
        },
        ..HostDescription::default()
    });
    let expected = v1::DescribeRequest {
        runtime_settings_versions: Vec::new(),
        ..request.clone()
    };
    assert_eq!(of_first_minor(&request).unwrap(), expected);
}
