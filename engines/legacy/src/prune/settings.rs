//! When and what may be pruned.

use std::time::Duration;

/// How long a provider's cache is warm where nobody says.
const DEFAULT_TTL: Duration = Duration::from_mins(5);

/// Settings of the pruning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneSettings {
    /// How long a cache that was used stays warm; zero switches pruning off.
    pub ttl: Duration,
    /// What stands for output that is cleared as a whole; none clears nothing.
    pub cleared: Option<String>,
    /// Whose output may be pruned.
    pub tools: ToolFilter,
}

impl Default for PruneSettings {
    fn default() -> Self {
        Self {
            ttl: DEFAULT_TTL,
            cleared: Some("[Old tool result content cleared]".to_owned()),
            tools: ToolFilter::default(),
        }
    }
}

/// Tools by name, whatever its case; `*` stands for any letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFilter {
    /// Only these; none are all.
    pub allow: Vec<String>,
    /// Never these, also where they are allowed.
    pub deny: Vec<String>,
}

impl ToolFilter {
    /// Whether the output of a tool may be pruned.
    pub fn allows(&self, tool: &str) -> bool {
        let tool = tool.to_lowercase();
        let any = |globs: &[String]| {
            globs
                .iter()
                .any(|glob| matches(&glob.to_lowercase(), &tool))
        };
        !any(&self.deny) && (self.allow.is_empty() || any(&self.allow))
    }
}

fn matches(glob: &str, name: &str) -> bool {
    let Some((start, rest)) = glob.split_once('*') else {
        return glob == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    let mut tails = ends.filter_map(|at| name.get(at..));
    tails.any(|tail| matches(rest, tail))
}

/// A time as people write it: `90s`, `1h`, or a number of minutes. What cannot be read is five
/// minutes.
pub fn parse_ttl(text: &str) -> Duration {
    let text = text.trim();
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = text.get(digits.len()..).unwrap_or_default();
    let unit_ms = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1,
        "s" => 1_000,
        "" | "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return DEFAULT_TTL,
    };
    let number = digits.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(unit_ms))
        .map_or(DEFAULT_TTL, Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c320_a_time_has_minutes_as_its_unit_and_what_cannot_be_read_is_five() {
        for (text, ms) in [
            ("0", 0),
            ("10", 600_000),
            ("1h", 3_600_000),
            (" 90 s", 90_000),
            ("250ms", 250),
            ("2D", 172_800_000),
            ("", 300_000),
            ("soon", 300_000),
            ("-1", 300_000),
            ("99999999999999999999h", 300_000),
        ] {
            assert_eq!(parse_ttl(text), Duration::from_millis(ms), "{text}");
        }
    }

    #[test]
    fn c331_a_denied_tool_is_never_pruned_and_names_have_no_case() {
        let filter = |allow: &[&str], deny: &[&str]| ToolFilter {
            allow: allow.iter().map(|glob| (*glob).to_owned()).collect(),
            deny: deny.iter().map(|glob| (*glob).to_owned()).collect(),
        };
        assert!(filter(&[], &[]).allows("read"));
        assert!(!filter(&["read"], &["READ"]).allows("Read"));
        assert!(filter(&["web_*"], &[]).allows("Web_Fetch"));
        assert!(!filter(&["web_*"], &[]).allows("read"));
        assert!(filter(&["*a*b"], &[]).allows("xaaybb") && !filter(&["*a*b"], &[]).allows("ba"));
        assert!(!filter(&[], &["*"]).allows("read"));
    }
}
