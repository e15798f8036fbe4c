//! Catalogues of items that are described by one file each, in layers: built-in, the user's, the project's, merged key
//! by key.
//!
//! The name of a file is the id of its item. A later layer may change a single key of an item, or add an item. A broken
//! item is an error only for those who use it, and a directory with a million files does no harm.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    error::Error as StdError,
    fmt::Write as _,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
};

use ralph_system::files::{Directory, ReadError};
use ralph_text::{Position, with_causes};
use thiserror::Error;

use super::{
    layer::{Layer, Leaf, SettingKeys, Terms},
    merged::Merged,
    mistake::{Mistake, Mistakes},
    nearest::closest,
    node::{Node, NodeShape},
    origin::{OriginFinder, SettingOrigin},
    record::SettingsRecord,
    template::{PlaceholderSet, TextTemplate},
    toml::from_toml,
};

/// The key that names the item whose values apply where an item has none.
const BASE: &str = "base";
/// The position of the beginning of a file.
const START: Position = Position { line: 1, column: 1 };

/// A kind of items that files describe.
pub trait ManifestKind {
    type Manifest;
    /// The settings of a file.
    type Written: SettingsRecord;
    type Error: StdError + From<LayerError> + 'static;

    const TERMS: &'static Terms;
    /// The name of such an item, which begins with a vowel.
    const NAME: &'static str;
    /// The built-in items: file name without `.toml`, and text.
    const BUILT_IN: &'static [(&'static str, &'static str)];
    /// Ids of items that have no file.
    const WITHOUT_FILE: &'static [&'static str] = &[];
    /// Ids of items that were built in once, with what does their work now, in a sentence. Sorted.
    const REMOVED: &'static [(&'static str, &'static str)] = &[];

    /// Makes the manifest of the item `id` from its merged layers.
    ///
    /// # Errors
    /// The first error, with the place where it was written.
    fn from_merged(id: &str, merged: &Merged) -> Result<Self::Manifest, Self::Error>;

    /// Further errors, one sentence each.
    fn hints(error: &Self::Error) -> Vec<String>;

    /// Whether the value of a key is not shown.
    fn is_secret(_key: &str) -> bool {
        false
    }
}

/// Why an item of a catalogue cannot be used.
#[derive(Debug, Error)]
pub enum CatalogError<E: StdError + 'static> {
    #[error("there is no {what} `{id}`")]
    Unknown {
        what: &'static str,
        id: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("{what} `{id}` was removed")]
    Removed {
        what: &'static str,
        id: String,
        instead: &'static str,
    },
    #[error("{what} `{id}` cannot be used")]
    Broken {
        what: &'static str,
        id: String,
        source: Box<E>,
        hints: Vec<String>,
    },
}

impl<E: StdError> CatalogError<E> {
    /// Hints for the user, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            CatalogError::Unknown { suggestion, known, .. } => {
                let did_you_mean = suggestion.iter().map(|name| format!("did you mean `{name}`?"));
                let known = format!("there are: {}", known.join(", "));
                did_you_mean.chain([known]).collect()
            }
            CatalogError::Removed { instead, .. } => vec![(*instead).to_owned()],
            CatalogError::Broken { what, id, hints, .. } => {
                let show = format!("`ralph {what}s show {id}` prints each value and its origin");
                hints.iter().cloned().chain([show]).collect()
            }
        }
    }
}

/// The mistakes that a layer can have by itself.
#[derive(Debug, Clone, Error)]
pub enum LayerError {
    #[error("{path} cannot be read", path = path.display())]
    Read { path: PathBuf, source: Arc<ReadError> },
    #[error("{}", in_one_line(.0))]
    Written(Arc<Mistakes>),
    #[error("{at}: `id` is `{id}`, but the name of the file makes it `{expected}`")]
    IdMismatch {
        at: SettingOrigin,
        id: String,
        expected: String,
    },
    #[error("{at}: `{id}` cannot name an {what}: lower-case letters, digits, `-`, `_` and `.` only")]
    IdInvalid {
        at: SettingOrigin,
        id: String,
        what: &'static str,
    },
    #[error("{at}: `{key}` is empty")]
    Empty { at: SettingOrigin, key: String },
    #[error("{at}: `base` is `{base}`, {why}")]
    Base {
        at: SettingOrigin,
        base: String,
        why: &'static str,
    },
    #[error("{at}: unknown placeholder `{{{name}}}` in `{key}`; known there: {known}")]
    UnknownPlaceholder {
        at: SettingOrigin,
        key: String,
        name: String,
        known: String,
    },
}

impl LayerError {
    /// Creates the error for a text or list that must not be empty.
    pub fn empty(merged: &Merged, key: &str) -> Self {
        LayerError::Empty {
            at: merged.origin(key),
            key: key.to_owned(),
        }
    }

    /// Creates the error for mistakes in a layer. `mistakes` must not be empty.
    pub fn from_mistakes(mistakes: Vec<Mistake>) -> Self {
        let mistakes = Mistakes::new(mistakes).expect("something was refused");
        LayerError::Written(Arc::new(mistakes))
    }

    /// The remaining mistakes, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            LayerError::Written(mistakes) => mistakes.others().map(|other| format!("also {other}")).collect(),
            LayerError::Read { .. }
            | LayerError::IdMismatch { .. }
            | LayerError::IdInvalid { .. }
            | LayerError::Empty { .. }
            | LayerError::Base { .. }
            | LayerError::UnknownPlaceholder { .. } => Vec::new(),
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

/// Parses the text of `key`, which can contain the placeholders `allowed`.
///
/// # Errors
/// [`LayerError::UnknownPlaceholder`].
pub fn parse_template<P: PlaceholderSet>(
    merged: &Merged,
    key: &str,
    text: &str,
    allowed: &[P],
) -> Result<TextTemplate<P>, LayerError> {
    TextTemplate::parse(text, allowed).map_err(|unknown| {
        let known: Vec<String> = allowed.iter().map(|known| format!("{{{}}}", known.name())).collect();
        LayerError::UnknownPlaceholder {
            at: merged.origin(key),
            key: key.to_owned(),
            name: unknown.name,
            known: known.join(", "),
        }
    })
}

/// An item with its merged layers.
#[derive(Debug)]
struct CatalogEntry {
    merged: Merged,
    /// The origin of the strongest layer of the item.
    origin: SettingOrigin,
    /// The first mistake in one of the layers.
    broken: Option<LayerError>,
}

/// All items of a kind by id.
#[derive(Debug)]
pub struct Catalog<K> {
    entries: BTreeMap<String, CatalogEntry>,
    notices: Vec<String>,
    kind: PhantomData<fn() -> K>,
}

impl<K: ManifestKind> Catalog<K> {
    /// Reads the built-in items and, over them, those of directories, the weakest first.
    pub fn load<'d>(directories: impl IntoIterator<Item = &'d Directory>) -> Self {
        let mut catalog = Self {
            entries: BTreeMap::new(),
            notices: Vec::new(),
            kind: PhantomData,
        };
        for (id, text) in K::BUILT_IN {
            let leaves = leaves_of_text::<K>(Path::new(id), text, OriginFinder::built_in(text));
            catalog.add(id, &SettingOrigin::BuiltIn, leaves);
        }
        for directory in directories {
            catalog.add_directory(directory);
        }
        catalog
    }

    fn add_directory(&mut self, directory: &Directory) {
        self.notices.extend(directory.notice.clone());
        for file in &directory.files {
            let id = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let leaves = match &file.text {
                Ok(text) => leaves_of_text::<K>(&file.path, text, OriginFinder::file(&file.path, text)),
                Err(source) => Err(LayerError::Read {
                    path: file.path.clone(),
                    source: source.clone().into(),
                }),
            };
            self.add(&id, &SettingOrigin::file(&file.path, START), leaves);
        }
    }

    /// Adds what a setting declares about an item.
    pub fn add_node(&mut self, id: &str, node: &Node) {
        self.add(id, &node.origin, leaves::<K>(node));
    }

    fn add(&mut self, id: &str, origin: &SettingOrigin, leaves: Result<Vec<Leaf>, LayerError>) {
        let entry = self.entries.entry(id.to_owned()).or_insert_with(|| CatalogEntry {
            merged: Merged::empty(),
            origin: origin.clone(),
            broken: None,
        });
        match leaves.and_then(|leaves| check_id(id, K::NAME, origin, leaves)) {
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

    /// Every id, in alphabetical order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Notes for the user that are not errors, one sentence each.
    pub fn notices(&self) -> &[String] {
        &self.notices
    }

    /// The complete manifest of an item.
    ///
    /// # Errors
    /// [`CatalogError`], with the first error in the item.
    pub fn manifest(&self, id: &str) -> Result<K::Manifest, CatalogError<K::Error>> {
        self.read(id, self.entry(id)?).map_err(|source| CatalogError::Broken {
            what: K::NAME,
            id: id.to_owned(),
            hints: K::hints(&source),
            source: Box::new(source),
        })
    }

    /// Every item with its id and the strongest source that sets a value of it, or why it cannot be used.
    pub fn list(&self) -> impl Iterator<Item = (&str, &SettingOrigin, Result<K::Manifest, String>)> {
        self.entries.iter().map(|(id, entry)| {
            let item = self.read(id, entry).map_err(|error| with_causes(&error));
            (id.as_str(), &entry.origin, item)
        })
    }

    /// Formats each value of an item with its origin, as TOML. An error in it is a comment.
    ///
    /// # Errors
    /// [`CatalogError`], if there is no such item.
    pub fn show(&self, id: &str) -> Result<String, CatalogError<K::Error>> {
        let entry = self.entry(id)?;
        let keys = SettingKeys::for_record::<K::Written>();
        let on_base = self.on_base(id, entry);
        let merged = on_base.as_deref().unwrap_or(&entry.merged);
        let mut rows = merged.rows();
        rows.sort_by_cached_key(|(key, _)| (keys.rank(key), key.clone()));
        let shown = |key: &str, node: &Node| match K::is_secret(key) {
            true => format!("{key} = (not shown)"),
            false => format!("{key} = {}", in_toml(node)),
        };
        let rows: Vec<_> = rows
            .into_iter()
            .map(|(key, node)| (shown(&key, node), &node.origin))
            .collect();
        let width = rows.iter().map(|(row, _)| row.len()).max().unwrap_or_default().min(60);
        let mut out = String::new();
        for (row, origin) in rows {
            // Writing to a String does not fail.
            _ = writeln!(out, "{row:width$}  # {origin}");
        }
        if let Err(error) = self.read(id, entry) {
            _ = writeln!(out, "# broken: {}", with_causes(&error));
        }
        Ok(out)
    }

    fn read(&self, id: &str, entry: &CatalogEntry) -> Result<K::Manifest, K::Error> {
        match &entry.broken {
            Some(broken) => Err(broken.clone().into()),
            None => K::from_merged(id, &*self.on_base(id, entry)?),
        }
    }

    /// Returns the values of an item over those of the item that its `base` names.
    fn on_base<'e>(&self, id: &str, entry: &'e CatalogEntry) -> Result<Cow<'e, Merged>, LayerError> {
        let Some((node, base)) = entry.merged.get(BASE).and_then(|node| Some((node, node.text()?))) else {
            return Ok(Cow::Borrowed(&entry.merged));
        };
        let refused = |why| LayerError::Base {
            at: node.origin.clone(),
            base: base.to_owned(),
            why,
        };
        let known = self.entries.get(base).ok_or_else(|| refused("which does not exist"))?;
        if known.merged.get(BASE).is_some() {
            return Err(refused("which has a `base` itself"));
        }
        if let Some(broken) = &known.broken {
            return Err(broken.clone());
        }
        let mut merged = entry.merged.over(&known.merged);
        merged.set(Leaf {
            path: vec!["id".to_owned()],
            node: Node::from_value(id.into(), &entry.origin),
        });
        Ok(Cow::Owned(merged))
    }

    fn entry(&self, id: &str) -> Result<&CatalogEntry, CatalogError<K::Error>> {
        self.entries.get(id).ok_or_else(|| {
            if let Some((_, instead)) = K::REMOVED.iter().find(|(removed, _)| *removed == id) {
                return CatalogError::Removed {
                    what: K::NAME,
                    id: id.to_owned(),
                    instead,
                };
            }
            let known = || K::WITHOUT_FILE.iter().copied().chain(self.ids());
            CatalogError::Unknown {
                what: K::NAME,
                id: id.to_owned(),
                suggestion: closest(id, known()).map(str::to_owned),
                known: known().map(str::to_owned).collect(),
            }
        })
    }
}

fn leaves_of_text<K: ManifestKind>(path: &Path, text: &str, place: OriginFinder<'_>) -> Result<Vec<Leaf>, LayerError> {
    let root = from_toml(path, text, place).map_err(|mistake| LayerError::from_mistakes(vec![mistake]))?;
    leaves::<K>(&root)
}

/// The leaves of one layer.
fn leaves<K: ManifestKind>(root: &Node) -> Result<Vec<Leaf>, LayerError> {
    let layer = Layer::read::<K::Written>(root, K::TERMS).in_order();
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
