//! The arguments of a call, tolerant of variations by models: other names, numbers as texts.

use ralph_core::event::clip;
use serde_json::{Map, Value};

use crate::native::wire::ARGUMENTS_CAP_BYTES;

/// Other names that models use for an argument, as they learned from other agents.
const OTHER_NAMES: [(&str, &[&str]); 8] = [
    (
        "path",
        &["file_path", "filePath", "filename", "file", "dir_path", "directory"],
    ),
    ("old", &["old_string", "oldString", "old_text", "old_str"]),
    ("new", &["new_string", "newString", "new_text", "new_str"]),
    ("all", &["replace_all", "replaceAll"]),
    ("content", &["contents", "text"]),
    ("command", &["cmd"]),
    ("glob", &["include"]),
    ("todos", &["entries", "items"]),
];

/// Arguments that models add to any call, and that no tool uses.
const FOR_PEOPLE: [&str; 3] = ["description", "explanation", "reason"];
/// Most unknown arguments that an error names, and most bytes of each.
const NAMED: usize = 5;
const NAME_CAP_BYTES: usize = 64;

pub(super) struct Arguments {
    tool: &'static str,
    fields: Map<String, Value>,
}

impl Arguments {
    /// Parses the arguments of a call of `tool`.
    ///
    /// # Errors
    /// The reason, as a message for the model.
    pub(crate) fn read(tool: &'static str, written: &str) -> Result<Self, String> {
        if written.len() > ARGUMENTS_CAP_BYTES {
            return Err(format!(
                "the arguments of `{tool}` are longer than {} KiB; do it in smaller parts",
                ARGUMENTS_CAP_BYTES >> 10
            ));
        }
        let written = if written.trim().is_empty() { "{}" } else { written };
        match serde_json::from_str(written) {
            Ok(Value::Object(fields)) => Ok(Self { tool, fields }),
            Ok(_) => Err(format!("the arguments of `{tool}` have to be a JSON object")),
            Err(error) => Err(format!(
                "the arguments of `{tool}` are no JSON ({error}); nothing was done, so write them again"
            )),
        }
    }

    /// Refuses arguments that the tool would ignore, since the model relies on them. `known` are the tool's own
    /// arguments.
    ///
    /// # Errors
    /// The unknown arguments and the known ones, as a message for the model.
    pub(super) fn refuse_unknown(&self, known: &[&str]) -> Result<(), String> {
        let is_known = |name: &str| {
            let others = OTHER_NAMES.iter().filter(|(own, _)| known.contains(own));
            known.contains(&name)
                || FOR_PEOPLE.contains(&name)
                || others.flat_map(|(_, names)| *names).any(|other| *other == name)
        };
        let given = self.fields.iter().filter(|(_, value)| !value.is_null());
        let unknown = given
            .map(|(name, _)| clip(name, NAME_CAP_BYTES))
            .filter(|name| !is_known(name));
        let unknown: Vec<String> = unknown.take(NAMED).map(|name| format!("`{name}`")).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        let known: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
        Err(format!(
            "`{}` does not know {}; it takes {}. Nothing was done",
            self.tool,
            unknown.join(", "),
            known.join(", ")
        ))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let others = OTHER_NAMES.iter().find(|(known, _)| *known == name);
        let others = others.map_or(&[][..], |(_, others)| others);
        let found = std::iter::once(&name)
            .chain(others)
            .find_map(|name| self.fields.get(*name));
        found.filter(|value| !value.is_null())
    }

    /// A text, which may be empty.
    pub(super) fn content(&self, name: &str) -> Result<&str, String> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(format!("`{name}` of `{}` has to be a text", self.tool)),
            None => Err(format!("`{}` needs `{name}`", self.tool)),
        }
    }

    /// A non-empty text.
    pub(super) fn text(&self, name: &str) -> Result<&str, String> {
        self.optional(name)?
            .ok_or_else(|| format!("`{}` needs `{name}`", self.tool))
    }

    pub(super) fn optional(&self, name: &str) -> Result<Option<&str>, String> {
        match self.get(name) {
            Some(_) => Ok(Some(self.content(name)?).filter(|text| !text.is_empty())),
            None => Ok(None),
        }
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<u64>, String> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(value) => {
                let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
                // The number is small and has no fraction.
                let number = number.or_else(|| {
                    let float = value
                        .as_f64()
                        .filter(|float| float.fract() == 0.0 && (0.0..1e9).contains(float))?;
                    Some(float as u64)
                });
                let wrong = || format!("`{name}` of `{}` has to be a whole number", self.tool);
                number.map(Some).ok_or_else(wrong)
            }
        }
    }

    pub(super) fn switch(&self, name: &str) -> Result<bool, String> {
        match self.get(name) {
            None => Ok(false),
            Some(Value::Bool(switch)) => Ok(*switch),
            Some(Value::String(text)) if ["true", "false", ""].contains(&text.as_str()) => Ok(text == "true"),
            Some(_) => Err(format!("`{name}` of `{}` has to be true or false", self.tool)),
        }
    }

    /// A command, which some models write as a list of words.
    pub(super) fn command(&self) -> Result<String, String> {
        let Some(Value::Array(words)) = self.get("command") else {
            return self.text("command").map(str::to_owned);
        };
        let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
        match words.as_deref() {
            None | Some([]) => Err(format!("`command` of `{}` has to be a text", self.tool)),
            Some([shell, flag, script]) if is_shell(shell) && ["-c", "-lc"].contains(flag) => Ok((*script).to_owned()),
            Some(words) => Ok(words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")),
        }
    }
}

fn is_shell(word: &str) -> bool {
    ["sh", "bash"].contains(&word.rsplit('/').next().unwrap_or_default())
}

/// Quotes a word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./=:,+@%".contains(&byte);
    match !word.is_empty() && word.bytes().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
