//! Where the code of a program calls one of its functions, and which function an address is in: what a reader of
//! instrumented programs (coverage) needs.

use std::sync::Arc;

use crate::scopes::instances;
use crate::{Error, Image, Svma};

/// A direct call: its operation code and the distance to the target.
const CALL: u8 = 0xe8;
const CALL_LENGTH: usize = 5;

impl Image {
    /// Where every direct call of the function `symbol` returns to, ascending; empty when there is no such function.
    ///
    /// The code is not decoded: five bytes that happen to look like a call of just this function are one in four
    /// billion, and a place nobody returns to does no harm.
    pub fn returns_from(&self, symbol: &str) -> Vec<Svma> {
        let Some(target) = self.symbol(symbol).map(|symbol| symbol.address.0) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (address, code) in self.file().code() {
            for (at, window) in (address..).zip(code.windows(CALL_LENGTH)) {
                let [CALL, distance @ ..] = window else {
                    continue;
                };
                let Ok(distance) = <[u8; 4]>::try_from(distance) else {
                    continue;
                };
                let next = at.wrapping_add(CALL_LENGTH as u64);
                let distance = i64::from(i32::from_le_bytes(distance));
                if next.wrapping_add_signed(distance) == target {
                    found.push(Svma(next));
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The name of the function whose text the code at an address comes from: of inlined calls the innermost.
    pub fn function_at(&self, pc: Svma) -> Result<Option<Arc<str>>, Error> {
        let Some(function) = self.units().function_at(pc.0)? else {
            return Ok(None);
        };
        let groups = instances(self.units(), function, pc.0)?;
        let innermost = groups.first().and_then(|group| group.first());
        Ok(innermost.and_then(|id| self.units().name(*id)))
    }
}
