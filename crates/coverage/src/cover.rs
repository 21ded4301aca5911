//! Sets of statements: what one compilation reached.

/// A set of statements of the compiler, by their numbers in the [`Map`](crate::Map).
#[derive(Clone, Debug, Default)]
pub struct Cover {
    words: Vec<u64>,
}

impl Cover {
    /// A set from its bits, 64 statements a word.
    pub fn from_words(words: Vec<u64>) -> Self {
        Cover { words }
    }

    /// Its bits, 64 statements a word.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Adds a statement.
    pub fn insert(&mut self, statement: u32) {
        let word = statement as usize / 64;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        if let Some(word) = self.words.get_mut(word) {
            *word |= 1 << (statement % 64);
        }
    }

    /// Whether a statement is in it.
    pub fn contains(&self, statement: u32) -> bool {
        let word = self.words.get(statement as usize / 64);
        word.is_some_and(|word| word >> (statement % 64) & 1 == 1)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.words
            .iter()
            .map(|word| word.count_ones() as usize)
            .sum()
    }

    /// Whether nothing was reached.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// The statements, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0u32..).zip(&self.words).flat_map(|(number, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(number * 64 + bit)
            })
        })
    }

    /// The Jaccard distance (paper 003, formula 1): 0 for equal sets, 1 for disjoint ones.
    pub fn distance(&self, other: &Cover) -> f64 {
        let (mut both, mut either) = (0u64, 0u64);
        for at in 0..self.words.len().max(other.words.len()) {
            let a = self.words.get(at).copied().unwrap_or(0);
            let b = other.words.get(at).copied().unwrap_or(0);
            both += u64::from((a & b).count_ones());
            either += u64::from((a | b).count_ones());
        }
        if either == 0 {
            return 0.0;
        }
        1.0 - both as f64 / either as f64
    }
}

impl FromIterator<u32> for Cover {
    fn from_iter<I: IntoIterator<Item = u32>>(statements: I) -> Self {
        let mut cover = Cover::default();
        for statement in statements {
            cover.insert(statement);
        }
        cover
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_comes_out_in_order() {
        let cover: Cover = [130, 0, 63, 64, 64].into_iter().collect();
        assert_eq!(cover.iter().collect::<Vec<_>>(), [0, 63, 64, 130]);
        assert_eq!(cover.len(), 4);
        assert!(cover.contains(130) && !cover.contains(131) && !cover.contains(100_000));
        assert!(Cover::default().is_empty());
    }

    #[test]
    fn distance_is_jaccards() {
        let a: Cover = [1, 2, 3].into_iter().collect();
        let b: Cover = [2, 3, 4, 900].into_iter().collect();
        assert_eq!(a.distance(&a), 0.0);
        assert!((a.distance(&b) - 0.6).abs() < 1e-12);
        assert_eq!(a.distance(&b), b.distance(&a));
        assert_eq!(a.distance(&Cover::default()), 1.0);
        assert_eq!(Cover::default().distance(&Cover::default()), 0.0);
    }
}
