//! Values against JSON Schemas, more strictly than the standard: a field that no schema describes is a mismatch, since
//! its reader ignores it.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that do not change which values are valid.
const ANNOTATIONS: [&str; 8] = [
    "$schema",
    "default",
    "description",
    "discriminator",
    "examples",
    "format",
    "title",
    "writeOnly",
];

/// The first place where `value` violates `schema`, a part of `root`; `at` is the value's own place.
///
/// # Panics
/// If the schema has a keyword that is not known here.
pub fn mismatch(root: &Value, schema: &Value, value: &Value, at: &str) -> Option<String> {
    let described = match described(root, schema, value, at) {
        Ok(described) => described,
        Err(why) => return Some(why),
    };
    let name = value.as_object()?.keys().find(|name| !described.has(name))?;
    Some(format!("{at}.{name}: is not described"))
}

/// The fields of a value that a schema describes.
enum Described {
    All,
    These(BTreeSet<String>),
}

impl Described {
    fn has(&self, name: &str) -> bool {
        match self {
            Described::All => true,
            Described::These(names) => names.contains(name),
        }
    }

    fn and(&mut self, other: Self) {
        match (&mut *self, other) {
            (Described::These(names), Described::These(others)) => names.extend(others),
            (Described::These(_), Described::All) => *self = Described::All,
            (Described::All, _) => {}
        }
    }
}

fn described(root: &Value, schema: &Value, value: &Value, at: &str) -> Result<Described, String> {
    let says_nothing = |keyword: &str| ANNOTATIONS.contains(&keyword) || keyword.starts_with("x-");
    let Some(keywords) = schema.as_object() else {
        assert_eq!(*schema, Value::Bool(true), "{at}");
        return Ok(Described::All);
    };
    if keywords.keys().all(|keyword| says_nothing(keyword)) {
        return Ok(Described::All);
    }
    let mut all = Described::These(BTreeSet::new());
    for (keyword, wanted) in keywords {
        let is_valid = match keyword.as_str() {
            "$ref" => {
                let reference = wanted.as_str().expect("a reference").trim_start_matches('#');
                let target = root.pointer(reference).expect("a definition of this file");
                all.and(described(root, target, value, at)?);
                true
            }
            "allOf" => {
                for part in wanted.as_array().expect("schemas") {
                    all.and(described(root, part, value, at)?);
                }
                true
            }
            "anyOf" | "oneOf" => {
                // The tag of a variant chooses it, so that a mismatch within is told.
                let tag = schema["discriminator"]["propertyName"].as_str();
                let is_tagged = |choice: &&Value| {
                    tag.is_none_or(|tag| [&value[tag], &Value::Null].contains(&&choice["properties"][tag]["const"]))
                };
                let choices: Vec<&Value> = wanted.as_array().expect("schemas").iter().filter(is_tagged).collect();
                let tried = choices.iter().map(|choice| described(root, choice, value, at));
                let mut tried: Vec<_> = tried.collect();
                if let [_] = tried[..] {
                    all.and(tried.remove(0)?);
                    continue;
                }
                let fits = tried.iter().any(Result::is_ok);
                tried.into_iter().flatten().for_each(|described| all.and(described));
                fits
            }
            "not" => described(root, wanted, value, at).is_err(),
            "type" => has_type(wanted, value),
            "const" => wanted == value,
            "enum" => wanted.as_array().expect("values").contains(value),
            "minimum" => value.as_f64() >= wanted.as_f64() || !value.is_number(),
            "maximum" => value.as_f64() <= wanted.as_f64() || !value.is_number(),
            "minLength" => value
                .as_str()
                .is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().expect("a length")),
            "required" => {
                let mut names = wanted.as_array().expect("names").iter().filter_map(Value::as_str);
                let absent = value
                    .as_object()
                    .and_then(|fields| names.find(|name| !fields.contains_key(*name)));
                if let Some(absent) = absent {
                    return Err(format!("{at}: there is no {absent:?}"));
                }
                true
            }
            "properties" => {
                all.and(Described::These(fields(root, wanted, value, at)?));
                true
            }
            "additionalProperties" | "unevaluatedProperties" => {
                if *wanted != Value::Bool(false) {
                    others(root, keywords, wanted, value, at)?;
                    all = Described::All;
                }
                true
            }
            "items" => {
                let entries = value.as_array().into_iter().flatten().enumerate();
                let mut wrong = entries.filter_map(|(n, entry)| mismatch(root, wanted, entry, &format!("{at}[{n}]")));
                if let Some(wrong) = wrong.next() {
                    return Err(wrong);
                }
                true
            }
            other => {
                assert!(says_nothing(other), "a schema has the unknown keyword `{other}`");
                true
            }
        };
        if !is_valid {
            return Err(format!("{at}: {value} violates {keyword} {wanted}"));
        }
    }
    Ok(all)
}

/// Compares the fields of `value` that `properties` names, and returns their names.
fn fields(root: &Value, properties: &Value, value: &Value, at: &str) -> Result<BTreeSet<String>, String> {
    let mut names = BTreeSet::new();
    for (name, schema) in properties.as_object().expect("schemas") {
        if let Some(field) = value.get(name) {
            mismatch(root, schema, field, &format!("{at}.{name}")).map_or(Ok(()), Err)?;
            names.insert(name.clone());
        }
    }
    Ok(names)
}

/// Compares the fields of `value` that the `properties` of these keywords do not name.
fn others(root: &Value, keywords: &Map<String, Value>, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let is_named = |name: &str| {
        keywords
            .get("properties")
            .is_some_and(|named| named.get(name).is_some())
    };
    let fields = value.as_object().into_iter().flatten();
    let mut wrong = fields
        .filter(|(name, _)| !is_named(name))
        .filter_map(|(name, field)| mismatch(root, schema, field, &format!("{at}.{name}")));
    wrong.next().map_or(Ok(()), Err)
}

fn has_type(wanted: &Value, value: &Value) -> bool {
    let is = |wanted: &Value| match wanted.as_str().expect("the name of a type") {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type: {other}"),
    };
    match wanted {
        Value::Array(any) => any.iter().any(is),
        one => is(one),
    }
}
