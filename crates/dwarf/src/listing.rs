//! Code and location lists as people read them: the instructions around a stop with their lines, and every location
//! that a variable has, with the addresses it holds for. For reports; nothing is evaluated here.

use std::ops::Range;

use gimli::constants as dw;
use iced_x86::{
    Decoder, DecoderOptions, Formatter, GasFormatter, Instruction as Decoded, SymbolResolver,
    SymbolResult,
};
use serde::{Deserialize, Serialize};

use crate::describe::{describe, expression_text};
use crate::place::Place;
use crate::spans::enclosing;
use crate::tree::Damage;
use crate::units::{EntryId, Units};
use crate::{Error, Image, Line, Svma};

/// A function longer than this is not decoded from its start.
const LONGEST_FUNCTION: u64 = 1 << 20;

/// Elements of one location list that are listed.
const LONGEST_LIST: usize = 10_000;

/// One machine instruction, in the AT&T notation that gdb and the compilers print.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instruction {
    /// Where it is.
    pub at: Svma,
    /// Its bytes, in hexadecimal.
    pub bytes: String,
    /// What it does.
    pub text: String,
    /// The line it belongs to.
    pub line: Option<Line>,
}

/// One location of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedLocation {
    /// The addresses that it holds for; `None` where it holds wherever the variable is in scope.
    pub pc: Option<Range<Svma>>,
    /// In words, e.g. `DW_OP_consts 0, DW_OP_stack_value`.
    pub text: String,
}

impl Image {
    /// The instructions around an address, within its function: up to `before` of them before and `after` after.
    /// Empty where the file has no code or no symbol.
    pub fn disassemble(
        &self,
        around: Svma,
        before: usize,
        after: usize,
    ) -> Result<Vec<Instruction>, Error> {
        let Some((_, offset)) = self.symbolise(around) else {
            return Ok(Vec::new());
        };
        let start = around.0 - offset;
        let Some((code, known)) = self.code_from(start) else {
            return Ok(Vec::new());
        };
        let code = code.get(..known.min(code.len())).unwrap_or(code);
        let decoded: Vec<Decoded> = Decoder::with_ip(64, code, start, DecoderOptions::NONE)
            .into_iter()
            .collect();
        let here = decoded.partition_point(|instruction| instruction.ip() < around.0);
        let first = here.saturating_sub(before);
        let mut formatter =
            GasFormatter::with_options(Some(Box::new(Names(self.symbol_names(&decoded)))), None);
        formatter
            .options_mut()
            .set_space_after_operand_separator(true);
        formatter.options_mut().set_uppercase_hex(false);
        let mut listed = Vec::new();
        for instruction in decoded.iter().skip(first).take(here - first + after + 1) {
            let offset = (instruction.ip() - start) as usize;
            let bytes = code.get(offset..offset + instruction.len());
            let mut text = String::new();
            formatter.format(instruction, &mut text);
            listed.push(Instruction {
                at: Svma(instruction.ip()),
                bytes: bytes
                    .unwrap_or_default()
                    .iter()
                    .fold(String::new(), |mut all, byte| {
                        if !all.is_empty() {
                            all.push(' ');
                        }
                        all += &format!("{byte:02x}");
                        all
                    }),
                text,
                line: self
                    .line_at(Svma(instruction.ip()))?
                    .and_then(|row| row.line),
            });
        }
        Ok(listed)
    }

    /// The bytes of the function at `start`, and how many of them are its own.
    fn code_from(&self, start: u64) -> Option<(&[u8], usize)> {
        let (inside, _) = self.file().extents_at(start);
        let size = inside.filter(|extent| extent.start == start)?.size;
        let size = usize::try_from(size.min(LONGEST_FUNCTION)).ok()?;
        Some((self.file().segment_bytes(start)?, size))
    }

    /// Names for the addresses that instructions mention.
    fn symbol_names(&self, decoded: &[Decoded]) -> Vec<(u64, String)> {
        let mut names: Vec<(u64, String)> = decoded
            .iter()
            .flat_map(|instruction| {
                [
                    instruction.near_branch_target(),
                    instruction.memory_displacement64(),
                    instruction.immediate64_if_any(),
                ]
            })
            .filter(|address| *address != 0)
            .filter_map(|address| {
                let (name, offset) = self.symbolise(Svma(address))?;
                let name = match offset {
                    0 => name.to_owned(),
                    offset => format!("{name}+{offset:#x}"),
                };
                Some((address, name))
            })
            .collect();
        names.sort();
        names.dedup();
        names
    }

    /// Every location of a variable, in the order of the debug information; `function` is empty for a global, and of
    /// variables of one name the one declared at `declared` is meant (0: any). Reads every unit.
    pub fn location_list(
        &self,
        function: &str,
        variable: &str,
        declared: u32,
    ) -> Result<Vec<ListedLocation>, Error> {
        location_list(self.units(), function, variable, declared)
    }
}

/// Immediates are only looked up where they are as wide as an address of a fixed-position program.
trait Immediate {
    fn immediate64_if_any(&self) -> u64;
}

impl Immediate for Decoded {
    fn immediate64_if_any(&self) -> u64 {
        let wide = |kind: iced_x86::OpKind| {
            matches!(
                kind,
                iced_x86::OpKind::Immediate32
                    | iced_x86::OpKind::Immediate64
                    | iced_x86::OpKind::Immediate32to64
            )
        };
        (0..self.op_count())
            .find(|index| wide(self.op_kind(*index)))
            .map_or(0, |index| self.immediate(index))
    }
}

/// Address → name, sorted.
struct Names(Vec<(u64, String)>);

impl SymbolResolver for Names {
    fn symbol(
        &mut self,
        _: &Decoded,
        _: u32,
        _: Option<u32>,
        address: u64,
        _: u32,
    ) -> Option<SymbolResult<'_>> {
        let found = self.0.binary_search_by_key(&address, |(at, _)| *at).ok()?;
        let (at, name) = self.0.get(found)?;
        Some(SymbolResult::with_str(*at, name))
    }
}

fn location_list(
    units: &Units,
    function: &str,
    variable: &str,
    declared: u32,
) -> Result<Vec<ListedLocation>, Error> {
    let mut listed = Vec::new();
    for unit in 0..units.count() {
        let tree = units.tree(unit)?;
        for index in 0..tree.len() {
            let id = EntryId { unit, index };
            let is_meant = matches!(
                tree.entry(index).tag,
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter
            ) && units.name(id).as_deref() == Some(variable)
                && (declared == 0 || units.decl_line(id).is_none_or(|line| line.0 == declared))
                && enclosing(units, id)?.as_deref().unwrap_or("") == function;
            if is_meant {
                one_variable(units, id, &mut listed)
                    .map_err(|damage: Damage| Error::malformed("location", damage))?;
            }
        }
    }
    Ok(listed)
}

fn one_variable(
    units: &Units,
    id: EntryId,
    listed: &mut Vec<ListedLocation>,
) -> Result<(), Damage> {
    if let Some(value) = units.own(id, dw::DW_AT_location) {
        let loaded = units
            .loaded(id.unit)
            .map_err(|error| Damage(error.to_string()))?;
        let encoding = loaded.unit.encoding();
        if let Some(expression) = value.exprloc_value() {
            listed.push(ListedLocation {
                pc: None,
                text: expression_text(expression.0.slice(), encoding),
            });
        } else if let Some(mut list) = units
            .dwarf_of(loaded)
            .attr_locations(&loaded.unit, *value)?
        {
            while let Some(element) = list.next()? {
                if listed.len() >= LONGEST_LIST {
                    break;
                }
                listed.push(ListedLocation {
                    pc: Some(Svma(element.range.begin)..Svma(element.range.end)),
                    text: expression_text(element.data.0.slice(), encoding),
                });
            }
        }
    } else if units.own(id, dw::DW_AT_const_value).is_some() {
        let budget = crate::expression::budget();
        let (_, text) = Place::of_variable(units, id, 0, 0, &budget);
        listed.push(ListedLocation {
            pc: None,
            text: describe(&text),
        });
    }
    Ok(())
}
