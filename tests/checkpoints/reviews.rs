//! Changes of a reviewer, and how to restore them.

use super::*;
use ralph_core::event::GateEvent;

#[test]
fn what_changes_during_a_review_is_put_back_and_can_be_brought_back() {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::worker());
    let meddling = "
        printf '%s\\n' \"$prompt\" | grep -q '^+work of iteration 1$' || exit 3
        echo spoilt > work-1.txt; echo new > new.txt; rm PLAN.md
        git add --all && git commit --quiet --message Meddling
        over 'REVIEW: approved'";
    sandbox.install_as("second", &Script::jsonl(meddling));
    let finished = sandbox
        .looping(["--review", "second", "--goal", "there=test -e work-1.txt"])
        .run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("work-1.txt").as_deref(), Some("work of iteration 1\n"));
    assert_eq!(sandbox.read("PLAN.md").as_deref(), Some("- [x] Task 1\n"));
    assert_eq!(sandbox.read("new.txt"), None);
    let named = [
        "3 files changed during the review",
        "new.txt",
        "`ralph diff 2`",
        "`ralph restore 2`",
    ];
    assert_warns(&finished, &named);
    assert_warns(&finished, &["HEAD moved during the review", "git reset --soft"]);
    let records = finished.records();
    let goals = events(&records).filter(|event| matches!(event, Event::Gate(GateEvent::GoalChecked { .. })));
    assert_eq!(goals.count(), 1, "the files are those that it passed on");
    let diff = sandbox.ralph(["diff", "2"]).run(SOON);
    assert!(diff.stdout.contains("+spoilt"), "{diff:?}");
    let restored = sandbox.ralph(["restore", "2", "--yes"]).run(SOON);
    assert_eq!(restored.code(), Some(0), "{restored:?}");
    assert_eq!(sandbox.read("new.txt").as_deref(), Some("new\n"));
}
