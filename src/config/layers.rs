//! Values merged key by key, each with its origin.

use serde_json::{Map, Value};

use super::{
    error::ConfigError,
    keys::{KEYS, Key},
    kind::Kind,
    origin::{Origin, Origins},
    settings::AdapterLayer,
};

/// One value of one layer.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Leaf {
    pub(super) path: Vec<String>,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// The settings as far as they are merged: an object shaped like a file that says everything.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Merged {
    pub(super) root: Value,
    pub(super) origins: Origins,
}

impl Merged {
    pub(super) fn defaults() -> Self {
        let mut root = Value::Object(Map::new());
        for key in KEYS {
            let path: Vec<String> = key.path.split('.').map(str::to_owned).collect();
            let default = serde_json::from_str(key.default).expect("the defaults in the table are JSON");
            *place(&mut root, &path) = default;
        }
        Merged {
            root,
            origins: Origins::default(),
        }
    }

    /// Sets a value of a layer that is stronger than all before.
    ///
    /// An empty object says nothing about what weaker layers have in it.
    pub(super) fn set(&mut self, leaf: Leaf) {
        let place = place(&mut self.root, &leaf.path);
        if place.is_object() && leaf.value.as_object().is_some_and(Map::is_empty) {
            return;
        }
        *place = leaf.value;
        self.origins.set(&dotted(&leaf.path), leaf.origin);
    }

    /// Returns the value at a dotted path; null where there is none.
    pub(super) fn get(&self, path: &str) -> &Value {
        path.split('.').fold(&self.root, |value, name| &value[name])
    }
}

/// Finds the place at a path; whatever stands in the way of an object on it gives way.
fn place<'v>(root: &'v mut Value, path: &[String]) -> &'v mut Value {
    let mut value = root;
    for name in path {
        if !value.is_object() {
            *value = Value::Object(Map::new());
        }
        value = &mut value[name.as_str()];
    }
    value
}

pub(super) fn dotted(path: &[String]) -> String {
    path.join(".")
}

/// Checks a value that does not come from a file and takes it apart.
pub(super) fn leaves_of(key: &Key, value: Value, origin: Origin) -> Result<Vec<Leaf>, ConfigError> {
    let path: Vec<String> = key.path.split('.').map(str::to_owned).collect();
    if let Err(mismatch) = key.kind.check(&value) {
        return Err(mismatch.into_error(origin, &path));
    }
    let mut leaves = Vec::new();
    match key.kind {
        Kind::Adapters => take_apart(path, value, &origin, &mut leaves),
        _ => leaves.push(Leaf { path, value, origin }),
    }
    Ok(leaves)
}

/// Puts what a layer says about adapters together again; none if it says nothing.
pub(super) fn adapters_of(layer: &[Leaf]) -> Option<AdapterLayer> {
    let mut root = Value::Object(Map::new());
    let mut origin = None;
    for leaf in layer
        .iter()
        .filter(|leaf| leaf.path.first().is_some_and(|first| first == "adapters"))
    {
        *place(&mut root, &leaf.path) = leaf.value.clone();
        origin = Some(&leaf.origin);
    }
    let origin = match origin? {
        Origin::File { path, .. } => path.display().to_string(),
        other @ (Origin::Default | Origin::Env(_) | Origin::Flag(_)) => other.to_string(),
    };
    let adapters = root["adapters"].as_object()?.clone();
    Some(AdapterLayer { origin, adapters })
}

fn take_apart(path: Vec<String>, value: Value, origin: &Origin, leaves: &mut Vec<Leaf>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                take_apart([&path[..], &[name]].concat(), value, origin, leaves);
            }
        }
        value => leaves.push(Leaf {
            path,
            value,
            origin: origin.clone(),
        }),
    }
}
