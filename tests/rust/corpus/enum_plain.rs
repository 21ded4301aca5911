// An enumeration without data, as a state machine.
#[derive(Clone, Copy, PartialEq, Debug)]
enum State {
    Idle,
    Word,
    Number,
}

fn main() {
    let text = "ab 12 c3";
    let mut state = State::Idle;
    let mut words = 0;
    let mut numbers = 0;
    for byte in text.bytes() {
        let next = match byte {
            b'a'..=b'z' => State::Word,
            b'0'..=b'9' => State::Number,
            _ => State::Idle,
        };
        if next != state {
            if next == State::Word {
                words += 1;
            }
            if next == State::Number {
                numbers += 1;
            }
        }
        state = next;
    }
    println!("{words} {numbers} {state:?}");
}
