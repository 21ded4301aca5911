//! Why a report could not be made.

use std::path::{Path, PathBuf};

/// Errors of the report crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] candor_store::Error),
    /// A finding that was there is not any more.
    #[error("the finding {id} is no longer in the store")]
    Gone {
        /// Its id.
        id: String,
    },
    /// A file or folder cannot be written.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// There is something else where the report should go.
    #[error(
        "{} is there and is not a candor report (it has no report.json); give an empty or new folder",
        path.display()
    )]
    Occupied {
        /// Where.
        path: PathBuf,
    },
    /// A template cannot be rendered: a bug of ours.
    #[error("cannot render a page: {0}")]
    Render(#[from] askama::Error),
    /// Data that cannot be written as JSON: a bug of ours.
    #[error("cannot write JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// The server cannot listen.
    #[error("cannot listen on {address}: {source}; choose another with --serve=ADDRESS:PORT")]
    Listen {
        /// Where.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The server failed.
    #[error("the live report stopped: {0}")]
    Serve(std::io::Error),
}

impl Error {
    pub(crate) fn file(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Error::File {
            action,
            path: path.to_owned(),
            source,
        }
    }
}
