//! What kinds of files are read, and what is said of those that are not.

#![allow(clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use candor_dwarf::{Error, Image, Observation, SiteOptions, Svma, SymbolKind, Value};
use support::{Anything, Fake, body_of, build, debug_build, observe, site};

const PROGRAM: &str = "int global = 7;\nstatic int hidden[3];\nint main(int argc, char **argv) {\n  int local = argc + global;\n  hidden[1] = local;\n  return local;\n}\n";

fn assert_reads(image: &Image) {
    let site = site(image, body_of(image, "main"));
    assert_eq!(site.function, "main");
    let bytes = 7u32.to_le_bytes().to_vec();
    let machine = Fake {
        memory: vec![(image.symbol("global").unwrap().address.0, bytes)],
        ..Fake::default()
    };
    assert_eq!(
        observe(image, &site, &machine, "global"),
        Observation::Value(Value::Signed(7))
    );
    assert!(matches!(
        observe(image, &site, &Fake::default(), "global"),
        Observation::Unreadable(_)
    ));
}

#[test]
fn compressed_sections_are_unpacked() {
    for (compiler, flags) in [
        ("gcc-12", ["-g", "-gz=zlib", "-no-pie", "-O0"]),
        ("clang-19", ["-g", "-gz=zlib", "-no-pie", "-O0"]),
        ("clang-16", ["-g", "-gz=zlib", "-no-pie", "-gdwarf-4"]),
    ] {
        let built = build(compiler, &flags, PROGRAM);
        let image = built.image();
        assert_reads(&image);
        let refused = image.location_spans("main", "local");
        assert!(
            matches!(refused, Err(Error::Compressed { .. })),
            "{refused:?}"
        );
    }
    // The linker here cannot write zstd, but objcopy can pack what it wrote, in both styles.
    for style in ["zlib-gnu", "zstd"] {
        let built = debug_build("gcc-12", "-O0", 5, PROGRAM);
        let packed = Command::new("objcopy")
            .arg(format!("--compress-debug-sections={style}"))
            .arg(&built.path)
            .output()
            .unwrap();
        let packed = packed.status.success()
            || Command::new("llvm-objcopy-19")
                .arg(format!("--compress-debug-sections={style}"))
                .arg(&built.path)
                .status()
                .unwrap()
                .success();
        assert!(packed, "{style}");
        assert_reads(&built.image());
    }
}

#[test]
fn split_debug_information_is_read_beside_the_program() {
    for (compiler, dwarf) in [
        ("gcc-12", "-gdwarf-5"),
        ("gcc-12", "-gdwarf-4"),
        ("clang-19", "-gdwarf-5"),
        ("clang-14", "-gdwarf-4"),
    ] {
        let built = build(
            compiler,
            &["-g", dwarf, "-gsplit-dwarf", "-no-pie", "-O0"],
            PROGRAM,
        );
        assert_reads(&built.image());
        let functions = built.image().functions().unwrap();
        assert_eq!(&*functions[0].name, "main");
        for file in std::fs::read_dir(built.directory.path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "dwo") {
                std::fs::remove_file(path).unwrap();
            }
        }
        match Image::open(&built.path) {
            Err(error @ Error::SplitDwarf { .. }) => {
                assert!(error.to_string().contains("-gno-split-dwarf"))
            }
            other => panic!("{compiler} {dwarf}: {other:?}"),
        }
    }
}

#[test]
fn files_without_debug_information_say_what_to_do() {
    let built = build("gcc-12", &["-g0", "-s"], PROGRAM);
    let error = Image::open(&built.path).unwrap_err();
    assert!(
        matches!(error, Error::NoDebugInfo { debuglink: None }),
        "{error}"
    );
    assert!(error.to_string().contains("-g"));

    let built = debug_build("gcc-12", "-O0", 5, PROGRAM);
    let moved = built.directory.path().join("program.debug");
    let objcopy = |arguments: &[&std::ffi::OsStr]| {
        assert!(
            Command::new("objcopy")
                .args(arguments)
                .status()
                .unwrap()
                .success()
        )
    };
    objcopy(&[
        "--only-keep-debug".as_ref(),
        built.path.as_ref(),
        moved.as_ref(),
    ]);
    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&moved);
    objcopy(&["--strip-debug".as_ref(), &link, built.path.as_ref()]);
    let error = Image::open(&built.path).unwrap_err().to_string();
    assert!(error.contains("program.debug"), "{error}");
}

#[test]
fn what_is_no_program_is_refused() {
    assert!(matches!(
        Image::open(Path::new("/nonexistent/program")),
        Err(Error::Io { .. })
    ));
    assert!(matches!(
        Image::open(Path::new("/")),
        Err(Error::NotElf { .. })
    ));
    assert!(matches!(
        Image::from_bytes(Vec::new()),
        Err(Error::NotElf { .. })
    ));
    assert!(matches!(
        Image::from_bytes(b"#!/bin/sh\n".to_vec()),
        Err(Error::NotElf { .. })
    ));
    assert!(matches!(
        Image::from_bytes(b"\x7fELF".to_vec()),
        Err(Error::NotElf { .. })
    ));
    let object = build("gcc-12", &["-g", "-c"], PROGRAM);
    let error = Image::open(&object.path).unwrap_err().to_string();
    assert!(error.contains("not linked"), "{error}");

    let good = debug_build("gcc-12", "-O0", 5, PROGRAM).bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = good.clone();
        bytes[at] = byte;
        Image::from_bytes(bytes)
    };
    assert!(Image::from_bytes(good.clone()).is_ok());
    assert!(
        matches!(with(4, 1), Err(Error::WrongMachine { .. })),
        "32-bit"
    );
    assert!(
        matches!(with(5, 2), Err(Error::WrongMachine { .. })),
        "big-endian"
    );
    assert!(
        matches!(with(18, 183), Err(Error::WrongMachine { .. })),
        "aarch64"
    );
    assert!(Image::from_bytes(good[..good.len() / 2].to_vec()).is_err());
}

#[test]
fn symbols_and_position() {
    let fixed = debug_build("gcc-12", "-O0", 5, PROGRAM).image();
    assert!(!fixed.is_pie());
    let global = fixed.symbol("global").unwrap();
    assert_eq!((global.size, global.kind), (4, SymbolKind::Object));
    assert_eq!(fixed.symbol("main").unwrap().kind, SymbolKind::Function);
    assert_eq!(
        fixed.symbolise(Svma(global.address.0 + 3)),
        Some(("global", 3))
    );
    let hidden = fixed.symbol("hidden").unwrap();
    assert_eq!(
        fixed.symbolise(Svma(hidden.address.0 + 8)),
        Some(("hidden", 8))
    );
    assert_eq!(fixed.symbolise(Svma(1)), None);
    assert_eq!(fixed.symbolise(fixed.entry()), Some(("_start", 0)));
    let moving = build("clang-19", &["-g", "-pie", "-fPIE"], PROGRAM).image();
    assert!(moving.is_pie());
    let address = moving.symbol("global").unwrap().address.0;
    let site = site(&moving, body_of(&moving, "main"));
    let machine = Fake {
        bias: 0x5555_0000,
        memory: vec![(address + 0x5555_0000, vec![1, 0, 0, 0])],
        ..Fake::default()
    };
    assert_eq!(
        observe(&moving, &site, &machine, "global"),
        Observation::Value(Value::Signed(1))
    );
}

/// The test program itself: tens of megabytes of Rust with the standard library inside.
#[test]
fn a_large_program_opens_at_once() {
    let own = std::env::current_exe().unwrap();
    let start = Instant::now();
    let image = Image::open(&own).unwrap();
    let opened = start.elapsed();
    assert!(opened < Duration::from_millis(500), "{opened:?}");
    let symbol = image.symbol("main").unwrap();
    let start = Instant::now();
    let found = image.site(symbol.address, &SiteOptions::default());
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    // `main` is written by rustc itself and may have no entry of its own; either answer comes fast.
    if let Ok(site) = found {
        let mut out = Vec::new();
        image.observe(&site, &Anything, &mut out);
        assert_eq!(out.len(), site.leaves().len());
    }
}

#[test]
fn images_are_shared_between_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Image>();
    shared::<candor_dwarf::Site>();
}
