//! Merges that a second agent reviews before the target moves.

use super::{assert_tidy, assert_verified, batch, many, sandbox, show, status};
use crate::harness::{SOON, Sandbox, Script};

/// Works on its plan, and writes what it is sent back with to `fixed.txt`.
const AUTHOR: &str = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    grep -- '- \[ \] Merge' "$RALPH_PLAN" > fixed.txt
fi
echo $plan > $plan.txt
tick; tick; over done"#;

/// A batch of one plan with this reviewer, in a script.
fn reviewed(reviewer: &str) -> Sandbox {
    let sandbox = sandbox(AUTHOR, &["api"]);
    sandbox.install_as("reviewer", &Script::jsonl(reviewer));
    sandbox
}

const ARGS: [&str; 5] = ["api.md", "--review", "reviewer", "--goal", "check=test -e api.txt"];

fn run(sandbox: &Sandbox, more: &str) -> crate::harness::running::Finished {
    let config = sandbox.config().join("ralph");
    std::fs::create_dir_all(&config).expect("a directory");
    let text = format!(r#"{{"review": {{"merges": true, "when": "end"}}{more}}}"#);
    std::fs::write(config.join("config.json"), text).expect("the settings");
    batch(sandbox, &ARGS).run(SOON)
}

/// Approves runs, and has `$1` of the reviews of merges find a problem.
fn finding(which: &str) -> String {
    format!(
        r#"
[ -e CHANGES.patch ] || {{ over 'REVIEW: approved'; exit 0; }}
cp CHANGES.patch ASSIGNMENT.md "$HOME"
reviews=$(cat "$HOME/reviews" 2> /dev/null || echo 0); echo $((reviews + 1)) > "$HOME/reviews"
case $((reviews + 1)) in
{which}) printf 'REVIEW: findings\n\n- api.txt:1 is not what `ui` needs\n' > REVIEW.md;;
*) echo 'REVIEW: approved' > REVIEW.md;;
esac
sed -i '0,/- \[ \]/s//- [x]/' "$RALPH_PLAN"
printf '%s\n' '{{"type":"usage","usage":{{"costUsd":0.25}}}}'; over done"#
    )
}

#[test]
fn findings_about_a_merge_send_its_agent_back_before_the_target_moves() {
    let sandbox = reviewed(&finding("1"));
    let finished = run(&sandbox, "");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said = "the reviewer of its merge found 1 problem; its agent gets a task: api.txt:1 is not what `ui` needs";
    assert!(finished.stdout.contains(said), "{finished:?}");
    assert!(
        finished.stdout.contains("the reviewer approves its merge"),
        "{finished:?}"
    );
    let fixed = show(&sandbox, "fixed.txt");
    assert!(fixed.contains("is not what 'ui' needs"), "{fixed}");
    let patch = sandbox.read_home("CHANGES.patch").expect("the changes");
    assert!(patch.contains("+api"), "{patch}");
    let assignment = sandbox.read_home("ASSIGNMENT.md").expect("the assignment");
    assert!(
        assignment.contains("* api.txt:1 is not what `ui` needs"),
        "{assignment}"
    );
    assert_eq!(sandbox.read_home("reviews").as_deref(), Some("2\n"));
    assert_verified(&sandbox, "test -e api.txt", &["api"]);
    assert_tidy(&sandbox);
    let report = many(&sandbox, "report").run(SOON);
    assert!(report.stdout.contains("the reviewer approves its merge"), "{report:?}");
}

#[test]
fn findings_never_keep_a_plan_out_of_the_target_for_ever() {
    let sandbox = reviewed(&finding("*"));
    let finished = run(&sandbox, "");
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(finished.stdout.contains("it is merged all the same"), "{finished:?}");
    assert_eq!(sandbox.read_home("reviews").as_deref(), Some("3\n"), "two rounds");
    assert_eq!(status(&sandbox)["usage"]["costUsd"], 0.75, "the reviews count");
}

#[test]
fn a_reviewer_that_fails_holds_no_merge_up() {
    let sandbox = reviewed("[ -e CHANGES.patch ] || { over 'REVIEW: approved'; exit 0; }; exit 1");
    let finished = run(&sandbox, r#", "backoff": {"base": "10ms", "max": "10ms"}"#);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("the reviewer of its merge failed"),
        "{finished:?}"
    );
    assert_verified(&sandbox, "test -e api.txt", &["api"]);
}

#[test]
fn reviews_of_merges_need_a_reviewer() {
    let sandbox = reviewed("over done");
    let config = sandbox.config().join("ralph");
    std::fs::create_dir_all(&config).expect("a directory");
    std::fs::write(config.join("config.json"), r#"{"review": {"merges": true}}"#).expect("the settings");
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    assert!(
        finished.stderr.contains("`review.merges` needs a reviewer"),
        "{finished:?}"
    );
}
