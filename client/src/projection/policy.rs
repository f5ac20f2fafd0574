//! What a thread's context depends on besides the conversation (HOST-SEMANTICS 6.2, R10.4).

use contextwire_engine::{EngineInfo, MaintenanceMode};
use serde::Serialize;

use super::binding::SCHEMA_VERSION;
use super::options::ProjectionOptions;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    schema_version: u32,
    engine_id: &'a str,
    engine_version: &'a str,
    owns_compaction: bool,
    turn_maintenance_mode: &'static str,
    citations_mode: Option<&'a str>,
    context_window: Option<u64>,
    projection_max_chars: usize,
}

/// The policy as JSON: two that differ show in which words. The engine's version is its
/// `projection_version` where it has one, so that a rolling upgrade begins no new threads; the window
/// is the configured one, so that one call's budget does not either.
pub fn policy_fingerprint(engine: &EngineInfo, options: &ProjectionOptions) -> String {
    let fields = Fields {
        schema_version: SCHEMA_VERSION,
        engine_id: engine.id.trim(),
        engine_version: engine
            .projection_version
            .as_deref()
            .unwrap_or(&engine.version),
        owns_compaction: engine.owns_compaction,
        turn_maintenance_mode: match engine.turn_maintenance_mode {
            MaintenanceMode::Foreground => "foreground",
            MaintenanceMode::Background => "background",
        },
        citations_mode: options.citations_mode.as_deref(),
        context_window: options.window_tokens,
        projection_max_chars: options.window_chars(),
    };
    // Numbers, texts and a flag: nothing of it can fail to be JSON.
    serde_json::to_string(&fields).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r10_4_a_rolling_upgrade_with_one_projection_version_changes_nothing() {
        let options = ProjectionOptions::default();
        let of = |version: &str, build: &str| {
            let mut engine = EngineInfo::new("lossless", "Lossless", version);
            engine.projection_version = Some("p3".to_owned());
            build.clone_into(&mut engine.build);
            policy_fingerprint(&engine, &options)
        };
        assert_eq!(of("1.0.0", "a"), of("1.1.0", "b"));
        let plain = |version| policy_fingerprint(&EngineInfo::new("l", "L", version), &options);
        assert_ne!(plain("1.0.0"), plain("1.1.0"));
    }

    #[test]
    fn every_part_of_the_policy_shows() {
        let engine = EngineInfo::new(" lossless ", "Lossless", "1.0.0");
        let options = ProjectionOptions {
            window_tokens: Some(200_000),
            ..ProjectionOptions::default()
        };
        assert_eq!(
            policy_fingerprint(&engine, &options),
            r#"{"schemaVersion":1,"engineId":"lossless","engineVersion":"1.0.0","ownsCompaction":false,"turnMaintenanceMode":"foreground","citationsMode":null,"contextWindow":200000,"projectionMaxChars":720000}"#
        );
    }
}
