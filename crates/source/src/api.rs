//! The part of libclang's C API this crate calls, bound at run time, and a parsed translation unit over it.
//!
//! The types and constants are clang-sys'; the function table is our own, because clang-sys keeps its
//! table in a thread-local and can only load the library its environment variable names. A table behind an
//! `Arc` serves any thread and any path.
//!
//! Everything unsafe of this crate is in this file and in `trial`. A [`Cursor`], [`CXType`] or location is only valid while
//! its [`Tu`] lives; they never leave the walk that borrows it.

use std::ffi::{CStr, CString, c_char, c_int, c_longlong, c_uint, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr;

use clang_sys::{
    CX_StorageClass, CXCursor, CXCursorKind, CXCursorVisitor, CXDiagnostic, CXErrorCode,
    CXFieldVisitor, CXFile, CXIndex, CXSourceLocation, CXSourceRange, CXString, CXTLSKind, CXToken,
    CXTranslationUnit, CXType, CXUnsavedFile, CXVisitorResult,
};

use crate::error::Diagnostic;

/// A node of clang's syntax tree.
pub type Cursor = CXCursor;

macro_rules! api {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// libclang's functions, by their own names.
        #[allow(non_snake_case)]
        pub struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// Never unloaded: libclang leaves signal handlers and thread-local destructors behind.
            _library: ManuallyDrop<libloading::Library>,
        }

        impl Api {
            /// Loads the library at `path`.
            pub fn load(path: &Path) -> Result<Self, String> {
                // SAFETY: loading runs the library's initialisers; the path is one the user or the
                // system's package manager put there as libclang.
                let library = unsafe { libloading::Library::new(path) }.map_err(|e| e.to_string())?;
                Ok(Self {
                    $($name: {
                        // SAFETY: the signatures below are those of libclang's headers since version 12.
                        let symbol = unsafe { library.get(concat!(stringify!($name), "\0").as_bytes()) };
                        *symbol.map_err(|_| {
                            format!("it has no function {}: not libclang, or older than version 12", stringify!($name))
                        })?
                    },)*
                    _library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

api! {
    clang_getClangVersion() -> CXString;
    clang_getCString(CXString) -> *const c_char;
    clang_disposeString(CXString);
    clang_createIndex(c_int, c_int) -> CXIndex;
    clang_disposeIndex(CXIndex);
    clang_parseTranslationUnit2(CXIndex, *const c_char, *const *const c_char, c_int, *mut CXUnsavedFile, c_uint, c_uint, *mut CXTranslationUnit) -> CXErrorCode;
    clang_disposeTranslationUnit(CXTranslationUnit);
    clang_getNumDiagnostics(CXTranslationUnit) -> c_uint;
    clang_getDiagnostic(CXTranslationUnit, c_uint) -> CXDiagnostic;
    clang_disposeDiagnostic(CXDiagnostic);
    clang_getDiagnosticSeverity(CXDiagnostic) -> c_int;
    clang_getDiagnosticSpelling(CXDiagnostic) -> CXString;
    clang_getDiagnosticLocation(CXDiagnostic) -> CXSourceLocation;
    clang_getFile(CXTranslationUnit, *const c_char) -> CXFile;
    clang_getFileName(CXFile) -> CXString;
    clang_File_isEqual(CXFile, CXFile) -> c_int;
    clang_getTranslationUnitCursor(CXTranslationUnit) -> CXCursor;
    clang_visitChildren(CXCursor, CXCursorVisitor, *mut c_void) -> c_uint;
    clang_getCursorReferenced(CXCursor) -> CXCursor;
    clang_getCanonicalCursor(CXCursor) -> CXCursor;
    clang_getCursorKind(CXCursor) -> CXCursorKind;
    clang_getCursorSpelling(CXCursor) -> CXString;
    clang_getCursorExtent(CXCursor) -> CXSourceRange;
    clang_getCursorLocation(CXCursor) -> CXSourceLocation;
    clang_getRangeStart(CXSourceRange) -> CXSourceLocation;
    clang_getRangeEnd(CXSourceRange) -> CXSourceLocation;
    clang_getExpansionLocation(CXSourceLocation, *mut CXFile, *mut c_uint, *mut c_uint, *mut c_uint);
    clang_getPresumedLocation(CXSourceLocation, *mut CXString, *mut c_uint, *mut c_uint);
    clang_Location_isFromMainFile(CXSourceLocation) -> c_int;
    clang_Location_isInSystemHeader(CXSourceLocation) -> c_int;
    clang_getToken(CXTranslationUnit, CXSourceLocation) -> *mut CXToken;
    clang_getTokenSpelling(CXTranslationUnit, CXToken) -> CXString;
    clang_disposeTokens(CXTranslationUnit, *mut CXToken, c_uint);
    clang_isAttribute(CXCursorKind) -> c_uint;
    clang_isExpression(CXCursorKind) -> c_uint;
    clang_isStatement(CXCursorKind) -> c_uint;
    clang_isCursorDefinition(CXCursor) -> c_uint;
    clang_Cursor_hasAttrs(CXCursor) -> c_uint;
    clang_Cursor_getVarDeclInitializer(CXCursor) -> CXCursor;
    clang_Cursor_isNull(CXCursor) -> c_int;
    clang_Cursor_getStorageClass(CXCursor) -> CX_StorageClass;
    clang_Cursor_isFunctionInlined(CXCursor) -> c_uint;
    clang_Cursor_isVariadic(CXCursor) -> c_uint;
    clang_Cursor_getNumArguments(CXCursor) -> c_int;
    clang_Cursor_getArgument(CXCursor, c_uint) -> CXCursor;
    clang_getCursorTLSKind(CXCursor) -> CXTLSKind;
    clang_getCursorType(CXCursor) -> CXType;
    clang_getCursorResultType(CXCursor) -> CXType;
    clang_getCanonicalType(CXType) -> CXType;
    clang_getTypeSpelling(CXType) -> CXString;
    clang_getTypeDeclaration(CXType) -> CXCursor;
    clang_getTypedefDeclUnderlyingType(CXCursor) -> CXType;
    clang_Type_getNamedType(CXType) -> CXType;
    clang_Type_getModifiedType(CXType) -> CXType;
    clang_Type_getValueType(CXType) -> CXType;
    clang_Type_getSizeOf(CXType) -> c_longlong;
    clang_Type_visitFields(CXType, CXFieldVisitor, *mut c_void) -> CXVisitorResult;
    clang_isConstQualifiedType(CXType) -> c_uint;
    clang_isVolatileQualifiedType(CXType) -> c_uint;
    clang_isRestrictQualifiedType(CXType) -> c_uint;
    clang_getPointeeType(CXType) -> CXType;
    clang_getArrayElementType(CXType) -> CXType;
    clang_getArraySize(CXType) -> c_longlong;
    clang_getEnumDeclIntegerType(CXCursor) -> CXType;
    clang_getFieldDeclBitWidth(CXCursor) -> c_int;
    clang_Cursor_getOffsetOfField(CXCursor) -> c_longlong;
}

impl Api {
    /// Takes ownership of a libclang string.
    fn string(&self, string: CXString) -> String {
        // SAFETY: the string is one libclang just returned; it is copied before it is disposed of.
        unsafe {
            let pointer = (self.clang_getCString)(string);
            let copy = if pointer.is_null() {
                String::new()
            } else {
                CStr::from_ptr(pointer).to_string_lossy().into_owned()
            };
            (self.clang_disposeString)(string);
            copy
        }
    }

    /// As in `Debian clang version 19.1.7 (3+b1)`.
    pub fn version(&self) -> String {
        // SAFETY: no arguments.
        let version = unsafe { (self.clang_getClangVersion)() };
        self.string(version)
    }
}

/// A place in some file, macro expansions undone.
#[derive(Clone, Copy)]
pub struct Place {
    pub file: CXFile,
    pub line: u32,
    pub column: u32,
    pub offset: usize,
}

/// A parsed translation unit.
pub struct Tu<'api> {
    api: &'api Api,
    index: CXIndex,
    tu: CXTranslationUnit,
    main: CXFile,
}

impl Drop for Tu<'_> {
    fn drop(&mut self) {
        // SAFETY: both were created by `parse` and are disposed of once.
        unsafe {
            (self.api.clang_disposeTranslationUnit)(self.tu);
            (self.api.clang_disposeIndex)(self.index);
        }
    }
}

/// Generates the methods that only hand a value through to libclang.
macro_rules! forward {
    (bool $($name:ident($argument:ty) = $function:ident;)*) => {
        $(pub fn $name(&self, value: $argument) -> bool {
            // SAFETY: the value came from this translation unit, which is alive.
            unsafe { (self.api.$function)(value) != 0 }
        })*
    };
    (string $($name:ident($argument:ty) = $function:ident;)*) => {
        $(pub fn $name(&self, value: $argument) -> String {
            // SAFETY: as above.
            let string = unsafe { (self.api.$function)(value) };
            self.api.string(string)
        })*
    };
    (value $($(#[$doc:meta])* $name:ident($argument:ty) -> $result:ty = $function:ident;)*) => {
        $($(#[$doc])*
        pub fn $name(&self, value: $argument) -> $result {
            // SAFETY: as above.
            unsafe { (self.api.$function)(value) }
        })*
    };
}

impl<'api> Tu<'api> {
    /// Parses `text` under the name `file`; the error is libclang's reason in words.
    pub fn parse(
        api: &'api Api,
        file: &CStr,
        text: &str,
        arguments: &[CString],
    ) -> Result<Self, String> {
        let pointers: Vec<*const c_char> = arguments.iter().map(|a| a.as_ptr()).collect();
        let count = c_int::try_from(pointers.len()).map_err(|_| "too many flags".to_string())?;
        let mut unsaved = CXUnsavedFile {
            Filename: file.as_ptr(),
            Contents: text.as_ptr().cast(),
            Length: text.len() as c_ulong,
        };
        // SAFETY: every pointer outlives the call; libclang copies the text.
        unsafe {
            let index = (api.clang_createIndex)(0, 0);
            let mut tu: CXTranslationUnit = ptr::null_mut();
            let code = (api.clang_parseTranslationUnit2)(
                index,
                file.as_ptr(),
                pointers.as_ptr(),
                count,
                &raw mut unsaved,
                1,
                0,
                &raw mut tu,
            );
            if tu.is_null() {
                (api.clang_disposeIndex)(index);
                return Err(match code {
                    clang_sys::CXError_Crashed => "clang crashed on it".to_string(),
                    clang_sys::CXError_InvalidArguments => {
                        "clang does not accept the flags".to_string()
                    }
                    code => format!("error {code}; are the flags ones clang knows?"),
                });
            }
            let main = (api.clang_getFile)(tu, file.as_ptr());
            Ok(Self {
                api,
                index,
                tu,
                main,
            })
        }
    }

    /// Clang's errors (not its warnings), in order.
    pub fn errors(&self) -> Vec<Diagnostic> {
        let mut errors = Vec::new();
        // SAFETY: indices below the count; each diagnostic is disposed of once.
        unsafe {
            for index in 0..(self.api.clang_getNumDiagnostics)(self.tu) {
                let diagnostic = (self.api.clang_getDiagnostic)(self.tu, index);
                let severity = (self.api.clang_getDiagnosticSeverity)(diagnostic);
                if severity >= clang_sys::CXDiagnostic_Error {
                    let place = self.place((self.api.clang_getDiagnosticLocation)(diagnostic));
                    let message = (self.api.clang_getDiagnosticSpelling)(diagnostic);
                    errors.push(Diagnostic {
                        file: (!place.file.is_null())
                            .then(|| self.api.string((self.api.clang_getFileName)(place.file))),
                        line: place.line,
                        column: place.column,
                        message: self.api.string(message),
                    });
                }
                (self.api.clang_disposeDiagnostic)(diagnostic);
            }
        }
        errors
    }

    /// The root of the tree.
    pub fn root(&self) -> Cursor {
        // SAFETY: the unit is alive.
        unsafe { (self.api.clang_getTranslationUnitCursor)(self.tu) }
    }

    /// The direct children.
    pub fn children(&self, cursor: Cursor) -> Vec<Cursor> {
        let mut children = Vec::new();
        self.visit(cursor, &mut |child| {
            children.push(child);
            clang_sys::CXChildVisit_Continue
        });
        children
    }

    /// The parameters of a function. Not all its `ParmDecl` children: those of the function that a returned
    /// pointer points to are children, too.
    pub fn parameters(&self, function: Cursor) -> Vec<Cursor> {
        // SAFETY: the cursor belongs to this unit, and the indices are below the count.
        unsafe {
            let count = (self.api.clang_Cursor_getNumArguments)(function);
            (0..u32::try_from(count).unwrap_or(0))
                .map(|index| (self.api.clang_Cursor_getArgument)(function, index))
                .collect()
        }
    }

    /// Visits the tree below `cursor`; `see` answers with a `CXChildVisit_*` constant.
    pub fn visit(&self, cursor: Cursor, see: &mut dyn FnMut(Cursor) -> c_int) {
        extern "C" fn callback(child: CXCursor, _: CXCursor, data: *mut c_void) -> c_int {
            // SAFETY: `data` is the reference made below, alive during the visit and used by nobody else.
            let see = unsafe { &mut *data.cast::<&mut dyn FnMut(CXCursor) -> c_int>() };
            see(child)
        }
        let mut see = see;
        // SAFETY: the callback is only called during this call.
        unsafe { (self.api.clang_visitChildren)(cursor, callback, (&raw mut see).cast()) };
    }

    /// The fields of a record type, in order.
    pub fn fields(&self, record: CXType) -> Vec<Cursor> {
        extern "C" fn callback(field: CXCursor, data: *mut c_void) -> CXVisitorResult {
            // SAFETY: as in `visit`.
            unsafe { &mut *data.cast::<Vec<CXCursor>>() }.push(field);
            clang_sys::CXVisit_Continue
        }
        let mut fields: Vec<Cursor> = Vec::new();
        // SAFETY: as in `visit`.
        unsafe {
            (self.api.clang_Type_visitFields)(record, callback, (&raw mut fields).cast());
        }
        fields
    }

    /// The place of a location in its file; of one in a macro expansion, the place of the expansion.
    pub fn place(&self, location: CXSourceLocation) -> Place {
        let (mut file, mut line, mut column, mut offset) = (ptr::null_mut(), 0, 0, 0);
        // SAFETY: out-parameters are locals.
        unsafe {
            (self.api.clang_getExpansionLocation)(
                location,
                &raw mut file,
                &raw mut line,
                &raw mut column,
                &raw mut offset,
            );
        }
        Place {
            file,
            line,
            column,
            offset: offset as usize,
        }
    }

    /// File and line after `#line`: what debug information gives.
    pub fn presumed(&self, location: CXSourceLocation) -> (String, u32) {
        let mut file = CXString::default();
        let (mut line, mut column) = (0, 0);
        // SAFETY: out-parameters are locals; the string is disposed of once.
        unsafe {
            (self.api.clang_getPresumedLocation)(
                location,
                &raw mut file,
                &raw mut line,
                &raw mut column,
            );
        }
        (self.api.string(file), line)
    }

    /// Whether a file handle means the main file.
    pub fn is_main(&self, file: CXFile) -> bool {
        // SAFETY: both handles belong to this unit; null is excluded.
        !file.is_null() && unsafe { (self.api.clang_File_isEqual)(file, self.main) != 0 }
    }

    /// First and last location of a cursor.
    pub fn extent(&self, cursor: Cursor) -> (CXSourceLocation, CXSourceLocation) {
        // SAFETY: the cursor belongs to this unit.
        unsafe {
            let range = (self.api.clang_getCursorExtent)(cursor);
            (
                (self.api.clang_getRangeStart)(range),
                (self.api.clang_getRangeEnd)(range),
            )
        }
    }

    /// The token written at a location; of one in a macro expansion, the token in the macro's text.
    pub fn token_at(&self, location: CXSourceLocation) -> Option<String> {
        // SAFETY: a returned token is disposed of once.
        unsafe {
            let token = (self.api.clang_getToken)(self.tu, location);
            if token.is_null() {
                return None;
            }
            let spelling = (self.api.clang_getTokenSpelling)(self.tu, *token);
            let spelling = self.api.string(spelling);
            (self.api.clang_disposeTokens)(self.tu, token, 1);
            Some(spelling)
        }
    }

    forward! { value
        /// Its kind.
        kind(Cursor) -> CXCursorKind = clang_getCursorKind;
        /// What a reference refers to.
        referenced(Cursor) -> Cursor = clang_getCursorReferenced;
        /// Of several declarations of one thing the one that stands for all.
        canonical_cursor(Cursor) -> Cursor = clang_getCanonicalCursor;
        /// Where its name is.
        location(Cursor) -> CXSourceLocation = clang_getCursorLocation;
        /// The storage class written.
        storage(Cursor) -> CX_StorageClass = clang_Cursor_getStorageClass;
        /// Thread-local or not.
        tls(Cursor) -> CXTLSKind = clang_getCursorTLSKind;
        /// What a variable is initialised with; null when with nothing.
        initializer(Cursor) -> Cursor = clang_Cursor_getVarDeclInitializer;
        /// The type of what it declares.
        type_of(Cursor) -> CXType = clang_getCursorType;
        /// What a function returns.
        result_type(Cursor) -> CXType = clang_getCursorResultType;
        /// Typedefs resolved.
        canonical(CXType) -> CXType = clang_getCanonicalType;
        /// What declares the type.
        declaration(CXType) -> Cursor = clang_getTypeDeclaration;
        /// What a typedef stands for.
        underlying(Cursor) -> CXType = clang_getTypedefDeclUnderlyingType;
        /// Of `struct S` the S.
        named(CXType) -> CXType = clang_Type_getNamedType;
        /// A type without its attribute.
        modified(CXType) -> CXType = clang_Type_getModifiedType;
        /// Of `_Atomic(T)` the T.
        atomic_value(CXType) -> CXType = clang_Type_getValueType;
        /// In bytes, negative when there is none.
        size_of(CXType) -> c_longlong = clang_Type_getSizeOf;
        /// What it points to.
        pointee(CXType) -> CXType = clang_getPointeeType;
        /// Of an array.
        element(CXType) -> CXType = clang_getArrayElementType;
        /// Of an array, negative when unknown.
        length(CXType) -> c_longlong = clang_getArraySize;
        /// What represents an enumeration.
        enum_integer(Cursor) -> CXType = clang_getEnumDeclIntegerType;
        /// Negative when it is no bit-field.
        bit_width(Cursor) -> c_int = clang_getFieldDeclBitWidth;
        /// In bits, negative when unknown.
        field_offset(Cursor) -> c_longlong = clang_Cursor_getOffsetOfField;
    }

    forward! { bool
        is_written_in_main(CXSourceLocation) = clang_Location_isFromMainFile;
        is_in_system_header(CXSourceLocation) = clang_Location_isInSystemHeader;
        is_attribute(CXCursorKind) = clang_isAttribute;
        is_expression(CXCursorKind) = clang_isExpression;
        is_statement(CXCursorKind) = clang_isStatement;
        is_definition(Cursor) = clang_isCursorDefinition;
        is_null(Cursor) = clang_Cursor_isNull;
        has_attributes(Cursor) = clang_Cursor_hasAttrs;
        is_inline(Cursor) = clang_Cursor_isFunctionInlined;
        is_variadic(Cursor) = clang_Cursor_isVariadic;
        is_const(CXType) = clang_isConstQualifiedType;
        is_volatile(CXType) = clang_isVolatileQualifiedType;
        is_restrict(CXType) = clang_isRestrictQualifiedType;
    }

    forward! { string
        spelling(Cursor) = clang_getCursorSpelling;
        type_spelling(CXType) = clang_getTypeSpelling;
    }
}
