//! Stage 1: the culprit pass of the stock compiler.
//!
//! `search` and `grouping` are the two ways of asking; `clang`, `gcc` and `rustc` know their compilers;
//! `ranking` orders what came out.

pub mod clang;
pub mod gcc;
pub mod grouping;
pub mod ranking;
pub mod rustc;
pub mod search;
