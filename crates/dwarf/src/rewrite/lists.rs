//! Location lists as bytes, in the form of DWARF 5 (`.debug_loclists`) and of DWARF 4 (`.debug_loc`).

use super::elf::{Added, Elf, Rela, rela_bytes};
use super::survey::{ABSOLUTE_64, Found, Sections};
use super::{Change, Refused, uleb};

/// An address that a linker fills in: where in the section, of what, and how far in.
struct Open {
    at: usize,
    symbol: u32,
    addend: i64,
}

/// New lists at the end of their section.
pub(super) struct Lists {
    /// Number of the section.
    pub(super) section: usize,
    /// Where the list of each change begins; `None`: it has none.
    pub(super) offsets: Vec<Option<u32>>,
}

/// Appends the lists of all changes.
pub(super) fn append(
    elf: &mut Elf,
    sections: &Sections,
    found: &Found<'_>,
    function: &str,
    changes: &[Change],
) -> Result<Lists, Refused> {
    let version = found.unit.header.version();
    let name = if version == 5 {
        ".debug_loclists"
    } else {
        ".debug_loc"
    };
    let mut content = sections.own_bytes(elf, name)?;
    // in an object all lists are of one unit, and the last of them may be followed by more
    let grows = Some(&content)
        .filter(|_| elf.relocatable && version == 5)
        .and_then(|content| last_contribution(content));
    let first = grows.unwrap_or(content.len());
    let mut open: Vec<Open> = Vec::new();
    if version == 5 && grows.is_none() {
        content.extend([0; 4]); // the length, later
        content.extend(5u16.to_le_bytes());
        content.extend([8, 0]); // bytes of addresses and of segments
        content.extend(0u32.to_le_bytes()); // no table of offsets: entries name lists by their place
    }
    // offsets count from the unit's base address if the function is behind it, else from the function's start
    let base = found.unit.low_pc;
    let near = base != 0 && base >> 32 == found.start >> 32 && base <= found.start;
    let skip = if near { found.start - base } else { 0 };
    let this_function = if elf.relocatable && !near {
        Some(function_symbol(elf, function)?)
    } else {
        None
    };
    let mut offsets = Vec::new();
    for change in changes {
        if change.pieces.is_empty() {
            offsets.push(None);
            continue;
        }
        let offset = u32::try_from(content.len())
            .map_err(|_| Refused::Unsupported(format!("`{name}` of more than 4 GB")))?;
        offsets.push(Some(offset));
        if !near {
            match version {
                5 => content.push(0x06),
                _ => content.extend(u64::MAX.to_le_bytes()),
            }
            match this_function {
                Some(symbol) => {
                    open.push(Open {
                        at: content.len(),
                        symbol,
                        addend: 0,
                    });
                    content.extend([0; 8]);
                }
                None => content.extend(found.start.to_le_bytes()),
            }
        }
        for piece in &change.pieces {
            let (from, to) = (piece.pc.start + skip, piece.pc.end + skip);
            if version == 5 {
                content.push(0x04);
                uleb(&mut content, from);
                uleb(&mut content, to);
                uleb(&mut content, piece.expression.len() as u64);
            } else {
                content.extend(from.to_le_bytes());
                content.extend(to.to_le_bytes());
                let length = u16::try_from(piece.expression.len()).map_err(|_| {
                    Refused::Unsupported("an expression of more than 64 kB".to_owned())
                })?;
                content.extend(length.to_le_bytes());
            }
            let begin = content.len();
            content.extend(&piece.expression);
            for address in &piece.addresses {
                let symbol = place_symbol(elf, &address.of)?;
                let at = begin + address.at;
                content
                    .get_mut(at..at + 8)
                    .ok_or_else(|| Refused::Damaged("an address outside its list".to_owned()))?
                    .fill(0);
                open.push(Open {
                    at,
                    symbol,
                    addend: address.offset,
                });
            }
        }
        match version {
            5 => content.push(0),
            _ => content.extend([0; 16]),
        }
    }
    if version == 5 {
        let length = (content.len() - first - 4) as u32;
        content[first..first + 4].copy_from_slice(&length.to_le_bytes());
    }
    let section = match elf.find(name)? {
        Some(index) => {
            elf.replace(index, content)?;
            index
        }
        None => elf.add(
            Added {
                name,
                link: 0,
                relocates: None,
            },
            content,
        )?,
    };
    add_relocations(elf, section, name, open)?;
    Ok(Lists { section, offsets })
}

/// Where the last contribution to `.debug_loclists` begins, if the section ends with one like ours.
fn last_contribution(content: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let length = content.get(at..at + 4)?.try_into().ok()?;
        let length = usize::try_from(u32::from_le_bytes(length)).ok()?;
        let end = (at + 4).checked_add(length)?;
        if end == content.len() {
            // of version 5, with addresses of eight bytes and no segments
            return (content.get(at + 4..at + 8)? == [5, 0, 8, 0]).then_some(at);
        }
        at = end;
    }
}

fn function_symbol(elf: &Elf, function: &str) -> Result<u32, Refused> {
    let (_, symbols) = elf
        .symbols()
        .ok_or_else(|| Refused::Unsupported("it has no symbols".to_owned()))?;
    symbols
        .iter()
        .position(|symbol| symbol.name == function && symbol.is_function() && symbol.section != 0)
        .map(|index| index as u32)
        .ok_or_else(|| Refused::Unsupported(format!("there is no symbol `{function}`")))
}

/// The symbol of a section, or an undefined or common one of that name.
fn place_symbol(elf: &mut Elf, name: &str) -> Result<u32, Refused> {
    if let Some(index) = elf.find(name)? {
        return elf.section_symbol(index);
    }
    let (_, symbols) = elf
        .symbols()
        .ok_or_else(|| Refused::Unsupported("it has no symbols".to_owned()))?;
    symbols
        .iter()
        .position(|symbol| symbol.name == name)
        .map(|index| index as u32)
        .ok_or_else(|| Refused::Unsupported(format!("there is no section or symbol `{name}`")))
}

fn add_relocations(
    elf: &mut Elf,
    section: usize,
    name: &str,
    open: Vec<Open>,
) -> Result<(), Refused> {
    if open.is_empty() {
        return Ok(());
    }
    let (holder, mut all) = elf.relocations(section)?;
    all.extend(open.into_iter().map(|one| Rela {
        offset: one.at as u64,
        kind: ABSOLUTE_64,
        symbol: one.symbol,
        addend: one.addend,
    }));
    let bytes = rela_bytes(all);
    match holder {
        Some(holder) => elf.replace(holder, bytes),
        None => {
            let (table, _) = elf
                .symbols()
                .ok_or_else(|| Refused::Unsupported("it has no symbols".to_owned()))?;
            elf.add(
                Added {
                    name: &format!(".rela{name}"),
                    link: table as u32,
                    relocates: Some(section as u32),
                },
                bytes,
            )?;
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::last_contribution;

    #[test]
    fn the_last_contribution_is_found_only_where_the_section_ends_with_it() {
        let one = [&[9, 0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0][..], &[0]].concat();
        let two = [&one[..], &one].concat();
        assert_eq!(last_contribution(&one), Some(0));
        assert_eq!(last_contribution(&two), Some(13));
        // nothing, cut off, with something behind, of another version, with lengths that lead nowhere
        assert_eq!(last_contribution(&[]), None);
        assert_eq!(last_contribution(&two[..20]), None);
        assert_eq!(last_contribution(&[&one[..], &[1, 2]].concat()), None);
        let old = [&[9, 0, 0, 0, 4, 0, 8, 0, 0, 0, 0, 0][..], &[0]].concat();
        assert_eq!(last_contribution(&old), None);
        assert_eq!(last_contribution(&[0xff; 16]), None);
    }
}
