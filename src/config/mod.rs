//! Settings, and where each came from.
//!
//! Layers, weakest first: defaults, the user's file, the project's file, the file of `--config`, `RALPH_*` variables,
//! flags. They are merged key by key, once, when ralph starts: an agent that edits a file or its environment changes
//! nothing. Every layer is checked by itself, so a mistake is an error even where a stronger layer hides it.
//!
//! A setting is one row in the table of `keys` and one field in [`Config`]; environment names, schema, `show` and the checks
//! come from the row.

mod duration;
mod env;
mod error;
mod file;
mod goals;
mod keys;
mod kind;
mod layers;
mod load;
#[cfg(test)]
mod mistakes;
mod origin;
#[cfg(test)]
mod outputs;
mod render;
mod settings;
mod sources;
#[cfg(test)]
mod testing;

pub use duration::{DurationError, format_duration, parse_duration};
pub use env::RUNTIME_VARIABLES;
pub use error::ConfigError;
pub use load::{Loaded, load};
pub use origin::{Origin, Origins};
pub use render::{paths, schema, show};
pub use settings::{AdapterLayer, Config, Keep, Notify, Permissions};
pub use sources::{Flag, Sources};
