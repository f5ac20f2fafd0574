//! Any sequence of changes: both stores, a restart and a simple model agree.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;

/// An entry as the model has it: it knows no native ids, so nothing ever needs mapping.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    lineage: String,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Message(String),
    Compaction { kept: Option<String> },
    Reset { kept: Option<String> },
    Label { target: String },
}

#[derive(Clone, Debug)]
enum Change {
    Message { role: u8, text: u8 },
    Compaction { kept: Option<usize> },
    Reset { kept: Option<usize> },
    Label { target: usize },
    Aside,
    Rewrite { targets: Vec<(usize, u8)> },
    Branch { to: usize },
}

fn changes() -> impl Strategy<Value = Vec<Change>> {
    let place = 0usize..40;
    let kept = proptest::option::of(place.clone());
    // Few texts, so that twins are common.
    let change = prop_oneof![
        6 => (0u8..3, 0u8..3).prop_map(|(role, text)| Change::Message { role, text }),
        1 => kept.clone().prop_map(|kept| Change::Compaction { kept }),
        1 => kept.prop_map(|kept| Change::Reset { kept }),
        1 => place.clone().prop_map(|target| Change::Label { target }),
        1 => Just(Change::Aside),
        4 => proptest::collection::vec((place.clone(), 0u8..4), 1..4)
            .prop_map(|targets| Change::Rewrite { targets }),
        1 => place.prop_map(|to| Change::Branch { to }),
    ];
    proptest::collection::vec(change, 1..30)
}

fn payload(role: u8, text: u8) -> String {
    match role {
        0 => user(&"u".repeat(usize::from(text))),
        1 => assistant(&"a".repeat(usize::from(text))),
        _ => tool_result(&"t".repeat(usize::from(text))),
    }
}

/// The model's branch.
#[derive(Clone, Debug, Default)]
struct Model(Vec<Row>);

impl Model {
    fn pick(&self, place: usize) -> Option<&Row> {
        self.0.get(place.checked_rem(self.0.len())?)
    }

    /// Where a boundary lets the branch start.
    fn start(&self, boundary: usize, kept: Option<&String>) -> usize {
        let kept = kept.and_then(|kept| self.0.iter().position(|row| row.lineage == *kept));
        kept.filter(|place| *place < boundary).unwrap_or(boundary)
    }

    fn log(&self) -> Vec<(String, String)> {
        let mut start = 0;
        for (place, row) in self.0.iter().enumerate() {
            if let What::Reset { kept } = &row.what {
                start = self.start(place, kept.as_ref());
            }
        }
        self.messages(start)
    }

    fn context(&self) -> Vec<(String, String)> {
        let mut start = 0;
        let mut summary = None;
        for (place, row) in self.0.iter().enumerate() {
            if let What::Compaction { kept } = &row.what {
                start = self.start(place, kept.as_ref());
                let text = r#"{"role":"compactionSummary","summary":"so far","tokensBefore":7,"timestamp":1796047450469}"#;
                summary = Some((row.lineage.clone(), text.to_owned()));
            } else if let What::Reset { kept } = &row.what {
                start = self.start(place, kept.as_ref());
                summary = None;
            }
        }
        summary.into_iter().chain(self.messages(start)).collect()
    }

    fn messages(&self, start: usize) -> Vec<(String, String)> {
        let message = |row: &Row| match &row.what {
            What::Message(payload) => Some((row.lineage.clone(), payload.clone())),
            What::Compaction { .. } | What::Reset { .. } | What::Label { .. } => None,
        };
        self.0.iter().skip(start).filter_map(message).collect()
    }

    /// Gives what a store should answer: rewritten entries, freed bytes, reason.
    fn rewrite(&mut self, wanted: &[(String, String)]) -> (u64, u64, Option<&'static str>) {
        if self.0.is_empty() {
            return (0, 0, Some("empty session"));
        }
        let wanted: HashMap<_, _> = wanted.iter().cloned().collect();
        let mut first = None;
        let (mut known, mut rewritten, mut freed) = (false, 0, 0);
        for (place, row) in self.0.iter_mut().enumerate() {
            let (What::Message(old), Some(new)) = (&mut row.what, wanted.get(&row.lineage)) else {
                continue;
            };
            known = true;
            if old != new {
                first = first.or(Some(place));
                rewritten += 1;
                freed += old.len().saturating_sub(new.len()) as u64;
                old.clone_from(new);
            }
        }
        match first {
            Some(first) => self.drop_twins(first),
            None if known => return (0, 0, Some("replacements are already stored")),
            None => return (0, 0, Some("no matching message entries")),
        }
        (rewritten, freed, None)
    }

    fn drop_twins(&mut self, first: usize) {
        let suffix = self.0.split_off(first);
        let mut renamed: HashMap<String, String> = HashMap::new();
        let mut kept: Vec<Row> = Vec::new();
        for mut row in suffix {
            match &mut row.what {
                What::Compaction { kept: Some(name) }
                | What::Reset { kept: Some(name) }
                | What::Label { target: name } => {
                    if let Some(twin) = renamed.get(name) {
                        name.clone_from(twin);
                    }
                }
                What::Message(_) | What::Compaction { kept: None } | What::Reset { kept: None } => {
                }
            }
            let unique = match &row.what {
                What::Message(payload) => !payload.starts_with(r#"{"role":"user""#),
                What::Compaction { .. } => false,
                What::Reset { .. } | What::Label { .. } => true,
            };
            match kept.iter().find(|other| !unique && other.what == row.what) {
                Some(twin) => {
                    renamed.insert(row.lineage, twin.lineage.clone());
                }
                None => kept.push(row),
            }
        }
        self.0.extend(kept);
    }
}

/// A store beside the model, with every branch end that there ever was.
struct Beside<S> {
    store: S,
    /// Native ids, in the order of the model's branches.
    ends: Vec<NativeId>,
}

impl<S: TranscriptStore> Beside<S> {
    fn new(store: S) -> Self {
        let ends = Vec::new();
        Self { store, ends }
    }

    async fn append(&self, entry: Option<NewEntry>) {
        self.store
            .append(entry.into_iter().collect())
            .await
            .unwrap();
    }

    async fn branch(&self, end: usize) {
        let after = self.ends[end].clone();
        self.store.branch(Some(after), NOW).await.unwrap();
    }

    async fn rewrite(&self, wanted: &[(String, String)]) -> (u64, u64, Option<String>) {
        let wanted: Vec<_> = wanted
            .iter()
            .map(|(id, to)| (id.as_str(), to.as_str()))
            .collect();
        let done = rewrite(&self.store, &wanted).await;
        assert_eq!(done.head, self.store.log().await.unwrap().state());
        assert_eq!(done.changed, done.reason.is_none());
        (done.rewritten_entries, done.bytes_freed, done.reason)
    }

    async fn check(&mut self, model: &Model) {
        assert_eq!(log(&self.store).await, model.log());
        assert_eq!(pairs(&self.store.context().await.unwrap()), model.context());
        let entries = self.store.entries().await.unwrap();
        let lineages: Vec<_> = entries
            .iter()
            .map(|entry| entry.entry_id().as_str())
            .collect();
        let expected: Vec<_> = model.0.iter().map(|row| row.lineage.as_str()).collect();
        assert_eq!(lineages, expected);
        assert_eq!(
            lineages.iter().collect::<HashSet<_>>().len(),
            lineages.len()
        );
        let lineage_of: HashMap<_, _> = entries
            .iter()
            .map(|entry| (entry.id().as_str().to_owned(), entry.entry_id().as_str()))
            .collect();
        for (entry, row) in entries.iter().zip(&model.0) {
            let What::Label { target } = &row.what else {
                continue;
            };
            // A label of an entry on another branch names that one for good.
            if expected.contains(&target.as_str()) {
                let named = field(entry, "targetId").unwrap();
                assert_eq!(lineage_of[&named], target);
            }
        }
        self.ends
            .extend(entries.last().map(|entry| entry.id().clone()));
    }
}

/// Model, memory and file, changed in step.
struct Stage {
    folder: TempDir,
    model: Model,
    branches: Vec<Model>,
    memory: Beside<MemoryStore>,
    file: Beside<JsonlStore>,
}

impl Stage {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            file: Beside::new(open(&folder).await),
            memory: Beside::new(MemoryStore::with_entry_ids()),
            model: Model::default(),
            branches: Vec::new(),
            folder,
        }
    }

    async fn apply(&mut self, number: usize, change: Change) {
        let id = format!("e{number}");
        let lineage_at = |place: usize| self.model.pick(place).map(|row| row.lineage.clone());
        let (entry, what) = match change {
            Change::Message { role, text } => {
                let payload = payload(role, text);
                (message(&id, &payload), What::Message(payload))
            }
            Change::Compaction { kept } => {
                let kept = kept.and_then(lineage_at);
                (compaction(&id, kept.as_deref()), What::Compaction { kept })
            }
            Change::Reset { kept } => {
                let kept = kept.and_then(lineage_at);
                (reset(&id, kept.as_deref()), What::Reset { kept })
            }
            Change::Label { target } => match lineage_at(target) {
                Some(target) => (label(&id, &target), What::Label { target }),
                None => return,
            },
            Change::Aside => {
                let entry = message(&id, &user("beside")).aside();
                self.memory.append(Some(entry.clone())).await;
                return self.file.append(Some(entry)).await;
            }
            Change::Rewrite { targets } => return self.rewrite(&targets).await,
            Change::Branch { to } => return self.branch(to).await,
        };
        self.memory.append(Some(entry.clone())).await;
        self.file.append(Some(entry)).await;
        self.model.0.push(Row { lineage: id, what });
    }

    async fn rewrite(&mut self, targets: &[(usize, u8)]) {
        let wanted: Vec<_> = targets
            .iter()
            .map(|(place, text)| {
                let target = self.model.pick(*place);
                let role = u8::from(place % 2 == 0);
                let lineage = target.map_or("none".to_owned(), |row| row.lineage.clone());
                (lineage, payload(role, *text))
            })
            .collect();
        let (rewritten, freed, reason) = self.model.rewrite(&wanted);
        let expected = (rewritten, freed, reason.map(str::to_owned));
        assert_eq!(self.memory.rewrite(&wanted).await, expected);
        assert_eq!(self.file.rewrite(&wanted).await, expected);
    }

    async fn branch(&mut self, to: usize) {
        let Some(end) = to.checked_rem(self.branches.len()) else {
            return;
        };
        self.model = self.branches[end].clone();
        self.memory.branch(end).await;
        self.file.branch(end).await;
    }

    async fn check(&mut self) {
        self.memory.check(&self.model).await;
        self.file.check(&self.model).await;
        if !self.model.0.is_empty() {
            self.branches.push(self.model.clone());
        }
    }

    async fn restart(self) -> Self {
        let Self {
            folder,
            model,
            branches,
            memory,
            file: Beside { store, ends },
        } = self;
        let generation = store.changes().borrow().generation;
        drop(store);
        let store = open(&folder).await;
        assert_eq!(store.changes().borrow().generation, generation);
        let file = Beside { store, ends };
        Self {
            folder,
            model,
            branches,
            memory,
            file,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn stores_a_restart_and_the_model_agree(changes in changes(), restart_at in 0usize..30) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut stage = Stage::new().await;
            for (number, change) in changes.into_iter().enumerate() {
                stage.apply(number, change).await;
                stage.check().await;
                if number == restart_at {
                    stage = stage.restart().await;
                }
            }
            stage = stage.restart().await;
            stage.check().await;
        });
    }
}
