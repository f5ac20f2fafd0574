//! One request and its whole answer, over plain HTTP on this machine or over TLS.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::uri::Scheme;
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use super::options::{EndpointError, OpenAiOptions};
use crate::summarizer::SummarizeError;

/// Longest answer that is read, in bytes.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("contextwire/", env!("CARGO_PKG_VERSION")));

/// A client of one address.
pub(super) struct HttpClient {
    connections: Connections,
    url: Uri,
    key: Option<HeaderValue>,
}

enum Connections {
    Plain(Client<HttpConnector, Full<Bytes>>),
    Tls(Client<HttpsConnector<HttpConnector>, Full<Bytes>>),
}

/// An answer with its whole body.
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    pub(super) retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

impl HttpAnswer {
    pub(super) fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.body)
    }
}

impl HttpClient {
    pub(super) fn new(options: &OpenAiOptions) -> Result<Self, EndpointError> {
        let url = options.endpoint()?;
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(options.connect_timeout));
        let builder = Client::builder(TokioExecutor::new());
        let connections = if url.scheme() == Some(&Scheme::HTTP) {
            Connections::Plain(builder.build(connector))
        } else {
            connector.enforce_http(false);
            let tls = HttpsConnectorBuilder::new().with_native_roots();
            let tls = tls.map_err(EndpointError::Certificates)?;
            let connector = tls.https_only().enable_http1().wrap_connector(connector);
            Connections::Tls(builder.build(connector))
        };
        Ok(Self {
            connections,
            url,
            key: options.key()?,
        })
    }

    pub(super) fn url(&self) -> &Uri {
        &self.url
    }

    /// Sends JSON and waits for the whole answer, whatever its status is.
    pub(super) async fn post(&self, body: String) -> Result<HttpAnswer, SummarizeError> {
        let mut request = Request::new(Full::from(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.url.clone();
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        headers.insert(ACCEPT, JSON);
        headers.insert(USER_AGENT, AGENT);
        if let Some(key) = &self.key {
            headers.insert(AUTHORIZATION, key.clone());
        }
        let response = match &self.connections {
            Connections::Plain(client) => client.request(request).await,
            Connections::Tls(client) => client.request(request).await,
        };
        let (head, body) = response
            .map_err(|error| unsent(&error))
            .map(Response::into_parts)?;
        let body = Limited::new(body, MAX_ANSWER).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                SummarizeError::Unreadable("it is too long")
            } else {
                SummarizeError::BrokenOff
            }
        })?;
        Ok(HttpAnswer {
            status: head.status.as_u16(),
            retry_after: retry_after(&head.headers),
            body: body.to_bytes(),
        })
    }
}

fn unsent(error: &hyper_util::client::legacy::Error) -> SummarizeError {
    if error.is_connect() {
        SummarizeError::Unreachable
    } else {
        SummarizeError::BrokenOff
    }
}

/// Whole seconds; a date is not read.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}
