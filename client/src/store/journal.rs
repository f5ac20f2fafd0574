//! Whole lines onto a medium that may fail half way.

use std::fs::File;
use std::io::{self, Write as _};

use bytes::Bytes;

use super::error::StoreError;
use super::jsonl::Durability;
use super::state::{Journal, Step};

/// What a journal asks of a file.
pub(super) trait Medium {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Everything so far survives power loss.
    fn sync(&mut self) -> io::Result<()>;
    /// Drops everything from this length on.
    fn cut(&mut self, len: u64) -> io::Result<()>;
}

impl Medium for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)
    }
}

/// The journal of a file that nobody else writes.
#[derive(Debug)]
pub(super) struct FileJournal<M> {
    medium: M,
    len: u64,
    durability: Durability,
    /// Whether the file and what readers see are the same.
    is_sound: bool,
}

impl<M: Medium> FileJournal<M> {
    /// After `len` bytes that are on the medium already.
    pub(super) fn new(medium: M, len: u64, durability: Durability) -> Self {
        Self {
            medium,
            len,
            durability,
            is_sound: true,
        }
    }
}

impl<M: Medium> Journal for FileJournal<M> {
    fn write(&mut self, lines: &[Bytes], step: Step) -> Result<(), StoreError> {
        if !std::mem::replace(&mut self.is_sound, false) {
            return Err(StoreError::Broken);
        }
        let mut bytes = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            bytes.extend_from_slice(line);
            bytes.push(b'\n');
        }
        // One write, so that a reader of the file never sees one entry of two mixed.
        if let Err(source) = self.medium.append(&bytes) {
            self.is_sound = self.medium.cut(self.len).is_ok();
            return Err(StoreError::Io {
                doing: "written",
                source,
            });
        }
        let syncs = match (step, self.durability) {
            (Step::Durable, _) | (Step::Append, Durability::PowerLoss) => true,
            (Step::Append, Durability::ProcessDeath) => false,
        };
        if syncs {
            // After a failed sync nobody knows what is on disk; only reading it again tells.
            self.medium.sync().map_err(StoreError::io("synced"))?;
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn settled(&mut self) {
        self.is_sound = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Faulty {
        written: Vec<u8>,
        synced: usize,
        /// Bytes that still fit.
        room: usize,
        fails: Option<&'static str>,
    }

    impl Faulty {
        fn act(&self, what: &'static str) -> io::Result<()> {
            match self.fails {
                Some(fails) if fails == what => Err(io::Error::other("fault")),
                Some(_) | None => Ok(()),
            }
        }
    }

    impl Medium for Faulty {
        fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
            let fits = bytes.len().min(self.room);
            self.room -= fits;
            self.written.extend_from_slice(&bytes[..fits]);
            if fits < bytes.len() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Ok(())
        }

        fn sync(&mut self) -> io::Result<()> {
            self.act("sync")?;
            self.synced = self.written.len();
            Ok(())
        }

        fn cut(&mut self, len: u64) -> io::Result<()> {
            self.act("cut")?;
            self.written.truncate(usize::try_from(len).unwrap());
            Ok(())
        }
    }

    const LINE: Bytes = Bytes::from_static(b"{}");

    fn journal(room: usize, fails: Option<&'static str>) -> FileJournal<Faulty> {
        let medium = Faulty {
            room,
            fails,
            ..Faulty::default()
        };
        FileJournal::new(medium, 0, Durability::ProcessDeath)
    }

    fn is_broken(result: &Result<(), StoreError>) -> bool {
        matches!(result, Err(StoreError::Broken))
    }

    #[test]
    fn a_full_disk_leaves_no_part_of_a_line_and_the_next_write_works() {
        let mut journal = journal(5, None);
        journal.write(&[LINE], Step::Append).unwrap();
        journal.settled();
        let failed = journal.write(&[LINE], Step::Append);
        assert!(matches!(
            failed,
            Err(StoreError::Io {
                doing: "written",
                ..
            })
        ));
        assert_eq!(journal.medium.written, b"{}\n");
        journal.medium.room = 100;
        journal.write(&[LINE], Step::Append).unwrap();
        assert_eq!(journal.medium.written, b"{}\n{}\n");
    }

    #[test]
    fn what_cannot_be_taken_back_or_synced_ends_writing() {
        let mut full = journal(1, Some("cut"));
        assert!(full.write(&[LINE], Step::Append).is_err());
        assert!(is_broken(&full.write(&[LINE], Step::Append)));

        let mut unsynced = journal(100, Some("sync"));
        assert!(unsynced.write(&[LINE], Step::Durable).is_err());
        unsynced.medium.fails = None;
        assert!(is_broken(&unsynced.write(&[LINE], Step::Append)));
    }

    #[test]
    fn what_readers_never_saw_ends_writing() {
        let mut journal = journal(100, None);
        journal.write(&[LINE], Step::Append).unwrap();
        assert!(is_broken(&journal.write(&[LINE], Step::Append)));
    }

    #[test]
    fn a_durable_step_is_synced_whatever_appends_promise() {
        let mut journal = journal(100, None);
        journal.write(&[LINE], Step::Append).unwrap();
        journal.settled();
        assert_eq!(journal.medium.synced, 0);
        journal.write(&[LINE], Step::Durable).unwrap();
        assert_eq!(journal.medium.synced, 6);
    }
}
