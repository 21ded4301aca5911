//! How a leaf is reached when it does not simply lie in its variable: behind a reference, in an element of a slice that
//! may be shorter, in one variant of an enumeration. Only Rust's types have such leaves.

use std::sync::Arc;

/// The way to a leaf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// In order, starting at the variable itself. The leaf's own offset counts from where they end.
    pub steps: Arc<[Step]>,
    /// What is read there.
    pub reading: Reading,
}

/// One step of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Goes on in the memory that the 64-bit pointer at this offset points to.
    Follow {
        /// In bits, within the present object.
        bit_offset: u64,
    },
    /// The leaf exists only if some bits of the present object say so.
    Test {
        /// Where they are.
        bit_offset: u64,
        /// How many.
        bit_size: u32,
        /// What they must be.
        condition: Condition,
    },
}

/// What the bits of a [`Step::Test`] must be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A number above this one: a length, for an element.
    Above(u128),
    /// One of these inclusive ranges: the discriminants of a variant.
    In(Arc<[(u128, u128)]>),
    /// None of these: the variant that has no discriminant of its own.
    NotIn(Arc<[(u128, u128)]>),
}

impl Condition {
    /// Whether it holds for these bits.
    pub fn holds(&self, bits: u128) -> bool {
        let within = |ranges: &[(u128, u128)]| {
            ranges
                .iter()
                .any(|(low, high)| *low <= bits && bits <= *high)
        };
        match self {
            Condition::Above(least) => bits > *least,
            Condition::In(ranges) => within(ranges),
            Condition::NotIn(ranges) => !within(ranges),
        }
    }
}

/// What the bits of a leaf mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// A scalar.
    Scalar,
    /// Which variant of an enumeration it is: the first whose condition holds.
    Variant(Arc<[(Condition, Arc<str>)]>),
}

impl Route {
    /// Whether it leads out of the variable.
    pub fn leaves_variable(&self) -> bool {
        self.steps
            .iter()
            .any(|step| matches!(step, Step::Follow { .. }))
    }
}

#[cfg(test)]
mod tests {
    use super::Condition;

    #[test]
    fn conditions() {
        assert!(Condition::Above(3).holds(4));
        assert!(!Condition::Above(3).holds(3));
        let ranges: std::sync::Arc<[(u128, u128)]> = [(1, 2), (9, 9)].into();
        assert!(Condition::In(ranges.clone()).holds(2));
        assert!(!Condition::In(ranges.clone()).holds(3));
        assert!(Condition::NotIn(ranges).holds(3));
    }
}
