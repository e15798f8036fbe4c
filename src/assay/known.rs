//! The cheats that come with ralph.

use ralph_gate::{DataFileError, cheats::Cheat};

/// The files of cheats: name without `.toml`, and text.
const BUILT_IN: [(&str, &str); 5] = [
    ("tests", include_str!("../../assay/tests.toml")),
    ("python", include_str!("../../assay/python.toml")),
    ("rust", include_str!("../../assay/rust.toml")),
    ("javascript", include_str!("../../assay/javascript.toml")),
    ("commands", include_str!("../../assay/commands.toml")),
];

/// Reads the known cheats in the order in which they are tried. Cheats in several languages may share a name.
///
/// # Errors
/// [`DataFileError`] if a built-in file is invalid.
pub(crate) fn cheats() -> Result<Vec<Cheat>, DataFileError> {
    let mut cheats = Vec::new();
    for (name, text) in BUILT_IN {
        cheats.extend(Cheat::parse(&format!("assay/{name}.toml"), text)?);
    }
    Ok(cheats)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_cheats_are_cheats() {
        let cheats = cheats().unwrap_or_else(|error| panic!("{error}"));
        assert!(cheats.len() > 40, "{}", cheats.len());
    }
}
