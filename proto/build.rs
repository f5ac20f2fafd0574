//! Compiles the contract: descriptor set, tables, message types, server stubs, client stubs.
//!
//! No `protoc`: protox parses the files. The stubs come from three passes, because only the hooks of
//! a server are decoded through [`EdgeCodec`](src/codec.rs): a host must never refuse what a newer
//! engine adds, and an operator's question is no call.

#[path = "build/schema.rs"]
mod schema;

use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

use protox::prost_reflect::prost_types::FileDescriptorSet;

const ROOT: &str = "proto";
const HOOKS: &str = "contextengine/v1/service.proto";
const ADMIN: &str = "contextengine/v1/admin.proto";
const SERVER: &str = r#"#[cfg(feature = "server")]"#;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed={ROOT}");
    println!("cargo:rerun-if-changed=build");
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);

    let mut compiler = protox::Compiler::new([ROOT])?;
    compiler
        .include_imports(true)
        .include_source_info(true)
        .open_files([HOOKS, ADMIN])?;
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
        .server_mod_attribute(".", SERVER)
        .compile_fds_with_config(
            services_of(&descriptors, |file| file != ADMIN),
            tonic_prost_build::Config::new(),
        )?;

    let folder = |name: &str| {
        let folder = out.join(name);
        fs::create_dir_all(&folder).map(|()| folder)
    };
    tonic_prost_build::configure()
        .build_client(false)
        .out_dir(folder("admin")?)
        .extern_path(".contextengine.v1", "crate::v1")
        .server_mod_attribute(".", SERVER)
        .compile_fds_with_config(
            services_of(&descriptors, |file| file == ADMIN),
            tonic_prost_build::Config::new(),
        )?;
    tonic_prost_build::configure()
        .build_server(false)
        .out_dir(folder("client")?)
        .extern_path(".contextengine.v1", "crate::v1")
        .client_mod_attribute(".", r#"#[cfg(feature = "client")]"#)
        .compile_fds_with_config(descriptors, tonic_prost_build::Config::new())?;
    Ok(())
}

/// The same types, and the services of some files.
fn services_of(
    descriptors: &FileDescriptorSet,
    wanted: impl Fn(&str) -> bool,
) -> FileDescriptorSet {
    let mut descriptors = descriptors.clone();
    for file in &mut descriptors.file {
        if !wanted(file.name()) {
            file.service.clear();
        }
    }
    descriptors
}
