//! Reads one configuration file.

use std::path::Path;

use ralph_policy::settings::{Layer, Mistake, Terms, from_json};
use ralph_system::files::{self, CONFIG_CAP_BYTES, ReadError};

use super::{
    removed::REMOVED_SETTINGS,
    settings::Config,
    sources::{ProjectContent, ProjectFile},
};

const LANGUAGE: Terms = Terms {
    whole: "the configuration",
    whole_expected: r#"an object, such as { "adapter": "codex" }"#,
    section_expected: "an object with settings",
    removed: REMOVED_SETTINGS,
};

/// Reads a file that may be missing; `None` if it is.
pub(super) fn read_if_there(path: &Path) -> Result<Option<String>, Mistake> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(Mistake::Unreadable { source, .. }) if source.is_missing() => Ok(None),
        Err(mistake) => Err(mistake),
    }
}

/// Reads a file's text, without a byte order mark.
pub(super) fn read(path: &Path) -> Result<String, Mistake> {
    files::read_text(path, CONFIG_CAP_BYTES).map_err(|source| unreadable(path, source))
}

/// The text of the project's file, as it was read before. `None` if it is missing or not trusted.
pub(super) fn project_text(file: &ProjectFile) -> Result<Option<String>, Mistake> {
    match &file.content {
        ProjectContent::Missing | ProjectContent::Untrusted => Ok(None),
        ProjectContent::Text(text) => Ok(Some(text.clone())),
        ProjectContent::Unreadable(error) => Err(unreadable(&file.path, error.clone())),
    }
}

fn unreadable(path: &Path, source: ReadError) -> Mistake {
    match source {
        ReadError::NotUtf8 { position } => Mistake::NotUtf8 {
            path: path.to_owned(),
            position,
        },
        source => Mistake::Unreadable {
            path: path.to_owned(),
            source,
        },
    }
}

/// Parses the text of a file. A text without a value is an empty layer.
pub(super) fn layer(path: &Path, text: &str) -> Layer {
    match from_json(path, text) {
        Ok((root, repeated)) => {
            let mut layer = root.map_or_else(Layer::default, |root| Layer::read::<Config>(&root, &LANGUAGE));
            layer.mistakes.extend(repeated);
            layer.in_order()
        }
        Err(mistake) => Layer {
            mistakes: vec![mistake],
            ..Layer::default()
        },
    }
}
