//! Tests that the reader of a damaged file accepts it or reports what is wrong with it: it never panics and never
//! hangs.
//!
//! The parsers of streams and of plans have tests of their own, which cut their input at every byte.

use std::{fs, os::unix::fs::OpenOptionsExt as _, path::Path};

use ralph_agent::catalog::{self, Catalog};
use ralph_core::{
    run::RunView,
    testing::{Dice, rounds},
};
use ralph_plan::{PlanKind, parse_bytes};
use ralph_state::store::{journal, rules, tokens::TokenFile, trust};
use ralph_system::{
    files::{Directory, TomlFile},
    paths::{ProjectPaths, replace_file},
};
use ralph_ui::report::{self, RunReport};
use ralph_words::narrate;

use crate::{
    begin,
    config::{self, ProjectContent, ProjectFile},
    error::Failure,
};

const EXAMPLE: &str = include_str!("../config.example.json");
/// Damaged versions of all texts of a test together; `RALPH_TEST_ROUNDS` changes the number.
const ROUNDS: usize = 240;

/// Bytes that no reader of a file expects.
const NASTY: &[&[u8]] = &[
    b"",
    b"\0",
    b"\xff\xfe",
    b"\"",
    b"\\u",
    b"{",
    b"]",
    b",",
    b"\n",
    b"null",
    b"-1",
    b"18446744073709551615",
    b"4294967295",
    b"-9223372036854775808",
    b"99999999999999999999",
    b"1e400",
    b"0.1",
    b"[]",
    b"{}",
    b"\"\"",
    "\u{202e}\u{0}ß\u{1f980}".as_bytes(),
    b"\x1b]52;c;x\x07",
];

/// Returns the bytes with a few parts cut out, doubled or overwritten.
fn spoilt(dice: &mut Dice, sound: &[u8]) -> Vec<u8> {
    let mut bytes = sound.to_vec();
    for _ in 0..=dice.index(3) {
        let from = dice.index(bytes.len() + 1);
        let to = (from + dice.index(40)).min(bytes.len());
        let nasty = NASTY[dice.index(NASTY.len())];
        match dice.index(8) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let copy = bytes[from..to].to_vec();
                bytes.splice(from..from, copy);
            }
            3 => drop(bytes.splice(from..to, nasty.repeat(1_000))),
            4 => drop(bytes.splice(from..from, nasty.iter().copied())),
            5 => drop(bytes.splice(from..to, nasty.iter().copied())),
            // A number or a word becomes another one, and the rest stays what it was.
            _ => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || [b'.', b'-'].contains(byte);
                let start = bytes[from..].iter().position(is_word).map_or(from, |at| from + at);
                let length = bytes[start..].iter().take_while(|byte| is_word(byte)).count();
                drop(bytes.splice(start..start + length, nasty.iter().copied()));
            }
        }
    }
    bytes
}

/// Passes many damaged versions of each text to `read`, and then texts that only nest deeply.
fn spoil(sounds: &[&[u8]], mut read: impl FnMut(&[u8])) {
    let mut dice = Dice::new(0x5eed);
    for sound in sounds {
        read(sound);
        for _ in 0..rounds(ROUNDS) / sounds.len() {
            read(&spoilt(&mut dice, sound));
        }
    }
    for deep in ["[", "{\"a\":", "- ", "  - [ ] x\n", "> ", "*", "[[", "#", "\"", "\\"] {
        read(deep.repeat(20_000).as_bytes());
    }
}

/// Checks that an error has a message for the user.
fn told<T, E: Into<Failure>>(result: Result<T, E>) {
    if let Err(error) = result {
        let failure: Failure = error.into();
        assert!(!failure.message.trim().is_empty());
    }
}

fn private(path: &Path, bytes: &[u8]) {
    use std::io::Write as _;
    _ = fs::remove_file(path);
    let mut options = fs::OpenOptions::new();
    let mut file = options
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .unwrap();
    file.write_all(bytes).unwrap();
}

#[test]
fn settings_and_adapters() {
    let built_in: Vec<String> = catalog::built_in()
        .map(|id| fs::read_to_string(format!("{}/adapters/{id}.toml", env!("CARGO_MANIFEST_DIR"))).unwrap())
        .collect();
    spoil(&[EXAMPLE.as_bytes()], |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let file = ProjectFile {
            path: "/project/.ralph/config.json".into(),
            content: ProjectContent::Text(text),
        };
        let loaded = config::load(&config::SettingSources {
            project: Some(file),
            ..config::SettingSources::default()
        });
        match loaded {
            Ok(loaded) => assert!(!config::show(&loaded, |text, _| text.to_owned()).is_empty()),
            Err(mistakes) => assert!(!mistakes.to_string().is_empty()),
        }
    });
    let sounds: Vec<&[u8]> = built_in.iter().map(String::as_bytes).collect();
    spoil(&sounds, |bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let project = Directory {
            files: vec![TomlFile {
                path: "/project/.ralph/adapters/own.toml".into(),
                text: Ok(text),
            }],
            notice: None,
        };
        let catalog = Catalog::load(&catalog::AdapterSources {
            project,
            ..catalog::AdapterSources::default()
        });
        if let Err(error) = catalog.manifest("own") {
            assert!(!error.to_string().is_empty());
        }
        assert!(catalog.manifest("codex").is_ok(), "a broken adapter harms no other");
    });
}

#[test]
fn plans_and_requirements() {
    let markdown = "# Plan\n\n1. [ ] One\n   - [x] part **of** it\n\n```\n- [ ] no task\n```\n| a | b |\n|---|---|\n| 1 | 2 |\n- [ ] Two\n";
    let prd = include_str!("../tests/fixtures/specs/issues.json");
    let stories =
        r#"{"project":"p","userStories":[{"id":"US-1","title":"One","priority":1,"passes":false,"notes":""}]}"#;
    let booking = include_str!("../tests/fixtures/specs/booking.md");
    let sounds = [markdown, prd, stories, booking].map(str::as_bytes);
    spoil(&sounds, |bytes| {
        for kind in [PlanKind::Markdown, PlanKind::Prd] {
            if let Err(error) = parse_bytes(kind, bytes) {
                assert!(!error.to_string().is_empty());
            }
        }
        match begin::import(bytes, None, "Plan") {
            Ok(imported) => {
                let plan = parse_bytes(PlanKind::Markdown, imported.plan.as_bytes());
                let wrong = plan.err().map(|error| error.to_string());
                assert_eq!(wrong, None, "what is written is a plan: {:.400}", imported.plan);
            }
            Err(error) => assert!(!error.hint("spec.md").is_empty() && !error.to_string().is_empty()),
        }
    });
}

#[test]
fn a_journal_and_all_that_is_told_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("events.jsonl");
    let fixtures = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/journals")).unwrap();
    let sounds: Vec<Vec<u8>> = fixtures.map(|entry| fs::read(entry.unwrap().path()).unwrap()).collect();
    let sounds: Vec<&[u8]> = sounds.iter().map(Vec::as_slice).collect();
    let time = |at_ms: u64| at_ms.to_string();
    spoil(&sounds, |bytes| {
        fs::write(&path, bytes).unwrap();
        let mut view = RunView::default();
        let read = journal::for_each(&path, |record| {
            if let Some(line) = narrate(&record.event, time) {
                assert!(!format!("{line:?}").is_empty());
            }
            view.apply(&record);
        });
        told(read);
        let report = RunReport::from_view(view);
        assert!(!report::markdown(&report, time).is_empty());
        _ = report::page(&report, report::IterationFold::Unfolded, time);
        told(journal::Journal::reopen(&path, drop));
    });
}

#[test]
fn what_is_trusted_what_was_allowed_and_the_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let paths = ProjectPaths::new(Path::new("/a/project"), Some(directory.path())).unwrap();
    let own = [("config.json".to_owned(), "{}".to_owned())].into();
    trust::trust(&paths, own).unwrap();
    let tokens = TokenFile::new(paths.tokens());
    tokens.read_or_make().unwrap();
    let trusted = fs::read(paths.trust()).unwrap();
    let made = fs::read(paths.tokens()).unwrap();
    let allowed = br#"{"allow":[{"rule":"Bash(git push *)","before":[]}]}"#;
    spoil(&[&trusted, &made, allowed], |bytes| {
        for path in [paths.trust(), paths.tokens(), paths.rules()] {
            private(&path, bytes);
        }
        told(trust::trusted(&paths));
        told(tokens.read());
        told(rules::remembered(&paths));
        private(&paths.latest(), bytes);
        _ = paths.latest_run();
    });
    replace_file(&paths.tokens(), b"").unwrap();
    assert!(tokens.read().is_err());
}
