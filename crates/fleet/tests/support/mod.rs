//! Real nats-servers on this machine's loopback, on free ports, gone at the end of the test.
#![allow(dead_code, clippy::unwrap_used)]

pub mod campaign;

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Some server with this configuration.
pub struct Server {
    child: Option<Child>,
    config: PathBuf,
    pub port: u16,
    folder: tempfile::TempDir,
}

/// A port that nobody listens on just now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

impl Server {
    /// With JetStream.
    pub fn start() -> Self {
        Self::with("jetstream { store_dir: \"STORE\" }\n")
    }

    /// With this configuration; STORE stands for a folder of its own.
    pub fn with(text: &str) -> Self {
        Self::on(free_port(), text)
    }

    pub fn on(port: u16, text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let text = text.replace("STORE", &store.display().to_string());
        let config = folder.path().join("nats.conf");
        std::fs::write(&config, format!("listen: 127.0.0.1:{port}\n{text}")).unwrap();
        let mut server = Server {
            child: None,
            config,
            port,
            folder,
        };
        server.restart();
        server.wait();
        server
    }

    pub fn restart(&mut self) {
        self.kill();
        let log = std::fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.folder.path().join("log"))
            .unwrap();
        let child = Command::new("/usr/sbin/nats-server")
            .arg("-c")
            .arg(&self.config)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("nats-server is installed by scripts/install.sh --tests");
        self.child = Some(child);
    }

    /// With -9.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub fn wait(&self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let log = std::fs::read_to_string(self.folder.path().join("log"));
            assert!(begun.elapsed() < Duration::from_secs(30), "{log:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Memory in use, in bytes.
    pub fn memory(&self) -> u64 {
        let Some(child) = &self.child else { return 0 };
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let line = status
            .lines()
            .find(|line| line.starts_with("VmRSS"))
            .unwrap();
        let kilobytes = line.split_whitespace().nth(1).unwrap();
        kilobytes.parse::<u64>().unwrap() * 1024
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Three servers that keep everything three times.
pub fn cluster() -> Vec<Server> {
    let clients: Vec<u16> = (0..3).map(|_| free_port()).collect();
    let routes: Vec<u16> = (0..3).map(|_| free_port()).collect();
    let all: Vec<String> = routes
        .iter()
        .map(|port| format!("nats://127.0.0.1:{port}"))
        .collect();
    let mut servers = Vec::new();
    for (number, (client, route)) in clients.iter().zip(&routes).enumerate() {
        let text = format!(
            "server_name: n{number}\njetstream {{ store_dir: \"STORE\" }}\n\
             cluster {{ name: candor, listen: 127.0.0.1:{route}, routes: [{}] }}\n",
            all.join(", ")
        );
        servers.push(Server::on(*client, &text));
    }
    servers
}

/// All addresses of a cluster.
pub fn urls(servers: &[Server]) -> String {
    let all: Vec<String> = servers.iter().map(Server::url).collect();
    all.join(",")
}
