//! A host's subagents, successor sessions and background maintenance, with engines over real sockets
//! and an outbox on the disk (HOST-SEMANTICS 7, 8, 10.5; PROTOCOL 9).

mod beside;
mod spawns;
mod successor;
