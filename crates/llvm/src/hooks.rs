//! The table of watched functions, as patterns of mangled names: the tails change from version to
//! version, the heads have not from 14 to 23 (paper 002, Table 2, is the same list on source level).

use crate::Svma;
use crate::elf::Elf;

/// What a watched function does.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    /// `Instruction::Instruction`.
    Construct,
    /// `Instruction::~Instruction`.
    Destroy,
    /// `BasicBlock::~BasicBlock`.
    DestroyBlock,
    /// `Instruction::clone`.
    Clone,
    /// `SymbolTableListTraits<Instruction>::transferNodesFromList`: every move and splice.
    Transfer,
    /// `SymbolTableListTraits<Instruction>::addNodeToList`: every insertion.
    Insert,
    /// `SymbolTableListTraits<Instruction>::removeNodeFromList`: every removal.
    Remove,
    /// `Instruction::insertAfter`.
    InsertAfter,
    /// `Value::doRAUW`, `replaceUsesWithIf`, `replaceUsesOutsideBlock`.
    Replace,
    /// `Instruction::applyMergedLocation`.
    Merge,
    /// `Instruction::dropLocation`.
    Drop,
    /// `MetadataTracking::track`: an inline `setDebugLoc` ends here.
    Track,
    /// `MetadataTracking::retrack`: a location that is moved from a temporary.
    Retrack,
    /// `MetadataTracking::untrack`: a location that goes away.
    Untrack,
    /// `Instruction::setMetadata(unsigned, MDNode*)`: IRBuilder's way.
    SetMetadata,
    /// `Instruction::copyMetadata`.
    CopyMetadata,
}

/// A pattern: the mangled name starts with `head` and contains `part`.
struct Pattern {
    hook: Hook,
    head: &'static str,
    part: &'static str,
}

const LIST: &str = "_ZN4llvm21SymbolTableListTraitsINS_11InstructionE";

const PATTERNS: [Pattern; 18] = [
    // 14-17: two overloads (Instruction*, BasicBlock*); 19: InsertPosition; 23: User::AllocInfo.
    Pattern {
        hook: Hook::Construct,
        head: "_ZN4llvm11InstructionC2EPNS_4TypeEj",
        part: "",
    },
    Pattern {
        hook: Hook::Destroy,
        head: "_ZN4llvm11InstructionD2Ev",
        part: "",
    },
    Pattern {
        hook: Hook::DestroyBlock,
        head: "_ZN4llvm10BasicBlockD2Ev",
        part: "",
    },
    Pattern {
        hook: Hook::Clone,
        head: "_ZNK4llvm11Instruction5cloneEv",
        part: "",
    },
    Pattern {
        hook: Hook::Transfer,
        head: LIST,
        part: "21transferNodesFromList",
    },
    Pattern {
        hook: Hook::Insert,
        head: LIST,
        part: "13addNodeToList",
    },
    Pattern {
        hook: Hook::Remove,
        head: LIST,
        part: "18removeNodeFromList",
    },
    Pattern {
        hook: Hook::InsertAfter,
        head: "_ZN4llvm11Instruction11insertAfterE",
        part: "",
    },
    Pattern {
        hook: Hook::Replace,
        head: "_ZN4llvm5Value6doRAUWE",
        part: "",
    },
    Pattern {
        hook: Hook::Replace,
        head: "_ZN4llvm5Value17replaceUsesWithIfE",
        part: "",
    },
    Pattern {
        hook: Hook::Replace,
        head: "_ZN4llvm5Value23replaceUsesOutsideBlockE",
        part: "",
    },
    Pattern {
        hook: Hook::Merge,
        head: "_ZN4llvm11Instruction19applyMergedLocationE",
        part: "",
    },
    Pattern {
        hook: Hook::Drop,
        head: "_ZN4llvm11Instruction12dropLocationEv",
        part: "",
    },
    Pattern {
        hook: Hook::Track,
        head: "_ZN4llvm16MetadataTracking5trackEPvRNS_8MetadataE",
        part: "",
    },
    Pattern {
        hook: Hook::Retrack,
        head: "_ZN4llvm16MetadataTracking7retrackEPvRNS_8MetadataES1_",
        part: "",
    },
    Pattern {
        hook: Hook::Untrack,
        head: "_ZN4llvm16MetadataTracking7untrackEPvRNS_8MetadataE",
        part: "",
    },
    Pattern {
        hook: Hook::SetMetadata,
        head: "_ZN4llvm11Instruction11setMetadataEjPNS_6MDNodeE",
        part: "",
    },
    Pattern {
        hook: Hook::CopyMetadata,
        head: "_ZN4llvm11Instruction12copyMetadataERKS0_",
        part: "",
    },
];

/// Thunks that exist (see `thunk.rs`): no table may need more.
pub(crate) const SLOTS: usize = 32;

/// One function to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What it does.
    pub hook: Hook,
    /// Mangled.
    pub name: String,
    /// Where it starts.
    pub start: Svma,
    /// Its length.
    pub size: u64,
}

/// All targets of a library, or the patterns without a match.
pub fn resolve(elf: &Elf) -> Result<Vec<Target>, Vec<String>> {
    let mut targets: Vec<Target> = Vec::new();
    let mut missing = Vec::new();
    for pattern in PATTERNS {
        let before = targets.len();
        for one in &elf.exported {
            if one.name.starts_with(pattern.head)
                && one.name.contains(pattern.part)
                && !targets.iter().any(|known| known.start == one.start)
            {
                targets.push(Target {
                    hook: pattern.hook,
                    name: one.name.to_string(),
                    start: one.start,
                    size: one.size,
                });
            }
        }
        if targets.len() == before {
            missing.push(match pattern.part {
                "" => format!("{}*", pattern.head),
                part => format!("{}*{part}*", pattern.head),
            });
        }
    }
    match (missing.is_empty(), targets.len() <= SLOTS) {
        (true, true) => Ok(targets),
        (true, false) => Err(vec![format!(
            "at most {SLOTS} functions ({} match)",
            targets.len()
        )]),
        (false, _) => Err(missing),
    }
}

/// Whether list iterators are 16 bytes (18 and later), which moves `transferNodesFromList`'s last
/// argument from rcx to r8.
pub fn wide_iterators(targets: &[Target]) -> bool {
    targets
        .iter()
        .any(|one| one.hook == Hook::Transfer && one.name.contains("ilist_iterator_w_bits"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elf::Exported;

    #[test]
    fn missing_functions_are_listed() {
        let elf = Elf {
            exported: vec![Exported {
                name: crate::elf::Name::Own("_ZN4llvm11InstructionD2Ev"),
                start: Svma(16),
                size: 32,
                weak: false,
            }],
            ..Elf::default()
        };
        let missing = resolve(&elf).unwrap_err();
        assert_eq!(missing.len(), PATTERNS.len() - 1);
        assert!(missing[0].contains("InstructionC2"));
        assert!(missing.iter().all(|one| !one.contains("InstructionD2")));
    }

    #[test]
    fn constructors_of_23_match_too() {
        let name = "_ZN4llvm11InstructionC2EPNS_4TypeEjNS_4User9AllocInfoENS_14InsertPositionE";
        assert!(name.starts_with(PATTERNS[0].head));
    }
}
