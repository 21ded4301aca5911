//! One hunt on many machines: the store of a campaign behind NATS JetStream.
//!
//! In: a broker's address and a campaign's name. Out: a [`Store`](candor_store::Store) like the embedded one, which
//! hunt, reduce, isolate and report use without knowing the difference.
//!
//! What a campaign is at the broker, in the order of the files:
//! 1. [`Broker`]: the connection; who may be talked to in the clear (this machine), credentials, TLS.
//! 2. `names`, `room`: its streams and buckets, made once; somebody else's are recognised and left alone.
//! 3. [`Fleet`]: campaigns by name. What a campaign is (settings, plan, schema) belongs to it, not to its workers.
//! 4. `queue`, `audit`: a work-queue stream of seeds. A seed is acknowledged when every build of it is judged and comes
//!    back when its worker is silent for the length of a lease. An empty queue is not the end: what the log does not know
//!    to be judged is put into it again.
//! 5. `claims`: signatures in a bucket; compare-and-set lets one worker improve each.
//! 6. `spool`, `courier`: results on their way. What cannot be delivered is kept on disk and delivered later.
//! 7. `contents`: programs and cases in the object store under the hash of their content, verified when read.
//! 8. `log`: the stream of facts, which is the campaign's memory, and the copy of it that reports look at.
//! 9. `workers`, `status`: who works, how it stands.
//! 10. `store`: all of it as a [`FleetStore`]; `plan`, `worker`, `seeds` and `findings` in it are what its methods are about.
//!
//! Deliberately absent: no clock but the broker's is compared with another; everything that comes from the broker is
//! bounded in size, checked, and never run outside the sandbox; nothing here starts a program or prints.

mod audit;
mod broker;
mod campaign;
mod claims;
mod contents;
mod courier;
mod error;
mod log;
mod names;
mod queue;
mod room;
mod spool;
mod status;
mod store;
mod workers;

pub use broker::{Broker, hide_password};
pub use campaign::{Fleet, SCHEMA, Terms};
pub use error::Error;
pub use status::{Hand, Standing};
pub use store::FleetStore;
