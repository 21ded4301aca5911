//! The strategies, one per file: each makes one snippet for one point, or says that it has none.

mod athena;
mod fcb;
mod orion;
mod tcb;
mod tg;

use candor_source::{Point, Unit};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::body::Surroundings;
use crate::environment::Environment;
use crate::place::Survey;
use crate::predicate::Predicate;

/// Which strategy made a snippet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// False conditional block.
    Fcb,
    /// True guard.
    Tg,
    /// True conditional block.
    Tcb,
    /// Deletes unexecuted statements.
    Orion,
    /// Inserts into unexecuted regions.
    Athena,
}

impl Strategy {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Fcb, Self::Tg, Self::Tcb, Self::Orion, Self::Athena];

    /// As on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fcb => "fcb",
            Self::Tg => "tg",
            Self::Tcb => "tcb",
            Self::Orion => "orion",
            Self::Athena => "athena",
        }
    }

    /// The strategy of that name.
    ///
    /// # Errors
    /// [`Error::UnknownStrategy`]
    pub fn parse(name: &str) -> Result<Self, Error> {
        let found = Self::ALL
            .into_iter()
            .find(|strategy| strategy.name() == name);
        found.ok_or_else(|| Error::UnknownStrategy {
            name: name.to_owned(),
        })
    }

    /// One paragraph: what it does, why, and where it comes from.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fcb => fcb::ABOUT,
            Self::Tg => tg::ABOUT,
            Self::Tcb => tcb::ABOUT,
            Self::Orion => orion::ABOUT,
            Self::Athena => athena::ABOUT,
        }
    }

    /// Whether it works on executed code.
    #[must_use]
    pub fn is_live(self) -> bool {
        matches!(self, Self::Fcb | Self::Tg | Self::Tcb)
    }

    /// Why a snippet of it changes nothing.
    #[must_use]
    pub fn why_safe(self) -> &'static str {
        match self {
            Self::Fcb => {
                "the condition is false for every tuple of values seen here, so the body never runs"
            }
            Self::Tg => {
                "the condition is true for every tuple of values seen here, so the statement runs as before"
            }
            Self::Tcb => {
                "the block runs, computes only what is defined for every tuple seen here, and restores what it changed"
            }
            Self::Orion => "the statement was not executed on this input in any profile build",
            Self::Athena => "the place was not reached on this input in any profile build",
        }
    }
}

/// What a strategy has to work with at a point.
pub struct Site<'a> {
    /// The place.
    pub point: &'a Point,
    /// The file.
    pub unit: &'a Unit,
    /// What is known there; empty at dead points.
    pub environment: &'a Environment,
    /// What dead code there can use.
    pub surroundings: &'a Surroundings,
    /// Begins the names of new variables.
    pub prefix: &'a str,
}

/// What a strategy made.
#[derive(Debug, Clone, Default)]
pub struct Made {
    /// Put in front of the point, or in the place of the removed range.
    pub text: String,
    /// The range taken away, if any.
    pub removed: Option<std::ops::Range<usize>>,
    /// The predicates it relies on.
    pub predicates: Vec<Predicate>,
}

impl Strategy {
    /// A snippet for `site`; `None` when there is none.
    pub fn make(self, site: &Site<'_>, random: &mut fastrand::Rng) -> Option<Made> {
        match self {
            Self::Fcb => fcb::make(site, random),
            Self::Tg => tg::make(site, random),
            Self::Tcb => tcb::make(site, random),
            Self::Orion => orion::make(site, random),
            Self::Athena => athena::make(site, random),
        }
    }
}

/// Whether `survey` allows any snippet at `point`.
pub fn is_allowed(survey: &Survey<'_>, point: &Point) -> bool {
    survey
        .function(point)
        .is_some_and(|function| crate::rules::allows_function(function, survey.rules))
}
