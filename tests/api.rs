//! The HTTP API as a stranger finds it: every rule of access as a request that must fail, every bound as a client that
//! oversteps it. What the routes do is the business of others.

mod access;
mod bounds;
mod document;
pub mod http;
