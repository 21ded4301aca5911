//! Reading textual LLVM IR as clang and opt of versions 14 to 19 print it. Only what promoted -O0 code of integer
//! functions contains; the rest is named and makes the function unsupported, not the module.

use std::collections::BTreeMap;

use super::types::{Type, split};
use super::*;

/// A module: its functions, each parsed or refused with a reason.
#[derive(Clone, Debug, Default)]
pub struct Module {
    /// By name, in the order of the source.
    pub functions: Vec<(String, Result<Function, String>)>,
    /// Sizes of the globals the module defines or declares.
    pub globals: BTreeMap<String, u64>,
    /// Globals that never change.
    pub constants: BTreeSet<String>,
}

/// Lines and names from the debug information.
#[derive(Default)]
struct Debug {
    lines: BTreeMap<u32, u32>,
    variables: BTreeMap<u32, (String, u32)>,
}

type Parsed<T> = Result<T, String>;

/// Parses a module.
pub fn parse(text: &str) -> Module {
    let mut module = Module::default();
    let mut types = BTreeMap::new();
    let mut debug = Debug::default();
    for line in text.lines() {
        if line.starts_with('%')
            && let Some((name, definition)) = line.split_once(" = type ")
        {
            // definitions come before their uses in what clang prints, except for recursive ones
            let parsed = Type::parse(definition, &types);
            types.insert(name.trim().to_owned(), parsed);
        } else if line.starts_with('!') {
            read_metadata(line, &mut debug);
        }
    }
    for line in text.lines().filter(|line| line.starts_with('@')) {
        if let Some((name, rest)) = line.split_once(" = ") {
            let name = unquoted(name);
            let constant = rest.contains(" constant ");
            let after = rest
                .split_once(" global ")
                .or_else(|| rest.split_once(" constant "));
            if let Some((_, definition)) = after {
                let text = leading_type(definition);
                if let Some(size) = Type::parse(&text, &types).size() {
                    module.globals.insert(name.clone(), size);
                }
                if constant {
                    module.constants.insert(name);
                }
            }
        }
    }
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if !line.starts_with("define ") {
            continue;
        }
        let mut body = Vec::new();
        for line in lines.by_ref() {
            if line == "}" {
                break;
            }
            body.push(line);
        }
        let name = line
            .split_once('@')
            .map(|(_, rest)| unquoted(rest.split('(').next().unwrap_or_default()))
            .unwrap_or_default();
        let function = FunctionParser::new(&types, &debug, &name).parse(line, &body);
        module.functions.push((name, function));
    }
    module
}

/// A name without its sigil and quotes.
fn unquoted(name: &str) -> String {
    name.trim()
        .trim_start_matches('@')
        .trim_matches('"')
        .to_owned()
}

/// The type a text begins with.
fn leading_type(text: &str) -> String {
    let text = text.trim_start();
    let mut depth = 0i32;
    for (index, c) in text.char_indices() {
        match c {
            '[' | '{' | '<' | '(' => depth += 1,
            ']' | '}' | '>' | ')' => depth -= 1,
            ' ' | ',' if depth == 0 => return text[..index].to_owned(),
            _ => {}
        }
    }
    text.to_owned()
}

fn read_metadata(line: &str, debug: &mut Debug) {
    let Some((number, rest)) = line[1..].split_once(" = ") else {
        return;
    };
    let Ok(number) = number.parse::<u32>() else {
        return;
    };
    let field = |name: &str| -> Option<&str> {
        let (_, after) = rest.split_once(name)?;
        after.split([',', ')']).next().map(str::trim)
    };
    let rest = rest.trim_start_matches("distinct ");
    if rest.starts_with("!DILocation(") || rest.starts_with("!DISubprogram(") {
        if let Some(line) = field("line: ").and_then(|text| text.parse().ok()) {
            debug.lines.insert(number, line);
        }
    } else if rest.starts_with("!DILocalVariable(")
        && let Some(name) = field("name: ")
    {
        let line = field("line: ")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        debug
            .variables
            .insert(number, (name.trim_matches('"').to_owned(), line));
    }
}

struct FunctionParser<'a> {
    types: &'a BTreeMap<String, Type>,
    debug: &'a Debug,
    values: Vec<ValueInfo>,
    ids: BTreeMap<String, ValueId>,
    blocks: BTreeMap<String, BlockId>,
    function: String,
    access: (u8, u8),
}

impl<'a> FunctionParser<'a> {
    fn new(types: &'a BTreeMap<String, Type>, debug: &'a Debug, name: &str) -> Self {
        FunctionParser {
            types,
            debug,
            values: Vec::new(),
            ids: BTreeMap::new(),
            blocks: BTreeMap::new(),
            function: name.to_owned(),
            access: (8, 1),
        }
    }

    fn value(&mut self, name: &str, width: u8) -> ValueId {
        if let Some(known) = self.ids.get(name) {
            if width != 0 {
                self.values[known.0 as usize].width = width;
            }
            return *known;
        }
        let id = ValueId(self.values.len() as u32);
        self.values.push(ValueInfo {
            name: name.to_owned(),
            width,
            variable: None,
            object: None,
        });
        self.ids.insert(name.to_owned(), id);
        id
    }

    fn line_of(&self, text: &str) -> u32 {
        text.rsplit_once("!dbg !")
            .and_then(|(_, number)| {
                let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
                self.debug.lines.get(&digits.parse().ok()?).copied()
            })
            .unwrap_or(0)
    }

    fn width(&self, text: &str) -> Parsed<u8> {
        match Type::parse(text, self.types) {
            Type::Int(bits @ (1 | 8 | 16 | 32 | 64)) => Ok(bits),
            Type::Pointer => Ok(64),
            Type::Other(name) if name == "float" || name == "double" || name == "x86_fp80" => {
                Err("it computes with floating-point numbers".to_owned())
            }
            _ => Err(format!("it uses values of type `{}`", text.trim())),
        }
    }

    fn parse(mut self, header: &str, body: &[&str]) -> Parsed<Function> {
        let (before, after) = header
            .split_once('@')
            .ok_or("its header is not understood")?;
        let result_type = before.split_whitespace().last().unwrap_or_default();
        let result = match Type::parse(result_type, self.types) {
            Type::Void => None,
            _ => Some(self.width(result_type)?),
        };
        let open = after.find('(').ok_or("its header is not understood")?;
        let close = matching(after, open).ok_or("its header is not understood")?;
        let mut params = Vec::new();
        for text in split(&after[open + 1..close]) {
            if text == "..." {
                return Err("it takes a variable number of arguments".to_owned());
            }
            let kind = leading_type(&text);
            let width = self.width(&kind)?;
            let name = text
                .split_whitespace()
                .last()
                .unwrap_or_default()
                .to_owned();
            if width == 1 || text.contains("byval") {
                return Err(format!("it takes a parameter of type `{text}`"));
            }
            let value = self.value(&name, width);
            params.push(Param {
                value,
                width,
                pointer: kind == "ptr",
                no_alias: text.contains("noalias"),
                extension: if text.contains("signext") {
                    Some(true)
                } else {
                    text.contains("zeroext").then_some(false)
                },
            });
        }
        if params.len() > 6 {
            return Err("it takes more than six arguments".to_owned());
        }
        // the entry block's label is implied: the next number after the parameters
        let entry = params.len().to_string();
        let mut groups: Vec<(String, Vec<String>)> = vec![(entry, Vec::new())];
        let mut open_switch: Option<String> = None;
        for line in body {
            let text = line.split(" ; ").next().unwrap_or_default().trim_end();
            let text = text.strip_suffix(';').unwrap_or(text);
            if let Some(mut switch) = open_switch.take() {
                switch.push(' ');
                switch.push_str(text.trim());
                if text.trim_start().starts_with(']') {
                    push_line(&mut groups, switch);
                } else {
                    open_switch = Some(switch);
                }
                continue;
            }
            if !line.starts_with(' ') {
                if let Some((label, _)) = text.split_once(':') {
                    if groups.len() == 1 && groups[0].1.is_empty() {
                        groups.clear();
                    }
                    groups.push((label.trim_matches('"').to_owned(), Vec::new()));
                }
                continue;
            }
            let text = text.trim();
            if text.is_empty() || text.starts_with(';') {
                continue;
            }
            if text.starts_with("switch ") && !text.contains(']') {
                open_switch = Some(text.to_owned());
                continue;
            }
            push_line(&mut groups, text.to_owned());
        }
        for (index, (label, _)) in groups.iter().enumerate() {
            self.blocks.insert(label.clone(), BlockId(index as u32));
        }
        let mut blocks = Vec::new();
        for (label, lines) in &groups {
            blocks.push(self.parse_block(label, lines)?);
        }
        let line = self.line_of(header);
        let mut function = Function {
            name: self.function.clone(),
            params,
            result,
            blocks,
            values: std::mem::take(&mut self.values),
            heads: BTreeSet::new(),
            order: Vec::new(),
            live: Vec::new(),
            access: self.access,
            line,
        };
        if function.values.iter().any(|value| value.width == 0) {
            return Err("it uses a value that is never computed".to_owned());
        }
        find_objects(&mut function);
        function.analyse();
        Ok(function)
    }

    fn block_id(&self, label: &str) -> Parsed<BlockId> {
        let label = label.trim().trim_start_matches("label ").trim();
        let label = label.trim_start_matches('%').trim_matches('"');
        self.blocks
            .get(label)
            .copied()
            .ok_or_else(|| format!("it jumps to the unknown block `{label}`"))
    }

    fn parse_block(&mut self, label: &str, lines: &[String]) -> Parsed<Block> {
        let mut block = Block {
            label: label.to_owned(),
            phis: Vec::new(),
            steps: Vec::new(),
            terminator: Terminator::Unreachable,
            variables: Vec::new(),
            line: 0,
        };
        for text in lines {
            if let Some(record) = text.strip_prefix("#dbg_value(") {
                self.parse_variable(record, &mut block);
                continue;
            }
            if text.starts_with('#') || text.starts_with("call void @llvm.dbg.") {
                if let Some(rest) = text.strip_prefix("call void @llvm.dbg.value(metadata ") {
                    self.parse_variable(&rest.replace("metadata ", ""), &mut block);
                }
                continue;
            }
            let line = self.line_of(text);
            if block.line == 0 {
                block.line = line;
            }
            let code = text.split(", !").next().unwrap_or_default();
            let (to, code) = match code.split_once(" = ") {
                Some((to, code)) if to.starts_with('%') => (Some(to.trim()), code.trim()),
                _ => (None, code.trim()),
            };
            let (op, rest) = code.split_once(' ').unwrap_or((code, ""));
            match op {
                "br" => {
                    let parts = split(rest);
                    block.terminator = match &parts[..] {
                        [only] => Terminator::Jump(self.block_id(only)?),
                        [condition, a, b] => {
                            let condition = condition.trim_start_matches("i1 ");
                            let condition = self.operand(condition, 1)?;
                            Terminator::Branch(condition, self.block_id(a)?, self.block_id(b)?)
                        }
                        _ => return Err(format!("`{code}` is not understood")),
                    };
                }
                "switch" => block.terminator = self.parse_switch(rest)?,
                "ret" => {
                    block.terminator = Terminator::Return(if rest == "void" {
                        None
                    } else {
                        let kind = leading_type(rest);
                        let width = self.width(&kind)?;
                        Some((self.operand(&rest[kind.len()..], width)?, width))
                    });
                }
                "unreachable" => block.terminator = Terminator::Unreachable,
                "phi" => {
                    let kind = leading_type(rest);
                    let width = self.width(&kind)?;
                    let to = self.value(to.unwrap_or_default(), width);
                    let mut from = BTreeMap::new();
                    for pair in split(&rest[kind.len()..]) {
                        let inner = pair.trim().trim_start_matches('[').trim_end_matches(']');
                        let (value, label) =
                            inner.rsplit_once(',').ok_or("a phi is not understood")?;
                        let value = self.operand(value, width)?;
                        from.insert(self.block_id(label)?, value);
                    }
                    block.phis.push(Phi { to, from });
                }
                _ => {
                    if let Some(step) = self.parse_step(to, op, rest, code, line)? {
                        block.steps.push(step);
                    }
                }
            }
        }
        Ok(block)
    }

    fn parse_variable(&mut self, record: &str, block: &mut Block) {
        let parts = split(record.trim_end_matches(')'));
        let [value, variable, ..] = &parts[..] else {
            return;
        };
        let Some((name, declared)) = variable
            .trim()
            .strip_prefix('!')
            .and_then(|number| number.parse().ok())
            .and_then(|number: u32| self.debug.variables.get(&number))
            .cloned()
        else {
            return;
        };
        let kind = leading_type(value);
        let Ok(width) = self.width(&kind) else {
            return;
        };
        let Ok(operand) = self.operand(&value[kind.len()..], width) else {
            return;
        };
        if let Operand::Value(id) = &operand {
            let slot = &mut self.values[id.0 as usize];
            if slot.width == 0 {
                slot.width = width;
            }
            slot.variable.get_or_insert_with(|| name.clone());
        }
        block.variables.push(VariableIs {
            after: block.steps.len(),
            name,
            declared,
            value: operand,
        });
    }

    fn parse_switch(&mut self, rest: &str) -> Parsed<Terminator> {
        let (head, cases) = rest.split_once('[').ok_or("a switch is not understood")?;
        let parts = split(head);
        let [value, other] = &parts[..] else {
            return Err("a switch is not understood".to_owned());
        };
        let kind = leading_type(value);
        let width = self.width(&kind)?;
        let value = self.operand(&value[kind.len()..], width)?;
        let other = self.block_id(other)?;
        let mut all = Vec::new();
        let cases = cases.split(']').next().unwrap_or_default();
        let words: Vec<&str> = cases.split_whitespace().collect();
        // i32 1, label %x
        for case in words.chunks(4) {
            let [_, number, _, label] = case else {
                return Err("a switch is not understood".to_owned());
            };
            let number: i64 = number
                .trim_end_matches(',')
                .parse()
                .map_err(|_| "a switch is not understood")?;
            all.push((
                number as u64 & crate::term::mask(width),
                self.block_id(label)?,
            ));
        }
        Ok(Terminator::Switch(value, width, all, other))
    }

    fn operand(&mut self, text: &str, width: u8) -> Parsed<Operand> {
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

    fn parse_step(
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

fn push_line(groups: &mut [(String, Vec<String>)], line: String) {
    if let Some((_, lines)) = groups.last_mut() {
        lines.push(line);
    }
}

/// The bracket that closes the one at `open`.
fn matching(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0i32;
    for (index, c) in text[open..].char_indices() {
        match c {
            '(' => depth += 1,
            ')' => {
                depth -= 1;
                if depth == 0 {
                    return Some(open + index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Which global each address is derived from, where it is one and the same on every path.
fn find_objects(function: &mut Function) {
    #[derive(Clone, PartialEq)]
    enum Known {
        Nothing,
        One(String),
        Mixed,
    }
    let mut known = vec![Known::Nothing; function.values.len()];
    let of = |known: &[Known], operand: &Operand| match operand {
        Operand::Global(name, _) => Known::One(name.clone()),
        Operand::Value(id) => known[id.0 as usize].clone(),
        Operand::Number(_) => Known::Mixed,
    };
    for param in &function.params {
        known[param.value.0 as usize] = Known::Mixed;
    }
    let join = |a: Known, b: Known| match (a, b) {
        (Known::Nothing, other) | (other, Known::Nothing) => other,
        (a, b) if a == b => a,
        _ => Known::Mixed,
    };
    loop {
        let before = known.clone();
        for block in &function.blocks {
            for phi in &block.phis {
                let mut all = Known::Nothing;
                for operand in phi.from.values() {
                    all = join(all, of(&known, operand));
                }
                known[phi.to.0 as usize] = all;
            }
            for step in &block.steps {
                let Some(to) = step.to else { continue };
                known[to.0 as usize] = match &step.inst {
                    Inst::Address { base, .. } => of(&known, base),
                    Inst::Select { a, b, .. } => join(of(&known, a), of(&known, b)),
                    _ => Known::Mixed,
                };
            }
        }
        if known == before {
            break;
        }
    }
    for (value, known) in function.values.iter_mut().zip(known) {
        if let Known::One(name) = known {
            value.object = Some(name);
        }
    }
}
