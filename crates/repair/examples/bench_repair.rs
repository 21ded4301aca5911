//! One function changed in a large program: our editing against writing all debug information anew by gimli's conversion, in one run.
//!
//! `cargo run --release -p candor-repair --example bench_repair -- SOURCE PROGRAM FUNCTION OUTPUT` (a program of `scripts/large-program.sh`).
//! The proof is made before and not counted.
use std::borrow::Cow;
use std::time::Instant;

use candor_dwarf::rewrite::Rewriter;
use candor_prove::image::Image;
use candor_prove::{Outcome, Prover, Settings, source_ir};
use candor_repair::{Switches, accept, plan};
use candor_toolchain::{Sandbox, Scratch};
use gimli::write;
use object::{Object, ObjectSection};

type Anyhow<T> = Result<T, Box<dyn std::error::Error>>;

/// The most memory this process has had, in MB.
fn peak() -> Anyhow<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes / 1024)
}

fn main() -> Anyhow<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, program, function, output] = &arguments[..] else {
        return Err("give SOURCE PROGRAM FUNCTION OUTPUT".into());
    };
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new()?;
    let module = source_ir(&sandbox, &scratch, source.as_ref(), &[])?;
    let image = Image::load(program.as_ref())?;
    let prover = Prover::new(&sandbox, &scratch, Settings::default());
    let verdict = prover.prove(&image, &module, function)?;
    let Outcome::Proved(proof) = verdict.outcome else {
        return Err(format!("not proved: {:?}", verdict.outcome).into());
    };
    let before = std::fs::read(program)?;
    println!("{} bytes; with the proof {} MB", before.len(), peak()?);

    let started = Instant::now();
    let mut rewriter = Rewriter::new(before.clone())?;
    let described = rewriter.describe(function)?;
    let relocatable = rewriter.is_relocatable();
    let switches = Switches::default();
    let planned = plan(&image, &module, &proof, &described, relocatable, switches)?;
    rewriter.apply(function, &planned.changes)?;
    let after = rewriter.into_bytes();
    let ours = started.elapsed();
    println!(
        "ours: {:.2} s, {} -> {} bytes, at most {} MB",
        ours.as_secs_f64(),
        before.len(),
        after.len(),
        peak()?
    );
    let started = Instant::now();
    println!("{:?}", accept(&sandbox, &scratch, &before, &after)?);
    println!(
        "acceptance: {:.2} s, at most {} MB",
        started.elapsed().as_secs_f64(),
        peak()?
    );
    candor_repair::write(program.as_ref(), output.as_ref(), &after)?;

    let started = Instant::now();
    let file = object::File::parse(&*before)?;
    let load = |id: gimli::SectionId| -> Anyhow<Cow<'_, [u8]>> {
        Ok(match file.section_by_name(id.name()) {
            Some(section) => section.uncompressed_data()?,
            None => Cow::Borrowed(&[][..]),
        })
    };
    let sections = gimli::DwarfSections::load(load)?;
    let dwarf = sections.borrow(|bytes| gimli::EndianSlice::new(bytes, gimli::LittleEndian));
    let mut whole = write::Dwarf::from(&dwarf, &|address| Some(write::Address::Constant(address)))?;
    let mut written = write::Sections::new(write::EndianVec::new(gimli::LittleEndian));
    whole.write(&mut written)?;
    let theirs = started.elapsed();
    println!(
        "gimli's conversion: {:.2} s, at most {} MB",
        theirs.as_secs_f64(),
        peak()?
    );
    println!(
        "ratio {:.1}",
        theirs.as_secs_f64() / ours.as_secs_f64().max(1e-6)
    );
    Ok(())
}
