//! The syntax tree of a candidate: tree-sitter's, as plain data that passes can walk both ways.

use std::ops::Range;

use tree_sitter::{Language, Parser};

use crate::Error;

/// Number of a node.
pub type Id = usize;

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// The grammar's name for it.
    pub kind: &'static str,
    /// The field of its parent that it is, if the grammar names one.
    pub field: Option<&'static str>,
    /// Where it is.
    pub range: Range<usize>,
    /// Its parent; the root has none.
    pub parent: Option<Id>,
    /// Its children, punctuation included.
    pub children: Vec<Id>,
    /// Not punctuation.
    pub named: bool,
}

/// A syntax tree with its text.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The text.
    pub text: String,
    /// All nodes, parents before children, in the order of the text.
    pub nodes: Vec<Node>,
    /// Whether the grammar met something it does not know.
    pub has_error: bool,
}

/// Parses C.
pub fn parse(text: &str) -> Result<Tree, Error> {
    parse_as(text, tree_sitter_c::LANGUAGE.into())
}

/// Parses Rust.
pub fn parse_rust(text: &str) -> Result<Tree, Error> {
    parse_as(text, tree_sitter_rust::LANGUAGE.into())
}

fn parse_as(text: &str, language: Language) -> Result<Tree, Error> {
    let mut parser = Parser::new();
    parser
        .set_language(&language)
        .map_err(|error| Error::Grammar(error.to_string()))?;
    let tree = parser
        .parse(text, None)
        .ok_or_else(|| Error::Grammar("the parser gave up".into()))?;
    let mut nodes: Vec<Node> = Vec::new();
    let mut cursor = tree.walk();
    let mut stack: Vec<Id> = Vec::new();
    loop {
        let node = cursor.node();
        let id = nodes.len();
        nodes.push(Node {
            kind: language
                .node_kind_for_id(node.kind_id())
                .unwrap_or("unknown"),
            field: cursor.field_name().map(known_field),
            range: node.byte_range(),
            parent: stack.last().copied(),
            children: Vec::new(),
            named: node.is_named(),
        });
        if let Some(parent) = stack.last().and_then(|parent| nodes.get_mut(*parent)) {
            parent.children.push(id);
        }
        if cursor.goto_first_child() {
            stack.push(id);
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                let has_error = tree.root_node().has_error();
                return Ok(Tree {
                    text: text.to_owned(),
                    nodes,
                    has_error,
                });
            }
            stack.pop();
        }
    }
}

/// The fields passes ask for, by their lasting names.
fn known_field(name: &str) -> &'static str {
    const FIELDS: [&str; 24] = [
        "alternative",
        "argument",
        "arguments",
        "body",
        "condition",
        "consequence",
        "declarator",
        "designator",
        "field",
        "function",
        "index",
        "initializer",
        "label",
        "left",
        "name",
        "operator",
        "parameters",
        "pattern",
        "return_type",
        "right",
        "size",
        "type",
        "update",
        "value",
    ];
    FIELDS
        .iter()
        .find(|known| **known == name)
        .copied()
        .unwrap_or("other")
}

impl Tree {
    /// A node. Ids come from this tree, so there is one.
    pub fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    /// Its kind.
    pub fn kind(&self, id: Id) -> &'static str {
        self.node(id).kind
    }

    /// Its text.
    pub fn text_of(&self, id: Id) -> &str {
        &self.text[self.node(id).range.clone()]
    }

    /// Its range.
    pub fn range(&self, id: Id) -> Range<usize> {
        self.node(id).range.clone()
    }

    /// Its parent.
    pub fn parent(&self, id: Id) -> Option<Id> {
        self.node(id).parent
    }

    /// Its named children.
    pub fn named(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        self.node(id)
            .children
            .iter()
            .copied()
            .filter(|child| self.node(*child).named && self.kind(*child) != "comment")
    }

    /// Its child in a field.
    pub fn field(&self, id: Id, field: &str) -> Option<Id> {
        let children = self.node(id).children.iter().copied();
        children
            .into_iter()
            .find(|child| self.node(*child).field == Some(field))
    }

    /// All nodes, parents before children.
    pub fn all(&self) -> impl Iterator<Item = Id> + '_ {
        0..self.nodes.len()
    }

    /// All nodes of a kind.
    pub fn of_kind<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = Id> + 'a {
        self.all().filter(move |id| self.kind(*id) == kind)
    }

    /// The nodes below `id`, itself left out.
    pub fn below(&self, id: Id) -> impl Iterator<Item = Id> + '_ {
        let end = self.node(id).range.end;
        let start = self.node(id).range.start;
        ((id + 1)..self.nodes.len()).take_while(move |below| {
            let range = &self.node(*below).range;
            range.start >= start && range.end <= end && self.is_below(*below, id)
        })
    }

    /// Whether `id` is somewhere below `above`.
    pub fn is_below(&self, id: Id, above: Id) -> bool {
        let mut at = self.parent(id);
        while let Some(parent) = at {
            if parent == above {
                return true;
            }
            if parent < above {
                return false;
            }
            at = self.parent(parent);
        }
        false
    }

    /// The nearest node of one of `kinds` around `id`.
    pub fn around(&self, id: Id, kinds: &[&str]) -> Option<Id> {
        let mut at = self.parent(id);
        while let Some(parent) = at {
            if kinds.contains(&self.kind(parent)) {
                return Some(parent);
            }
            at = self.parent(parent);
        }
        None
    }

    /// The identifier a declarator declares.
    pub fn declared(&self, declarator: Id) -> Option<Id> {
        if matches!(
            self.kind(declarator),
            "identifier" | "field_identifier" | "type_identifier"
        ) {
            return Some(declarator);
        }
        let inner = self.field(declarator, "declarator").or_else(|| {
            // a declarator in parentheses has no field
            self.named(declarator).find(|child| {
                self.kind(*child).ends_with("declarator") || self.kind(*child) == "identifier"
            })
        })?;
        self.declared(inner)
    }

    /// The function definition around a node, and its name.
    pub fn function_name(&self, definition: Id) -> Option<&str> {
        let declarator = self.field(definition, "declarator")?;
        Some(self.text_of(self.declared(declarator)?))
    }

    /// The declarator with the parameters of a function definition or prototype.
    pub fn function_declarator(&self, id: Id) -> Option<Id> {
        let mut at = self.field(id, "declarator")?;
        loop {
            if self.kind(at) == "function_declarator" {
                return Some(at);
            }
            at = self.field(at, "declarator")?;
        }
    }

    /// Whether an identifier at `id` is used as a value (not declared, not a label).
    pub fn is_use(&self, id: Id) -> bool {
        if self.kind(id) != "identifier" {
            return false;
        }
        let Some(parent) = self.parent(id) else {
            return false;
        };
        let declares = self.node(id).field == Some("declarator")
            || (self.kind(parent).ends_with("declarator")
                && self.node(id).field != Some("value")
                && self.node(id).field != Some("size"));
        !declares
    }

    /// Whether a node is a statement of a block.
    pub fn is_statement(&self, id: Id) -> bool {
        let kind = self.kind(id);
        kind.ends_with("_statement") || kind == "declaration"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_declarators_are_found() {
        let tree =
            parse("static int *f(int a, char (*b)[3]) { return a ? &a : 0; }\nint x[2], *y = x;\n")
                .unwrap();
        assert!(!tree.has_error);
        let function = tree.of_kind("function_definition").next().unwrap();
        assert_eq!(tree.function_name(function), Some("f"));
        let parameters: Vec<&str> = tree
            .of_kind("parameter_declaration")
            .filter_map(|id| Some(tree.text_of(tree.declared(tree.field(id, "declarator")?)?)))
            .collect();
        assert_eq!(parameters, ["a", "b"]);
        let uses: Vec<&str> = tree
            .of_kind("identifier")
            .filter(|id| tree.is_use(*id))
            .map(|id| tree.text_of(id))
            .collect();
        assert_eq!(uses, ["a", "a", "x"]);
    }

    #[test]
    fn what_is_not_c_has_errors() {
        assert!(parse("int main( {").unwrap().has_error);
        assert!(parse("hello, world\n").unwrap().has_error);
    }
}
