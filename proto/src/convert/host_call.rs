//! Host calls: what an engine asks of the host, and what becomes of it (R1.6).

mod request;
mod result;
