// Values that move from name to name.
struct Parcel {
    weight: u32,
    tag: String,
}

fn heavier(parcel: Parcel, by: u32) -> Parcel {
    let weight = parcel.weight + by;
    Parcel { weight, ..parcel }
}

fn main() {
    let first = Parcel { weight: 5, tag: String::from("a1") };
    let second = heavier(first, 10);
    let third = heavier(second, 100);
    let weight = third.weight;
    let letters = third.tag.len();
    println!("{weight} {letters}");
}
