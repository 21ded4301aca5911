//! Values as people and DWARF write them: a sum of registers and addresses, divided by a number.

use candor_dwarf::rewrite::{Address, write};
use candor_prove::image::Image;
use candor_prove::x86::NAMES;

/// DWARF's numbers of the general registers, by the processor's.
const DWARF: [u8; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// `(Σ factor · register ± address + constant) / divisor`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Expression {
    /// Registers (by the processor's numbers) with factors.
    pub registers: Vec<(i64, u8)>,
    /// The start of a part of the program, added or taken away.
    pub unit: Option<(i64, u32)>,
    /// The constant.
    pub constant: i64,
    /// The divisor, positive.
    pub divisor: i64,
    /// Only the low 32 bits count.
    pub narrow: bool,
}

impl Expression {
    /// Whether it is a number whatever the machine does.
    pub fn is_constant(&self) -> bool {
        self.registers.is_empty() && self.unit.is_none()
    }

    /// Whether it reads a register.
    pub fn reads(&self, register: u8) -> bool {
        self.registers.iter().any(|(_, own)| *own == register)
    }

    /// The same value after the register's value grew by a number.
    pub fn grown(&self, register: u8, by: i64) -> Option<Expression> {
        let (factor, _) = self.registers.iter().find(|(_, own)| *own == register)?;
        let constant = self.constant.checked_sub(factor.checked_mul(by)?)?;
        Some(Expression {
            constant,
            ..self.clone()
        })
    }

    /// The value that is greater by a number.
    pub fn plus(&self, by: i64) -> Option<Expression> {
        let constant = self.constant.checked_add(by.checked_mul(self.divisor)?)?;
        Some(Expression {
            constant,
            ..self.clone()
        })
    }

    /// As a person writes it.
    pub fn show(&self, image: &Image) -> String {
        let mut text = String::new();
        let mut push = |factor: i64, name: &str| {
            let sign = match (text.is_empty(), factor < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(sign);
            match factor.unsigned_abs() {
                1 => text.push_str(name),
                many => text.push_str(&format!("{many}·{name}")),
            }
        };
        for (factor, register) in &self.registers {
            push(*factor, &register_name(*register, self.narrow));
        }
        let mut constant = self.constant;
        if let Some((factor, unit)) = self.unit {
            let at = factor * constant;
            let symbol = image
                .symbols
                .values()
                .filter(|symbol| {
                    !symbol.function
                        && symbol.place.unit == Some(unit)
                        && (symbol.place.offset..=symbol.place.offset + symbol.size as i64)
                            .contains(&at)
                })
                .max_by_key(|symbol| symbol.place.offset);
            match symbol {
                Some(symbol) => {
                    push(factor, &symbol.name);
                    constant -= factor * symbol.place.offset;
                }
                None => push(factor, "start"),
            }
        }
        if constant != 0 || text.is_empty() {
            let sign = match (text.is_empty(), constant < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            text.push_str(&format!("{sign}{}", constant.unsigned_abs()));
        }
        match self.divisor {
            1 => text,
            divisor if text.contains(' ') => format!("({text})/{divisor}"),
            divisor => format!("{text}/{divisor}"),
        }
    }

    /// As a DWARF expression, with the addresses in it that a linker has to fill in.
    pub fn encode(&self, image: &Image, relocatable: bool) -> (Vec<u8>, Vec<Address>) {
        use write::Operation;
        let mut out = Vec::new();
        let mut addresses = Vec::new();
        let mut constant = self.constant;
        let mut first = true;
        if let Some((factor, unit)) = self.unit {
            // the constant is part of the address: the linker or debugger moves both
            let at = factor * constant;
            constant = 0;
            let place = write::address(&mut out, if relocatable { 0 } else { at as u64 });
            if relocatable {
                addresses.push(Address {
                    at: place,
                    of: image.units[unit as usize].name.clone(),
                    offset: at,
                });
            }
            if factor < 0 {
                write::operation(&mut out, Operation::Negated);
            }
            first = false;
        }
        for (factor, register) in &self.registers {
            let number = DWARF[*register as usize];
            if *factor == 1 {
                write::register(&mut out, number, constant);
                constant = 0;
            } else {
                write::register(&mut out, number, 0);
                if *factor == -1 {
                    write::operation(&mut out, Operation::Negated);
                } else {
                    write::number(&mut out, *factor);
                    write::operation(&mut out, Operation::Times);
                }
            }
            if !first {
                write::operation(&mut out, Operation::Plus);
            }
            first = false;
        }
        if first {
            write::number(&mut out, constant);
        } else if constant != 0 {
            write::number(&mut out, constant);
            write::operation(&mut out, Operation::Plus);
        }
        if self.divisor != 1 {
            write::number(&mut out, self.divisor);
            write::operation(&mut out, Operation::Divided);
        }
        write::value(&mut out);
        (out, addresses)
    }
}

fn register_name(register: u8, narrow: bool) -> String {
    let name = NAMES[register as usize];
    match (narrow, register) {
        (false, _) => name.to_owned(),
        (true, 0..8) => format!("e{}", &name[1..]),
        (true, _) => format!("{name}d"),
    }
}
