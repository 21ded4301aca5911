//! Certificates: a proof as a small file, from which the checking alone is repeated, none of the guessing.
//!
//! A certificate is bound to the machine code and to the source function by hashes, and holds correlation, claims and
//! edges. Rechecking believes nothing in it: a claim that does not hold, an edge that is missing, a number of steps that is
//! wrong make it fail. So a proof does not rest on how it was found.

use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::image::Image;
use crate::ir::Module;
use crate::product::Dropped;
use crate::prove::{Prover, Task, check_all};
use crate::verdict::{Outcome, Proof, Verdict};

/// Version of the format.
const SCHEMA: u32 = 1;
/// Certificates above this size are not read.
const LARGEST: u64 = 64 << 20;

/// Proofs with what they are about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Certificate {
    /// Version of the format.
    pub schema: u32,
    /// One entry per function.
    pub entries: Vec<Entry>,
}

/// The proof of one function.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Hash of the machine code.
    pub code: String,
    /// Hash of the source function's IR.
    pub source: String,
    /// The proof.
    pub proof: Proof,
}

/// FNV-1a over text: tells different versions of a program apart, no more (the proof is checked in any case).
fn fingerprint(text: &str) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for byte in text.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

impl Task<'_> {
    fn code_fingerprint(&self) -> String {
        let mut text = String::new();
        for (at, op) in &self.code.ops {
            text.push_str(&format!(
                "{:x} {} {:?} {:?}\n",
                at - self.code.start,
                crate::image::listing(&op.raw),
                op.displacement,
                op.immediate
            ));
        }
        fingerprint(&text)
    }

    fn source_fingerprint(&self) -> String {
        let mut text = String::new();
        for block in &self.function.blocks {
            text.push_str(&format!("{} {:?} ", block.label, block.phis));
            for step in &block.steps {
                text.push_str(&format!("{:?} {:?} ", step.to, step.inst));
            }
            text.push_str(&format!("{:?}\n", block.terminator));
        }
        fingerprint(&text)
    }
}

impl Certificate {
    /// Makes a certificate of the proofs among some verdicts.
    pub fn new(image: &Image, module: &Module, verdicts: &[Verdict]) -> Self {
        let mut entries = Vec::new();
        for verdict in verdicts {
            if let Outcome::Proved(proof) = &verdict.outcome
                && let Ok(task) = Task::new(image, module, &verdict.function)
            {
                entries.push(Entry {
                    code: task.code_fingerprint(),
                    source: task.source_fingerprint(),
                    proof: (**proof).clone(),
                });
            }
        }
        Certificate {
            schema: SCHEMA,
            entries,
        }
    }

    /// Writes it to a temporary name and renames it.
    pub fn save(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::File {
            doing: "write",
            path: path.to_owned(),
            source,
        };
        let text = serde_json::to_string_pretty(self).map_err(|error| failed(error.into()))?;
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = std::path::PathBuf::from(name);
        std::fs::write(&temporary, text).map_err(failed)?;
        std::fs::rename(&temporary, path).map_err(|error| {
            let _ = std::fs::remove_file(&temporary);
            failed(error)
        })
    }

    /// Reads one.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::File {
            doing: "read",
            path: path.to_owned(),
            source,
        };
        let refuse = |reason: String| Error::Certificate {
            path: path.to_owned(),
            reason,
        };
        if std::fs::metadata(path).map_err(failed)?.len() > LARGEST {
            return Err(refuse("it is larger than 64 MB".to_owned()));
        }
        let text = std::fs::read_to_string(path).map_err(failed)?;
        let certificate: Certificate =
            serde_json::from_str(&text).map_err(|error| refuse(error.to_string()))?;
        if certificate.schema != SCHEMA {
            return Err(refuse(format!(
                "it has format {}, expected {SCHEMA}; make it again with --certificate",
                certificate.schema
            )));
        }
        Ok(certificate)
    }
}

impl Entry {
    /// Binds the claims to whatever the given files hold now. For testing the checker: claims that were found for one build are
    /// checked against another, where only the checker can tell that they do not hold.
    pub fn rebind(&mut self, image: &Image, module: &Module) -> bool {
        match Task::new(image, module, &self.proof.function) {
            Ok(task) => {
                self.code = task.code_fingerprint();
                self.source = task.source_fingerprint();
                true
            }
            Err(_) => false,
        }
    }
}

impl Prover<'_> {
    /// Repeats the checking of a proof: the verdict is proved only if every edge checks and every claim holds.
    pub fn recheck(&self, image: &Image, module: &Module, entry: &Entry) -> Result<Verdict, Error> {
        let started = Instant::now();
        let name = entry.proof.function.clone();
        let mut verdict = Verdict::undecided(&name, String::new());
        let task = match Task::new(image, module, &name) {
            Ok(task) => task,
            Err(reason) => {
                verdict.outcome = Outcome::Undecided(reason);
                return Ok(verdict);
            }
        };
        verdict.line = task.function.line;
        if task.code_fingerprint() != entry.code || task.source_fingerprint() != entry.source {
            verdict.outcome = Outcome::Undecided(
                "the certificate is for another version of the source or of the machine code; prove it again".to_owned(),
            );
            return Ok(verdict);
        }
        if let Some(reason) = self.malformed(&task, &entry.proof) {
            verdict.outcome = Outcome::Undecided(reason);
            return Ok(verdict);
        }
        let interrupted = || self.sandbox.interrupted();
        let deadline = started + self.settings.time;
        let mut product = task.product(self.terms()?, deadline, &interrupted);
        product.modulus = entry
            .proof
            .modulus
            .filter(|m| m.is_power_of_two() && *m <= 64 && *m > 1);
        for node in &entry.proof.nodes {
            product.nodes.insert(node.at, node.clone());
        }
        for edge in &entry.proof.edges {
            product
                .edges
                .insert((edge.from, edge.to), edge.edge.clone());
        }
        let mut dropped = Vec::new();
        let checked = if product.stalls() {
            Ok(Some(crate::product::Fail::Unproved(
                "the machine code would loop without a step of the source".to_owned(),
            )))
        } else {
            check_all(&mut product, &mut dropped, false)
        };
        verdict.outcome = match (checked, dropped.first()) {
            // nothing of what the file says is passed on unchecked
            (Ok(None), None) => {
                let (rounds, tried) = (entry.proof.rounds, entry.proof.tried);
                Outcome::Proved(Box::new(Proof::new(&task, &product, rounds, tried)))
            }
            (Ok(Some(fail)) | Err(fail), _) => {
                Outcome::Undecided(format!("the certificate does not check: {fail}"))
            }
            (Ok(None), Some(claim)) => {
                let at = match claim {
                    Dropped::Invariant(at, _) | Dropped::Hypothesis(at, _) => at,
                };
                Outcome::Undecided(format!(
                    "the certificate does not check: a claim at the loop head {at:#x} does not hold"
                ))
            }
        };
        let statistics = &product.t.statistics;
        verdict.queries = statistics.queries;
        verdict.cached = statistics.cached;
        verdict.solver_seconds = statistics.time.as_secs_f64();
        verdict.seconds = started.elapsed().as_secs_f64();
        Ok(verdict)
    }

    /// What makes a certificate unusable before any checking: places that do not exist.
    fn malformed(&self, task: &Task<'_>, proof: &Proof) -> Option<String> {
        use crate::invariant::{Column, Definition};
        let heads: Vec<u64> = proof.nodes.iter().map(|node| node.at).collect();
        let values = task.function.values.len() as u32;
        let legal = |column: &Column| match column {
            Column::Source(id) | Column::Masked(id, _) => id.0 < values,
            Column::Quotient(id, divisor, rest) => {
                id.0 < values && (2..1 << 31).contains(divisor) && rest < divisor
            }
            Column::Reg(n) | Column::Low(n) | Column::LowAny(n) => *n < 16,
            Column::Lane(register, lane) => *register < 16 && *lane < 8,
            Column::Slot(offset) | Column::HalfSlot(offset) => {
                (-(1 << 20)..0).contains(offset) && offset % 4 == 0
            }
        };
        for node in &proof.nodes {
            if !task.code.heads.contains(&node.at) || !task.function.heads.contains(&node.head) {
                return Some(format!(
                    "the certificate names {:#x}, which is no loop head",
                    node.at
                ));
            }
            if node.sources.iter().any(|id| id.0 >= values) {
                return Some(
                    "the certificate names values that the source does not have".to_owned(),
                );
            }
            let mut seen = std::collections::BTreeSet::new();
            if !node
                .invariants
                .iter()
                .all(|invariant| legal(&invariant.column))
            {
                return Some("the certificate defines a place that does not exist".to_owned());
            }
            for invariant in &node.invariants {
                let register = match invariant.column {
                    Column::Low(n) | Column::LowAny(n) => Column::Reg(n),
                    other => other,
                };
                let needed = crate::product::needs(invariant);
                let by_fits = match &invariant.by {
                    Definition::Affine { width, .. } => {
                        *width == invariant.column.width(task.function)
                    }
                    Definition::Saved(register) => {
                        crate::x86::CALLEE_SAVED.contains(&usize::from(*register))
                            && invariant.column.width(task.function) == 64
                    }
                    _ => true,
                };
                if !by_fits || matches!(invariant.column, Column::Masked(..) | Column::Quotient(..))
                {
                    return Some("the certificate has a definition of the wrong size".to_owned());
                }
                if !legal(&invariant.column) || !needed.iter().all(&legal) || !seen.insert(register)
                {
                    return Some(
                        "the certificate defines a place twice, or one that does not exist"
                            .to_owned(),
                    );
                }
            }
            if node
                .hypotheses
                .iter()
                .any(|h| !h.columns().iter().all(&legal) || !h.is_sound())
            {
                return Some(
                    "the certificate has a condition on a place that does not exist".to_owned(),
                );
            }
        }
        // every loop head of the machine code that an edge could end at must be a node or unreachable
        for edge in &proof.edges {
            let known = |at: &u64| heads.contains(at);
            let to_known = match edge.to {
                crate::region::MachineEnd::Head(at) => known(&at),
                crate::region::MachineEnd::Return(_) => true,
            };
            if !to_known || !edge.from.iter().all(known) {
                return Some("the certificate has an edge between unknown loop heads".to_owned());
            }
        }
        None
    }
}
