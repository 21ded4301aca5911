//! Content under its hash: `objects/ab/cdef...`, written to a temporary name and renamed.
//!
//! A file is there wholly or not at all; storing the same content twice is one file; damage is noticed on reading.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::{Error, Hash};

/// The folder of objects.
#[derive(Debug)]
pub(crate) struct Objects {
    directory: PathBuf,
    temporary: PathBuf,
}

impl Objects {
    /// Below the store's directory.
    pub(crate) fn new(store: &Path) -> Self {
        Objects {
            directory: store.join("objects"),
            temporary: store.join("tmp"),
        }
    }

    /// Removes half-written files. Only when no other worker lives.
    pub(crate) fn clear_temporary(&self) -> Result<(), Error> {
        match std::fs::remove_dir_all(&self.temporary) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(Error::file("clear", &self.temporary, error)),
        }
    }

    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Hash, Error> {
        let hash = Hash::of(bytes);
        let path = self.path(&hash);
        if path.exists() {
            return Ok(hash);
        }
        let folder = path.parent().unwrap_or(&self.directory);
        for needed in [folder, &self.temporary] {
            std::fs::create_dir_all(needed)
                .map_err(|source| Error::file("create", needed, source))?;
        }
        let failed = |source| Error::file("write", &path, source);
        // Dropped on every way out but the last, so nothing half-written stays.
        let mut file = tempfile::NamedTempFile::new_in(&self.temporary).map_err(failed)?;
        file.write_all(bytes).map_err(failed)?;
        file.as_file().sync_data().map_err(failed)?;
        file.persist(&path).map_err(|error| failed(error.error))?;
        Ok(hash)
    }

    pub(crate) fn get(&self, hash: &Hash) -> Result<Vec<u8>, Error> {
        let path = self.path(hash);
        let object = |what| Error::Object {
            hash: hash.to_string(),
            what,
        };
        let bytes = std::fs::read(&path).map_err(|source| match source.kind() {
            std::io::ErrorKind::NotFound => object("missing"),
            _ => Error::file("read", &path, source),
        })?;
        if Hash::of(&bytes) == *hash {
            Ok(bytes)
        } else {
            Err(object("damaged"))
        }
    }

    /// The names of all there are, sorted; what is not named like one is somebody else's.
    pub(crate) fn all(&self) -> Result<Vec<Hash>, Error> {
        let entries = |directory: &Path| -> Result<Vec<String>, Error> {
            let failed = |source| Error::file("read", directory, source);
            let listing = match std::fs::read_dir(directory) {
                Ok(listing) => listing,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(error) => return Err(failed(error)),
            };
            let mut names = Vec::new();
            for entry in listing {
                let name = entry.map_err(failed)?.file_name();
                names.extend(name.into_string().ok());
            }
            names.sort();
            Ok(names)
        };
        let mut all = Vec::new();
        for first in entries(&self.directory)? {
            for rest in entries(&self.directory.join(&first))? {
                all.extend(Hash::parse(&format!("{first}{rest}")));
            }
        }
        Ok(all)
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        let (first, rest) = hash.as_str().split_at(2);
        self.directory.join(first).join(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_stored_once_and_damage_is_noticed() {
        let directory = tempfile::tempdir().unwrap();
        let objects = Objects::new(directory.path());
        let hash = objects.put(b"int main;").unwrap();
        assert_eq!(objects.put(b"int main;").unwrap(), hash);
        assert_eq!(objects.get(&hash).unwrap(), b"int main;");
        assert_eq!(
            std::fs::read_dir(directory.path().join("tmp"))
                .unwrap()
                .count(),
            0
        );

        std::fs::write(objects.path(&hash), "int niam;").unwrap();
        let error = objects.get(&hash).unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        std::fs::remove_file(objects.path(&hash)).unwrap();
        let error = objects.get(&hash).unwrap_err().to_string();
        assert!(error.contains("missing"), "{error}");
    }
}
