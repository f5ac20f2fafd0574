//! The address: is something there that only its owner can reach?

use contextwire_client::Target;

use crate::report::Finding;

const CHECK: &str = "socket";

/// What can be seen of the address without connecting.
pub(super) fn examine(target: &Target) -> Finding {
    match target {
        #[cfg(unix)]
        Target::Unix(path) => unix(path),
        #[cfg(not(unix))]
        Target::Unix(_) => Finding::problem(
            CHECK,
            "this system has no Unix sockets",
            "serve with --listen 127.0.0.1:PORT and use http://127.0.0.1:PORT",
        ),
        Target::Tcp(address) => Finding::warning(
            CHECK,
            format!("{address}: every user of this machine can connect"),
            "use a Unix socket where others use this machine",
        ),
        Target::Spawn(command) => Finding::ok(
            CHECK,
            format!("`{command}` gets a private one when it is started"),
        ),
        Target::Replicas(several) => {
            let found: Vec<_> = several.iter().map(examine).collect();
            let worst = found.into_iter().max_by_key(|it| it.severity);
            worst.unwrap_or_else(|| Finding::problem(CHECK, "no address", "name one"))
        }
    }
}

#[cfg(unix)]
fn unix(path: &std::path::Path) -> Finding {
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

    let start = "start the engine (`contextwire serve --socket PATH`) or correct the path";
    let found = match path.metadata() {
        Ok(found) => found,
        Err(error) => {
            return Finding::problem(CHECK, format!("{}: {error}", path.display()), start);
        }
    };
    if !found.file_type().is_socket() {
        let text = format!("{} is a file and no socket", path.display());
        return Finding::problem(CHECK, text, start);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| std::path::Path::new("."));
    let mode = |found: &std::fs::Metadata| found.permissions().mode() & 0o777;
    let folder_mode = folder.metadata().map_or(0, |found| mode(&found));
    let socket_mode = mode(&found);
    if folder_mode & 0o077 != 0 && socket_mode & 0o077 != 0 {
        let text = format!(
            "others can connect: the socket has mode {socket_mode:03o}, its folder {folder_mode:03o}"
        );
        let advice = format!("chmod 700 {}", folder.display());
        return Finding::problem(CHECK, text, advice);
    }
    let owner = found.uid();
    Finding::ok(
        CHECK,
        format!("mode {socket_mode:03o} in a folder of mode {folder_mode:03o}, of user {owner}"),
    )
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use super::*;
    use crate::report::Severity;

    #[test]
    fn a_missing_path_a_file_and_an_open_socket_are_told_apart() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| Target::Unix(root.path().join(name));
        assert_eq!(examine(&at("none")).severity, Severity::Problem);
        std::fs::write(root.path().join("file"), "").unwrap();
        assert!(
            examine(&at("file"))
                .found
                .ends_with("is a file and no socket")
        );
        let _socket = UnixListener::bind(root.path().join("s")).unwrap();
        let chmod = |path: &std::path::Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        chmod(&root.path().join("s"), 0o666);
        chmod(root.path(), 0o755);
        let open = examine(&at("s"));
        assert_eq!(open.severity, Severity::Problem);
        assert!(open.advice.unwrap().starts_with("chmod 700 "));
        chmod(root.path(), 0o700);
        assert_eq!(examine(&at("s")).severity, Severity::Ok);
    }
}
