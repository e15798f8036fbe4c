//! Cheats as described in their file.

use regex_lite::Regex;
use serde::Deserialize;
use toml::Spanned;

use super::{Cheat, CheatEdit, EditAction, EditTarget, FilePurpose, LANGUAGES, TextChange};
use crate::data_file::{DataFile, DataFileError};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    cheat: Vec<WrittenCheat>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheat {
    name: Spanned<String>,
    what: Spanned<String>,
    language: Option<Spanned<String>>,
    #[serde(default)]
    runners: Vec<String>,
    edit: Vec<Spanned<WrittenEdit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEdit {
    #[serde(rename = "in", default)]
    parts: Vec<WrittenPurpose>,
    path: Option<Spanned<String>>,
    #[serde(default)]
    empty: bool,
    #[serde(default)]
    delete: bool,
    rename: Option<Spanned<String>>,
    write: Option<String>,
    prepend: Option<String>,
    append: Option<String>,
    #[serde(default)]
    replace: Vec<WrittenReplacement>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenPurpose {
    Tests,
    Blocks,
    Work,
    Scripts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenReplacement {
    find: Spanned<String>,
    with: String,
}

/// The file being parsed.
struct CheatParser<'t>(DataFile<'t>);

pub(super) fn parse(file: &str, text: &str) -> Result<Vec<Cheat>, DataFileError> {
    let name = file.to_owned();
    let parser = CheatParser(DataFile { name, text });
    let written: WrittenFile = parser.0.parse()?;
    written.cheat.into_iter().map(|cheat| parser.cheat(cheat)).collect()
}

impl CheatParser<'_> {
    fn cheat(&self, written: WrittenCheat) -> Result<Cheat, DataFileError> {
        let name = written.name.get_ref();
        let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
        if name.is_empty() || !name.chars().all(is_plain) {
            let message = format!("`name`: `{name}` may only contain lower-case letters, digits and `-`");
            return Err(self.0.error_at(&written.name, message));
        }
        let what = written.what.get_ref();
        if !what.ends_with('.') || what.contains('\n') {
            let message = "`what`: write one sentence in one line, with a full stop".to_owned();
            return Err(self.0.error_at(&written.what, message));
        }
        let language = written.language.as_ref().map(|written| {
            let names = LANGUAGES.map(|(name, _)| name);
            let known = names.into_iter().find(|name| name == written.get_ref());
            known.ok_or_else(|| {
                let message = format!(
                    "`language`: `{}` is not known; write one of {}",
                    written.get_ref(),
                    names.join(", ")
                );
                self.0.error_at(written, message)
            })
        });
        let language = language.transpose()?;
        let edits = written.edit.into_iter().map(|edit| self.edit(edit));
        Ok(Cheat {
            name: name.clone(),
            what: what.clone(),
            language,
            runners: written.runners,
            edits: edits.collect::<Result<_, _>>()?,
        })
    }

    fn edit(&self, spanned: Spanned<WrittenEdit>) -> Result<CheatEdit, DataFileError> {
        let start = Some(spanned.span().start);
        let edit = spanned.into_inner();
        let place = match (&edit.path, edit.parts.is_empty()) {
            (Some(path), true) => {
                let is_outside = path.get_ref().starts_with('/') || path.get_ref().split('/').any(|part| part == "..");
                if path.get_ref().is_empty() || is_outside {
                    return Err(self
                        .0
                        .error_at(path, "`path`: it has to lead to a file in the project".to_owned()));
                }
                EditTarget::Path(path.get_ref().clone())
            }
            (None, false) => EditTarget::Parts(edit.parts.iter().map(part).collect()),
            (Some(_), false) | (None, true) => {
                let message = "an edit has either `in`, a list of `tests`, `blocks`, `work` and `scripts`, or `path`";
                return Err(self.0.error(start, message.to_owned()));
            }
        };
        let change = self.change(start, edit)?;
        Ok(CheatEdit { place, change })
    }

    fn change(&self, start: Option<usize>, edit: WrittenEdit) -> Result<EditAction, DataFileError> {
        let mut changes = Vec::new();
        if edit.empty {
            changes.push(EditAction::Empty);
        }
        if edit.delete {
            changes.push(EditAction::Delete);
        }
        if let Some(to) = edit.rename {
            if !to.get_ref().contains('*') || to.get_ref().contains('/') {
                let message = "`rename`: write the new name of the file, with `*` for the old one: \"*.old\"";
                return Err(self.0.error_at(&to, message.to_owned()));
            }
            changes.push(EditAction::Rename(to.into_inner()));
        }
        changes.extend(edit.write.map(EditAction::Write));
        if edit.prepend.is_some() || edit.append.is_some() || !edit.replace.is_empty() {
            let replace = edit.replace.into_iter().map(|replacement| {
                let pattern = Regex::new(replacement.find.get_ref());
                let pattern = pattern.map_err(|error| {
                    self.0
                        .error_at(&replacement.find, format!("`replace.find`: not a pattern: {error}"))
                })?;
                Ok((pattern, replacement.with))
            });
            changes.push(EditAction::Within(TextChange {
                prepend: edit.prepend.unwrap_or_default(),
                append: edit.append.unwrap_or_default(),
                replace: replace.collect::<Result<_, _>>()?,
            }));
        }
        match (changes.pop(), changes.is_empty()) {
            (Some(change), true) => Ok(change),
            (Some(_), false) | (None, _) => {
                let message = "an edit does one thing: `empty`, `delete`, `rename`, `write`, or any of `prepend`, `append` and \
                               `replace`";
                Err(self.0.error(start, message.to_owned()))
            }
        }
    }
}

fn part(written: &WrittenPurpose) -> FilePurpose {
    match written {
        WrittenPurpose::Tests => FilePurpose::Tests,
        WrittenPurpose::Blocks => FilePurpose::Blocks,
        WrittenPurpose::Work => FilePurpose::Work,
        WrittenPurpose::Scripts => FilePurpose::Scripts,
    }
}
