//! Settings and their origins.
//!
//! Layers, weakest first: defaults, the user's file, the project's file, the file of `--config`, `RALPH_*` variables,
//! flags. They are merged key by key, once, when ralph starts, so that an agent that edits a file or its environment
//! changes nothing. Every layer is checked by itself, so a mistake is an error even if a stronger layer overrides it.
//!
//! A setting is one row in `settings`. The engine in [`ralph_policy::settings`](mod@ralph_policy::settings) derives everything else from that row.

mod env;
mod file;
mod goals;
mod keys;
mod languages;
mod left_out;
pub(crate) mod listen;
mod load;
mod mcp;
#[cfg(test)]
mod mistakes_tests;
mod native;
#[cfg(test)]
mod outputs_tests;
mod permissions;
mod prices;
mod removed;
mod render;
mod sandbox;
mod screen;
mod settings;
mod sources;
#[cfg(test)]
mod testing;
mod tree;
mod values;

pub use ralph_policy::settings::format_duration;

pub use env::RUNTIME_VARIABLES;
pub use keys::SharedKeys;
pub use load::{Loaded, load};
pub use native::Native;
pub use permissions::PermissionSettings;
pub(crate) use removed::REMOVED_COMMANDS;
pub use render::{SettingFlag, example, flags, paths, schema, show};
pub use sandbox::{SandboxMode, SandboxSettings};
pub use screen::{ScreenSettings, ScreenTheme};
pub use settings::{Baseline, CommitWhen, Config, DeliverTo, RetentionSettings};
pub use sources::{Flag, ProjectContent, ProjectFile, SettingSources};
pub use tree::TreeSettings;
pub use values::{DiskSpace, MemorySize, Notify};

/// The hint for an unknown setting that resembles no other.
pub const NO_HINT: &str = "`ralph config schema` lists every setting";
