//! Catalogues of items that are described by one file each, in layers: built-in, the user's, the project's, merged key
//! by key.
//!
//! The name of a file is the id of its item. A later layer may change a single key of an item, or add an item. A broken
//! item is an error only for those who use it, and a directory with a million files does no harm.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_system::files::{Directory, ReadError};
use ralph_text::Position;
use thiserror::Error;

use super::{
    layer::{Layer, Leaf, SettingKeys, Terms},
    merged::Merged,
    mistake::{Mistake, Mistakes},
    node::{Node, NodeShape},
    origin::{OriginFinder, SettingOrigin},
    record::SettingsRecord,
    toml::from_toml,
};

/// The position of the beginning of a file.
const START: Position = Position { line: 1, column: 1 };

/// The mistakes that a layer can have by itself.
#[derive(Debug, Clone, Error)]
pub enum LayerError {
    #[error("{path} cannot be read", path = path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: Arc<ReadError>,
    },
    #[error("{}", in_one_line(.0))]
    Written(Arc<Mistakes>),
    #[error("{at}: `id` is `{id}`, but the name of the file makes it `{expected}`")]
    IdMismatch {
        at: SettingOrigin,
        id: String,
        expected: String,
    },
    #[error("{at}: `{id}` cannot name {what}: lower-case letters, digits, `-`, `_` and `.` only")]
    IdInvalid {
        at: SettingOrigin,
        id: String,
        what: &'static str,
    },
}

impl LayerError {
    /// Creates the error for mistakes in a layer. `mistakes` must not be empty.
    pub fn from_mistakes(mistakes: Vec<Mistake>) -> Self {
        let mistakes = Mistakes::new(mistakes).expect("something was refused");
        LayerError::Written(Arc::new(mistakes))
    }

    /// The remaining mistakes, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            LayerError::Written(mistakes) => mistakes.others().map(|other| format!("also {other}")).collect(),
            LayerError::Read { .. } | LayerError::IdMismatch { .. } | LayerError::IdInvalid { .. } => Vec::new(),
        }
    }
}

/// The first mistake with its hint, and the number of further ones.
fn in_one_line(mistakes: &Mistakes) -> String {
    let first = mistakes.first();
    let hint = first.hint().map(|hint| format!("; {hint}")).unwrap_or_default();
    match mistakes.others().count() {
        0 => format!("{first}{hint}"),
        others => format!("{first}{hint} (and {others} more)"),
    }
}

/// An item with its merged layers.
#[derive(Debug)]
pub struct CatalogEntry {
    pub merged: Merged,
    /// The origin of the strongest layer of the item.
    pub origin: SettingOrigin,
    /// The first mistake in one of the layers.
    pub broken: Option<LayerError>,
}

/// All items of a catalogue by id.
#[derive(Debug)]
pub struct LayeredCatalog {
    entries: BTreeMap<String, CatalogEntry>,
    notices: Vec<String>,
    language: &'static Terms,
    /// The name of an item, with its article.
    what: &'static str,
}

impl LayeredCatalog {
    pub fn new(language: &'static Terms, what: &'static str) -> Self {
        Self {
            entries: BTreeMap::new(),
            notices: Vec::new(),
            language,
            what,
        }
    }

    pub fn entries(&self) -> &BTreeMap<String, CatalogEntry> {
        &self.entries
    }

    pub fn get(&self, id: &str) -> Option<&CatalogEntry> {
        self.entries.get(id)
    }

    /// Every id, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Notes for the user that are not errors, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// Adds a built-in item.
    pub fn add_built_in<R: SettingsRecord>(&mut self, id: &str, text: &str) {
        let leaves = self.leaves_of_text::<R>(Path::new(id), text, OriginFinder::built_in(text));
        self.add(id, &SettingOrigin::BuiltIn, leaves);
    }

    /// Adds a layer that was read from a directory.
    pub fn add_directory<R: SettingsRecord>(&mut self, directory: &Directory) {
        self.notices.extend(directory.notice.clone());
        for file in &directory.files {
            let id = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let leaves = match &file.text {
                Ok(text) => self.leaves_of_text::<R>(&file.path, text, OriginFinder::file(&file.path, text)),
                Err(source) => Err(LayerError::Read {
                    path: file.path.clone(),
                    source: source.clone().into(),
                }),
            };
            self.add(&id, &SettingOrigin::file(&file.path, START), leaves);
        }
    }

    /// Adds what a setting declares about an item.
    pub fn add_node<R: SettingsRecord>(&mut self, id: &str, node: &Node) {
        self.add(id, &node.origin, leaves::<R>(node, self.language));
    }

    fn leaves_of_text<R: SettingsRecord>(
        &self,
        path: &Path,
        text: &str,
        place: OriginFinder<'_>,
    ) -> Result<Vec<Leaf>, LayerError> {
        let root = from_toml(path, text, place).map_err(|mistake| LayerError::from_mistakes(vec![mistake]))?;
        leaves::<R>(&root, self.language)
    }

    fn add(&mut self, id: &str, origin: &SettingOrigin, leaves: Result<Vec<Leaf>, LayerError>) {
        let what = self.what;
        let entry = self.entries.entry(id.to_owned()).or_insert_with(|| CatalogEntry {
            merged: Merged::empty(),
            origin: origin.clone(),
            broken: None,
        });
        match leaves.and_then(|leaves| check_id(id, what, origin, leaves)) {
            Ok(leaves) => {
                if let Some(leaf) = leaves.first() {
                    entry.origin = leaf.node.origin.clone();
                }
                leaves.into_iter().for_each(|leaf| entry.merged.set(leaf));
            }
            Err(error) => {
                entry.broken.get_or_insert(error);
            }
        }
    }
}

impl CatalogEntry {
    /// Formats each value with its origin, as TOML. `is_secret` says, by key, which values are not shown.
    pub fn show<R: SettingsRecord>(&self, is_secret: impl Fn(&str) -> bool) -> String {
        let mut out = String::new();
        let keys = SettingKeys::for_record::<R>();
        let mut rows = self.merged.rows();
        rows.sort_by_cached_key(|(key, _)| (keys.rank(key), key.clone()));
        let shown = |key: &str, node: &Node| match is_secret(key) {
            true => format!("{key} = (not shown)"),
            false => format!("{key} = {}", in_toml(node)),
        };
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(key, node)| (shown(&key, node), &node.origin))
            .collect();
        let width = rows.iter().map(|(row, _)| row.len()).max().unwrap_or_default().min(60);
        for (row, origin) in rows {
            // Writing to a String does not fail.
            _ = writeln!(out, "{row:width$}  # {origin}");
        }
        out
    }
}

/// The leaves of one layer.
fn leaves<R: SettingsRecord>(root: &Node, language: &Terms) -> Result<Vec<Leaf>, LayerError> {
    let layer = Layer::read::<R>(root, language).in_order();
    match layer.mistakes.is_empty() {
        true => Ok(layer.leaves),
        false => Err(LayerError::from_mistakes(layer.mistakes)),
    }
}

fn check_id(id: &str, what: &'static str, origin: &SettingOrigin, leaves: Vec<Leaf>) -> Result<Vec<Leaf>, LayerError> {
    let valid = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    if !id.bytes().all(valid) || !id.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(LayerError::IdInvalid {
            at: origin.clone(),
            id: id.to_owned(),
            what,
        });
    }
    let named = leaves.iter().find(|leaf| leaf.path == ["id"]);
    match named.and_then(|leaf| Some((leaf.node.text()?, &leaf.node.origin))) {
        Some((named, at)) if named != id => Err(LayerError::IdMismatch {
            at: at.clone(),
            id: named.to_owned(),
            expected: id.to_owned(),
        }),
        Some(_) | None => Ok(leaves),
    }
}

fn in_toml(node: &Node) -> String {
    match &node.shape {
        NodeShape::List(items) => {
            let items: Vec<String> = items.iter().map(in_toml).collect();
            format!("[{}]", items.join(", "))
        }
        NodeShape::Scalar(_) | NodeShape::Table(_) | NodeShape::Foreign(_) => node.value().to_string(),
    }
}
