//! What an erasure did, and the search for what may be left.

use contextwire_engine::{Erasure, SessionId};
use serde::Serialize;

use super::figure::grouped;
use super::table::{Column, Form, Surface, Tone, draw};

/// An erasure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// The session's id.
    pub session: String,
    /// Whether anything of it was stored.
    pub found: bool,
    /// What was removed or written anew, in order.
    pub erased: Vec<Erased>,
    /// The search afterwards.
    pub proof: Proof,
}

/// One kind of what was changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// What.
    pub what: String,
    /// How many are gone.
    pub removed: u64,
    /// How many were written anew without what was erased.
    pub rederived: u64,
}

/// A search for what was erased.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Proof {
    /// Whether nothing is left.
    pub clean: bool,
    /// Digests, and pieces of bodies and summaries, that were looked for.
    pub pieces: u64,
    /// Bytes of files that were searched.
    pub searched_bytes: u64,
    /// Pieces that others store rightly still.
    pub shared: u64,
    /// Where something is left, and what to do.
    pub remains: Vec<String>,
}

impl ErasureReport {
    /// The report of what an engine did.
    pub fn new(session: &SessionId, erasure: Erasure) -> Self {
        let erased = erasure.erased.into_iter().map(|rows| Erased {
            what: rows.what,
            removed: rows.removed,
            rederived: rows.rederived,
        });
        let proof = erasure.proof;
        Self {
            session: session.to_string(),
            found: erasure.found,
            erased: erased.collect(),
            proof: Proof {
                clean: proof.is_clean(),
                pieces: proof.pieces,
                searched_bytes: proof.searched_bytes,
                shared: proof.shared,
                remains: proof.remains,
            },
        }
    }

    /// The table and the proof, for people; ends with a line feed.
    pub fn to_text(&self, on: Surface) -> String {
        let column = |title, form| Column {
            title,
            form,
            spare: 0,
        };
        let columns = [
            column("what", Form::Prose),
            column("gone", Form::Number),
            column("written anew", Form::Number),
        ];
        let rows = self.erased.iter().map(|rows| {
            let cells = vec![
                rows.what.clone(),
                grouped(rows.removed),
                grouped(rows.rederived),
            ];
            (Tone::Plain, cells)
        });
        let table = if self.found {
            format!("{}\n\n", draw(&columns, rows.collect(), on))
        } else {
            let session = &self.session;
            format!("nothing was erased: session {session} or these entries of it are not stored\n")
        };
        let Proof {
            clean,
            pieces,
            searched_bytes,
            shared,
            remains,
        } = &self.proof;
        if !self.found {
            return table;
        }
        let verdict = if *clean {
            "nothing is left".to_owned()
        } else {
            format!("SOMETHING IS LEFT: {}", remains.join("; "))
        };
        let others = match shared {
            0 => String::new(),
            shared => format!(", {} of them stored by others too", grouped(*shared)),
        };
        format!(
            "{table}looked for {} pieces in {} bytes of files{others}: {verdict}\n",
            grouped(*pieces),
            grouped(*searched_bytes)
        )
    }
}

#[cfg(test)]
mod tests {
    use contextwire_engine::{ErasedRows, ErasureProof};

    use super::*;

    #[test]
    fn an_erasure_says_what_is_gone_and_whether_anything_is_left() {
        let mut erasure = Erasure {
            found: true,
            erased: vec![ErasedRows {
                what: "plans".to_owned(),
                removed: 3,
                rederived: 1,
            }],
            proof: ErasureProof {
                pieces: 1_200,
                searched_bytes: 4_096,
                shared: 2,
                remains: Vec::new(),
            },
        };
        let session = SessionId::new("s").unwrap();
        let text = ErasureReport::new(&session, erasure.clone()).to_text(Surface::Plain);
        assert!(text.contains("| plans "), "{text}");
        assert!(
            text.ends_with(
                "looked for 1,200 pieces in 4,096 bytes of files, 2 of them stored by others too: \
                 nothing is left\n"
            ),
            "{text}"
        );
        erasure.proof.remains.push("there".to_owned());
        let report = ErasureReport::new(&session, erasure);
        assert!(!report.proof.clean);
        assert!(report.to_text(Surface::Plain).contains("LEFT: there"));
    }
}
