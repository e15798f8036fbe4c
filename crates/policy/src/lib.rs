//! Layers of settings, and the rules by which an agent's requests are allowed or denied.

#![deny(unreachable_pub)]

pub mod permissions;
pub mod settings;
pub mod trust;
