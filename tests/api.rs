//! The HTTP API as an unknown client meets it: each access rule is a request that must fail, each bound a client that
//! exceeds it. Other tests cover what the routes do.

mod access;
mod bounds;
mod clients;
mod document;
pub mod http;
