//! Which of a compiler's own files and lines a compilation reached, and which of them are suspect.
//!
//! In: a compiler's source tree, to build a compiler that records what it executes; then programs to
//! compile with it. Out: for each compilation a [`Cover`], the set of the compiler's statements that
//! ran; and from the covers of one failing and many passing compilations a [`Ranking`] of the
//! compiler's files (paper 003, §4.3).
//!
//! The steps, in the order of the files:
//! 1. [`mod@prepare`]: builds a coverage compiler (gcc's cc1, tcc, or one that exists with gcov), with the
//!    run-time in `runtime/`: plan first, then steps that resume where they stopped.
//! 2. [`cover`]: sets of statements, and their distance.
//! 3. [`map`]: from the blocks of the finished program to files, lines and functions, by its debug
//!    information; kept beside the program.
//! 4. [`import`]: coverage that other tools wrote (lcov tracefiles, gcov's JSON).
//! 5. [`compiler`]: the prepared compiler: opens a directory, compiles a program, gives its cover.
//! 6. [`spectrum`]: how suspicious a statement is (Ochiai).
//! 7. [`ranking`]: from statements to files: the paper's mean, or the fusion of several voters by
//!    reciprocal rank; with the evidence.
//! 8. [`metrics`]: how well rankings do on bugs whose file is known (Top-N, MFR, MAR).
//!
//! Nothing here knows how witnesses are found; that is `candor-isolate`'s.

pub mod compiler;
pub mod cover;
mod error;
mod files;
pub mod import;
pub mod map;
pub mod metrics;
pub mod prepare;
pub mod ranking;
pub mod spectrum;

pub use compiler::{Compiled, CoverageCompiler, Covered, Kind, Manifest};
pub use cover::Cover;
pub use error::Error;
pub use map::{Map, Statement};
pub use metrics::{Position, Tally};
pub use prepare::{Plan, Progress, Recipe, Request, prepare};
pub use ranking::{Formula, RankedFile, Ranking, Vote, Voter, Voters, rank};
pub use spectrum::Spectrum;
