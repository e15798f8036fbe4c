//! The values of all layers, merged key by key.

use serde_json::Value;

use super::{
    layer::{Leaf, SettingKeys},
    mistake::Mistake,
    node::{Node, NodeShape},
    origin::SettingOrigin,
    record::{RecordReader, SettingsRecord, within},
};

/// Merged settings: a table with the structure of a file, in which each value has its own origin.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    root: Node,
}

impl Merged {
    /// Creates an empty table.
    pub fn empty() -> Self {
        Merged {
            root: Node::empty(SettingOrigin::Default),
        }
    }

    /// Creates a table with every default.
    pub fn defaults<R: SettingsRecord>() -> Self {
        let mut merged = Merged::empty();
        for (key, field) in SettingKeys::for_record::<R>().iter() {
            merged.set(Leaf {
                path: key.split('.').map(str::to_owned).collect(),
                node: Node::from_value(field.default_value(), &SettingOrigin::Default),
            });
        }
        merged
    }

    /// Sets a value of a layer that is stronger than all before.
    ///
    /// An empty table does not remove the content that weaker layers have in it.
    pub fn set(&mut self, leaf: Leaf) {
        let place = place(&mut self.root, &leaf.path);
        if place.fields().is_some() && leaf.node.fields().is_some_and(<[_]>::is_empty) {
            return;
        }
        *place = leaf.node;
    }

    /// Returns these values over those of `base`.
    #[must_use]
    pub fn over(&self, base: &Merged) -> Merged {
        let mut root = base.root.clone();
        lay_over(&mut root, &self.root);
        Merged { root }
    }

    /// Returns the value at a dotted path.
    pub fn get(&self, key: &str) -> Option<&Node> {
        key.split('.').try_fold(&self.root, |node, name| node.get(name))
    }

    /// Returns where the value at a dotted path was written.
    pub fn origin(&self, key: &str) -> SettingOrigin {
        self.get(key).map_or(SettingOrigin::Default, |node| node.origin.clone())
    }

    /// Every value with its dotted path, in the order in which they were first set.
    pub fn rows(&self) -> Vec<(String, &Node)> {
        let mut rows = Vec::new();
        collect(&self.root, "", &mut rows);
        rows
    }

    /// Reads the record `R`.
    ///
    /// # Errors
    /// Mistakes in values that were not checked when their layers were read.
    pub fn read<R: SettingsRecord<Value = R>>(&self) -> Result<R, Vec<Mistake>> {
        let mut reader = RecordReader::new(Some(&self.root), "");
        R::read(&mut reader).ok_or_else(|| reader.mistakes())
    }
}

/// Finds or creates the place at a path. A value on the path that is not a table is replaced by one.
fn place<'n>(root: &'n mut Node, path: &[String]) -> &'n mut Node {
    let mut node = root;
    for name in path {
        if node.fields().is_none() {
            node.shape = NodeShape::Table(Vec::new());
        }
        let NodeShape::Table(fields) = &mut node.shape else {
            unreachable!("it was just made a table")
        };
        let at = fields.iter().position(|(known, _)| known == name);
        let at = at.unwrap_or_else(|| {
            fields.push((name.clone(), Node::from_value(Value::Null, &SettingOrigin::Default)));
            fields.len() - 1
        });
        node = &mut fields[at].1;
    }
    node
}

fn lay_over(base: &mut Node, node: &Node) {
    let (NodeShape::Table(known), NodeShape::Table(fields)) = (&mut base.shape, &node.shape) else {
        *base = node.clone();
        return;
    };
    for (name, node) in fields {
        match known.iter_mut().find(|(known, _)| known == name) {
            Some((_, base)) => lay_over(base, node),
            None => known.push((name.clone(), node.clone())),
        }
    }
}

fn collect<'n>(node: &'n Node, path: &str, rows: &mut Vec<(String, &'n Node)>) {
    match node.fields() {
        Some(fields) if !fields.is_empty() || path.is_empty() => {
            for (name, node) in fields {
                collect(node, &within(path, name), rows);
            }
        }
        Some(_) | None => rows.push((path.to_owned(), node)),
    }
}
