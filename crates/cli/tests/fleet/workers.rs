//! `candor hunt --fleet`, `candor report --fleet`, `candor fleet status` against a real broker.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use candor_fleet::{Broker, Fleet};
use candor_store::SqliteStore;
use serde_json::Value;

use crate::place::{Place, essence};

/// A broker of this test's own; gone with it.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(place: &Place) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let child = Command::new("/usr/sbin/nats-server")
            .args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"])
            .arg(place.path("broker"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nats-server is installed by scripts/install.sh --tests");
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(20));
        }
        let url = format!("nats://127.0.0.1:{port}");
        Server { child, url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Until a worker says this event; what it said.
fn wait_for(worker: &mut Child, event: &str) {
    let lines = BufReader::new(worker.stdout.take().unwrap()).lines();
    let wanted = format!("\"event\":\"{event}\"");
    for line in lines {
        if line.unwrap().contains(&wanted) {
            return;
        }
    }
    panic!("the worker ended before it said {event}");
}

#[test]
fn workers_of_a_fleet_find_what_one_hunt_finds_though_one_is_killed() {
    let place = Place::new(8, 3);
    let server = Server::start(&place);
    let local = place.hunt(0).args(["--store", "whole"]).output().unwrap();
    assert_eq!(local.status.code(), Some(1), "{}", words(&local));
    let fleet = |command: &mut Command, campaign: &str| {
        command.args(["--fleet", &server.url, "--campaign", campaign]);
        command.env("XDG_STATE_HOME", place.path("state"));
    };

    // The first begins the campaign and is killed when it has judged something.
    let mut first = place.hunt(0);
    fleet(&mut first, "tiny");
    first
        .args(["--begin", "--lease", "3s"])
        .stdout(Stdio::piped());
    let mut first = first.spawn().unwrap();
    wait_for(&mut first, "judged");
    first.kill().unwrap();
    first.wait().unwrap();

    // The second knows nothing but the broker: settings and programs are the campaign's.
    let mut second = place.candor();
    second.args(["hunt", "--cc", "planted-cc", "--share", "0", "--jobs", "2"]);
    fleet(&mut second, "tiny");
    second.current_dir("/");
    std::fs::rename(place.path("corpus"), place.path("moved")).unwrap();
    let output = second.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    std::fs::rename(place.path("moved"), place.path("corpus")).unwrap();

    let whole = essence(&SqliteStore::open(&place.path("whole")).unwrap());
    assert_eq!((whole.0.len(), whole.1), (3, 8));
    let broker = Broker {
        url: server.url.clone(),
        ..Broker::default()
    };
    let store = Fleet::connect(&broker).unwrap().look("tiny").unwrap();
    assert_eq!(essence(&store), whole);
    drop(store);

    reports(&place, &fleet, whole.2.len());
    refusals(&place, &fleet);
}

fn reports(place: &Place, fleet: &dyn Fn(&mut Command, &str), findings: usize) {
    let mut report = place.candor();
    report.args(["report", "--html", "out"]);
    fleet(&mut report, "tiny");
    let output = report.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let index = std::fs::read_to_string(place.path("out").join("index.html")).unwrap();
    assert!(index.contains("fold_0"), "the page names what was found");
    let mut status = place.candor();
    status.args(["fleet", "status", "--json"]);
    fleet(&mut status, "tiny");
    let output = status.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let value: Value = serde_json::from_slice(&output.stdout).unwrap();
    let campaign = &value["campaigns"][0];
    assert_eq!(campaign["finished"], 8);
    assert_eq!(campaign["findings"], findings);
    let workers = campaign["workers"].as_array().unwrap();
    assert_eq!(workers.len(), 2);
    assert_eq!(
        (&workers[0]["left"], &workers[1]["left"]),
        (&false.into(), &true.into())
    );
}

fn refusals(place: &Place, fleet: &dyn Fn(&mut Command, &str)) {
    let refused = |arguments: &[&str], campaign: &str| {
        let mut command = place.candor();
        command.args(arguments);
        fleet(&mut command, campaign);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", words(&output));
        words(&output)
    };
    let hunt = ["hunt", "--cc", "planted-cc"];
    assert!(refused(&hunt, "tinny").contains("did you mean tiny?"));
    assert!(refused(&["report"], "tin").contains("did you mean tiny?"));
    let other = refused(&["hunt", "--cc", "planted-cc", "-O3"], "tiny");
    assert!(other.contains("levels: -O0 -O2, not -O3"), "{other}");
    let lacking = refused(&["hunt", "--cc", "gcc-12"], "tiny");
    assert!(
        lacking.contains("none of the campaign's compilers is here"),
        "{lacking}"
    );
    let mut plain = place.candor();
    plain.args(["fleet", "status", "--fleet", "nats://192.0.2.1:4222"]);
    let output = plain.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(words(&output).contains("--insecure"), "{}", words(&output));
}
