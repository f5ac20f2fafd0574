//! The report of what a session weighs.

use serde::Serialize;

use super::figure::{bytes, grouped, ratio};
use super::table::{Column, Form, Surface, Tone, draw};

/// Tokens of a session's conversation: estimated, counted, and as its providers said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokensReport {
    /// The session's id.
    pub session: Option<String>,
    /// The model that is counted for.
    pub model: Option<String>,
    /// The encoding that it is counted with.
    pub encoding: String,
    /// Whether that is the model's own encoding.
    pub is_exact_for_model: bool,
    /// Messages of the conversation.
    pub messages: u64,
    /// By what they hold.
    pub kinds: Vec<TokensOfKind>,
    /// Against what each model's provider counted.
    pub providers: Vec<TokensByProvider>,
}

/// Tokens of one kind of text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokensOfKind {
    /// The kind.
    pub kind: String,
    /// Messages that hold some of it.
    pub messages: u64,
    /// Bytes of it.
    pub bytes: u64,
    /// The estimate that engines and hosts here use.
    pub estimate: u64,
    /// What the tokenizer counts.
    pub tokenizer: u64,
}

/// What a provider counted, and the estimate of the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TokensByProvider {
    /// The model.
    pub model: String,
    /// Answers that say what was counted.
    pub answers: u64,
    /// Tokens of all answers, by the provider.
    pub output_reported: u64,
    /// The estimate of them.
    pub output_estimated: u64,
    /// Steps from one answer to the next in which the prompt grew.
    pub steps: u64,
    /// Tokens by which it grew, by the provider.
    pub growth_reported: u64,
    /// The estimate of the messages in between.
    pub growth_estimated: u64,
    /// Steps in which it did not grow: the host left something out.
    pub shrunk: u64,
    /// The prompt of the session's first answer, by the provider.
    pub first_prompt: Option<u64>,
    /// The estimate of the messages in it; the rest is instructions and tools.
    pub first_estimated: Option<u64>,
}

impl TokensOfKind {
    /// A kind that nothing is of yet.
    pub fn none(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            ..Self::default()
        }
    }

    /// Adds one message.
    pub fn add(&mut self, bytes: u64, estimate: u32, tokenizer: u32) {
        self.messages += 1;
        self.bytes += bytes;
        self.estimate += u64::from(estimate);
        self.tokenizer += u64::from(tokenizer);
    }
}

impl TokensByProvider {
    /// A model that did not answer yet.
    pub fn none(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            ..Self::default()
        }
    }

    /// Adds an answer.
    pub fn answered(&mut self, reported: u64, estimated: u32) {
        self.answers += 1;
        self.output_reported += reported;
        self.output_estimated += u64::from(estimated);
    }

    /// Adds a step from one prompt to the next, with the estimate of what came in between.
    pub fn grew(&mut self, from: u64, to: u64, estimated: u64) {
        if to <= from {
            self.shrunk += 1;
            return;
        }
        self.steps += 1;
        self.growth_reported += to - from;
        self.growth_estimated += estimated;
    }

    /// Notes the first prompt of the session; a later one is none.
    pub fn began(&mut self, prompt: u64, estimated: u64) {
        if self.answers == 1 {
            self.first_prompt = Some(prompt);
            self.first_estimated = Some(estimated);
        }
    }
}

impl TokensReport {
    /// The tables, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let mut text = self.head();
        let mut rows: Vec<_> = self.kinds.iter().map(TokensOfKind::row).collect();
        rows.push(self.total().row());
        text.push_str(&draw(&KINDS, rows, on));
        text.push('\n');
        if self.providers.is_empty() {
            text.push_str("\nno answer says what its provider counted\n");
            return text;
        }
        let rows = self.providers.iter().map(TokensByProvider::row).collect();
        text.push('\n');
        text.push_str(&draw(&PROVIDERS, rows, on));
        text.push('\n');
        for provider in &self.providers {
            text.push_str(&provider.first());
        }
        text
    }

    fn head(&self) -> String {
        let session = self.session.as_deref().unwrap_or("without an id");
        let model = self.model.as_deref().unwrap_or("an unknown model");
        let encoding = &self.encoding;
        let own = if self.is_exact_for_model {
            "the model's own encoding"
        } else {
            "a stand-in, the model's own is not public"
        };
        let messages = grouped(self.messages);
        format!(
            "session {session}: {messages} messages for {model}, counted with {encoding} ({own})\n\n"
        )
    }

    fn total(&self) -> TokensOfKind {
        let mut total = TokensOfKind {
            kind: "all".to_owned(),
            messages: self.messages,
            ..TokensOfKind::default()
        };
        for kind in &self.kinds {
            total.bytes += kind.bytes;
            total.estimate += kind.estimate;
            total.tokenizer += kind.tokenizer;
        }
        total
    }
}

const fn column(title: &'static str, form: Form, spare: u8) -> Column {
    Column { title, form, spare }
}

const KINDS: [Column; 7] = [
    column("kind", Form::Name, 0),
    column("messages", Form::Number, 1),
    column("size", Form::Number, 2),
    column("estimate", Form::Number, 0),
    column("tokenizer", Form::Number, 0),
    column("ratio", Form::Number, 0),
    column("bytes/4", Form::Number, 3),
];

const PROVIDERS: [Column; 10] = [
    column("model", Form::Name, 0),
    column("answers", Form::Number, 1),
    column("output", Form::Number, 4),
    column("estimate", Form::Number, 4),
    column("ratio", Form::Number, 5),
    column("steps", Form::Number, 2),
    column("growth", Form::Number, 0),
    column("estimate", Form::Number, 0),
    column("ratio", Form::Number, 0),
    column("shrunk", Form::Number, 3),
];

impl TokensOfKind {
    fn row(&self) -> (Tone, Vec<String>) {
        // A text has bytes; what has none has no quarter of them either.
        let quarter = match self.kind.as_str() {
            "images" | "framing" | "all" => String::new(),
            _ => ratio(self.bytes / 4, self.tokenizer),
        };
        (
            Tone::Plain,
            vec![
                self.kind.clone(),
                grouped(self.messages),
                bytes(self.bytes),
                grouped(self.estimate),
                grouped(self.tokenizer),
                ratio(self.estimate, self.tokenizer),
                quarter,
            ],
        )
    }
}

impl TokensByProvider {
    fn row(&self) -> (Tone, Vec<String>) {
        (
            Tone::Plain,
            vec![
                self.model.clone(),
                grouped(self.answers),
                grouped(self.output_reported),
                grouped(self.output_estimated),
                ratio(self.output_estimated, self.output_reported),
                grouped(self.steps),
                grouped(self.growth_reported),
                grouped(self.growth_estimated),
                ratio(self.growth_estimated, self.growth_reported),
                grouped(self.shrunk),
            ],
        )
    }

    fn first(&self) -> String {
        let (Some(prompt), Some(estimated)) = (self.first_prompt, self.first_estimated) else {
            return String::new();
        };
        let rest = prompt.saturating_sub(estimated);
        format!(
            "{}: the first prompt had {} tokens, {} of them no messages but instructions and tools\n",
            self.model,
            grouped(prompt),
            grouped(rest)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> TokensReport {
        let mut kind = TokensOfKind::none("user text");
        kind.add(400, 110, 100);
        kind.add(4, 1, 1);
        let mut provider = TokensByProvider::none("m");
        provider.answered(50, 40);
        provider.began(1_000, 60);
        provider.answered(10, 10);
        provider.began(9, 9);
        provider.grew(1_000, 1_100, 90);
        provider.grew(1_100, 500, 90);
        TokensReport {
            session: Some("s".into()),
            encoding: "o200k_base".into(),
            messages: 3,
            kinds: vec![kind],
            providers: vec![provider],
            ..TokensReport::default()
        }
    }

    #[test]
    fn people_see_ratios_and_what_they_are_of() {
        let expected = "\
session s: 3 messages for an unknown model, counted with o200k_base (a stand-in, the model's own is not public)

| kind      | messages |  size | estimate | tokenizer | ratio | bytes/4 |
|-----------|----------|-------|----------|-----------|-------|---------|
| user text |        2 | 404 B |      111 |       101 |  1.10 |    1.00 |
| all       |        3 | 404 B |      111 |       101 |  1.10 |         |

| model | answers | output | estimate | ratio | steps | growth | estimate | ratio | shrunk |
|-------|---------|--------|----------|-------|-------|--------|----------|-------|--------|
| m     |       2 |     60 |       50 |  0.83 |     1 |    100 |       90 |  0.90 |      1 |
m: the first prompt had 1,000 tokens, 940 of them no messages but instructions and tools
";
        assert_eq!(report().to_text(Surface::Plain), expected);
    }

    #[test]
    fn a_session_without_counts_says_so() {
        let report = TokensReport {
            providers: Vec::new(),
            ..report()
        };
        let text = report.to_text(Surface::Plain);
        assert!(
            text.ends_with("no answer says what its provider counted\n"),
            "{text}"
        );
    }

    #[test]
    fn machines_get_the_sums() {
        let json = serde_json::to_value(report()).unwrap();
        assert_eq!(json["kinds"][0]["tokenizer"], 101);
        assert_eq!(json["providers"][0]["growth_reported"], 100);
        assert_eq!(json["providers"][0]["first_prompt"], 1_000);
    }
}
