//! Settings, and where each came from.
//!
//! Layers, weakest first: defaults, the user's file, the project's file, the file of `--config`, `RALPH_*` variables,
//! flags. They are merged key by key, once, when ralph starts: an agent that edits a file or its environment changes
//! nothing. Every layer is checked by itself, so a mistake is an error even where a stronger layer hides it.
//!
//! A setting is one row in `settings`; all that is known of it comes from there, by the engine of [`ralph_policy::settings`].

mod env;
mod file;
mod goals;
mod keys;
mod languages;
pub(crate) mod listen;
mod load;
mod mcp;
#[cfg(test)]
mod mistakes;
mod native;
#[cfg(test)]
mod outputs;
mod permissions;
mod render;
mod sandbox;
mod screen;
mod settings;
mod sources;
#[cfg(test)]
mod testing;
mod values;

pub use ralph_policy::settings::format_duration;

pub use env::RUNTIME_VARIABLES;
pub use keys::SharedKeys;
pub use load::{Loaded, load};
pub use native::Native;
pub use permissions::Permissions;
pub(crate) use render::of_verification;
pub use render::{SettingFlag, example, flags, paths, schema, show};
pub use sandbox::{Sandbox, SandboxMode};
pub use screen::{Screen, ScreenTheme, Signs};
pub use settings::{Baseline, Config, Keep};
pub use sources::{Flag, ProjectContent, ProjectFile, Sources};
pub use values::Notify;

/// What to type where a setting is like no other.
pub const NO_HINT: &str = "`ralph config schema` lists every setting";
