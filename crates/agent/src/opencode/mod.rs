//! opencode as a server: one for the whole run, a session of it for every iteration.
//!
//! A session is prompted over HTTP and told of over a stream of events; `turn` makes signals of what it says, and is
//! the one part that is pure. The others are small tasks with one owner each: `session` runs a turn over its `event_loop`, `outbox`
//! answers what may not wait, `server` keeps the process.
//!
//! What surprises: a stream that ends means nothing, since connections break and the server works on. And a permission
//! that is asked for keeps a turn waiting for ever, and is put before the rules and whoever watches (`held`, `asks`).

mod adapter;
mod asks;
mod client;
mod error;
mod event_loop;
mod feed;
mod handle;
mod held;
mod ignored_events;
mod messages;
mod monitor;
mod options;
mod outbox;
mod parts;
mod permission;
mod problem;
mod server;
mod server_url;
mod session;
mod task;
mod turn;
mod verdict;
mod wire;

pub use adapter::ServerAdapter;
pub use error::ServerError;
pub use options::{Credentials, Patience, ServerOptions};
pub use server_url::ServerUrl;
