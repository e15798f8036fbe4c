//! The terms of the code, one for each thing.
//!
//! | term | meaning |
//! |---|---|
//! | adapter | what ralph knows about running one agent: a manifest in TOML, and a dialect or a client of its server ([`agent`](crate::agent)) |
//! | agent | the coding agent: a program or a server that is not part of ralph |
//! | author | the agent that works on the plan, where another one reviews it |
