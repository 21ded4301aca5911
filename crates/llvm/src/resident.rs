//! The library's code and constants in huge pages, so that the children of a worker need not fault them in.
//!
//! A child starts without page table entries for file mappings: every run met its code again, one fault per
//! 64 kB, and half of a worker's time went to the kernel. Anonymous memory is inherited by a fork, and in pages of
//! 2 MB the entries of a whole libLLVM are sixty. What is copied is never written again, so that all
//! processes share it. Where the kernel has no huge pages to give, everything stays as it was.

use std::ops::Range;
use std::path::Path;

const HUGE: usize = 2 << 20;

/// One line of `/proc/self/maps`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    range: Range<usize>,
    protection: i32,
    path: String,
}

fn mappings(text: &str) -> impl Iterator<Item = Mapping> {
    text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let flags = words.next()?;
        let protection = [
            ('r', libc::PROT_READ),
            ('w', libc::PROT_WRITE),
            ('x', libc::PROT_EXEC),
        ]
        .into_iter()
        .filter(|(letter, _)| flags.contains(*letter))
        .fold(libc::PROT_NONE, |all, (_, one)| all | one);
        Some(Mapping {
            range: usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?,
            protection,
            path: words.skip(3).collect::<Vec<_>>().join(" "),
        })
    })
}

/// The parts of `path` that nobody can write, adjacent ones of one protection joined.
fn constant_parts(text: &str, path: &str) -> Vec<Mapping> {
    let mut parts: Vec<Mapping> = Vec::new();
    for one in mappings(text) {
        let readable = one.protection & (libc::PROT_READ | libc::PROT_WRITE) == libc::PROT_READ;
        if one.path != path || !readable {
            continue;
        }
        match parts.last_mut() {
            Some(last)
                if last.range.end == one.range.start && last.protection == one.protection =>
            {
                last.range.end = one.range.end;
            }
            _ => parts.push(one),
        }
    }
    parts
}

/// Puts what is constant of the library at `path` into huge pages; symbol tables before `text` stay.
///
/// # Safety
/// No thread executes the library's code now.
pub(crate) unsafe fn make_resident(path: &Path, text: usize) {
    let Ok(maps) = std::fs::read_to_string("/proc/self/maps") else {
        return;
    };
    for mut part in constant_parts(&maps, &path.to_string_lossy()) {
        if part.range.contains(&text) {
            part.range.start = text & !4095;
        }
        if part.range.len() >= HUGE {
            // SAFETY: a constant part of the library; promised by the caller.
            let _ = unsafe { replace(&part) };
        }
    }
}

/// # Safety
/// `part` must be mapped, and nobody may write to it or execute it now.
unsafe fn replace(part: &Mapping) -> Option<()> {
    let length = part.range.len();
    // SAFETY: our own mapping, large enough to hold a copy that is aligned as the original is; the
    // original is only given up when the copy is complete.
    unsafe {
        let whole = libc::mmap(
            std::ptr::null_mut(),
            length + HUGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        if whole == libc::MAP_FAILED {
            return None;
        }
        let skip = part.range.start.wrapping_sub(whole as usize) % HUGE;
        let copy = whole.add(skip);
        let give_back = || {
            libc::munmap(copy, length);
        };
        libc::munmap(whole, skip);
        libc::munmap(copy.add(length), HUGE - skip);
        if libc::madvise(copy, length, libc::MADV_HUGEPAGE) != 0 {
            give_back();
            return None;
        }
        std::ptr::copy_nonoverlapping(part.range.start as *const u8, copy.cast::<u8>(), length);
        // In small pages the copy would cost every fork more than it saves.
        if huge_bytes(copy as usize) < length / 4 * 3
            || libc::mprotect(copy, length, part.protection) != 0
        {
            give_back();
            return None;
        }
        let moved = libc::mremap(
            copy,
            length,
            length,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            part.range.start as *mut libc::c_void,
        );
        (moved != libc::MAP_FAILED).then_some(())
    }
}

/// How much of the mapping that starts at `start` is in huge pages.
fn huge_bytes(start: usize) -> usize {
    let text = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let head = format!("{start:x}-");
    text.lines()
        .skip_while(|line| !line.starts_with(&head))
        .find_map(|line| line.strip_prefix("AnonHugePages:"))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<usize>().ok())
        .map_or(0, |kilobytes| kilobytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_constant_parts_are_joined() {
        let maps = "1000-2000 r-xp 00000000 fe:00 1 /lib/a b.so\n\
                    2000-3000 r-xp 00001000 fe:00 1 /lib/a b.so\n\
                    3000-4000 r--p 00002000 fe:00 1 /lib/a b.so\n\
                    4000-5000 rw-p 00003000 fe:00 1 /lib/a b.so\n\
                    5000-6000 r--p 00004000 fe:00 1 /lib/c.so\n\
                    6000-7000 ---p 00000000 00:00 0 \n";
        let parts = constant_parts(maps, "/lib/a b.so");
        let ranges: Vec<_> = parts.iter().map(|part| part.range.clone()).collect();
        assert_eq!(ranges, [0x1000..0x3000, 0x3000..0x4000]);
        assert_eq!(parts[0].protection, libc::PROT_READ | libc::PROT_EXEC);
    }

    /// Constants that were moved are still there, and still cannot be written.
    #[test]
    fn moved_memory_is_the_same() {
        let length = 3 * HUGE + 4096;
        // SAFETY: a mapping of this test alone.
        let start = unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            );
            assert_ne!(start, libc::MAP_FAILED);
            for offset in (0..length).step_by(512) {
                start.add(offset).cast::<u32>().write(offset as u32);
            }
            libc::mprotect(start, length, libc::PROT_READ);
            start as usize
        };
        let part = Mapping {
            range: start..start + length,
            protection: libc::PROT_READ,
            path: String::new(),
        };
        // SAFETY: nobody else knows the mapping. Whether there were huge pages or not, nothing is lost.
        let moved = unsafe { replace(&part) };
        let same = (0..length)
            .step_by(512)
            .all(|offset| unsafe { ((start + offset) as *const u32).read() } == offset as u32);
        assert!(same, "after {moved:?}");
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let now = mappings(&maps).find(|one| one.range.contains(&start));
        assert_eq!(now.unwrap().protection, libc::PROT_READ);
    }
}
