//! Cases as JSON objects with the program's text kept apart.
//!
//! One Csmith program of 100 KB may show twenty findings; their cases share one copy of the text.

use serde_json::{Value, json};

use crate::objects::Objects;
use crate::{Error, Hash};

/// Where contents are kept under their hashes.
pub trait Contents {
    /// Stores bytes under their hash.
    fn put(&self, bytes: &[u8]) -> Result<Hash, Error>;
    /// The bytes of a hash, verified.
    fn get(&self, hash: &Hash) -> Result<Vec<u8>, Error>;
}

impl Contents for Objects {
    fn put(&self, bytes: &[u8]) -> Result<Hash, Error> {
        Objects::put(self, bytes)
    }

    fn get(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        Objects::get(self, hash)
    }
}

/// Where a case keeps its program.
const TEXT: &str = "/program/text";
/// Stands in for the text.
const REFERENCE: &str = "candor-object";

/// Stores `document`, its program's text under a hash of its own.
///
/// # Errors
/// When the place cannot take it.
pub fn put(objects: &impl Contents, document: &Value) -> Result<Hash, Error> {
    let mut packed = document.clone();
    if let Some(slot) = packed.pointer_mut(TEXT)
        && let Value::String(text) = slot
    {
        let hash = objects.put(text.as_bytes())?;
        *slot = json!({ REFERENCE: hash.as_str() });
    }
    let bytes = serde_json::to_vec(&packed).map_err(|error| Error::Unstorable {
        what: "a case",
        reason: error.to_string(),
    })?;
    objects.put(&bytes)
}

/// The document as it was given to [`put`].
///
/// # Errors
/// When it is not there, damaged, or no document.
pub fn get(objects: &impl Contents, hash: &Hash) -> Result<Value, Error> {
    let unreadable = |reason: String| Error::Unreadable {
        what: "case",
        reason,
    };
    let bytes = objects.get(hash)?;
    let mut document: Value =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
    if let Some(slot) = document.pointer_mut(TEXT)
        && let Some(name) = slot.get(REFERENCE).and_then(Value::as_str)
    {
        let text = Hash::parse(name).ok_or_else(|| unreadable(format!("`{name}` is no hash")))?;
        let text = String::from_utf8(objects.get(&text)?)
            .map_err(|error| unreadable(error.to_string()))?;
        *slot = Value::String(text);
    }
    Ok(document)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cases_share_their_programs_text() {
        let directory = tempfile::tempdir().unwrap();
        let objects = Objects::new(directory.path());
        let case = |flags: &str| json!({"program": {"text": "int main;", "name": "a.c"}, "flags": [flags]});
        let one = put(&objects, &case("-O1")).unwrap();
        let two = put(&objects, &case("-O2")).unwrap();
        assert_ne!(one, two);
        assert_eq!(get(&objects, &one).unwrap(), case("-O1"));
        assert_eq!(get(&objects, &two).unwrap(), case("-O2"));
        let folders = std::fs::read_dir(directory.path().join("objects")).unwrap();
        assert_eq!(folders.count(), 3, "two cases and one text");
        let plain = json!({"lines": [1, 2]});
        let hash = put(&objects, &plain).unwrap();
        assert_eq!(get(&objects, &hash).unwrap(), plain);
    }
}
