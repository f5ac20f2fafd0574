//! Compiles the contract: descriptor set, tables, message types, server stubs, client stubs.
//!
//! No `protoc`: protox parses the files. Server and client stubs come from two passes, because only
//! the server decodes through [`EdgeCodec`](src/codec.rs); a host must never refuse what a newer
//! engine adds.

#[path = "build/schema.rs"]
mod schema;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

const ROOT: &str = "proto";
const SERVICE: &str = "contextengine/v1/service.proto";

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={ROOT}");
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);

    let mut compiler = protox::Compiler::new([ROOT])?;
    compiler
        .include_imports(true)
        .include_source_info(true)
        .open_file(SERVICE)?;
    // Encoded by the compiler: the typed set would lose the custom options.
    fs::write(
        out.join("contextengine.v1.bin"),
        compiler.encode_file_descriptor_set(),
    )?;
    fs::write(
        out.join("schema.rs"),
        schema::tables(&compiler.descriptor_pool())?,
    )?;
    let descriptors = compiler.file_descriptor_set();

    tonic_prost_build::configure()
        .build_client(false)
        .codec_path("crate::codec::EdgeCodec")
        .bytes(".")
        .btree_map(".")
        .server_mod_attribute(".", r#"#[cfg(feature = "server")]"#)
        .compile_fds_with_config(descriptors.clone(), tonic_prost_build::Config::new())?;

    let clients = out.join("client");
    fs::create_dir_all(&clients)?;
    tonic_prost_build::configure()
        .build_server(false)
        .out_dir(&clients)
        .extern_path(".contextengine.v1", "crate::v1")
        .client_mod_attribute(".", r#"#[cfg(feature = "client")]"#)
        .compile_fds_with_config(descriptors, tonic_prost_build::Config::new())?;
    Ok(())
}
