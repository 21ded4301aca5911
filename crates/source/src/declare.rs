//! Declarations: from libclang's cursors to variables, functions, attributes and scopes.

// libclang's constants keep libclang's names.
#![allow(non_upper_case_globals)]

use std::sync::Arc;

use clang_sys::*;

use crate::api::Cursor;
use crate::text::skip_blank;
use crate::unit::{Attributes, Function, Name, Origin, Scope, Storage, Variable, VariableKind};
use crate::walk::Walker;

impl Walker<'_> {
    /// Opens a scope inside `parent`.
    pub fn open_scope(&mut self, parent: usize) -> usize {
        self.scopes.push(Scope {
            parent: Some(parent),
            names: Vec::new(),
        });
        self.scopes.len() - 1
    }

    /// The next position in the walk.
    pub fn tick(&mut self) -> u32 {
        self.order = self.order.saturating_add(1);
        self.order
    }

    fn bind(&mut self, scope: usize, name: &str, variable: Option<usize>) {
        let order = self.tick();
        if let Some(scope) = self.scopes.get_mut(scope) {
            scope.names.push(Name {
                name: Arc::from(name),
                order,
                variable,
            });
        }
    }

    /// Declares a variable or parameter in `scope`; unnamed parameters give `None`.
    pub fn declare_variable(
        &mut self,
        cursor: Cursor,
        scope: usize,
        function: Option<usize>,
    ) -> Option<usize> {
        let tu = self.tu;
        let name = tu.spelling(cursor);
        if name.is_empty() {
            return None;
        }
        let is_parameter = tu.kind(cursor) == CXCursor_ParmDecl;
        let storage = storage(tu.storage(cursor));
        let location = tu.location(cursor);
        let place = tu.place(location);
        let ty = if is_parameter {
            self.types.read_parameter(tu.type_of(cursor))
        } else {
            self.types.read(tu.type_of(cursor))
        };
        // libclang does not tell the qualifiers between brackets: `int a[restrict 3]`.
        let written = || self.text.get(self.span(cursor)).unwrap_or_default();
        if (ty.has_restrict() || (is_parameter && written().contains("restrict")))
            && let Some(function) = function.and_then(|id| self.functions.get_mut(id))
        {
            function.has_restrict = true;
        }
        self.note_declared(cursor);
        let id = self.variables.len();
        self.variables.push(Variable {
            id,
            line: place.line,
            debug_line: self.debug_place(location, place.line).1,
            offset: tu.is_written_in_main(location).then_some(place.offset),
            kind: match (is_parameter, function, storage) {
                (true, ..) => VariableKind::Param,
                (_, None, _) | (_, _, Storage::Extern) => VariableKind::Global,
                (_, _, Storage::Static) => VariableKind::StaticLocal,
                _ => VariableKind::Local,
            },
            origin: if tu.is_main(place.file) {
                Origin::Main
            } else if tu.is_in_system_header(location) {
                Origin::System
            } else {
                Origin::Included
            },
            ty,
            attributes: self.attributes(cursor),
            storage,
            is_thread_local: tu.tls(cursor) != CXTLS_None,
            is_initialised: !is_parameter && !tu.is_null(tu.initializer(cursor)),
            function,
            name: name.clone(),
        });
        self.bind(scope, &name, Some(id));
        Some(id)
    }

    /// Notes the names a declaration in a block brings beside variables: they hide outer variables.
    pub fn declare_other(&mut self, cursor: Cursor, scope: usize) {
        let tu = self.tu;
        match tu.kind(cursor) {
            CXCursor_TypedefDecl | CXCursor_FunctionDecl | CXCursor_EnumConstantDecl => {
                let name = tu.spelling(cursor);
                self.bind(scope, &name, None);
            }
            // Enumerators of an enumeration declared in here belong to the block.
            CXCursor_EnumDecl | CXCursor_StructDecl | CXCursor_UnionDecl | CXCursor_FieldDecl => {
                for child in tu.children(cursor) {
                    self.declare_other(child, scope);
                }
            }
            _ => {}
        }
    }

    /// Registers a function definition and its parameters, whose scope is returned with the function's id.
    pub fn declare_function(&mut self, cursor: Cursor, body: Cursor) -> (usize, usize) {
        let tu = self.tu;
        let id = self.functions.len();
        let attributes = self.attributes(cursor);
        let returns = self.types.read(tu.result_type(cursor));
        self.functions.push(Function {
            id,
            name: tu.spelling(cursor),
            line: tu.place(tu.location(cursor)).line,
            span: self.span(cursor),
            body: self.span(body),
            attributes,
            is_static: tu.storage(cursor) == CX_SC_Static,
            is_inline: tu.is_inline(cursor),
            is_variadic: tu.is_variadic(cursor),
            is_old_style: false,
            returns,
            parameters: Vec::new(),
            labels: Vec::new(),
            returns_twice_inside: false,
            has_restrict: false,
        });
        let scope = self.open_scope(0);
        let mut parameters = Vec::new();
        for parameter in tu.parameters(cursor) {
            parameters.extend(self.declare_variable(parameter, scope, Some(id)));
        }
        let is_old_style = self.parameters_end_with_semicolon(cursor);
        if let Some(function) = self.functions.get_mut(id) {
            function.is_old_style = is_old_style;
            function.parameters = parameters;
        }
        (id, scope)
    }

    /// `int f(a) int a; {`: clang gives such a function a prototype type, so its text must tell.
    fn parameters_end_with_semicolon(&self, function: Cursor) -> bool {
        let parameters = self.tu.parameters(function).into_iter();
        let last = parameters.map(|parameter| self.span(parameter).end).max();
        last.is_some_and(|end| self.rest(skip_blank(&self.text, end)).starts_with(';'))
    }

    /// The attributes of a declaration, by name.
    pub fn attributes(&self, cursor: Cursor) -> Attributes {
        let tu = self.tu;
        if !tu.has_attributes(cursor) {
            return Attributes::new();
        }
        tu.children(cursor)
            .into_iter()
            .filter_map(|child| match tu.kind(child) {
                CXCursor_AsmLabelAttr => Some("asm".to_string()),
                CXCursor_ConstAttr => Some("const".to_string()),
                CXCursor_PureAttr => Some("pure".to_string()),
                kind if tu.is_attribute(kind) => self.attribute_name(child),
                _ => None,
            })
            .collect()
    }

    /// What is written: `__naked__` is `naked`, `gnu::cold` is `cold`.
    fn attribute_name(&self, attribute: Cursor) -> Option<String> {
        let location = self.tu.location(attribute);
        let mut name = self.tu.token_at(location)?;
        if self.tu.is_written_in_main(location) {
            let behind = skip_blank(&self.text, self.tu.place(location).offset + name.len());
            let rest = self.text.get(behind..).unwrap_or_default();
            if rest.starts_with("::") {
                let word = self.text.get(skip_blank(&self.text, behind + 2)..)?;
                name = word
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
            }
        }
        let plain = name.trim_matches('_');
        (!plain.is_empty()).then(|| plain.to_string())
    }
}

fn storage(class: CX_StorageClass) -> Storage {
    match class {
        CX_SC_Auto => Storage::Auto,
        CX_SC_Register => Storage::Register,
        CX_SC_Static => Storage::Static,
        CX_SC_Extern | CX_SC_PrivateExtern => Storage::Extern,
        _ => Storage::None,
    }
}
