//! Projects of other loops run to their end, with nothing changed or trusted first. Also the kinds of work that plan
//! names stand for.
//!
//! `tests/fixtures/loops` has one project per loop, in that loop's own layout and with its own conventions.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::harness::{SOON, Sandbox, Script, running::Finished};

/// Ticks the first open task of any kind of plan, and then speaks as the other loop taught it.
const WORKER: &str = r#"said working
case "$RALPH_PLAN" in
*.json) sed -i '0,/"passes": false/s//"passes": true/' "$RALPH_PLAN" ;;
*) sed -i '0,/\[ \]/s//[x]/' "$RALPH_PLAN" ;;
esac
echo "work of iteration $n" > "work-$n.txt"
git add --all && git commit --quiet --message "Work of iteration $n"
"#;

/// A project of another loop, and what ralph should make of it.
struct OtherLoop {
    name: &'static str,
    plan: &'static str,
    /// The task named in the prompt of each iteration, in order.
    tasks: &'static [&'static str],
    /// Parts of every prompt: files to read, and what the agent should do.
    prompt: &'static [&'static str],
    /// Messages at the start of the run.
    said: &'static [&'static str],
    /// Shell code that ends an iteration.
    end: &'static str,
}

const PROJECTS: [OtherLoop; 5] = [
    OtherLoop {
        name: "ralph-claude-code",
        plan: ".ralph/fix_plan.md",
        tasks: &["Read the forecast", "Print temperatures", "Refuse an unknown town"],
        prompt: &[
            ".ralph/PROMPT.md, .ralph/specs/, .ralph/AGENT.md.",
            "reproduce it first",
        ],
        said: &[
            "mode fix (.ralph/fix_plan.md)",
            "`ralph --adapter claude --calls-per-hour 60 --iteration-timeout 20m`",
            "without an equivalent: ALLOWED_TOOLS",
        ],
        // The agent claims the end in its first iteration.
        end: "over 'One task less.\\n---RALPH_STATUS---\\nSTATUS: COMPLETE\\nEXIT_SIGNAL: true\\n---END_RALPH_STATUS---'",
    },
    OtherLoop {
        name: "openralph",
        plan: "prd.json",
        tasks: &["Add a note", "List the notes"],
        prompt: &[".ralph-prompt.md, progress.txt.", "`passes` to true"],
        said: &["mode implementation (prd.json)"],
        end: "touch .ralph-done; over '<promise>COMPLETE</promise>'",
    },
    OtherLoop {
        name: "ralph-orchestrator",
        plan: "PROMPT.md",
        tasks: &["PROMPT.md (without a task list)"; 3],
        prompt: &["specs/, .ralph/agent/scratchpad.md."],
        said: &[
            "the plan is PROMPT.md",
            "`ralph --promise LOOP_COMPLETE --max-iterations 30 --max-time 7200s --adapter claude`",
            "without an equivalent: core.scratchpad",
        ],
        // The other loop's own word is no claim; the line from the prompt is one, and is needed twice.
        end: r#"if [ "$n" = 1 ]; then over LOOP_COMPLETE; else over "$(promise)"; fi"#,
    },
    OtherLoop {
        name: "snarktank",
        plan: "scripts/ralph/prd.json",
        tasks: &["US-001: Store a due date", "US-002: Show tasks that are overdue"],
        prompt: &["scripts/ralph/prompt.md, scripts/ralph/progress.txt."],
        said: &["mode implementation (scripts/ralph/prd.json)"],
        end: "over '<promise>COMPLETE</promise>'",
    },
    OtherLoop {
        name: "lisa",
        plan: "REFACTOR_PLAN.md",
        tasks: &[
            "Move the reading of files",
            "Hand the printer",
            "Remove what nobody calls",
        ],
        prompt: &[
            "PROMPT.md, REFACTOR.md, @AGENT.md.",
            "what the code does stays the same",
        ],
        said: &["mode refactor (REFACTOR_PLAN.md)"],
        end: r#"if grep -q '\[ \]' "$RALPH_PLAN"
then over '---RALPH_STATUS---\nSTATUS: WORKING\nEXIT_SIGNAL: false\n---END_RALPH_STATUS---'
else over '---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---'
fi"#,
    },
];

/// Every file below a directory, relative to it.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => directories.push(path),
                false => found.push(path.strip_prefix(root).unwrap().to_owned()),
            }
        }
    }
    found
}

/// A repository with the files of another loop's project, and none of ralph's.
fn project_of(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    let root = root_of(name);
    for file in files(&root) {
        sandbox.write(file.to_str().unwrap(), &fs::read_to_string(root.join(&file)).unwrap());
    }
    sandbox.git(["add", "--all", "--force"]);
    sandbox.git(["commit", "--quiet", "--message", "As it was"]);
    sandbox
}

fn root_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures/loops")
        .join(name)
}

fn run(sandbox: &Sandbox, args: &[&str]) -> Finished {
    sandbox
        .untrusting_ralph(["-a", "script", "--headless"])
        .args(args)
        .run(SOON)
}

#[test]
fn a_project_of_each_of_five_other_loops_runs_unchanged_to_its_end() {
    for project in &PROJECTS {
        let sandbox = project_of(project.name);
        sandbox.install(&Script::jsonl(&format!("{WORKER}{}", project.end)));
        let done = run(&sandbox, &[]);
        assert_eq!(done.code(), Some(0), "{}: {done:?}", project.name);
        // Lines are wrapped at the width of the terminal.
        let said: Vec<&str> = done.stdout.split(|c: char| c.is_whitespace() || c == '│').collect();
        let said = said
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect::<Vec<_>>()
            .join(" ");
        for part in project.said {
            assert!(said.contains(part), "{}: `{part}` is not in\n{said}", project.name);
        }
        for (at, task) in project.tasks.iter().enumerate() {
            let prompt = sandbox.prompt(u32::try_from(at).unwrap() + 1);
            for part in [*task].iter().chain(project.prompt) {
                assert!(prompt.contains(part), "{}: `{part}` is not in\n{prompt}", project.name);
            }
        }
        let last = project.tasks.len();
        assert!(sandbox.read(&format!("work-{last}.txt")).is_some(), "{}", project.name);
        assert_eq!(
            sandbox.read(&format!("work-{}.txt", last + 1)),
            None,
            "{}",
            project.name
        );
        let root = root_of(project.name);
        for file in files(&root) {
            let name = file.to_str().unwrap();
            let was = fs::read_to_string(root.join(&file)).unwrap();
            let now = sandbox.read(name).unwrap();
            match name == project.plan && project.plan != "PROMPT.md" {
                true => assert_eq!(now.lines().count(), was.lines().count(), "{name}"),
                false => assert_eq!(now, was, "{}: {name}", project.name),
            }
        }
        assert_eq!(
            sandbox.read("other-loop.txt"),
            None,
            "nothing of the other loop was run"
        );
    }
}

#[test]
fn a_mode_that_is_unknown_or_has_two_plans_or_none_is_refused_with_what_to_type() {
    let sandbox = project_of("lisa");
    sandbox.install(&Script::worker());
    for (args, parts) in [
        (
            &["--mode", "refctor"][..],
            &["--mode", "refctor", "did you mean \"refactor\"?", "\"fix\""][..],
        ),
        (
            &["--mode", "fix"],
            &["there is no plan for mode `fix`", "@fix_plan.md", "--plan FILE"],
        ),
    ] {
        let refused = run(&sandbox, args);
        assert_eq!(refused.code(), Some(3), "{refused:?}");
        for part in parts {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    sandbox.write("@fix_plan.md", "- [ ] Round down\n");
    let refused = run(&sandbox, &[]);
    assert_eq!(refused.code(), Some(3), "{refused:?}");
    let both = "REFACTOR_PLAN.md (refactor), @fix_plan.md (fix)";
    assert!(
        refused.stderr.contains(both) && refused.stderr.contains("`--mode refactor`"),
        "{refused:?}"
    );
    let named = run(&sandbox, &["--mode", "fix"]);
    assert_eq!(named.code(), Some(0), "{named:?}");
    assert!(
        named.stdout.contains("mode fix (@fix_plan.md)") && named.stdout.contains("not worked on"),
        "{named:?}"
    );
    assert!(sandbox.prompt(1).contains("Round down"));
}
