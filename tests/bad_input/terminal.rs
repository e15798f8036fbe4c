//! Output of ralph besides that of a run: errors, names, ids, replies and the contents of files.

use std::{fs, os::unix::fs::symlink};

use super::output::assert_harmless;
use crate::harness::{SOON, Sandbox, Script, running::Finished};

/// Sets the clipboard and the title, leaves a string open and reverses text, with C0 and C1 codes.
const NASTY: &str = "a\u{1b}]52;c;b3duZWQ=\u{7}\u{1b}]0;t\u{202e}x\u{9b}31m\u{200f}\u{2028}z";

#[track_caller]
fn harmless(finished: &Finished, saying: &str) {
    assert_harmless(&finished.stdout);
    assert_harmless(&finished.stderr);
    let all = format!("{}{}", finished.stdout, finished.stderr);
    assert!(all.contains(saying), "no `{saying}`: {finished:?}");
}

/// Runs ralph on a terminal, which `script` provides, and returns the bytes that reached it.
fn on_a_terminal(sandbox: &Sandbox, args: &str) -> String {
    let command = format!("exec {} --trust-project {args}", env!("CARGO_BIN_EXE_ralph"));
    let finished = sandbox
        .program("script")
        .args(["--quiet", "--return", "--command", &command, "/dev/null"])
        .run(SOON);
    finished.stdout.replace("\r\n", "\n")
}

#[test]
fn errors_show_what_is_in_a_configuration_without_its_sequences() {
    let sandbox = Sandbox::new();
    let key = serde_json::to_string(NASTY).unwrap();
    sandbox.write(".ralph/config.json", &format!("{{{key}: 1, \"adapter\": {key}}}"));
    harmless(&sandbox.ralph(["config"]).run(SOON), "unknown setting");
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    harmless(&finished, "unknown setting");
    harmless(&sandbox.ralph(["doctor"]).run(SOON), "unknown setting");
    sandbox.write(".ralph/config.json", &format!("{{\"model\": {key}, \"goals\": []}}"));
    harmless(&sandbox.ralph(["config"]).run(SOON), "model");
}

#[test]
fn an_error_stays_on_its_line_and_says_all_it_has_to_say() {
    let sandbox = Sandbox::new();
    sandbox.write("never\u{1b}]0;ends\nerror: forged", "");
    let finished = sandbox
        .looping(["--plan", "never\u{1b}]0;ends\nerror: forged"])
        .run(SOON);
    harmless(&finished, "the plan is empty");
    assert_eq!(finished.stderr.matches("\nerror: ").count(), 0, "{finished:?}");
}

#[test]
fn names_of_adapters_runs_and_flags_are_shown_without_their_sequences() {
    let sandbox = Sandbox::new();
    let adapters = sandbox.project().join(".ralph/adapters");
    fs::create_dir_all(&adapters).unwrap();
    let file = NASTY.replace('/', "");
    fs::write(adapters.join(format!("{file}.toml")), "id = 1\n").unwrap();
    fs::write(
        adapters.join("odd.toml"),
        "title = \"a\\u001b[2J\\u009b\"\n[command]\nprogram = \"\\u001b]0;x\"\nargs = [\"\\u202e\"]\n",
    )
    .unwrap();
    for args in [
        &["adapters"][..],
        &["adapters", "show", "odd"],
        &["adapters", "check"],
        &["adapters", "check", &file],
        &["doctor"],
        &["doctor", "--format", "json"],
        &["report", NASTY],
        &["diff", "1", "--run", NASTY],
        &[NASTY],
        &["--model", NASTY, "config"],
        &["--help"],
    ] {
        let finished = sandbox.ralph(args).env("RALPH_STATE_DIR", "/tmp/x\u{1b}[2Jy").run(SOON);
        harmless(&finished, "");
    }
}

#[test]
fn a_lock_with_sequences_in_it_is_shown_without_them() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl("said ready; exec sleep 600"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, crate::loop_behaviour::said("ready"));
    let run = serde_json::to_string(NASTY).unwrap();
    fs::write(sandbox.paths().lock(), format!("{{\"pid\": 1, \"run\": {run}}}")).unwrap();
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(5), "{finished:?}");
    harmless(&finished, "pid 1");
    running.kill();
    running.wait(SOON);
}

#[test]
fn a_restore_and_a_difference_show_names_and_contents_without_sequences() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let name = "n\u{1b}[2J\u{9b}\n\u{202e}m";
    sandbox.write(name, "before\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Name"]);
    symlink("elsewhere", sandbox.project().join("link")).unwrap();
    let nasty = NASTY.replace('\u{2028}', "");
    sandbox.install(&Script::jsonl(&format!(
        "printf '\\033[8mhidden\\033[0m {nasty}\\n' > \"$(printf 'n\\033[2J\\302\\233\\n\\342\\200\\256m')\"; work; over done"
    )));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    for args in ["diff 1", "diff 1 --stat", "restore", "restore 1 --before --yes"] {
        let shown = on_a_terminal(&sandbox, args);
        let own = shown.split("\u{1b}[").skip(1).filter(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';');
            end.is_some_and(|end| rest[end..].starts_with('m'))
        });
        assert!(own.clone().all(|rest| !rest.starts_with("8m")), "{args}: {shown:?}");
        let foreign = shown.matches('\u{1b}').count() - own.count();
        assert_eq!(foreign, 0, "{args}: {shown:?}");
        assert_harmless(&shown.replace('\u{1b}', ""));
    }
    assert!(
        on_a_terminal(&sandbox, "diff 1").contains("\u{1b}["),
        "colours are one's own"
    );
    let patch = sandbox.ralph(["diff", "1"]).run(SOON);
    assert!(
        patch.stdout.contains("\u{1b}[8mhidden"),
        "a program gets the bytes: {patch:?}"
    );
}

#[test]
fn json_is_escaped_and_holds_the_same_values() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(
        r#"cat <<'END'
{"type":"said","text":"C1 \u009b31m bidi \u202e mark \u200f"}
END
work; over "$(printf 'end \302\233 \342\200\256')""#,
    ));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_harmless(&finished.stdout);
    assert_eq!(finished.records(), sandbox.journal());
    for args in [&["status", "--json"][..], &["report", "--format", "json"]] {
        let finished = sandbox.ralph(args).run(SOON);
        assert_harmless(&finished.stdout);
        serde_json::from_str::<serde_json::Value>(&finished.stdout).unwrap();
    }
}
