//! Reading textual LLVM IR as clang and opt of versions 14 to 19 print it. Only what promoted -O0 code of integer
//! functions contains; the rest is named and makes the function unsupported, not the module.

mod step;

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
    /// The source it was made from, and with which flags.
    pub origin: Option<(std::path::PathBuf, Vec<String>)>,
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
