//! Plain columns: aligned on a terminal, still one line per row in a pipe.

use std::fmt;

/// A table with a header.
pub struct Table {
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// A table whose columns are called `header`.
    pub fn new<const N: usize>(header: [&str; N]) -> Self {
        Table {
            rows: vec![header.iter().map(|text| (*text).to_owned()).collect()],
            right: vec![false; N],
        }
    }

    /// Aligns the columns from `first` on to the right, for numbers.
    pub fn right_from(mut self, first: usize) -> Self {
        for right in self.right.iter_mut().skip(first) {
            *right = true;
        }
        self
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.right.len();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let bold = anstyle::Style::new().bold();
        for (number, row) in self.rows.iter().enumerate() {
            let mut line = String::new();
            for ((cell, width), right) in row.iter().zip(&widths).zip(&self.right) {
                if *right {
                    line += &format!("{cell:>width$}  ");
                } else {
                    line += &format!("{cell:width$}  ");
                }
            }
            let line = line.trim_end();
            if number == 0 {
                writeln!(f, "{bold}{line}{bold:#}")?;
            } else {
                writeln!(f, "{line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["a", "bb"]);
        table.row(["long".into(), "x".into()]);
        let text = anstream::adapter::strip_str(&table.to_string()).to_string();
        assert_eq!(text, "a     bb\nlong  x\n");
    }
}
