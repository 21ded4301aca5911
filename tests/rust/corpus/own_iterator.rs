// An iterator of the program's own.
struct Collatz {
    now: u64,
}

impl Iterator for Collatz {
    type Item = u64;
    fn next(&mut self) -> Option<u64> {
        let before = self.now;
        if before == 1 {
            return None;
        }
        self.now = if before % 2 == 0 { before / 2 } else { before * 3 + 1 };
        Some(before)
    }
}

fn main() {
    let mut steps = 0;
    let mut peak = 0;
    for value in (Collatz { now: 7 }) {
        steps += 1;
        if value > peak {
            peak = value;
        }
    }
    println!("{steps} {peak}");
}
