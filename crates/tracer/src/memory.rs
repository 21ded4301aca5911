//! The memory of a stopped program: a page cache that lives for one stop, and the bytes that breakpoints
//! replace.
//!
//! Evaluating a stop reads hundreds of small values from a handful of pages (stack, data); one system call
//! per page instead of one per value is most of the engine's speed.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;

const PAGE: u64 = 4096;
/// Direct-mapped: a collision costs a system call, never a wrong byte.
const SLOTS: usize = 256;
const INT3: u8 = 0xcc;

/// `/proc/PID/mem`, cached.
pub(crate) struct Memory {
    file: File,
    cache: RefCell<Cache>,
    /// Address of each breakpoint and the byte it replaced.
    breakpoints: BTreeMap<u64, u8>,
    /// The bytes of breakpoints that are out for a while.
    originals: HashMap<u64, u8>,
}

struct Cache {
    slots: Vec<Slot>,
    /// Number of the present stop; pages of other stops are stale.
    stop: u64,
}

type Page = [u8; PAGE as usize];

struct Slot {
    page: u64,
    stop: u64,
    readable: bool,
    /// Made when the slot is first used: a run touches few of them.
    bytes: Option<Box<Page>>,
}

impl Memory {
    pub(crate) fn open(pid: libc::pid_t) -> io::Result<Self> {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(format!("/proc/{pid}/mem"))?;
        let empty = || Slot {
            page: 0,
            stop: 0,
            readable: false,
            bytes: None,
        };
        Ok(Memory {
            file,
            cache: RefCell::new(Cache {
                slots: std::iter::repeat_with(empty).take(SLOTS).collect(),
                stop: 1,
            }),
            breakpoints: BTreeMap::new(),
            originals: HashMap::new(),
        })
    }

    /// Forgets what was read: the program has run.
    pub(crate) fn next_stop(&mut self) {
        self.cache.get_mut().stop += 1;
    }

    /// Fills `buffer` from `address`; false if any part is not mapped. Breakpoints are not seen.
    pub(crate) fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        let Ok(mut cache) = self.cache.try_borrow_mut() else {
            return false;
        };
        let mut done = 0;
        while done < buffer.len() {
            let Some(at) = address.checked_add(done as u64) else {
                return false;
            };
            let offset = (at % PAGE) as usize;
            let Some(page) = self.page(&mut cache, at - at % PAGE) else {
                return false;
            };
            let count = (buffer.len() - done).min(PAGE as usize - offset);
            buffer[done..done + count].copy_from_slice(&page[offset..offset + count]);
            done += count;
        }
        true
    }

    /// A little-endian machine word.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)
            .then(|| u64::from_le_bytes(bytes))
    }

    fn page<'c>(&self, cache: &'c mut Cache, page: u64) -> Option<&'c Page> {
        let stop = cache.stop;
        let number = page / PAGE;
        let slot = &mut cache.slots[(number ^ (number >> 8)) as usize % SLOTS];
        let bytes = slot
            .bytes
            .get_or_insert_with(|| Box::new([0; PAGE as usize]));
        if slot.page != page || slot.stop != stop {
            slot.page = page;
            slot.stop = stop;
            slot.readable = self.file.read_exact_at(&mut bytes[..], page).is_ok();
            for (at, original) in self.breakpoints.range(page..page.saturating_add(PAGE)) {
                bytes[(at - page) as usize] = *original;
            }
        }
        slot.readable.then_some(&**bytes)
    }

    /// Replaces the byte at `address` by a trap.
    pub(crate) fn insert(&mut self, address: u64) -> io::Result<()> {
        if self.breakpoints.contains_key(&address) {
            return Ok(());
        }
        let original = match self.originals.get(&address) {
            Some(original) => *original,
            None => {
                let mut original = [0];
                self.file.read_exact_at(&mut original, address)?;
                self.originals.insert(address, original[0]);
                original[0]
            }
        };
        self.file.write_all_at(&[INT3], address)?;
        self.breakpoints.insert(address, original);
        Ok(())
    }

    /// Puts the original byte back.
    pub(crate) fn remove(&mut self, address: u64) -> io::Result<()> {
        if let Some(original) = self.breakpoints.remove(&address) {
            self.file.write_all_at(&[original], address)?;
        }
        Ok(())
    }

    /// Fills the bytes below `end` down to `start`, as far as they are there.
    pub(crate) fn fill(&mut self, start: u64, end: u64, byte: u8) {
        let length = end.saturating_sub(start).min(PAGE);
        let bytes = vec![byte; length as usize];
        // what is not mapped yet holds zeroes, which nothing has been said about either
        let _ = self.file.write_all_at(&bytes, end - length);
        self.next_stop();
    }

    pub(crate) fn has_breakpoint(&self, address: u64) -> bool {
        self.breakpoints.contains_key(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn breakpoints_are_written_but_not_read() {
        // This very process has memory as well as any.
        let mut memory = Memory::open(std::process::id() as libc::pid_t).unwrap();
        let bytes: Vec<u8> = (0..9000u32).map(|i| i as u8).collect();
        let start = bytes.as_ptr() as u64;
        let seen = |at: usize| std::hint::black_box(&bytes)[at];
        memory.insert(start + 4100).unwrap();
        assert_eq!(seen(4100), INT3);
        let mut copy = vec![0; bytes.len()];
        memory.next_stop();
        assert!(memory.read(start, &mut copy));
        assert_eq!(
            copy[4100], 4100u32 as u8,
            "the original byte shows, across pages"
        );
        assert_eq!(copy[8999], 8999u32 as u8);
        memory.remove(start + 4100).unwrap();
        assert_eq!(seen(4100), 4100u32 as u8);
    }

    #[test]
    fn unmapped_memory_is_not_read() {
        let memory = Memory::open(std::process::id() as libc::pid_t).unwrap();
        let mut bytes = [0; 16];
        assert!(!memory.read(8, &mut bytes));
        assert!(!memory.read(u64::MAX - 7, &mut bytes));
        assert_eq!(memory.word(0), None);
    }

    #[test]
    fn a_stop_is_a_snapshot() {
        let mut memory = Memory::open(std::process::id() as libc::pid_t).unwrap();
        let cell = std::sync::atomic::AtomicU64::new(1);
        let at = cell.as_ptr() as u64;
        assert_eq!(memory.word(at), Some(1));
        cell.store(2, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(memory.word(at), Some(1));
        memory.next_stop();
        assert_eq!(memory.word(at), Some(2));
    }
}
