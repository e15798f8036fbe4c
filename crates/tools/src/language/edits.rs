//! Edits that a server proposes, and making them: all or none.

use std::{
    collections::BTreeMap,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use ralph_text::with_causes;
use serde_json::Value;
use tempfile::NamedTempFile;

use super::{
    facts::{ChangedFile, EditedLine, QueryError},
    home::{Home, confined},
    places::cut,
    position::{Encoding, IndexedText},
    source::{MARK, SourceText, Stamp, display_path, read},
    uri,
};

/// Most files that are changed at a time.
const FILES: usize = 500;
/// Most changed lines that are shown per file.
const SHOWN: usize = 20;

/// Edits of files, each with its new text.
#[derive(Debug)]
pub(super) struct EditPlan {
    project: PathBuf,
    files: Vec<PlannedFile>,
}

#[derive(Debug)]
struct PlannedFile {
    path: PathBuf,
    before: SourceText,
    after: String,
    places: usize,
}

/// A byte range of a text that is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) text: String,
}

impl EditPlan {
    /// Reads a `WorkspaceEdit` and the files that it concerns.
    ///
    /// # Errors
    /// The edit moves files, leaves the project, or is inconsistent.
    pub(super) fn from_workspace_edit(
        edit: &Value,
        encoding: Encoding,
        server: &str,
        home: &Home,
    ) -> Result<Self, QueryError> {
        let mut of_files: BTreeMap<PathBuf, Vec<&Value>> = BTreeMap::new();
        let garbled = |what| QueryError::Garbled {
            server: server.to_owned(),
            what,
        };
        let add = |address: &str, edits: &Value| {
            let path = uri::to_path(address).ok_or_else(|| QueryError::EditsOutside { path: cut(address) })?;
            Ok::<_, QueryError>((path, edits.as_array().cloned().unwrap_or_default()))
        };
        let mut all: Vec<(PathBuf, Vec<Value>)> = Vec::new();
        match (edit["documentChanges"].as_array(), edit["changes"].as_object()) {
            (Some(changes), _) => {
                for change in changes {
                    if change["kind"].is_string() {
                        return Err(QueryError::MovesFiles {
                            server: server.to_owned(),
                        });
                    }
                    let address = change["textDocument"]["uri"]
                        .as_str()
                        .ok_or_else(|| garbled("an edit of no file"))?;
                    all.push(add(address, &change["edits"])?);
                }
            }
            (None, Some(changes)) => {
                for (address, edits) in changes {
                    all.push(add(address, edits)?);
                }
            }
            (None, None) => {}
        }
        for (path, edits) in &all {
            of_files.entry(path.clone()).or_default().extend(edits);
        }
        let replacements = |text: &IndexedText, edits: &[&Value]| {
            edits
                .iter()
                .map(|edit| {
                    let offset = |at: &str| text.offset(&edit["range"][at], encoding);
                    Some(Replacement {
                        start: offset("start")?,
                        end: offset("end")?,
                        text: edit["newText"].as_str()?.to_owned(),
                    })
                })
                .collect::<Option<Vec<_>>>()
        };
        let files = of_files.into_iter().filter(|(_, edits)| !edits.is_empty());
        Self::new(
            home,
            files.map(|(path, edits)| {
                (path, move |text: &IndexedText, _| {
                    replacements(text, &edits).ok_or_else(|| garbled("an edit at no place"))
                })
            }),
        )
    }

    /// Reads files and computes their replacements with the functions, which get the text and the length in bytes of
    /// the byte order mark that was removed from it.
    ///
    /// # Errors
    /// A file is outside of the project, cannot be read, or has overlapping edits.
    pub(super) fn new<F>(home: &Home, files: impl Iterator<Item = (PathBuf, F)>) -> Result<Self, QueryError>
    where
        F: FnOnce(&IndexedText, usize) -> Result<Vec<Replacement>, QueryError>,
    {
        let project = &home.project;
        let mut changed = Vec::new();
        for (named, replacements) in files {
            let shown = display_path(project, &named);
            let outside = || QueryError::EditsOutside { path: shown.clone() };
            let found = confined(home, || {
                Ok::<_, std::io::Error>((fs::canonicalize(&named)?, read(&named)))
            });
            let (path, source) = found.and_then(|found| found).map_err(|error| QueryError::Unreadable {
                file: shown.clone(),
                why: with_causes(&error),
            })?;
            // An edit of a link changes its target; files of git must not be edited.
            let below = path.strip_prefix(project).map_err(|_| outside())?;
            if below.starts_with(".git") {
                return Err(outside());
            }
            let before = source.map_err(|error| QueryError::Unreadable {
                file: shown.clone(),
                why: with_causes(&error),
            })?;
            let mark_bytes = if before.marked { MARK.len_utf8() } else { 0 };
            let mut replaced = replacements(&before.text, mark_bytes)?;
            replaced.sort_by_key(|replacement| (replacement.start, replacement.end));
            replaced.dedup();
            let after = apply(before.text.as_str(), &replaced).ok_or(QueryError::EditsOverlap { path: shown })?;
            if after != before.text.as_str() {
                let places = replaced.len();
                changed.push(PlannedFile {
                    path,
                    before,
                    after,
                    places,
                });
            }
            if changed.len() > FILES {
                return Err(QueryError::TooManyFiles {
                    files: changed.len(),
                    most: FILES,
                });
            }
        }
        if changed.is_empty() {
            return Err(QueryError::NoEdits);
        }
        Ok(Self {
            project: project.clone(),
            files: changed,
        })
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|file| &*file.path)
    }

    /// The files, with their stamps from before they were read.
    pub(super) fn stamps(&self) -> Vec<(PathBuf, Stamp)> {
        self.files
            .iter()
            .map(|file| (file.path.clone(), file.before.stamp))
            .collect()
    }

    /// The changes as they are shown to a model.
    pub(super) fn summary(&self) -> Vec<ChangedFile> {
        let files = self.files.iter().map(|file| {
            let after = IndexedText::new(file.after.clone());
            ChangedFile {
                path: display_path(&self.project, &file.path),
                places: file.places,
                lines: changed_lines(&file.before.text, &after),
            }
        });
        files.collect()
    }

    /// Writes all files, or none: the new files are staged beside the old ones, and replace them once all are written.
    ///
    /// # Errors
    /// A file cannot be written, or has changed since it was read. Nothing is changed then.
    pub(super) fn write(&self, home: &Home) -> Result<(), QueryError> {
        let written = confined(home, || self.write_here());
        written.unwrap_or_else(|error| {
            Err(QueryError::NotWritten {
                path: String::new(),
                why: with_causes(&error),
            })
        })
    }

    fn write_here(&self) -> Result<(), QueryError> {
        let failed = |file: &PlannedFile, error: &std::io::Error| QueryError::NotWritten {
            path: display_path(&self.project, &file.path),
            why: with_causes(error),
        };
        let mut staged = Vec::new();
        for file in &self.files {
            let content = |text: &str| {
                if file.before.marked {
                    format!("{MARK}{text}")
                } else {
                    text.to_owned()
                }
            };
            let new = stage(&file.path, &content(&file.after)).map_err(|error| failed(file, &error))?;
            let old = stage(&file.path, &content(file.before.text.as_str())).map_err(|error| failed(file, &error))?;
            staged.push((file, new, old));
        }
        let is_other = |file: &&PlannedFile| Stamp::from_path(&file.path) != Some(file.before.stamp);
        if let Some(file) = self.files.iter().find(is_other) {
            return Err(QueryError::ChangedMeanwhile {
                path: display_path(&self.project, &file.path),
            });
        }
        let mut undo: Vec<(&PlannedFile, NamedTempFile)> = Vec::new();
        for (file, new, old) in staged {
            if let Err(error) = new.persist(&file.path) {
                for (file, old) in undo {
                    _ = old.persist(&file.path); // restores the previous content, as far as the disk permits
                }
                return Err(failed(file, &error.error));
            }
            undo.push((file, old));
        }
        Ok(())
    }
}

/// Writes the new content of `path` to a temporary file beside it, with the same permissions.
fn stage(path: &Path, text: &str) -> std::io::Result<NamedTempFile> {
    let directory = path.parent().unwrap_or(Path::new("/"));
    let mut file = tempfile::Builder::new().prefix(".ralph-edit-").tempfile_in(directory)?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(path)?.permissions())?;
    Ok(file)
}

/// Applies sorted replacements to a text; `None` if they overlap.
fn apply(text: &str, replacements: &[Replacement]) -> Option<String> {
    let (mut after, mut at) = (String::with_capacity(text.len()), 0);
    for replacement in replacements {
        after.push_str(text.get(at..replacement.start)?);
        text.get(replacement.start..replacement.end)?;
        after.push_str(&replacement.text);
        at = replacement.end;
    }
    after.push_str(text.get(at..)?);
    Some(after)
}

/// The first lines that differ. If the number of lines changed, only the first is shown, since later lines are shifted.
fn changed_lines(before: &IndexedText, after: &IndexedText) -> Vec<EditedLine> {
    let differ = (0..before.lines().max(after.lines())).filter_map(|line| {
        let (old, new) = (
            before.line(line).unwrap_or_default(),
            after.line(line).unwrap_or_default(),
        );
        (old != new).then(|| EditedLine {
            line: u32::try_from(line + 1).unwrap_or(u32::MAX),
            before: cut(old.trim()),
            after: cut(new.trim()),
        })
    });
    let most = if before.lines() == after.lines() { SHOWN } else { 1 };
    differ.take(most).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replace(start: usize, end: usize, text: &str) -> Replacement {
        let text = text.to_owned();
        Replacement { start, end, text }
    }

    #[test]
    fn replacements_are_made_in_their_places_and_those_that_overlap_are_not() {
        let made = apply("größe = größe", &[replace(0, 7, "len"), replace(10, 17, "len")]);
        assert_eq!(made.as_deref(), Some("len = len"));
        assert_eq!(
            apply("ab", &[replace(0, 0, "x"), replace(0, 1, "")]).as_deref(),
            Some("xb")
        );
        for wrong in [
            &[replace(0, 2, ""), replace(1, 2, "")][..],
            &[replace(0, 9, "")],
            &[replace(2, 1, "")],
            &[replace(1, 2, "")],
        ] {
            assert_eq!(apply("aü", wrong), None, "{wrong:?}");
        }
    }
}
