//! Call frame information: how to find the canonical frame address and the caller's registers at an address, from
//! `.eh_frame` or, for code built without it, `.debug_frame`.

use std::sync::OnceLock;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, DebugFrame, EhFrame, RegisterRule, UnwindContext,
    UnwindSection,
};

use crate::Error;
use crate::elf::{File, Slice};
use crate::expression::{Decoder, Program, budget};
use crate::tree::Damage;
use crate::units::Units;

/// Frame descriptions in one file.
const MAX_DESCRIPTIONS: usize = 20_000_000;

/// How to find the canonical frame address.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cfa {
    Register { register: u16, offset: i64 },
    Program(Program),
}

/// How to find a register of the caller.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Rule {
    Undefined,
    Same,
    /// Saved in memory, at an offset from the frame address.
    Saved(i64),
    /// It is the frame address plus an offset.
    Value(i64),
    Register(u16),
    /// Saved where the program says, which starts with the frame address on its stack.
    SavedAt(Program),
    Computed(Program),
    Constant(u64),
}

/// The frame description at one address.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) cfa: Cfa,
    pub(crate) rules: Vec<(u16, Rule)>,
    pub(crate) return_address: u16,
}

#[derive(Debug, Clone, Copy)]
struct Description {
    start: u64,
    end: u64,
    offset: usize,
    in_debug_frame: bool,
}

/// The call frame information of a file.
#[derive(Debug)]
pub(crate) struct Frames {
    eh_frame: EhFrame<Slice>,
    debug_frame: DebugFrame<Slice>,
    bases: BaseAddresses,
    index: OnceLock<Vec<Description>>,
}

impl Frames {
    pub(crate) fn read(file: &mut File) -> Result<Frames, Error> {
        let mut eh_frame = EhFrame::from(file.section(".eh_frame")?);
        let mut debug_frame = DebugFrame::from(file.section(".debug_frame")?);
        eh_frame.set_address_size(8);
        debug_frame.set_address_size(8);
        let bases = BaseAddresses::default()
            .set_eh_frame(file.section_address(".eh_frame"))
            .set_text(file.section_address(".text"))
            .set_got(file.section_address(".got"));
        Ok(Frames {
            eh_frame,
            debug_frame,
            bases,
            index: OnceLock::new(),
        })
    }

    fn index(&self) -> &[Description] {
        self.index.get_or_init(|| {
            let mut index = Vec::new();
            self.collect(&self.eh_frame, false, &mut index);
            self.collect(&self.debug_frame, true, &mut index);
            index.sort_by_key(|description| (description.start, description.in_debug_frame));
            index
        })
    }

    /// Damage ends the list: what was read before it stays.
    fn collect<S: UnwindSection<Slice>>(
        &self,
        section: &S,
        in_debug_frame: bool,
        index: &mut Vec<Description>,
    ) {
        let mut entries = section.entries(&self.bases);
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            let Ok(description) = partial.parse(S::cie_from_offset) else {
                continue;
            };
            let (start, length) = (description.initial_address(), description.len());
            if let (Some(end), true) = (
                start.checked_add(length),
                start != 0 && index.len() < MAX_DESCRIPTIONS,
            ) {
                index.push(Description {
                    start,
                    end,
                    offset: description.offset(),
                    in_debug_frame,
                });
            }
        }
    }

    /// The row for an address; `None` where nothing describes the frame.
    pub(crate) fn row(&self, units: &Units, pc: u64) -> Result<Option<Row>, Damage> {
        let index = self.index();
        let after = index.partition_point(|description| description.start <= pc);
        let Some(found) = index[..after]
            .iter()
            .rev()
            .take(64)
            .find(|description| pc < description.end)
        else {
            return Ok(None);
        };
        if found.in_debug_frame {
            self.row_in(
                &self.debug_frame,
                gimli::DebugFrameOffset(found.offset),
                units,
                pc,
            )
        } else {
            self.row_in(
                &self.eh_frame,
                gimli::EhFrameOffset(found.offset),
                units,
                pc,
            )
        }
    }

    fn row_in<S: UnwindSection<Slice>>(
        &self,
        section: &S,
        offset: S::Offset,
        units: &Units,
        pc: u64,
    ) -> Result<Option<Row>, Damage> {
        let description = section.fde_from_offset(&self.bases, offset, S::cie_from_offset)?;
        let mut context = UnwindContext::new();
        let row = description.unwind_info_for_address(section, &self.bases, &mut context, pc)?;
        let encoding = description.cie().encoding();
        let budget = budget();
        let decoder = Decoder {
            units,
            unit: None,
            encoding,
            pc,
            calls: 0,
            budget: &budget,
        };
        let program = |expression: &gimli::UnwindExpression<usize>| {
            Ok::<Program, Damage>(decoder.decode(expression.get(section)?.0))
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => Cfa::Register {
                register: register.0,
                offset: *offset,
            },
            CfaRule::Expression(expression) => Cfa::Program(program(expression)?),
        };
        let mut rules = Vec::new();
        for (register, rule) in row.registers() {
            let rule = match rule {
                RegisterRule::Undefined | RegisterRule::Architectural => Rule::Undefined,
                RegisterRule::SameValue => Rule::Same,
                RegisterRule::Offset(offset) => Rule::Saved(*offset),
                RegisterRule::ValOffset(offset) => Rule::Value(*offset),
                RegisterRule::Register(register) => Rule::Register(register.0),
                RegisterRule::Expression(expression) => Rule::SavedAt(program(expression)?),
                RegisterRule::ValExpression(expression) => Rule::Computed(program(expression)?),
                RegisterRule::Constant(value) => Rule::Constant(*value),
            };
            rules.push((register.0, rule));
        }
        Ok(Some(Row {
            cfa,
            rules,
            return_address: description.cie().return_address_register().0,
        }))
    }
}
