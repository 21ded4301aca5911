// A matrix as an array of arrays.
fn main() {
    let mut m = [[0i32; 3]; 3];
    let mut next = 1;
    for row in 0..3 {
        for column in 0..3 {
            m[row][column] = next;
            next += 2;
        }
    }
    let mut trace = 0;
    for i in 0..3 {
        trace += m[i][i];
        let swap = m[0][i];
        m[0][i] = m[i][0];
        m[i][0] = swap;
    }
    println!("{trace} {m:?}");
}
