//! opencode as a server: one server for the whole run, with a session for each iteration.
//!
//! A session is prompted over HTTP and observed over a stream of events. `turn` turns these into signals and is pure.
//! The other parts are small tasks with one owner each: `session` runs a turn with its `event_loop`, `outbox` sends
//! requests in the background, `server` owns the process.
//!
//! The end of a stream means nothing: connections break while the server keeps working. A permission request keeps a
//! turn waiting forever, so it is decided by the rules and the user (`asking_rules`, `asks`).

mod adapter;
mod asking_rules;
mod asks;
mod client;
mod error;
mod event_loop;
mod feed;
mod handle;
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
mod subagents;
mod task;
mod turn;
mod verdict;
mod wire;

pub use adapter::ServerAdapter;
pub use error::ServerError;
pub use options::{Credentials, ServerOptions, ServerTimeouts};
pub use server_url::ServerUrl;
