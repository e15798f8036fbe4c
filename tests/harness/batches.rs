//! Batches of plans, as several groups of tests have them.

use serde_json::Value;

use super::{SOON, Sandbox, Script, running::Program};

/// Shell code for every agent of a batch: `$plan` is the name of its plan, `tick` ticks the first open task.
const HANDS: &str = r#"
plan=$(basename "$RALPH_PLAN" .md)
tick() { sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"; }
commit() { git add --all && git commit --quiet --message "$1"; }
"#;

pub fn sandbox_in(sandbox: Sandbox, agent: &str, plans: &[&str]) -> Sandbox {
    sandbox.install(&Script::jsonl(&format!("{HANDS}{agent}")));
    for plan in plans {
        sandbox.write(
            &format!("{plan}.md"),
            &format!("# {plan}\n\n- [ ] One of {plan}\n- [ ] Two of {plan}\n"),
        );
    }
    sandbox.write("shared.txt", "base\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Plans"]);
    sandbox
}

pub fn many(sandbox: &Sandbox, args: &str) -> Program {
    let program = sandbox.ralph(["many"]).args(args.split_whitespace());
    program.env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
}

pub fn batch(sandbox: &Sandbox, args: &[&str]) -> Program {
    many(sandbox, "--adapter script").args(args)
}

#[track_caller]
pub fn status(sandbox: &Sandbox) -> Value {
    let finished = many(sandbox, "status --json").run(SOON);
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

pub fn target(sandbox: &Sandbox) -> String {
    status(sandbox)["target"].as_str().expect("a target").to_owned()
}
