//! Which endpoint, and with which key.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Uri};

const PATH: &str = "chat/completions";

/// Where a model is and how to talk to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiOptions {
    /// The interface's address, for instance `https://api.example.com/v1`; `/chat/completions` is
    /// added where it is missing. Plain `http` is for this machine only.
    pub url: String,
    /// The model's name at the endpoint.
    pub model: String,
    /// A file with the key and nothing else; absent for an endpoint that asks for none.
    pub key_file: Option<PathBuf>,
    /// Tokens that the model reads and writes in one call.
    pub window: u64,
    /// Longest wait for a connection.
    pub connect_timeout: Duration,
    /// Longest wait for an answer.
    pub timeout: Duration,
}

impl OpenAiOptions {
    /// An endpoint with the default window and times, without a key.
    pub fn new(url: impl Into<String>, model: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            model: model.into(),
            key_file: None,
            window: 100_000,
            connect_timeout: Duration::from_secs(5),
            timeout: Duration::from_mins(2),
        }
    }
}

/// Why an endpoint cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The address is none.
    #[error("the summariser's address is not a URL: write https://host/v1")]
    Url,
    /// A key in the address would show up in logs and process lists.
    #[error("the summariser's address holds a user or a password: put the key into a file")]
    Credentials,
    /// The conversation would leave this machine unencrypted.
    #[error("the summariser's address is plain http and not on this machine: use https")]
    Plaintext,
    /// No model is named.
    #[error("the summariser needs a model: name the one that the endpoint is to use")]
    Model,
    /// The key's file cannot be read.
    #[error("the key file {path} cannot be read")]
    KeyFile {
        /// Which file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: std::io::Error,
    },
    /// What the file holds is no key.
    #[error("the key file {path} holds no key: it has to be one line of printable characters")]
    Key {
        /// Which file.
        path: PathBuf,
    },
    /// The system has no certificates to check the endpoint's against.
    #[error("the system's certificates cannot be read")]
    Certificates(#[source] std::io::Error),
}

impl OpenAiOptions {
    pub(super) fn endpoint(&self) -> Result<Uri, EndpointError> {
        if self.model.trim().is_empty() {
            return Err(EndpointError::Model);
        }
        let url: Uri = self.url.parse().map_err(|_| EndpointError::Url)?;
        let Some(authority) = url.authority() else {
            return Err(EndpointError::Url);
        };
        if authority.as_str().contains('@') {
            return Err(EndpointError::Credentials);
        }
        match url.scheme() {
            Some(scheme) if *scheme == Scheme::HTTPS => {}
            Some(scheme) if *scheme != Scheme::HTTP => return Err(EndpointError::Url),
            Some(_) if is_loopback(&url) => {}
            Some(_) => return Err(EndpointError::Plaintext),
            None => return Err(EndpointError::Url),
        }
        let path = url.path().trim_end_matches('/');
        let path = if path.ends_with(PATH) {
            path.to_owned()
        } else {
            format!("{path}/{PATH}")
        };
        let query = url
            .query()
            .map_or_else(String::new, |query| format!("?{query}"));
        let path: PathAndQuery = format!("{path}{query}")
            .parse()
            .map_err(|_| EndpointError::Url)?;
        let mut parts = url.into_parts();
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).map_err(|_| EndpointError::Url)
    }

    pub(super) fn key(&self) -> Result<Option<HeaderValue>, EndpointError> {
        let Some(path) = &self.key_file else {
            return Ok(None);
        };
        let text = std::fs::read_to_string(path).map_err(|source| EndpointError::KeyFile {
            path: path.clone(),
            source,
        })?;
        let no_key = || EndpointError::Key { path: path.clone() };
        let key = text.trim();
        if key.is_empty() || !key.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(no_key());
        }
        let mut value = HeaderValue::from_str(&format!("Bearer {key}")).map_err(|_| no_key())?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

fn is_loopback(url: &Uri) -> bool {
    let Some(host) = url.host() else {
        return false;
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(url: &str) -> Result<String, String> {
        let endpoint = OpenAiOptions::new(url, "m").endpoint();
        endpoint
            .map(|url| url.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_path_is_added_where_it_is_missing() {
        for (url, expected) in [
            (
                "https://a.example/v1",
                "https://a.example/v1/chat/completions",
            ),
            (
                "https://a.example/v1/",
                "https://a.example/v1/chat/completions",
            ),
            (
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/chat/completions",
            ),
            ("http://[::1]:1/v1", "http://[::1]:1/v1/chat/completions"),
            (
                "https://a.example/chat/completions?api-version=2",
                "https://a.example/chat/completions?api-version=2",
            ),
        ] {
            assert_eq!(endpoint(url).as_deref(), Ok(expected));
        }
    }

    #[test]
    fn plain_http_stays_on_this_machine_and_no_key_is_in_an_address() {
        let refused = |url: &str| endpoint(url).unwrap_err();
        assert!(refused("http://a.example/v1").contains("use https"));
        assert!(refused("http://127.0.0.1.example/v1").contains("use https"));
        assert!(refused("https://key@a.example/v1").contains("into a file"));
        assert!(refused("ftp://a.example").contains("not a URL"));
        assert!(refused("a.example/v1").contains("not a URL"));
        let nameless = OpenAiOptions::new("https://a.example/v1", " ");
        assert!(matches!(nameless.endpoint(), Err(EndpointError::Model)));
    }

    #[test]
    fn a_key_is_one_line_and_never_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let options = OpenAiOptions {
            key_file: Some(path.clone()),
            ..OpenAiOptions::new("https://a.example/v1", "m")
        };
        assert!(matches!(options.key(), Err(EndpointError::KeyFile { .. })));
        for odd in ["", " \n", "two lines\nsecret", "sécret"] {
            std::fs::write(&path, odd).unwrap();
            let error = options.key().unwrap_err();
            assert!(matches!(error, EndpointError::Key { .. }));
            assert!(!error.to_string().contains("cret"));
        }
        std::fs::write(&path, "sk-secret-1\n").unwrap();
        let key = options.key().unwrap().unwrap();
        assert_eq!(key.as_bytes(), b"Bearer sk-secret-1");
        let endpoint = crate::summarizer::OpenAiEndpoint::open(&options).unwrap();
        let shown = format!("{key:?} {options:?} {endpoint:?}");
        assert!(!shown.contains("sk-secret-1"), "{shown}");
    }
}
