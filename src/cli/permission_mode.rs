//! Parser of the permission modes on the command line.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use ralph_core::event::PermissionMode;
use ralph_policy::settings::NamedChoice;

/// Parses the name of a mode.
pub(super) fn mode_parser() -> impl TypedValueParser<Value = PermissionMode> {
    let names = PermissionMode::CHOICES.iter().map(|(name, _)| *name);
    PossibleValuesParser::new(names).try_map(|name| {
        let mut choices = PermissionMode::CHOICES.iter();
        let chosen = choices.find(|(known, _)| *known == name);
        chosen.map(|(_, mode)| *mode).ok_or("no such mode")
    })
}
