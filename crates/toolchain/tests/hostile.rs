//! Hostile programs and hostile compilers: each meets a bound, nothing hangs, nothing is left behind.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use candor_toolchain::{
    Bound, Build, Built, Compiler, Ending, Finished, Job, Limits, Sandbox, Scratch, Stage,
};

struct World {
    sandbox: Sandbox,
    scratch: Scratch,
}

impl World {
    fn new() -> Self {
        World {
            sandbox: Sandbox::detect(),
            scratch: Scratch::new().unwrap(),
        }
    }

    /// Compiles `source` with gcc and runs it.
    fn run_c(&self, source: &str, limits: &Limits) -> Finished {
        let directory = self.scratch.job().unwrap();
        let binary = compile(directory.path(), source);
        self.sandbox
            .run(&Job::new(binary, directory.path()), limits)
            .unwrap()
    }

    fn shell(&self, script: &str, limits: &Limits) -> Finished {
        let directory = self.scratch.job().unwrap();
        let job = Job::new("/bin/sh", directory.path()).args(["-c", script]);
        self.sandbox.run(&job, limits).unwrap()
    }
}

fn compile(directory: &Path, source: &str) -> PathBuf {
    let file = directory.join("hostile.c");
    std::fs::write(&file, source).unwrap();
    let binary = directory.join("hostile");
    let status = std::process::Command::new("gcc")
        .args(["-w", "-O1", "-pthread", "-o"])
        .args([&binary, &file])
        .status()
        .unwrap();
    assert!(status.success());
    binary
}

fn quick() -> Limits {
    Limits::program().with_time(Duration::from_secs(2))
}

/// Processes of this machine whose command line contains `mark`.
fn alive(mark: &str) -> usize {
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| {
            std::fs::read(entry.path().join("cmdline"))
                .is_ok_and(|text| String::from_utf8_lossy(&text).contains(mark))
        })
        .count()
}

#[test]
fn an_ordinary_program_is_seen_as_it_is() {
    let world = World::new();
    let directory = world.scratch.job().unwrap();
    let binary = compile(
        directory.path(),
        r#"#include <stdio.h>
           int main(int n, char **a) { int c, s = 0; while ((c = getchar()) != EOF) s += c;
             printf("%d %s\n", s, a[1]); fprintf(stderr, "note"); return 7; }"#,
    );
    let job = Job::new(binary, directory.path()).arg("hello").stdin("ab");
    let run = world.sandbox.run(&job, &quick()).unwrap();
    assert_eq!(run.ending, Ending::Exited(7));
    assert_eq!(run.stdout_text(), "195 hello\n");
    assert_eq!(run.stderr_text(), "note");
    assert!(run.peak_memory > 0);
}

#[test]
fn signals_are_told_from_exits() {
    let world = World::new();
    let abort = world.run_c("#include <stdlib.h>\nint main() { abort(); }", &quick());
    assert_eq!(abort.ending, Ending::Signalled(libc::SIGABRT));
    let fault = world.run_c("int main() { return *(volatile int *)8; }", &quick());
    assert_eq!(fault.ending, Ending::Signalled(libc::SIGSEGV));
    let raised = world.run_c(
        "#include <signal.h>\nint main() { raise(SIGUSR1); return 3; }",
        &quick(),
    );
    assert_eq!(raised.ending, Ending::Signalled(libc::SIGUSR1));
}

#[test]
fn endless_loops_and_sleeps_end_at_their_limit() {
    let world = World::new();
    let cpu = Limits {
        wall: Duration::from_secs(20),
        cpu: Duration::from_secs(1),
        ..Limits::program()
    };
    let spin = world.run_c("int main() { volatile int x = 0; for (;;) x++; }", &cpu);
    assert_eq!(spin.ending, Ending::Exceeded(Bound::Cpu));

    let wall = Limits::program().with_time(Duration::from_millis(300));
    let started = Instant::now();
    let sleeper = world.run_c("int main() { for (;;) sleep(1000); }", &wall);
    assert_eq!(sleeper.ending, Ending::Exceeded(Bound::Wall));
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn ignoring_signals_does_not_help() {
    let world = World::new();
    let wall = Limits::program().with_time(Duration::from_millis(300));
    let run = world.run_c(
        "#include <signal.h>\nint main() { for (int s = 1; s < 64; s++) signal(s, SIG_IGN); for (;;) pause(); }",
        &wall,
    );
    assert_eq!(run.ending, Ending::Exceeded(Bound::Wall));
}

#[test]
fn floods_of_output_are_cut() {
    let world = World::new();
    let limits = Limits {
        output: 100_000,
        ..quick()
    };
    let run = world.run_c(
        "#include <unistd.h>\nint main() { char b[65536]; for (;;) write(1, b, sizeof b); }",
        &limits,
    );
    assert_eq!(run.ending, Ending::Exceeded(Bound::Output));
    assert_eq!(run.stdout.len(), 100_000);
}

#[test]
fn a_fork_bomb_is_bounded_and_leaves_nothing() {
    let world = World::new();
    let directory = world.scratch.job().unwrap();
    // Every child leaves its process group and session: only the namespace holds them together.
    let binary = compile(
        directory.path(),
        "#include <unistd.h>\nint main() { for (;;) { if (fork() == 0) setsid(); } }",
    );
    let limits = Limits {
        wall: Duration::from_secs(5),
        ..Limits::program()
    };
    let run = world
        .sandbox
        .run(&Job::new(&binary, directory.path()), &limits)
        .unwrap();
    assert!(
        matches!(run.ending, Ending::Exceeded(Bound::Processes | Bound::Wall)),
        "{:?}",
        run.ending
    );
    assert_eq!(alive(&binary.display().to_string()), 0);
}

#[test]
fn a_daemon_does_not_outlive_its_run() {
    let world = World::new();
    let directory = world.scratch.job().unwrap();
    let binary = compile(
        directory.path(),
        "#include <unistd.h>\nint main() { if (fork() == 0) { setsid(); if (fork() == 0) { close(0); close(1); close(2); sleep(1000); } _exit(0); } return 5; }",
    );
    let run = world
        .sandbox
        .run(&Job::new(&binary, directory.path()), &quick())
        .unwrap();
    assert_eq!(run.ending, Ending::Exited(5));
    assert_eq!(alive(&binary.display().to_string()), 0);
}

#[test]
fn memory_is_bounded() {
    let world = World::new();
    let limits = Limits {
        memory: Some(256 << 20),
        ..quick()
    };
    let run = world.run_c(
        "#include <stdlib.h>\n#include <string.h>\nint main() { for (;;) { char *p = malloc(1 << 20); if (!p) return 9; memset(p, 1, 1 << 20); } }",
        &limits,
    );
    assert_eq!(run.ending, Ending::Exited(9));
    assert!(run.peak_memory < 300 << 20);
}

#[test]
fn files_stay_small_and_inside() {
    let world = World::new();
    let limits = Limits {
        file_size: 1 << 20,
        ..quick()
    };
    let run = world.run_c(
        "#include <stdio.h>\nint main() { FILE *f = fopen(\"big\", \"w\"); for (;;) fputs(\"xxxxxxxxxxxxxxxx\", f); }",
        &limits,
    );
    assert_eq!(run.ending, Ending::Exceeded(Bound::FileSize));

    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    std::fs::write(&victim, "precious").unwrap();
    let script = format!(
        "echo in > inside && cat inside; echo x > {0}; rm -f {0}; mkdir {1}/new; echo ok > /dev/null && echo null",
        victim.display(),
        outside.path().display()
    );
    let run = world.shell(&script, &quick());
    assert_eq!(run.stdout_text(), "in\nnull\n", "{}", run.stderr_text());
    assert_eq!(std::fs::read_to_string(&victim).unwrap(), "precious");
    assert!(!outside.path().join("new").exists());
}

#[test]
fn there_is_no_network_not_even_loopback() {
    let world = World::new();
    assert!(world.sandbox.capabilities().network_namespace);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let source = format!(
        "#include <arpa/inet.h>\nint main() {{ struct sockaddr_in a = {{AF_INET, htons({port}), {{htonl(0x7f000001)}}}};
         int s = socket(AF_INET, SOCK_STREAM, 0); return connect(s, (void *)&a, sizeof a) == 0; }}"
    );
    assert_eq!(world.run_c(&source, &quick()).ending, Ending::Exited(0));
}

#[test]
fn the_environment_is_cleared_and_aslr_can_be_off() {
    let world = World::new();
    let run = world.shell("env | cut -d= -f1 | sort | tr '\\n' ' '", &quick());
    assert_eq!(run.stdout_text(), "HOME LC_ALL PATH PWD TMPDIR ");

    let directory = world.scratch.job().unwrap();
    let binary = compile(
        directory.path(),
        "#include <stdio.h>\nint main() { int x; printf(\"%p\", &x); }",
    );
    let address = || {
        let job = Job::new(&binary, directory.path()).without_aslr();
        world.sandbox.run(&job, &quick()).unwrap().stdout
    };
    assert_eq!(address(), address());
}

#[test]
fn what_cannot_start_is_an_error_in_words() {
    let world = World::new();
    let directory = world.scratch.job().unwrap();
    let error = |job: Job| world.sandbox.run(&job, &quick()).unwrap_err().to_string();
    assert!(error(Job::new("no-such-tool-here", directory.path())).contains("not found on PATH"));
    let text = directory.write("text", "not a program").unwrap();
    assert!(error(Job::new(text, directory.path())).contains("Permission denied"));
    assert!(error(Job::new("/bin/true", directory.path()).arg("a\0b")).contains("NUL"));
}

#[test]
fn an_interrupt_ends_runs_under_way() {
    let world = World::new();
    let sandbox = world.sandbox.clone();
    let interrupter = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        sandbox.interrupt();
    });
    let directory = world.scratch.job().unwrap();
    let job = Job::new("/bin/sleep", directory.path()).arg("100");
    let started = Instant::now();
    let result = world.sandbox.run(&job, &Limits::program());
    assert!(matches!(result, Err(candor_toolchain::Error::Interrupted)));
    assert!(started.elapsed() < Duration::from_secs(5));
    interrupter.join().unwrap();
}

#[test]
fn many_threads_leak_neither_processes_nor_descriptors_nor_files() {
    let world = World::new();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let run_some = |count: usize| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..count {
                        let directory = world.scratch.job().unwrap();
                        let job = Job::new("/bin/sh", directory.path())
                            .args(["-c", "echo hello > file; cat file"]);
                        let run = world.sandbox.run(&job, &Limits::program()).unwrap();
                        assert_eq!(run.stdout_text(), "hello\n");
                    }
                });
            }
        });
    };
    run_some(2);
    let before = descriptors();
    run_some(50);
    // other tests of this binary run beside us and hold descriptors of their own
    assert!(
        descriptors() < before + 60,
        "{} -> {}",
        before,
        descriptors()
    );
    assert_eq!(world.scratch.path().read_dir().unwrap().count(), 0);
    // SAFETY: asks for any child; a leaked zombie would be one. Others' children are not reaped: WNOWAIT.
    let path = world.scratch.path().display().to_string();
    assert_eq!(alive(&path), 0);
}

/// A compiler that answers `--version` like gcc and then does what `body` says.
fn hostile_compiler(directory: &Path, body: &str) -> String {
    let script = directory.join("cc");
    std::fs::write(
        &script,
        format!(
            "#!/bin/sh\ncase \"$1\" in --version) echo 'gcc (Hostile) 12.0.0'; echo 'Free Software Foundation'; exit;; \
             -dumpmachine) echo x86_64-linux-gnu; exit;; esac\n\
             case \"$*\" in *empty.c*) : > empty.o; exit;; esac\n{body}\n"
        ),
    )
    .unwrap();
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    script.display().to_string()
}

fn build_with(body: &str, limits: &Limits) -> Built {
    let world = World::new();
    let tools = tempfile::tempdir().unwrap();
    let command = hostile_compiler(tools.path(), body);
    let compiler = Compiler::probe(&world.sandbox, &world.scratch, &command).unwrap();
    let directory = world.scratch.job().unwrap();
    let source = directory.write("a.c", "int x;").unwrap();
    let build = Build {
        compiler: &compiler,
        stage: Stage::Object,
        inputs: vec![source],
        flags: vec![],
        output: "a.o".into(),
    };
    let built = build.run(&world.sandbox, directory.path(), limits).unwrap();
    assert_eq!(alive(&command), 0);
    built
}

#[test]
fn hostile_compilers_are_outcomes() {
    let limits = Limits {
        wall: Duration::from_secs(2),
        cpu: Duration::from_secs(1),
        ..Limits::compiler()
    };
    assert_eq!(
        build_with("yes", &limits),
        Built::Exceeded {
            bound: Bound::Output
        }
    );
    assert!(matches!(
        build_with("sleep 1000", &limits),
        Built::TimedOut { .. }
    ));
    assert!(matches!(
        build_with("trap '' TERM INT; while :; do :; done", &limits),
        Built::TimedOut { .. }
    ));
    let forks = build_with("f() { f | f & }; f; sleep 100", &limits);
    assert!(
        matches!(
            forks,
            Built::Exceeded { .. } | Built::TimedOut { .. } | Built::Rejected { .. }
        ),
        "{forks:?}"
    );
    assert!(matches!(
        build_with("echo 'a.c:1:1: error: no' >&2; exit 1", &limits),
        Built::Rejected { .. }
    ));
    assert!(matches!(
        build_with("exit 0", &limits),
        Built::Rejected { .. }
    ));
    let crash = build_with(
        "echo 'a.c:1:5: internal compiler error: in f, at g.cc:3' >&2; exit 1",
        &limits,
    );
    assert!(
        matches!(crash, Built::Crashed { site, .. } if site == "internal compiler error: in f, at g.cc:3")
    );
    assert!(matches!(
        build_with("kill -SEGV $$", &limits),
        Built::Crashed { site, .. } if site == "SIGSEGV"
    ));
    let memory = Limits {
        memory: Some(256 << 20),
        ..limits.clone()
    };
    assert!(matches!(
        build_with(
            "exec perl -e 'my $x = \"a\" x (1 << 30); print length $x'",
            &memory
        ),
        Built::OutOfMemory { .. } | Built::Rejected { .. }
    ));
}

#[test]
fn a_compiler_that_writes_elsewhere_is_held_back() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("written");
    let body = format!("echo x > {} && : > a.o", target.display());
    assert!(matches!(
        build_with(&body, &Limits::compiler()),
        Built::Rejected { .. }
    ));
    assert!(!target.exists());
}

#[test]
fn a_full_disk_is_said_in_words() {
    let world = World::new();
    if !nix::unistd::geteuid().is_root() {
        // Only root may mount a small disk; /dev/full shows the same error to everyone.
        let error = std::fs::write("/dev/full", "x").unwrap_err();
        let error = candor_toolchain::Error::file("write", "/dev/full", error);
        assert!(error.to_string().contains("no space left"));
        return;
    }
    let mount = tempfile::tempdir().unwrap();
    let status = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=64k", "none"])
        .arg(mount.path())
        .status()
        .unwrap();
    assert!(status.success());
    let outcome = std::panic::catch_unwind(|| {
        let small = Scratch::below(mount.path()).unwrap();
        let directory = small.job().unwrap();
        let error = directory.write("big", vec![b'x'; 1 << 20]).unwrap_err();
        assert!(error.to_string().contains("no space left"), "{error}");
        std::fs::remove_file(directory.path().join("big")).unwrap();

        let gcc = Compiler::probe(&world.sandbox, &world.scratch, "gcc").unwrap();
        let source = directory
            .write("a.c", "int a[100000] = {1}; int main() { return a[0]; }")
            .unwrap();
        let build = Build {
            compiler: &gcc,
            stage: Stage::Executable,
            inputs: vec![source],
            flags: vec![],
            output: "a.out".into(),
        };
        let result = build.run(&world.sandbox, directory.path(), &Limits::compiler());
        match result {
            Err(error) => assert!(error.to_string().contains("no space left"), "{error}"),
            Ok(built) => panic!("built on a full disk: {built:?}"),
        }
    });
    std::process::Command::new("umount")
        .arg(mount.path())
        .status()
        .unwrap();
    outcome.unwrap();
}
