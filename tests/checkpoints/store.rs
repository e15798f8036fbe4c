//! The store of checkpoints: what an agent does to its repository changes no restore.

use std::fs;

use super::*;

#[test]
fn references_that_the_agent_moves_and_objects_that_it_clears_away_are_not_missed() {
    for harm in [
        "for ref in $(git for-each-ref --format='%(refname)' refs/ralph); do git update-ref -d $ref; done",
        "for place in 1-before 1-after 2-before; do git update-ref refs/ralph/$(basename $(dirname $(ls -d \
         \"$XDG_STATE_HOME\"/ralph/*/runs/*/events.jsonl)))/$place HEAD; done",
        "git commit --quiet --allow-empty --message x; git reset --quiet --hard HEAD~; git reflog expire --all \
         --expire=now; git gc --quiet --prune=now --aggressive",
    ] {
        let sandbox = Sandbox::new();
        sandbox.write("precious", "mine\n");
        sandbox.install(&agent(&format!("[ $n = 1 ] && {{ rm precious; {harm}; }}")));
        let finished = finishes(&sandbox);
        assert_eq!(checkpointed(&finished), 2, "{harm}: {finished:?}");
        assert_eq!(sandbox.git(["stash", "list"]), "");
        let diff = sandbox.ralph(["diff", "1"]).run(SOON);
        assert!(diff.stdout.contains("-mine"), "{harm}: {diff:?}");
        let restored = sandbox.ralph(["restore", "1", "--before", "--yes"]).run(SOON);
        assert_eq!(restored.code(), Some(0), "{harm}: {restored:?}");
        assert_eq!(sandbox.read("precious").as_deref(), Some("mine\n"), "{harm}");
    }
}

#[test]
fn a_run_whose_checkpoints_cannot_be_kept_does_not_begin() {
    let sandbox = Sandbox::new();
    sandbox.install(&agent("touch began"));
    let store = sandbox.paths().states().store(&sandbox.project());
    fs::create_dir_all(store.parent().unwrap()).unwrap();
    fs::write(&store, "a file in the place of a directory").unwrap();
    let refused = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(refused.code(), Some(1), "{refused:?}");
    let words = format!("checkpoints cannot be kept in {}", store.display());
    assert!(refused.stderr.contains(&words), "{refused:?}");
    assert_eq!(sandbox.read("began"), None);
    fs::remove_file(&store).unwrap();
    finishes(&sandbox);
}

#[test]
fn what_a_killed_git_left_in_the_store_holds_up_no_later_run() {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n");
    sandbox.install(&agent(""));
    let first = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(checkpointed(&first), 1, "{first:?}");
    let store = sandbox.paths().states().store(&sandbox.project());
    for lock in ["packed-refs.lock", "HEAD.lock", "config.lock", "refs/ralph/x.lock"] {
        fs::write(store.join(lock), "").unwrap();
    }
    assert_eq!(checkpointed(&finishes(&sandbox)), 1);
    assert_eq!(sandbox.store_git(["fsck", "--strict", "--no-dangling"]), "");
}
