// A structure that is changed field by field.
#[derive(Clone, Copy, Debug)]
struct Particle {
    x: i32,
    y: i32,
    speed: (i8, i8),
    alive: bool,
}

fn step(p: &mut Particle) {
    p.x += p.speed.0 as i32;
    p.y += p.speed.1 as i32;
    if p.y < 0 {
        p.speed.1 = -p.speed.1;
        p.y = -p.y;
    }
    p.alive = p.x < 20;
}

fn main() {
    let mut p = Particle { x: 0, y: 5, speed: (3, -2), alive: true };
    let mut steps = 0;
    while p.alive {
        step(&mut p);
        steps += 1;
    }
    println!("{p:?} {steps}");
}
