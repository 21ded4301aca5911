//! Programs, cases and exhibits in the broker's object store, under the hash of their content.

use std::time::Duration;

use async_nats::jetstream::object_store::GetErrorKind;
use candor_store::Hash;
use tokio::io::AsyncReadExt as _;

use crate::Error;
use crate::room::Room;

/// For a content to come.
const PATIENCE: Duration = Duration::from_secs(30);
/// Larger contents are none of ours.
const LARGEST: usize = 64 << 20;

/// The bytes of a hash, verified: whoever can write to the broker could have put anything there.
pub(crate) fn get(room: &Room, hash: &Hash) -> Result<Vec<u8>, Error> {
    let damaged = |reason: String| Error::Damaged {
        what: "content",
        reason,
    };
    let fetching = async {
        let mut object = match room.objects.get(hash.as_str()).await {
            Ok(object) => object,
            Err(error) if error.kind() == GetErrorKind::NotFound => {
                return Err(damaged(format!("{hash} is missing")));
            }
            Err(error) => return Err(Error::broker("fetch a content", error)),
        };
        let size = object.info().size;
        if size > LARGEST {
            return Err(damaged(format!("{hash} has {size} bytes")));
        }
        let mut bytes = Vec::with_capacity(size);
        let most = u64::try_from(LARGEST).unwrap_or(u64::MAX);
        (&mut object)
            .take(most + 1)
            .read_to_end(&mut bytes)
            .await
            .map_err(|error| Error::broker("fetch a content", error))?;
        Ok(bytes)
    };
    let bytes = room.link.runtime.block_on(async {
        // A broker that goes away in the middle of a content sends nothing more, and no error.
        let late = |_| Error::broker("fetch a content", "it does not come");
        tokio::time::timeout(PATIENCE, fetching)
            .await
            .map_err(late)?
    })?;
    if Hash::of(&bytes) == *hash {
        Ok(bytes)
    } else {
        Err(damaged(format!("{hash} is not what it says")))
    }
}
