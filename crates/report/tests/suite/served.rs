//! The live report over HTTP, as browsers and others ask for it.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use candor_report::{ServeOptions, serve};
use candor_store::{SqliteStore, Store};

use crate::real::made;

/// A server that stops when dropped.
pub struct Served {
    pub address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Served {
    pub fn new(store: Arc<dyn Store>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let options = ServeOptions {
                address: "127.0.0.1:0".parse().unwrap(),
            };
            let ready = |address| sender.send(address).unwrap();
            serve(store, &options, ready, move || {
                stopped.load(Ordering::Relaxed)
            })
            .unwrap();
        });
        Served {
            address: receiver.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn get(&self, path: &str, host: &str) -> String {
        self.ask(&format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("")
}

#[test]
fn pages_for_this_machine_and_for_nobody_else() {
    let served = Served::new(made().store.clone());
    let host = format!("127.0.0.1:{}", served.address.port());
    let index = served.get("/", &host);
    assert_eq!(status(&index), "200");
    assert!(index.contains("data-live") && index.contains("http-equiv=\"refresh\""));
    assert!(
        index
            .to_lowercase()
            .contains("content-security-policy: default-src 'none'")
    );
    let id = made().store.groups().unwrap()[0]
        .representative
        .id
        .0
        .clone();
    assert_eq!(
        status(&served.get(&format!("/finding/{id}.html"), &host)),
        "200"
    );
    assert_eq!(
        status(&served.get(&format!("/finding/{id}/finding.json"), &host)),
        "200"
    );
    assert_eq!(status(&served.get("/style.css", &host)), "200");

    for foreign in ["evil.example", "evil.example:80", "127.0.0.1:1", ""] {
        assert_eq!(status(&served.get("/", foreign)), "421", "{foreign}");
    }
    let posted = served.ask(&format!(
        "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    ));
    assert_eq!(status(&posted), "405");
}

#[test]
fn nothing_outside_the_report_is_served() {
    let served = Served::new(made().store.clone());
    let host = format!("localhost:{}", served.address.port());
    for path in [
        "/../../etc/passwd",
        "/finding/../../../etc/passwd",
        "/finding/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/store/hunt.sqlite",
        "/objects/",
        "/finding/",
        "/finding/x.html",
        "/source/.html",
        "/.part",
    ] {
        let answer = served.get(path, &host);
        assert_eq!(status(&answer), "404", "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
}

#[test]
fn the_revision_follows_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(SqliteStore::create(&directory.path().join("store")).unwrap());
    let served = Served::new(store.clone());
    let host = format!("localhost:{}", served.address.port());
    let revision = || {
        let answer = served.get("/revision", &host);
        answer.rsplit("\r\n").next().unwrap().to_owned()
    };
    let before = revision();
    assert_eq!(before, revision());
    assert!(served.get("/", &host).contains("Nothing found yet"));
    store.note("test", &serde_json::json!({})).unwrap();
    assert_ne!(before, revision());
}
