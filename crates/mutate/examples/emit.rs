//! Seeds and variants as files, to measure what compiling them covers of a compiler built with `--coverage`.
//!
//! `cargo run --release -p candor-mutate --example emit -- 50 DIR` writes DIR/seeds, DIR/dead (ten variants each by Orion and
//! Athena) and DIR/all (ten variants each by all strategies). docs/mutate.md says how the table was made.

use std::path::Path;
use std::process::{Command, ExitCode};

use candor_mutate::{Choice, Settings, Strategy, Workbench, profile, save, variant};
use candor_source::Clang;
use candor_toolchain::{Program, Sandbox, Scratch, discover};

const OPTIONS: &str =
    "--no-packed-struct --no-unions --max-funcs 5 --max-block-depth 4 --max-expr-complexity 6";
const SMALLEST: usize = 7 << 10;
const VARIANTS: u64 = 10;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("emit: {message}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [count, directory] = words.as_slice() else {
        return Err("expected a number of seeds and a directory".into());
    };
    let wanted: u64 = count.parse().map_err(|_| "expected a number of seeds")?;
    let directory = Path::new(directory);
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let sandbox = Sandbox::detect();
    let scratch = Scratch::new().map_err(|e| text(&e))?;
    let clang = Clang::find().map_err(|e| text(&e))?;
    let (compilers, _) = discover(&sandbox, &scratch).map_err(|e| text(&e))?;
    let bench = Workbench::new(&sandbox, &scratch, &clang, &compilers).map_err(|e| text(&e))?;

    let (mut written, mut seed) = (0, 5000_u64);
    while written < wanted {
        seed += 1;
        let output = Command::new("csmith")
            .current_dir(std::env::temp_dir())
            .args(OPTIONS.split_whitespace())
            .args(["--seed", &seed.to_string()])
            .output()
            .map_err(|e| text(&e))?;
        let source = String::from_utf8(output.stdout).map_err(|e| text(&e))?;
        if source.len() < SMALLEST {
            continue;
        }
        let name = format!("csmith{seed}.c");
        let program = Program::from_text(Path::new(&name), source);
        let settings = Settings {
            seed,
            ..Settings::default()
        };
        let Ok(profile) = profile(&bench, &program, &settings) else {
            continue;
        };
        written += 1;
        save::write_file(
            &directory.join("seeds").join(&name),
            program.text.as_bytes(),
        )
        .map_err(|e| text(&e))?;
        let dead = vec![Strategy::Orion, Strategy::Athena];
        for (folder, strategies) in [("dead", dead), ("all", Strategy::ALL.to_vec())] {
            let choice = Choice {
                strategies,
                seed,
                ..Choice::default()
            };
            for number in 1..=VARIANTS {
                let variant = variant(&program, &profile, &choice, number);
                save::save(&variant, &program, &directory.join(folder)).map_err(|e| text(&e))?;
            }
        }
    }
    Ok(())
}
