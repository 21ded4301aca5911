//! Reading instructions and operands of textual LLVM IR.

use super::*;

impl FunctionParser<'_> {
    pub(super) fn operand(&mut self, text: &str, width: u8) -> Parsed<Operand> {
        let text = text.trim();
        // attributes of arguments
        let text = text
            .trim_start_matches("noundef ")
            .trim_start_matches("signext ")
            .trim_start_matches("zeroext ")
            .trim_start_matches("nonnull ");
        let text = text.trim_start_matches("noundef ").trim();
        if text.starts_with('%') {
            return Ok(Operand::Value(self.value(text, 0)));
        }
        if text.starts_with('@') {
            return Ok(Operand::Global(unquoted(text), 0));
        }
        match text {
            "true" => return Ok(Operand::Number(1)),
            "false" | "null" | "zeroinitializer" => return Ok(Operand::Number(0)),
            "undef" | "poison" => return Err("it uses an undefined value".to_owned()),
            _ => {}
        }
        if text.starts_with("getelementptr") {
            let open = text.find('(').ok_or("an address is not understood")?;
            let close = matching(text, open).ok_or("an address is not understood")?;
            let (base, offset, indices) = self.address(&text[open + 1..close])?;
            if !indices.is_empty() {
                return Err(format!("the constant address `{text}` is not understood"));
            }
            return match base {
                Operand::Global(name, from) => Ok(Operand::Global(name, from + offset)),
                _ => Err(format!("the constant address `{text}` is not understood")),
            };
        }
        text.parse::<i64>()
            .map(|number| Operand::Number(number as u64 & crate::term::mask(width)))
            .or_else(|_| {
                text.parse::<u64>()
                    .map(|number| Operand::Number(number & crate::term::mask(width)))
            })
            .map_err(|_| format!("the operand `{text}` is not understood"))
    }

    /// `type, ptr base, indices...`
    #[allow(clippy::type_complexity)]
    fn address(&mut self, text: &str) -> Parsed<(Operand, i64, Vec<(Operand, u8, u64)>)> {
        let parts = split(text);
        let [kind, base, rest @ ..] = &parts[..] else {
            return Err(format!("the address `{text}` is not understood"));
        };
        let mut now = Type::parse(kind, self.types);
        let base = base
            .strip_prefix("ptr ")
            .ok_or_else(|| format!("the address `{text}` is not understood"))?;
        let base = self.operand(base, 64)?;
        let mut offset = 0i64;
        let mut indices = Vec::new();
        for (position, index) in rest.iter().enumerate() {
            let index = index.trim_start_matches("inrange ");
            let kind = leading_type(index);
            let width = self.width(&kind)?;
            let operand = self.operand(&index[kind.len()..], width)?;
            if position > 0 {
                now = match now {
                    Type::Array(_, element) => *element,
                    Type::Struct(..) => {
                        let Operand::Number(field) = operand else {
                            return Err("a structure is indexed by a variable".to_owned());
                        };
                        let (at, inner) = now
                            .field(field as usize)
                            .ok_or("a structure has no such field")?;
                        offset += at as i64;
                        let inner = inner.clone();
                        now = inner;
                        continue;
                    }
                    other => return Err(format!("{other:?} is indexed")),
                };
            }
            let scale = now
                .size()
                .ok_or_else(|| format!("the size of `{kind}` elements is not known"))?;
            match operand {
                Operand::Number(number) => {
                    let number = crate::term::signed(number, width);
                    offset = offset.wrapping_add(number.wrapping_mul(scale as i64));
                }
                operand => indices.push((operand, width, scale)),
            }
        }
        Ok((base, offset, indices))
    }

    /// Bytes of an access; what is less aligned than its size counts as an access of its alignment.
    fn accesses(&mut self, kind: &str, code: &str) -> Parsed<u8> {
        let width = self.width(kind)?;
        if width < 8 {
            return Err(format!("it accesses memory of type `{kind}`"));
        }
        let bytes = width / 8;
        let aligned = code
            .rsplit_once("align ")
            .and_then(|(_, number)| number.trim().parse().ok())
            .unwrap_or(1u64)
            .min(u64::from(bytes)) as u8;
        self.access = (self.access.0.min(aligned), self.access.1.max(bytes));
        Ok(bytes)
    }

    pub(super) fn parse_step(
        &mut self,
        to: Option<&str>,
        op: &str,
        rest: &str,
        code: &str,
        line: u32,
    ) -> Parsed<Option<Step>> {
        let (inst, width) = match op {
            "add" | "sub" | "mul" | "sdiv" | "udiv" | "srem" | "urem" | "shl" | "lshr" | "ashr"
            | "and" | "or" | "xor" => {
                let mut rest = rest;
                let mut no_wrap = false;
                while let Some((word, tail)) = rest.split_once(' ')
                    && ["nsw", "nuw", "exact", "disjoint"].contains(&word)
                {
                    no_wrap |= word == "nsw";
                    rest = tail;
                }
                let kind = leading_type(rest);
                let width = self.width(&kind)?;
                let parts = split(&rest[kind.len()..]);
                let [a, b] = &parts[..] else {
                    return Err(format!("`{code}` is not understood"));
                };
                let op = match op {
                    "add" => Binary::Add,
                    "sub" => Binary::Sub,
                    "mul" => Binary::Mul,
                    "sdiv" => Binary::Sdiv,
                    "udiv" => Binary::Udiv,
                    "srem" => Binary::Srem,
                    "urem" => Binary::Urem,
                    "shl" => Binary::Shl,
                    "lshr" => Binary::Lshr,
                    "ashr" => Binary::Ashr,
                    "and" => Binary::And,
                    "or" => Binary::Or,
                    _ => Binary::Xor,
                };
                let (a, b) = (self.operand(a, width)?, self.operand(b, width)?);
                let inst = Inst::Binary {
                    op,
                    no_wrap,
                    a,
                    b,
                    width,
                };
                (inst, width)
            }
            "icmp" => {
                let rest = rest.trim_start_matches("samesign ");
                let (predicate, rest) = rest
                    .split_once(' ')
                    .ok_or("a comparison is not understood")?;
                let kind = leading_type(rest);
                let width = self.width(&kind)?;
                let parts = split(&rest[kind.len()..]);
                let [a, b] = &parts[..] else {
                    return Err(format!("`{code}` is not understood"));
                };
                let predicate = match predicate {
                    "eq" => Predicate::Eq,
                    "ne" => Predicate::Ne,
                    "slt" => Predicate::Slt,
                    "sle" => Predicate::Sle,
                    "sgt" => Predicate::Sgt,
                    "sge" => Predicate::Sge,
                    "ult" => Predicate::Ult,
                    "ule" => Predicate::Ule,
                    "ugt" => Predicate::Ugt,
                    "uge" => Predicate::Uge,
                    _ => return Err(format!("`{code}` is not understood")),
                };
                let (a, b) = (self.operand(a, width)?, self.operand(b, width)?);
                let inst = Inst::Compare {
                    predicate,
                    a,
                    b,
                    width,
                };
                (inst, 1)
            }
            "sext" | "zext" | "trunc" | "ptrtoint" | "inttoptr" | "bitcast" | "freeze" => {
                let mut rest = rest;
                while let Some((word, tail)) = rest.split_once(' ')
                    && ["nneg", "nsw", "nuw"].contains(&word)
                {
                    rest = tail;
                }
                let (value, target) = match rest.split_once(" to ") {
                    Some(pair) => pair,
                    None => (rest, ""),
                };
                let kind = leading_type(value);
                let from = self.width(&kind)?;
                let to_width = if target.is_empty() {
                    from
                } else {
                    self.width(target)?
                };
                let a = self.operand(&value[kind.len()..], from)?;
                let cast = match op {
                    "sext" => Cast::Sext,
                    "zext" => Cast::Zext,
                    "trunc" => Cast::Trunc,
                    _ if from == to_width => Cast::Same,
                    _ => return Err(format!("`{code}` is not understood")),
                };
                let inst = Inst::Cast {
                    cast,
                    a,
                    from,
                    to: to_width,
                };
                (inst, to_width)
            }
            "getelementptr" => {
                let mut rest = rest;
                while let Some((word, tail)) = rest.split_once(' ')
                    && ["inbounds", "nuw", "nusw"].contains(&word)
                {
                    rest = tail;
                }
                let (base, offset, indices) = self.address(rest)?;
                let inst = Inst::Address {
                    base,
                    offset,
                    indices,
                };
                (inst, 64)
            }
            "load" => {
                if rest.starts_with("volatile") || rest.starts_with("atomic") {
                    return Err("it reads a volatile or atomic object".to_owned());
                }
                let parts = split(rest);
                let [kind, address, ..] = &parts[..] else {
                    return Err(format!("`{code}` is not understood"));
                };
                let bytes = self.accesses(kind, code)?;
                let address = self.operand(address.trim_start_matches("ptr "), 64)?;
                (Inst::Load { address, bytes }, bytes * 8)
            }
            "store" => {
                if rest.starts_with("volatile") || rest.starts_with("atomic") {
                    return Err("it writes a volatile or atomic object".to_owned());
                }
                let parts = split(rest);
                let [value, address, ..] = &parts[..] else {
                    return Err(format!("`{code}` is not understood"));
                };
                let kind = leading_type(value);
                let bytes = self.accesses(&kind, code)?;
                let value = self.operand(&value[kind.len()..], bytes * 8)?;
                let address = self.operand(address.trim_start_matches("ptr "), 64)?;
                let inst = Inst::Store {
                    address,
                    bytes,
                    value,
                };
                (inst, 0)
            }
            "select" => {
                let parts = split(rest);
                let [condition, a, b] = &parts[..] else {
                    return Err(format!("`{code}` is not understood"));
                };
                let kind = leading_type(a);
                let width = self.width(&kind)?;
                let condition = self.operand(condition.trim_start_matches("i1 "), 1)?;
                let a = self.operand(&a[kind.len()..], width)?;
                let b = self.operand(&b[kind.len()..], width)?;
                let inst = Inst::Select {
                    condition,
                    a,
                    b,
                    width,
                };
                (inst, width)
            }
            "call" | "tail" => match self.parse_call(code)? {
                Some(found) => found,
                None => return Ok(None),
            },
            "alloca" => {
                return Err(
                    "it takes the address of a local variable or has a local array".to_owned(),
                );
            }
            "fadd" | "fsub" | "fmul" | "fdiv" | "fneg" | "fcmp" | "sitofp" | "uitofp"
            | "fptosi" | "fptoui" | "fpext" | "fptrunc" => {
                return Err("it computes with floating-point numbers".to_owned());
            }
            _ => return Err(format!("the IR instruction `{op}` has no meaning here")),
        };
        let to = to.map(|name| self.value(name, width));
        Ok(Some(Step { to, inst, line }))
    }

    fn parse_call(&mut self, code: &str) -> Parsed<Option<(Inst, u8)>> {
        let refuse = || format!("the call `{code}` is not understood");
        let (before, after) = code.split_once('@').ok_or_else(refuse)?;
        let open = after.find('(').ok_or_else(refuse)?;
        let close = matching(after, open).ok_or_else(refuse)?;
        let callee = unquoted(&after[..open]);
        if callee.starts_with("llvm.lifetime") || callee.starts_with("llvm.assume") {
            return Ok(None);
        }
        let result_type = before
            .split_whitespace()
            .find(|word| {
                !matches!(Type::parse(word, self.types), Type::Other(_))
                    || *word == "float"
                    || *word == "double"
            })
            .ok_or_else(refuse)?;
        let result = match Type::parse(result_type, self.types) {
            Type::Void => None,
            _ => Some(self.width(result_type)?),
        };
        if before.contains("(...)") || before.contains(", ...)") {
            return Err(format!(
                "it calls `{callee}`, which takes a variable number of arguments"
            ));
        }
        let mut arguments = Vec::new();
        for text in split(&after[open + 1..close]) {
            let kind = leading_type(&text);
            let width = self.width(&kind)?;
            arguments.push((self.operand(&text[kind.len()..], width)?, width));
        }
        let intrinsic = [
            ("llvm.smax.", Intrinsic::Smax),
            ("llvm.smin.", Intrinsic::Smin),
            ("llvm.umax.", Intrinsic::Umax),
            ("llvm.umin.", Intrinsic::Umin),
            ("llvm.abs.", Intrinsic::Abs),
        ]
        .into_iter()
        .find(|(prefix, _)| callee.starts_with(prefix));
        if let (Some((_, name)), Some(width)) = (intrinsic, result) {
            let mut arguments: Vec<Operand> = arguments.into_iter().map(|(a, _)| a).collect();
            if name == Intrinsic::Abs {
                arguments.truncate(1);
            }
            let inst = Inst::Intrinsic {
                name,
                arguments,
                width,
            };
            return Ok(Some((inst, width)));
        }
        if callee.starts_with("llvm.") {
            return Err(format!("it calls the intrinsic `{callee}`"));
        }
        if arguments.len() > 6
            || arguments.iter().any(|(_, width)| *width == 1)
            || result == Some(1)
        {
            return Err(format!(
                "it calls `{callee}` with more than six arguments or with truth values"
            ));
        }
        let inst = Inst::Call {
            callee,
            arguments,
            result,
        };
        Ok(Some((inst, result.unwrap_or(0))))
    }
}
