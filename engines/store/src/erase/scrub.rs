//! The files after an erasure: the database's log emptied, free pages without old text, and a search
//! for what must not be there.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use contextwire_engine::ErasureProof;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::pieces::{PIECE, Pieces};
use crate::connection::{self, Use};
use crate::error::StoreError;
use crate::files::Files;
use crate::probe;

/// Bytes that are searched at once.
const CHUNK: usize = 1 << 20;

/// What clearing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scrubbed {
    /// The search for what was erased.
    pub proof: ErasureProof,
    /// Whether the whole file was written anew for it.
    pub is_rewritten: bool,
}

type Step = fn(&Connection) -> rusqlite::Result<()>;

impl Files {
    /// Clears the files and looks for the pieces. `tidy` is what the engine does about tables of its
    /// own first; with `rewrite` the whole file is written anew in any case, as one needs that an
    /// older release wrote. Blocks for as long as that takes.
    ///
    /// # Errors
    /// [`StoreError`] when the file cannot be used.
    pub fn scrub(
        &self,
        pieces: &Pieces,
        tidy: Step,
        rewrite: bool,
    ) -> Result<Scrubbed, StoreError> {
        let failed = |error| StoreError::open(&self.path, error);
        let connection = connection::open(&self.path, &self.schema, Use::Write, self.busy)?;
        tidy(&connection).map_err(failed)?;
        let mut is_rewritten = rewrite;
        if rewrite {
            connection.execute_batch("VACUUM").map_err(failed)?;
        }
        let mut left = self.search(&connection, pieces)?;
        if !left.found.is_empty() && !is_rewritten {
            connection.execute_batch("VACUUM").map_err(failed)?;
            is_rewritten = true;
            left = self.search(&connection, pieces)?;
        }
        Ok(Scrubbed {
            proof: left.proof(pieces),
            is_rewritten,
        })
    }

    /// Empties the log of the database into the file and searches both.
    fn search(&self, connection: &Connection, pieces: &Pieces) -> Result<Left, StoreError> {
        let failed = |error| StoreError::open(&self.path, error);
        let mut left = Left::default();
        let busy: i64 = connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get(0))
            .map_err(failed)?;
        left.is_held = busy != 0;
        let log = probe::log_beside(&self.path);
        let mut search = pieces.search();
        for file in [&self.path, &log] {
            let searched = file_into(file, &mut |bytes| search.look(bytes));
            left.searched += searched.map_err(|error| StoreError::open(file, error))?;
        }
        left.found = search.found;
        if !left.found.is_empty() {
            let live = live(connection, pieces).map_err(failed)?;
            left.shared = left.found.intersection(&live).count();
            left.found.retain(|piece| !live.contains(piece));
        }
        Ok(left)
    }
}

/// What a search found.
#[derive(Default)]
struct Left {
    found: HashSet<[u8; PIECE]>,
    shared: usize,
    searched: u64,
    is_held: bool,
}

impl Left {
    fn proof(&self, pieces: &Pieces) -> ErasureProof {
        let mut remains = Vec::new();
        if !self.found.is_empty() {
            remains.push(format!(
                "{} pieces are in the store's files: {}",
                self.found.len(),
                if self.is_held {
                    "another process reads the store, so that its log cannot be emptied; repeat the \
                     erasure when it is done"
                } else {
                    "something keeps on writing them; end what uses the file and repeat the erasure"
                }
            ));
        }
        ErasureProof {
            pieces: pieces.len() as u64,
            searched_bytes: self.searched,
            shared: self.shared as u64,
            remains,
        }
    }
}

/// Everything in the file, in chunks that overlap by less than a piece. A file that is not there has
/// nothing in it.
fn file_into(path: &Path, look: &mut dyn FnMut(&[u8])) -> std::io::Result<u64> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(error),
    };
    let mut kept = Vec::with_capacity(CHUNK + PIECE);
    let mut searched = 0;
    loop {
        let before = kept.len();
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut kept)?;
        if read == 0 {
            return Ok(searched);
        }
        searched += read as u64;
        look(&kept);
        let overlap = kept.len().min(PIECE - 1);
        kept.drain(..kept.len() - overlap);
        debug_assert!(before < PIECE);
    }
}

/// The pieces that rows hold rightly still: what somebody else said too.
fn live(connection: &Connection, pieces: &Pieces) -> rusqlite::Result<HashSet<[u8; PIECE]>> {
    let mut search = pieces.search();
    let mut tables = connection.prepare(
        "SELECT name FROM pragma_table_list
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'",
    )?;
    let tables: Vec<String> = tables
        .query_map((), |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for table in tables {
        let mut rows = connection.prepare(&format!("SELECT * FROM \"{table}\""))?;
        let columns = rows.column_count();
        let mut rows = rows.query(())?;
        while let Some(row) = rows.next()? {
            for column in 0..columns {
                match row.get_ref(column)? {
                    ValueRef::Text(bytes) | ValueRef::Blob(bytes) => search.look(bytes),
                    ValueRef::Null | ValueRef::Integer(_) | ValueRef::Real(_) => {}
                }
            }
        }
    }
    Ok(search.found)
}
