//! Which bits of a type a store of a whole object defines, and as what. A leaf of a union means something, whichever
//! member was stored last, only if every member defines all its bits: padding and the rest of a longer member are left
//! as they were, or not. Pointers are kept apart from other bits, for as numbers they mean nothing in another build.

/// What some bits are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Of a number.
    Plain,
    /// Of pointers that start at such an offset into 64 bits.
    Pointer {
        /// The start of each of them, modulo 64.
        phase: u8,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stretch {
    start: u64,
    end: u64,
    sort: Sort,
}

/// Bits that a store defines: disjoint stretches, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Coverage(Vec<Stretch>);

impl Sort {
    /// Of a pointer at this offset.
    pub(crate) fn pointer(start: u64) -> Sort {
        Sort::Pointer {
            phase: (start % 64) as u8,
        }
    }

    fn moved(self, offset: u64) -> Sort {
        match self {
            Sort::Plain => Sort::Plain,
            Sort::Pointer { phase } => Sort::pointer(u64::from(phase) + offset % 64),
        }
    }
}

impl Coverage {
    pub(crate) fn of(start: u64, size: u64, sort: Sort) -> Coverage {
        let mut one = Coverage::default();
        one.add(start, start.saturating_add(size), sort);
        one
    }

    fn add(&mut self, start: u64, end: u64, sort: Sort) {
        if start >= end {
            return;
        }
        match self.0.last_mut() {
            Some(last) if last.end == start && last.sort == sort => last.end = end,
            _ => self.0.push(Stretch { start, end, sort }),
        }
    }

    /// How many stretches there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// These bits of it and those of another, that many bits further on. What is in both counts as it is in neither:
    /// members of structures do not overlap.
    pub(crate) fn and_behind(&mut self, other: &Coverage, offset: u64) {
        let moved = other.0.iter().map(|stretch| Stretch {
            start: stretch.start.saturating_add(offset),
            end: stretch.end.saturating_add(offset),
            sort: stretch.sort.moved(offset),
        });
        let mut all: Vec<Stretch> = self.0.drain(..).chain(moved).collect();
        all.sort_unstable_by_key(|stretch| stretch.start);
        for stretch in all {
            self.add(stretch.start, stretch.end, stretch.sort);
        }
    }

    /// What both define, as the same.
    pub(crate) fn within(&self, other: &Coverage) -> Coverage {
        let mut both = Coverage::default();
        let (mut mine, mut theirs) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(a), Some(b)) = (mine.peek(), theirs.peek()) {
            if a.sort == b.sort {
                both.add(a.start.max(b.start), a.end.min(b.end), a.sort);
            }
            if a.end <= b.end {
                mine.next();
            } else {
                theirs.next();
            }
        }
        both
    }

    /// Whether all these bits are defined, as that.
    pub(crate) fn has(&self, start: u64, size: u64, sort: Sort) -> bool {
        let end = start.saturating_add(size);
        self.0.iter().any(|stretch| {
            stretch.start <= start && end <= stretch.end && stretch.sort == sort && start < end
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(start: u64, size: u64) -> Coverage {
        Coverage::of(start, size, Sort::Plain)
    }

    #[test]
    fn what_all_members_define_is_left() {
        // int a; long b;
        let both = plain(0, 32).within(&plain(0, 64));
        assert!(both.has(0, 32, Sort::Plain));
        assert!(!both.has(0, 64, Sort::Plain));
        // struct { char c; int i; } and long: the padding is not defined
        let mut padded = plain(0, 8);
        padded.and_behind(&plain(0, 32), 32);
        let both = padded.within(&plain(0, 64));
        assert!(both.has(0, 8, Sort::Plain) && both.has(32, 32, Sort::Plain));
        assert!(!both.has(8, 8, Sort::Plain) && !both.has(0, 64, Sort::Plain));
        // adjacent members are one stretch
        let mut pair = plain(0, 32);
        pair.and_behind(&plain(0, 32), 32);
        assert!(pair.within(&plain(0, 64)).has(0, 64, Sort::Plain));
    }

    #[test]
    fn pointers_are_no_numbers_and_must_start_together() {
        let pointer = |start| Coverage::of(start, 64, Sort::pointer(start));
        assert!(pointer(0).within(&pointer(0)).has(0, 64, Sort::pointer(0)));
        assert_eq!(pointer(0).within(&plain(0, 64)), Coverage::default());
        let mut shifted = Coverage::default();
        shifted.and_behind(&pointer(0), 32);
        let mut two = pointer(0);
        two.and_behind(&pointer(0), 64);
        assert!(two.has(64, 64, Sort::pointer(64)));
        assert_eq!(two.within(&shifted), Coverage::default());
    }
}
