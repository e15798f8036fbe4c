//! One layer of settings, checked by itself and split into leaves.

use super::{
    declaration::{Field, SettingForm},
    mistake::Mistake,
    nearest::closest,
    node::{Node, NodeShape},
    record::{SettingsRecord, within},
};

/// One value of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Leaf {
    pub path: Vec<String>,
    pub node: Node,
}

/// The content of a layer.
#[derive(Debug, Default)]
pub struct Layer {
    pub leaves: Vec<Leaf>,
    pub mistakes: Vec<Mistake>,
    /// Notes for the author of the file that are not mistakes, one sentence each.
    pub notices: Vec<String>,
}

/// The terms for settings of one kind of file.
#[derive(Debug)]
pub struct Terms {
    /// The name of the whole.
    pub whole: &'static str,
    /// The expected form of the whole, with an example.
    pub whole_expected: &'static str,
    /// The expected form of a group of settings.
    pub section_expected: &'static str,
    /// Settings and groups that ralph had once, with what does their work now, in a sentence. Sorted.
    pub removed: &'static [(&'static str, &'static str)],
}

/// The settings of a declaration by their dotted paths.
pub struct SettingKeys {
    keys: Vec<(String, &'static Field)>,
    sections: Vec<String>,
}

impl SettingKeys {
    pub fn for_record<R: SettingsRecord>() -> Self {
        let mut keys = SettingKeys {
            keys: Vec::new(),
            sections: Vec::new(),
        };
        keys.add(R::FIELDS, "");
        keys
    }

    fn add(&mut self, fields: &'static [Field], path: &str) {
        for field in fields {
            let key = within(path, field.key);
            match field.kind.form {
                SettingForm::Leaf | SettingForm::Open => self.keys.push((key, field)),
                SettingForm::Section { fields, .. } => {
                    self.add(fields, &key);
                    self.sections.push(key);
                }
            }
        }
    }

    /// Every setting with its path, in the order of the declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &'static Field)> {
        self.keys.iter().map(|(key, field)| (key.as_str(), *field))
    }

    pub fn find(&self, key: &str) -> Option<&'static Field> {
        self.iter().find_map(|(known, field)| (known == key).then_some(field))
    }

    /// The position of a value in a list of all values.
    pub fn rank(&self, key: &str) -> usize {
        let stands = |(known, field): &(String, &Field)| match field.kind.form {
            SettingForm::Leaf | SettingForm::Section { .. } => known == key,
            SettingForm::Open => key
                .strip_prefix(known.as_str())
                .is_some_and(|rest| rest.starts_with('.')),
        };
        self.keys.iter().position(stands).unwrap_or(self.keys.len())
    }

    /// The setting or section that was probably meant, at any level.
    pub fn nearest(&self, unknown: &str) -> Option<&str> {
        closest(
            unknown,
            self.keys
                .iter()
                .map(|(key, _)| key)
                .chain(&self.sections)
                .map(String::as_str),
        )
    }
}

impl Layer {
    /// Reads the settings of `R` from a file.
    pub fn read<R: SettingsRecord>(root: &Node, language: &Terms) -> Self {
        let mut reader = LayerReader {
            keys: &SettingKeys::for_record::<R>(),
            language,
            layer: Layer::default(),
        };
        match &root.shape {
            NodeShape::Table(written) => reader.read(R::FIELDS, "", written),
            NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Foreign(_) => {
                reader.layer.mistakes.push(Mistake::IllTyped {
                    origin: root.origin.clone(),
                    key: language.whole.to_owned(),
                    found: root.described(),
                    expected: language.whole_expected.to_owned(),
                })
            }
        }
        reader.layer
    }

    /// Checks a value, and keeps it or its mistakes.
    pub fn take(&mut self, field: &Field, key: &str, node: Node) {
        let mistakes = (field.kind.check)(&node, key);
        if mistakes.is_empty() {
            let path = key.split('.').map(str::to_owned).collect();
            apart(field, path, node, &mut self.leaves);
        }
        self.mistakes.extend(mistakes);
    }

    /// Sorts the mistakes by line. Mistakes on the same line keep their order.
    pub fn in_order(mut self) -> Self {
        self.mistakes.sort_by_key(Mistake::line);
        self
    }
}

struct LayerReader<'a> {
    keys: &'a SettingKeys,
    language: &'a Terms,
    layer: Layer,
}

impl LayerReader<'_> {
    fn read(&mut self, fields: &'static [Field], path: &str, written: &[(String, Node)]) {
        for (name, node) in written {
            let key = within(path, name);
            match fields.iter().find(|field| field.key == name) {
                None => self.unknown(key, node),
                Some(field) => match (field.kind.form, &node.shape) {
                    (SettingForm::Section { fields, .. }, NodeShape::Table(written)) => {
                        self.read(fields, &key, written)
                    }
                    (SettingForm::Section { .. }, _) => {
                        let expected = self.language.section_expected.to_owned();
                        let mistake = Mistake::ill_typed(&node.origin, &key, node.described(), expected);
                        self.layer.mistakes.push(mistake);
                    }
                    (SettingForm::Leaf | SettingForm::Open, _) => self.layer.take(field, &key, node.clone()),
                },
            }
        }
    }

    fn unknown(&mut self, key: String, node: &Node) {
        if key == "$schema" {
            return;
        }
        let origin = node.origin.clone();
        let is_of = |name: &str| {
            key.strip_prefix(name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let removed = self.language.removed.iter().find(|(name, _)| is_of(name));
        self.layer.mistakes.push(match removed {
            Some((_, instead)) => Mistake::Removed { origin, key, instead },
            None => Mistake::Unknown {
                near: self.keys.nearest(&key).map(str::to_owned),
                origin,
                key,
            },
        });
    }
}

/// Splits a value into the parts that are merged by themselves.
fn apart(field: &Field, path: Vec<String>, node: Node, leaves: &mut Vec<Leaf>) {
    match field.kind.form {
        SettingForm::Leaf | SettingForm::Section { .. } => leaves.push(Leaf { path, node }),
        SettingForm::Open => to_the_last_key(path, node, leaves),
    }
}

fn to_the_last_key(path: Vec<String>, node: Node, leaves: &mut Vec<Leaf>) {
    match node.shape {
        NodeShape::Table(fields) if !fields.is_empty() => {
            for (name, node) in fields {
                to_the_last_key([&path[..], &[name]].concat(), node, leaves);
            }
        }
        NodeShape::Scalar(_) | NodeShape::List(_) | NodeShape::Table(_) | NodeShape::Foreign(_) => {
            leaves.push(Leaf { path, node })
        }
    }
}
