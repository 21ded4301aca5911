//! The report, live: the same pages made when they are asked for.
//!
//! Only what [`Site`] knows is served, nothing is read from a path. Requests whose `Host` is not this machine's
//! are refused: a page elsewhere must not read the report through the reader's browser (DNS rebinding).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use candor_store::Store;

use crate::Error;
use crate::site::Site;

/// Nothing but the report's own style and script; no inline code, no frames, no forms.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Where to listen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeOptions {
    /// Address and port; port 0 takes a free one.
    pub address: SocketAddr,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            address: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8417),
        }
    }
}

struct Served {
    store: Arc<dyn Store>,
    address: SocketAddr,
}

/// Serves until `stop` says so; `ready` is told the address that is listened on.
pub fn serve(
    store: Arc<dyn Store>,
    options: &ServeOptions,
    ready: impl FnOnce(SocketAddr),
    stop: impl Fn() -> bool + Send + Sync,
) -> Result<(), Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::Serve)?;
    runtime.block_on(async {
        let cannot = |source| Error::Listen {
            address: options.address,
            source,
        };
        let listener = tokio::net::TcpListener::bind(options.address)
            .await
            .map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let served = Arc::new(Served { store, address });
        let router = Router::new().fallback(answer).with_state(served);
        ready(address);
        let over = async {
            while !stop() {
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        // open connections of browsers that poll must not hold up the end
        tokio::select! {
            ended = axum::serve(listener, router) => ended.map_err(Error::Serve),
            () = over => Ok(()),
        }
    })
}

async fn answer(State(served): State<Arc<Served>>, request: Request) -> Response {
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok())
        .or_else(|| {
            request
                .uri()
                .authority()
                .map(|authority| authority.as_str())
        });
    if !host.is_some_and(|host| is_ours(host, served.address)) {
        return plain(
            StatusCode::MISDIRECTED_REQUEST,
            "this report is served for this machine only\n",
        );
    }
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    // reading the store blocks; the few readers of a local report can wait for each other, the poll must not
    let made = tokio::task::spawn_blocking(move || page(&*served.store, &path)).await;
    match made {
        Ok(Ok(Some((mime, bytes)))) => respond(StatusCode::OK, mime, bytes),
        Ok(Ok(None)) => plain(StatusCode::NOT_FOUND, "there is no such page\n"),
        Ok(Err(error)) => plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{error}\n")),
        Err(_) => plain(
            StatusCode::INTERNAL_SERVER_ERROR,
            "the page could not be made\n",
        ),
    }
}

fn page(store: &dyn Store, path: &str) -> Result<Option<(&'static str, Vec<u8>)>, Error> {
    if path == "revision" {
        let revision = store.revision()?;
        return Ok(Some((
            "text/plain; charset=utf-8",
            revision.to_string().into_bytes(),
        )));
    }
    let content = Site::read(store, true)?.get(path)?;
    Ok(content.map(|content| (content.mime, content.bytes)))
}

/// Whether a `Host` header names the address that is listened on, or this machine's loopback.
fn is_ours(host: &str, address: SocketAddr) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => {
            (name, Some(port))
        }
        _ => (host, None),
    };
    if port.is_some_and(|port| port.parse() != Ok(address.port())) {
        return false;
    }
    let bare = name
        .strip_prefix('[')
        .and_then(|name| name.strip_suffix(']'))
        .unwrap_or(name);
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.is_loopback() || ip == address.ip() || address.ip().is_unspecified(),
        Err(_) => bare.eq_ignore_ascii_case("localhost"),
    }
}

fn plain(status: StatusCode, text: &str) -> Response {
    respond(
        status,
        "text/plain; charset=utf-8",
        text.as_bytes().to_vec(),
    )
}

fn respond(status: StatusCode, mime: &'static str, bytes: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, mime),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_names_are_answered() {
        let address: SocketAddr = "127.0.0.1:8417".parse().unwrap();
        for ours in [
            "127.0.0.1:8417",
            "localhost:8417",
            "LOCALHOST",
            "[::1]:8417",
            "127.0.0.1",
        ] {
            assert!(is_ours(ours, address), "{ours}");
        }
        for foreign in [
            "evil.example:8417",
            "localhost.evil.example:8417",
            "127.0.0.1.evil.example",
            "127.0.0.1:80",
            "192.0.2.1:8417",
            "",
            "localhost:8417:8417",
            "user@localhost",
        ] {
            assert!(!is_ours(foreign, address), "{foreign}");
        }
        let wide: SocketAddr = "0.0.0.0:80".parse().unwrap();
        assert!(is_ours("192.0.2.1", wide) && !is_ours("evil.example", wide));
    }
}
