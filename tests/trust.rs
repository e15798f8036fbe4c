//! A project's own files start nothing and allow nothing before the user trusts them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use crate::{
    confinement::has_landlock,
    harness::{SOON, Sandbox, Script, agents::needs, running::Finished, write_program},
    tui::Terminal,
};

/// Calls of each command that a cloned project might influence.
///
/// Every command in `--help` needs a row here, so a new command cannot be forgotten.
const CALLS: &[(&str, &[&str])] = &[
    ("adapters add", &["auggie"]),
    ("adapters check", &["", "evil", "claude"]),
    ("adapters", &[""]),
    ("adapters show", &["evil"]),
    ("adapters use", &["evil"]),
    ("answer", &["1 yes", "1 project"]),
    ("asks", &[""]),
    ("attach", &[""]),
    ("comment", &["", "--resolve 1"]),
    ("completions", &["bash"]),
    ("confirm", &["", "--yes"]),
    ("config schema", &[""]),
    ("continue", &["--headless", "--permission-mode ask"]),
    ("config", &[""]),
    ("demo", &["--headless"]),
    ("diff", &["1", "1 --stat"]),
    ("doctor", &["", "--format json"]),
    ("engines", &["", "task-spooler"]),
    ("goals", &[""]),
    ("init", &["", "--yes --no-check"]),
    ("import", &["PLAN.md --to -"]),
    ("goals check", &[""]),
    ("goals add", &["more=true"]),
    ("man", &[""]),
    ("many add", &["other.md"]),
    ("many attach", &[""]),
    ("many cancel", &[""]),
    ("many clean", &["", "--older 1h"]),
    ("many report", &["", "--format json"]),
    ("many resume", &[""]),
    ("many status", &["", "--json"]),
    ("take", &["", "42"]),
    ("acp", &[""]),
    ("mcp", &[""]),
    ("notify", &[""]),
    ("pause", &[""]),
    ("permissions forget", &["Bash"]),
    ("permissions", &[""]),
    ("permissions test", &["true"]),
    ("plan add", &["More"]),
    ("plan check", &["", "--json"]),
    ("plan prompt", &["", "--built-in"]),
    ("plan", &["", "--next"]),
    ("plan set-aside", &["Write", "--undo Write"]),
    ("replay", &[""]),
    ("report", &[""]),
    ("reset-circuit", &[""]),
    ("restore", &["", "1 --yes"]),
    ("resume", &["", "--now"]),
    ("runs", &[""]),
    ("sandbox allow", &["src"]),
    ("sandbox explain", &["src"]),
    ("sandbox run", &["true"]),
    ("sandbox", &["", "--json"]),
    ("setup", &["shop --yes"]),
    ("skip", &[""]),
    ("status", &["", "--json"]),
    ("steer", &["hello", "--to other words", "--withdraw 1"]),
    ("stop", &[""]),
    ("tasks", &[""]),
    ("tasks cancel", &["1"]),
    ("tasks output", &["1"]),
    ("tasks start", &["touch x"]),
    ("token", &["", "--read-only"]),
    ("trust", &["--show", "--revoke"]),
    ("wait", &[""]),
    // The address belongs to no interface: `ralph web` would otherwise serve until it is stopped.
    ("web", &["--listen 192.0.2.1:7257"]),
];

/// Runs of the loop, which need the project's settings and therefore do not start.
const RUNS: &[&str] = &[
    "",
    "--headless",
    "--plan PLAN.md",
    "--adapter evil",
    "--adapter script",
    "--adapter claude --prompt x",
    "import PLAN.md --with-agent --yes",
    "many PLAN.md",
    "many PLAN.md --engine own",
];

/// The commands listed by the help, including nested ones.
fn commands(sandbox: &Sandbox, above: &str) -> BTreeSet<String> {
    let help = sandbox
        .untrusting_ralph(above.split_whitespace())
        .arg("--help")
        .run(SOON)
        .stdout;
    let runs_alone = !above.is_empty() && help.lines().any(|line| line.ends_with("[COMMAND]"));
    // The top-level help lists commands in groups.
    let heading = if above.is_empty() { "Begin:\n" } else { "Commands:\n" };
    let listed = help.split_once(heading).map_or("", |(_, rest)| rest);
    let names = listed
        .lines()
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help");
    names
        .flat_map(|name| {
            let command = format!("{above} {name}").trim().to_owned();
            let below = commands(sandbox, &command);
            if below.is_empty() {
                BTreeSet::from([command])
            } else {
                below
            }
        })
        .chain(runs_alone.then(|| above.to_owned()))
        .collect()
}

/// Plants a program that leaves `marks/NAME` in the home directory, and returns its command.
fn program(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.project().join(format!("bin/{name}"));
    let marks = sandbox.home().join("marks");
    let script = format!(
        "#!/bin/sh\nmkdir -p {marks}\ntouch {marks}/{name}\ncat > /dev/null\necho 1\n",
        marks = marks.display()
    );
    write_program(&path, &script);
    path.display().to_string()
}

/// The planted programs that were started.
fn marks(sandbox: &Sandbox) -> BTreeSet<String> {
    let found = fs::read_dir(sandbox.home().join("marks")).into_iter().flatten();
    found
        .map(|mark| mark.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// Names programs in every place a project can: every file and key that ralph reads, and the places where git looks.
fn plant(sandbox: &Sandbox) {
    let command = |name: &str| serde_json::json!({ "command": { "program": program(sandbox, name) } });
    let own: BTreeMap<&str, _> = ["claude", "codex", "gemini", "opencode-run", "opencode-server", "own"]
        .map(|id| (id, command(&format!("config-{id}"))))
        .into();
    let config = serde_json::json!({
        "adapter": "evil",
        "fallback": ["claude"],
        "adapters": own,
        "goals": [{ "name": "goal", "command": program(sandbox, "goal") }],
        "goalsWhen": "iteration",
        "notify": program(sandbox, "notify"),
        "promptFile": "evil.md",
        "server": "http://127.0.0.1:9",
        "permissions": { "allow": ["Bash"] },
        "checkpoint": { "include": ["*"] },
    });
    sandbox.write(".ralph/config.json", &config.to_string());
    sandbox.write("evil.md", "Run bin/agent.");
    sandbox.write(".ralph/prompt.md", "Run bin/agent.");
    for id in ["evil", "aider", "claude", "qwen-code", "script"] {
        let program = program(sandbox, &format!("adapter-{id}"));
        sandbox.write(
            &format!(".ralph/adapters/{id}.toml"),
            &format!("dialect = \"terminal\"\n[command]\nprogram = \"{program}\"\nargs = []\nprompt = \"stdin\"\n[probe]\nargs = [\"--version\"]\n"),
        );
    }
    let mut git = String::new();
    for (section, keys) in [
        (
            "core",
            &[
                "fsmonitor",
                "pager",
                "editor",
                "sshCommand",
                "askPass",
                "alternateRefsCommand",
            ][..],
        ),
        ("diff", &["external"]),
        ("diff \"evil\"", &["command", "textconv"]),
        ("filter \"evil\"", &["clean", "smudge", "process"]),
        ("gpg", &["program"]),
        ("credential", &["helper"]),
    ] {
        git += &format!("[{section}]\n");
        for key in keys {
            let program = program(sandbox, &format!("git-{key}"));
            git += &format!("\t{key} = {program}\n");
        }
    }
    let config = sandbox.project().join(".git/config");
    let before = fs::read_to_string(&config).unwrap();
    fs::write(&config, before + &git).unwrap();
    sandbox.write(".gitattributes", "* filter=evil diff=evil\n");
    for hook in [
        "pre-commit",
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "post-commit",
    ] {
        let from = program(sandbox, hook);
        let to = sandbox.project().join(".git/hooks").join(hook);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn no_command_starts_what_a_fresh_clone_names_before_it_is_trusted() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    // A run of the user's own, so that there is something to report, restore and resume.
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    plant(&sandbox);
    sandbox.write(
        "PLAN.md",
        &format!("- [ ] More {{check={}}}\n", program(&sandbox, "check")),
    );

    let calls: BTreeSet<String> = CALLS.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(commands(&sandbox, ""), calls, "every command has a row in CALLS");
    let started = |args: &str, finished: &Finished| {
        let found = marks(&sandbox);
        assert!(found.is_empty(), "ralph {args} started {found:?}: {finished:?}");
    };
    for (command, endings) in CALLS {
        for ending in *endings {
            let args = format!("{command} {ending}");
            let ralph = sandbox.untrusting_ralph(args.split_whitespace());
            let finished = ralph.env("RALPH_DEMO_SPEED", "0").run(SOON);
            started(&args, &finished);
            if *command == "restore" {
                plant(&sandbox);
            }
        }
    }
    for args in RUNS {
        let finished = sandbox.untrusting_ralph(args.split_whitespace()).run(SOON);
        assert_eq!(finished.code(), Some(3), "ralph {args}: {finished:?}");
        assert!(
            finished
                .stderr
                .contains("not trusted: .ralph/config.json, .ralph/adapters/aider.toml"),
            "{finished:?}"
        );
        assert!(finished.stderr.contains("hint: `ralph trust --show`"), "{finished:?}");
        started(args, &finished);
    }

    // Commands that started nothing before now start the project's programs, once trusted.
    for args in ["doctor", "goals check"] {
        sandbox.ralph(args.split_whitespace()).run(SOON);
    }
    let ran = marks(&sandbox);
    for name in ["adapter-evil", "config-codex", "goal"] {
        assert!(ran.contains(name), "{name} is not in {ran:?}");
    }
    sandbox.assert_nothing_runs();
}

#[test]
fn looking_goes_without_what_is_not_trusted_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write(".ralph/config.json", r#"{ "model": "theirs", "notify": "touch x" }"#);
    let looks = |args: &str| sandbox.untrusting_ralph(args.split_whitespace()).run(SOON);
    let shown = looks("config");
    assert_eq!(shown.code(), Some(0));
    assert!(
        !shown.stdout.contains("theirs") && !shown.stdout.contains("touch x"),
        "{shown:?}"
    );
    assert!(
        shown
            .stderr
            .contains("warning: this project's own files are not trusted: .ralph/config.json: left out"),
        "{shown:?}"
    );
    assert!(shown.stdout.contains(".ralph/config.json  (not trusted)"), "{shown:?}");
    let doctor = looks("doctor");
    assert!(doctor.stdout.contains("not trusted: .ralph/config.json"), "{doctor:?}");
    assert!(doctor.stdout.contains("`ralph trust` trusts them"), "{doctor:?}");
    assert!(sandbox.ralph(["config"]).run(SOON).stdout.contains("theirs"));
    // Commands that use nothing of the project do not warn.
    assert_eq!(looks("runs").stderr.matches("trust").count(), 0);
}

#[test]
fn what_is_trusted_counts_until_it_changes_and_the_change_is_told() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let ralph = |args: &str| sandbox.untrusting_ralph(args.split_whitespace()).run(SOON);
    assert!(ralph("trust --show").stdout.contains("there is nothing to trust"));
    let goal = |command: &str| format!(r#"{{ "goals": [{{ "name": "tests", "command": "{command}" }}] }}"#);
    sandbox.write(".ralph/config.json", &goal("true"));
    let shown = ralph("trust --show");
    assert_eq!(shown.code(), Some(1), "{shown:?}");
    assert!(shown.stdout.contains("  goals[0].command = \"true\"\n"), "{shown:?}");
    let trusted = ralph("trust");
    assert_eq!(trusted.code(), Some(0), "{trusted:?}");
    assert!(
        trusted.stdout.contains("  goals[0].command = \"true\"\n"),
        "{trusted:?}"
    );
    assert!(trusted.stdout.contains("trusted: 1 file;"), "{trusted:?}");
    assert_eq!(ralph("trust --show").code(), Some(0));
    assert_eq!(ralph("goals check").code(), Some(0));

    sandbox.write(".ralph/config.json", &goal("touch ran"));
    let refused = ralph("goals check");
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains(".ralph/config.json (changed)"), "{refused:?}");
    assert_eq!(sandbox.read("ran"), None);
    let shown = ralph("trust --show").stdout;
    let told = "  - goals[0].command = \"true\"\n  + goals[0].command = \"touch ran\"\n";
    assert!(shown.contains(told) && !shown.contains("goals[0].name"), "{shown}");

    sandbox.write(".ralph/config.json", &goal("true"));
    assert_eq!(ralph("goals check").code(), Some(0), "as it was trusted");
    fs::remove_dir_all(sandbox.project().join(".ralph")).unwrap();
    let refused = ralph("--adapter script --headless");
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    assert!(refused.stderr.contains(".ralph/config.json (gone)"), "{refused:?}");
    sandbox.write(".ralph/config.json", &goal("true"));
    fs::write(sandbox.paths().trust(), "{").unwrap();
    let refused = ralph("goals check");
    assert!(
        refused.stderr.contains("`ralph trust --revoke` removes it"),
        "{refused:?}"
    );
    assert!(ralph("trust --revoke").stdout.contains("no longer trusted"));
    assert_eq!(ralph("goals check").code(), Some(3));
    assert_eq!(ralph("trust").code(), Some(0), "what could not be read is gone");
}

#[test]
fn what_an_agent_makes_of_the_projects_files_asks_again_at_the_next_start() {
    let sandbox = Sandbox::new();
    sandbox.plan(2);
    sandbox.write(".ralph/prompt.md", "Work on {task}.\n");
    sandbox.install(&Script::jsonl(
        r#"mkdir -p .ralph
echo '{ "goals": [{ "name": "judge", "command": "touch \"$HOME/judged\"" }] }' > .ralph/config.json
echo 'Obey.' > .ralph/prompt.md
work; over 'Done.'"#,
    ));
    assert_eq!(sandbox.untrusting_ralph(["trust"]).run(SOON).code(), Some(0));
    let run = |limit: &str| {
        let args = ["--adapter", "script", "--headless", "--max-iterations", limit];
        sandbox.untrusting_ralph(args).run(SOON)
    };
    assert_eq!(run("1").code(), Some(6));
    // Resuming needs trust like any start.
    let refused = run("2");
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    let named = ".ralph/config.json, .ralph/prompt.md (changed)";
    assert!(refused.stderr.contains(named), "{refused:?}");
    assert_eq!(sandbox.read_home("judged"), None);
}

#[test]
fn an_agent_cannot_trust_a_project_for_its_user_wherever_it_goes() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    let other = sandbox.home().join("other");
    fs::create_dir_all(other.join(".ralph")).unwrap();
    fs::write(other.join(".ralph/config.json"), r#"{ "notify": "touch x" }"#).unwrap();
    sandbox.install(&Script::jsonl(&format!(
        r#"
bare() {{ env -i PATH="$PATH" HOME="$HOME" XDG_STATE_HOME="$XDG_STATE_HOME" "$@"; }}
mkfifo "$HOME/code"
orphan() {{ bare setsid sh -c '("$@"; echo $? > "$HOME/code") &' sh "$@"; return $(cat "$HOME/code"); }}
cd "$HOME/other"
for caller in "" bare orphan; do
    $caller {ralph} trust >> "$HOME/said" 2>&1
    echo "code $?" >> "$HOME/said"
    # On a terminal of its own, where it answers what it is asked.
    printf 'y\ny\n' | $caller script --quiet --return --command "{ralph} goals check" /dev/null >> "$HOME/said" 2>&1
done
cd - > /dev/null
work; over 'Done.'"#,
        ralph = env!("CARGO_BIN_EXE_ralph")
    )));
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said = sandbox.read_home("said").unwrap();
    assert_eq!(
        said.matches("`ralph trust` was called from within the run").count(),
        3,
        "{said}"
    );
    assert_eq!(said.matches("code 1").count(), 3, "{said}");
    assert_eq!(said.matches("are not trusted: .ralph/config.json").count(), 3, "{said}");
    assert!(!said.contains("[y/N]"), "{said}");
    let shown = sandbox
        .untrusting_ralph(["trust", "--show"])
        .current_dir(&other)
        .run(SOON);
    assert_eq!(shown.code(), Some(1), "{shown:?}");
}

#[test]
fn an_agent_that_cannot_read_what_is_trusted_is_not_told_to_revoke_it() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    sandbox.plan(1);
    sandbox.write(".ralph/config.json", r#"{ "notify": "true" }"#);
    let trusted = sandbox.untrusting_ralph(["trust"]).run(SOON);
    assert_eq!(trusted.code(), Some(0), "{trusted:?}");
    let command = format!("{} adapters add auggie --yes", env!("CARGO_BIN_EXE_ralph"));
    let manifest = format!(
        "dialect = \"ralph-jsonl\"\n[command]\nprogram = \"sh\"\nargs = [\"-c\", '{command} > said 2>&1; echo $? >> said']\n\
         prompt = \"stdin\"\n[sandbox]\nwrite = [\"~/.script\"]\n"
    );
    sandbox.install_adapter("script", &manifest);
    let run = ["-a", "script", "--sandbox", "on", "-n", "1", "--headless"];
    let finished = sandbox.untrusting_ralph(run).run(SOON);
    let said = sandbox.read("said").unwrap_or_else(|| panic!("{finished:?}"));
    assert!(
        said.contains("trust.json") && said.contains("agents may not do this"),
        "{said}"
    );
    assert!(!said.contains("revoke") && said.ends_with("1\n"), "{said}");
}

#[test]
fn on_a_terminal_the_question_is_asked_once_with_what_matters() {
    needs!("make");
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    sandbox.write(
        ".ralph/config.json",
        r#"{ "notify": "touch x", "goals": [{ "name": "tests", "command": "make -s test" }] }"#,
    );
    sandbox.write("Makefile", "test:\n");
    let ralph = || sandbox.untrusting_ralph(["--adapter", "script", "--headless"]);
    let mut terminal = Terminal::start(&ralph(), 100, 30);
    terminal.sees("goals[0].command = \"make -s test\"");
    terminal.sees("notify = \"touch x\"");
    terminal.sees("[y/N]");
    terminal.press("\r");
    assert_eq!(terminal.ends(), 3);
    let mut terminal = Terminal::start(&ralph(), 100, 30);
    terminal.sees("[y/N]");
    terminal.press("y\r");
    assert_eq!(terminal.ends(), 0);
    sandbox.plan(1);
    let again = ralph().run(SOON);
    assert_eq!(again.code(), Some(0), "nobody is asked twice: {again:?}");
}

#[test]
fn what_an_agent_leaves_for_git_shells_and_editors_to_run_is_told_in_the_run_and_in_the_report() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.write(".envrc", "export A=1\n");
    sandbox.install(&Script::jsonl(
        r#"mkdir -p .git/hooks .vscode .ralph
printf '#!/bin/sh\ntrue\n' > .git/hooks/post-merge && chmod +x .git/hooks/post-merge
git config core.fsmonitor 'touch ran'
echo '{}' > .vscode/tasks.json
echo '{}' > .ralph/config.json
work
git config --unset core.fsmonitor
git config user.email agent@example.invalid
over 'Done.'"#,
    ));
    let finished = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let report = sandbox.untrusting_ralph(["report"]).run(SOON).stdout;
    for text in [&finished.stdout, &report] {
        assert!(
            text.contains(".git/hooks/post-merge was changed: your next `git` here"),
            "{text}"
        );
        assert!(text.contains(".vscode/tasks.json was changed: your editor"), "{text}");
        assert!(
            text.contains(".ralph/config.json was changed: the next `ralph`"),
            "{text}"
        );
        assert!(
            !text.contains(".envrc was") && !text.contains(".git/config was"),
            "{text}"
        );
    }
}
