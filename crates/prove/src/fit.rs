//! Linear relations among columns of numbers: null spaces modulo a prime, read back as small integers.
//!
//! *Why modulo a prime:* exact rationals grow; modulo 2^61 - 1 every step is a machine operation, and a relation with
//! small coefficients is found with certainty enough to be *tried* (what is found here is only guessed).

const PRIME: u64 = (1 << 61) - 1;

fn reduce(x: u128) -> u64 {
    let low = (x & u128::from(PRIME)) as u64;
    let high = (x >> 61) as u64;
    let sum = low + high;
    if sum >= PRIME { sum - PRIME } else { sum }
}

fn times(a: u64, b: u64) -> u64 {
    reduce(u128::from(a) * u128::from(b))
}

fn minus(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + PRIME - b }
}

fn inverse(a: u64) -> u64 {
    let (mut result, mut base, mut exponent) = (1, a, PRIME - 2);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, base);
        }
        base = times(base, base);
        exponent >>= 1;
    }
    result
}

fn residue(x: i64) -> u64 {
    i128::from(x).rem_euclid(i128::from(PRIME)) as u64
}

/// A row of the null space: the pivot column (coefficient 1), and the other coefficients by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The column that the others determine.
    pub pivot: usize,
    /// `column[pivot] + Σ coefficient · column = 0`.
    pub others: Vec<(usize, i64)>,
}

/// Largest coefficient that is taken for an integer.
const LARGEST: i64 = 1 << 44;

/// Integer relations that hold in every row, in reduced form with leftmost pivots.
pub fn relations(rows: &[Vec<i64>], columns: usize) -> Vec<Relation> {
    let mut basis: Vec<(usize, Vec<u64>)> = Vec::new();
    let mut stale = 0;
    for row in rows {
        let mut row: Vec<u64> = row.iter().map(|x| residue(*x)).collect();
        for (pivot, other) in &basis {
            let factor = row[*pivot];
            if factor != 0 {
                for (x, y) in row.iter_mut().zip(other) {
                    *x = minus(*x, times(factor, *y));
                }
            }
        }
        let Some(pivot) = row.iter().position(|x| *x != 0) else {
            stale += 1;
            if stale > columns + 40 {
                break;
            }
            continue;
        };
        stale = 0;
        let scale = inverse(row[pivot]);
        for x in &mut row {
            *x = times(*x, scale);
        }
        for (_, other) in &mut basis {
            let factor = other[pivot];
            if factor != 0 {
                for (x, y) in other.iter_mut().zip(&row) {
                    *x = minus(*x, times(factor, *y));
                }
            }
        }
        basis.push((pivot, row));
        if basis.len() == columns {
            return Vec::new();
        }
    }
    // the null space, one vector per free column
    let mut space: Vec<Vec<u64>> = Vec::new();
    for free in 0..columns {
        if basis.iter().any(|(pivot, _)| *pivot == free) {
            continue;
        }
        let mut vector = vec![0; columns];
        vector[free] = 1;
        for (pivot, row) in &basis {
            vector[*pivot] = minus(0, row[free]);
        }
        space.push(vector);
    }
    echelon(&mut space, columns)
        .into_iter()
        .enumerate()
        .filter_map(|(index, pivot)| integers(&space[index], pivot))
        .collect()
}

/// Reduced row echelon form in place; the pivots.
fn echelon(space: &mut [Vec<u64>], columns: usize) -> Vec<usize> {
    let mut pivots = Vec::new();
    for column in 0..columns {
        let done = pivots.len();
        let Some(found) = (done..space.len()).find(|row| space[*row][column] != 0) else {
            continue;
        };
        space.swap(done, found);
        let scale = inverse(space[done][column]);
        for x in &mut space[done] {
            *x = times(*x, scale);
        }
        let pivot_row = space[done].clone();
        for (row, vector) in space.iter_mut().enumerate() {
            let factor = vector[column];
            if row != done && factor != 0 {
                for (x, y) in vector.iter_mut().zip(&pivot_row) {
                    *x = minus(*x, times(factor, *y));
                }
            }
        }
        pivots.push(column);
    }
    pivots
}

fn integers(vector: &[u64], pivot: usize) -> Option<Relation> {
    let mut others = Vec::new();
    for (column, x) in vector.iter().enumerate() {
        if column == pivot || *x == 0 {
            continue;
        }
        let value = if *x > PRIME / 2 {
            *x as i64 - PRIME as i64
        } else {
            *x as i64
        };
        if value.abs() >= LARGEST {
            return None;
        }
        others.push((column, value));
    }
    Some(Relation { pivot, others })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_found_and_oriented_to_the_left() {
        // a = 4b + 100, c free, d = a - c
        let rows: Vec<Vec<i64>> = (0..9i64)
            .map(|b| {
                let (a, c) = (4 * b + 100, b * b);
                vec![a, a - c, b, c, 1]
            })
            .collect();
        let found = relations(&rows, 5);
        assert_eq!(
            found,
            [
                Relation {
                    pivot: 0,
                    others: vec![(2, -4), (4, -100)]
                },
                Relation {
                    pivot: 1,
                    others: vec![(2, -4), (3, 1), (4, -100)]
                },
            ]
        );
    }

    #[test]
    fn unrelated_columns_have_no_relation() {
        let rows: Vec<Vec<i64>> = (0..9i64).map(|x| vec![x * x * x, x * x, x, 1]).collect();
        assert_eq!(relations(&rows, 4), []);
    }
}
