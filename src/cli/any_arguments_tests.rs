//! Fuzzes the command line: every argument list is understood or refused with a sentence, without a panic.
//! `RALPH_TEST_ROUNDS` sets the number of random rounds.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt as _,
};

use clap::{Arg, Command};
use ralph_core::testing::{Dice, rounds};

use super::{help, mistake, parse, target};
use crate::config::{self, SettingSources};

/// Values that no flag expects, and some that many flags do.
fn values() -> Vec<OsString> {
    let texts = [
        "",
        " ",
        "-",
        "--",
        "---",
        "-1",
        "0",
        "1",
        "18446744073709551615",
        "18446744073709551616",
        "1e400",
        "NaN",
        "999999999999d",
        "0ms",
        "a=b",
        "=",
        "a=",
        "PLAN.md",
        "/",
        "/dev/null",
        "..",
        "ralph",
        "codex",
        "on",
        "unlimited",
        "{}",
        "[",
        "\u{1b}[31m",
        "\u{202e}",
        "ü\u{301}",
        "http://[::1",
        "127.0.0.1:99999",
        "a\nb",
        "*",
        "Bash(",
        "2026-13-45T99:99",
    ];
    let texts = texts.iter().map(OsString::from);
    let bytes = OsStr::from_bytes(b"caf\xe9\xff").to_owned();
    texts.chain([bytes, "x".repeat(100_000).into()]).collect()
}

/// Every command as it is typed, with its flags.
fn commands(command: &Command, above: &[OsString]) -> Vec<(Vec<OsString>, Vec<OsString>)> {
    let flags = command.get_arguments().flat_map(flags).collect();
    let mut all = vec![(above.to_vec(), flags)];
    for command in command.get_subcommands() {
        let words = [above, &[command.get_name().into()]].concat();
        all.extend(commands(command, &words));
    }
    all
}

fn flags(arg: &Arg) -> Vec<OsString> {
    let short = arg.get_short().map(|short| format!("-{short}").into());
    let long = arg.get_long().map(|long| format!("--{long}").into());
    short.into_iter().chain(long).collect()
}

/// Parses a command line without starting anything. Returns the error, help or version text, if there is one.
fn told(words: &[OsString]) -> Option<String> {
    let mut words = words.to_vec();
    let mut args = match parse(&mut words) {
        Ok(args) => args,
        Err(error) if error.use_stderr() => return Some(mistake::failure(&error, &words).to_string()),
        Err(help_or_version) => return Some(help_or_version.render().to_string()),
    };
    if let Err(failure) = target::resolve(&mut args) {
        return Some(failure.to_string());
    }
    let loaded = config::load(&SettingSources {
        flags: [args.settings.given.clone(), args.screen_flags()].concat(),
        ..SettingSources::default()
    });
    loaded.err().map(|mistakes| mistakes.to_string())
}

#[test]
fn no_command_line_panics_and_what_is_refused_gets_a_sentence() {
    let mut root = help::command();
    root.build();
    let commands = commands(&root, &["ralph".into()]);
    let values = values();
    let mut lines = Vec::new();
    // Each top-level flag and each command with one value, then random command lines.
    let mut dice = Dice::new(0xa11);
    for flag in &commands[0].1 {
        lines.push(vec![
            "ralph".into(),
            flag.clone(),
            values[dice.index(values.len())].clone(),
        ]);
    }
    for (words, _) in &commands {
        lines.push([&words[..], &[values[dice.index(values.len())].clone()]].concat());
    }
    for _ in 0..rounds(150) {
        let (words, own) = &commands[dice.index(commands.len())];
        let mut line = words.clone();
        for _ in 0..dice.index(6) {
            let word = match dice.index(5) {
                0 | 1 if !own.is_empty() => own[dice.index(own.len())].clone(),
                2 => {
                    let mut joined = own.get(dice.index(own.len().max(1))).cloned().unwrap_or_default();
                    joined.push("=");
                    joined.push(&values[dice.index(values.len())]);
                    joined
                }
                3 => commands[dice.index(commands.len())]
                    .0
                    .last()
                    .cloned()
                    .unwrap_or_default(),
                _ => values[dice.index(values.len())].clone(),
            };
            line.insert(1 + dice.index(line.len()), word);
        }
        lines.push(line);
    }
    for line in lines {
        if let Some(told) = told(&line) {
            assert!(!told.trim().is_empty(), "{line:?}");
        }
    }
}
