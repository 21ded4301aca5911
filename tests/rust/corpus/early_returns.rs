// Many ways out of a function.
fn score(word: &str, limit: usize) -> i32 {
    let length = word.len();
    if length == 0 {
        return -1;
    }
    let mut score = 0;
    for (i, byte) in word.bytes().enumerate() {
        if i >= limit {
            return score;
        }
        if byte == b'z' {
            continue;
        }
        score += (byte - b'a') as i32 * (i as i32 + 1);
    }
    score * 2
}

fn main() {
    let a = score("", 9);
    let b = score("hazard", 4);
    let c = score("cab", 9);
    println!("{a} {b} {c}");
}
