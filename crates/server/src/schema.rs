//! The derive of schemas: that of `schemars` for tests, and one without effect otherwise.

#[cfg(not(test))]
pub(crate) use ralph_core::json::NoSchema as JsonSchema;
#[cfg(test)]
pub(crate) use schemars::JsonSchema;
