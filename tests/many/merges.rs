//! Merges that could lose work: conflicts without markers, nested repositories, moved targets, leftovers.

use super::{assert_tidy, assert_verified, batch, history, sandbox, sandbox_in, show, status, target};
use crate::{
    engines::is_installed,
    harness::{SOON, Sandbox, skipped, wait_until},
};

/// Ticks the merge task without touching anything.
const LAZY: &str = r#"
[ "$n" -gt 1 ] || grep -q -- '- \[ \] Merge' "$RALPH_PLAN" || eval "$(cat "$HOME/$plan.sh")"
tick; over done"#;

/// Commits the merge as it is, with the message in `$HOME/message`.
const NAMING: &str = r#"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    git add --all && git commit --quiet --message "$(cat "$HOME/message")"
elif [ "$n" = 1 ]; then
    eval "$(cat "$HOME/$plan.sh")"
fi
tick; over done"#;

/// Waits until the first plan is merged: both plans start at once, but the second one works after that.
pub(super) const AFTER: &str = "while ! git log --all --format=%s | grep -q '^Merge plan api'; do sleep 0.05; done";

/// Waits until the first plan's branch is deleted, which happens only once the target contains its merge.
pub(super) const GONE: &str = "while git for-each-ref 'refs/heads/ralph/*/api' | grep -q .; do sleep 0.05; done";

/// Two plans, `api` and `ui`, the work of each in a script.
fn two(agent: &str, first: &str, second: &str) -> Sandbox {
    let sandbox = sandbox(agent, &["api", "ui"]);
    for (path, text) in [("logo.png", "\0base\n"), ("old.txt", "one\ntwo\n")] {
        sandbox.write(path, text);
    }
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Files"]);
    for (plan, script) in [("api", first.to_owned()), ("ui", format!("{AFTER}; {second}"))] {
        std::fs::write(sandbox.home().join(format!("{plan}.sh")), script).expect("the plan's work");
    }
    sandbox
}

#[test]
fn a_conflict_without_markers_is_not_resolved_by_doing_nothing() {
    let cases = [
        (
            "printf '\\0api\\n' > logo.png",
            "printf '\\0ui\\n' > logo.png",
            "logo.png",
        ),
        ("git rm --quiet old.txt", "echo three >> old.txt", "old.txt"),
        ("ln -s a new", "ln -s b new", "new"),
        ("echo a > new", "mkdir new; echo b > new/b", "new~HEAD"),
    ];
    for (first, second, file) in cases {
        let sandbox = two(LAZY, first, second);
        let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
        assert_eq!(finished.code(), Some(1), "{file}: {finished:?}");
        let said = format!("conflicts are not resolved in {file}");
        assert!(finished.stdout.contains(&said), "{file}: {finished:?}");
        // The work of each plan is on a branch, and nothing of the first one was reverted.
        let tree = status(&sandbox)["plans"][1]["workTree"].clone();
        assert!(!tree.is_null(), "{file}: {:#}", status(&sandbox));
        assert_verified(&sandbox, "true", &["api"]);
    }
}

#[test]
fn a_side_that_is_right_as_it_is_is_named_in_the_commit() {
    let sandbox = two(NAMING, "printf '\\0api\\n' > logo.png", "printf '\\0ui\\n' > logo.png");
    std::fs::write(
        sandbox.home().join("message"),
        "Keep our logo.png, which has the right colours",
    )
    .unwrap();
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(show(&sandbox, "logo.png"), "\0ui\n");
    assert_verified(&sandbox, "true", &["api", "ui"]);
    assert_tidy(&sandbox);
}

#[test]
fn a_repository_that_an_agent_made_is_kept_and_said() {
    let script = "git init --quiet lib && cd lib && echo x > x && git add x && git commit --quiet --message x && cd ..";
    let sandbox = two(LAZY, script, "true");
    let finished = batch(&sandbox, &["api.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(
        finished.stdout.contains("`lib` in ") && finished.stdout.contains("is a git repository of its own"),
        "{finished:?}"
    );
    let trees = sandbox.state().join("ralph/worktrees");
    let find = sandbox.program("find").arg(&trees).args(["-name", "lib"]).run(SOON);
    assert_eq!(find.stdout.lines().count(), 1, "it is still there: {find:?}");
}

#[test]
fn a_target_that_an_agent_moved_back_or_deleted_is_put_back() {
    for spoil in [
        "git update-ref refs/heads/$target $(git merge-base HEAD main)",
        "git update-ref -d refs/heads/$target",
    ] {
        let spoiling = format!(
            "target=$(git for-each-ref --format='%(refname:lstrip=2)' 'refs/heads/ralph/*/target'); {GONE}; {spoil}; echo ui > ui.txt"
        );
        let sandbox = two(LAZY, "echo api > api.txt", &spoiling);
        let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
        assert_eq!(finished.code(), Some(0), "{spoil}: {finished:?}");
        assert!(
            finished.stdout.contains("lacked merges of this batch: reset"),
            "{finished:?}"
        );
        assert_eq!(show(&sandbox, "api.txt"), "api\n", "{spoil}");
        assert_verified(&sandbox, "true", &["api", "ui"]);
        assert_tidy(&sandbox);
    }
}

#[test]
fn a_target_with_other_commits_in_place_of_a_merge_is_no_success() {
    let spoil = format!(
        "target=$(git for-each-ref --format='%(refname:lstrip=2)' 'refs/heads/ralph/*/target'); {GONE}; \
         git update-ref refs/heads/$target $(git commit-tree -m other -p main main^{{tree}}); echo ui > ui.txt"
    );
    let sandbox = two(LAZY, "echo api > api.txt", &spoil);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stderr.contains("lacks merges of this batch"), "{finished:?}");
    let held = sandbox.git(["for-each-ref", "refs/ralph/batches", "--format=%(objectname)"]);
    let target = target(&sandbox);
    assert_eq!(
        sandbox.git(["show", &format!("{}:api.txt", held.trim())]),
        "api\n",
        "{target}"
    );
}

#[test]
fn what_goals_left_behind_does_not_verify_the_next_merge() {
    let sandbox = two(
        LAZY,
        "echo api > api.txt",
        "mkdir -p gen && touch gen/ok && git rm --quiet generator",
    );
    sandbox.write(".gitignore", "gen/\n");
    sandbox.write("generator", "base\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Generator"]);
    // Passes only if a goal of an earlier merge has left `gen/ok`.
    let goal = "test -e gen/ok || { mkdir -p gen && cp generator gen/ok; }";
    let finished = batch(
        &sandbox,
        &["api.md", "ui.md", "--jobs", "2", "--goal", &format!("gen={goal}")],
    )
    .run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert_verified(&sandbox, goal, &["api"]);
}

#[test]
fn an_ignored_file_that_no_tool_makes_anew_outlives_its_tree() {
    let script =
        "mkdir -p out node_modules && echo 1 > out/report.csv && echo x > node_modules/x && echo api > api.txt";
    let sandbox = two(
        LAZY,
        script,
        "echo ui > ui.txt; mkdir -p node_modules && echo x > node_modules/x",
    );
    sandbox.write(".gitignore", "out/\nnode_modules/\n");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Ignore"]);
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(
        finished.stdout.contains("api: `out/`, which git ignores, is kept in"),
        "{finished:?}"
    );
    let find = sandbox.program("find").arg(sandbox.state());
    let find = find.args(["-path", "*/kept/api/out/report.csv"]).run(SOON);
    assert_eq!(find.stdout.lines().count(), 1, "{find:?}");
    assert_eq!(
        sandbox.git(["worktree", "list"]).lines().count(),
        1,
        "the project's own"
    );
}

#[test]
fn what_an_agent_does_to_the_repository_of_its_user_is_said_with_the_way_back() {
    let script = "git update-ref refs/heads/main $(git commit-tree -m mine -p main HEAD^{tree}); git branch --quiet -D other; \
                  git config user.email agent@example.com; git branch mine; echo api > api.txt";
    let sandbox = two(LAZY, script, "true");
    sandbox.git(["branch", "other"]);
    let before = sandbox.git(["rev-parse", "main"]).trim().to_owned();
    let finished = batch(&sandbox, &["api.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said: Vec<&str> = finished
        .stdout
        .lines()
        .filter(|line| line.contains("not by this batch"))
        .collect();
    assert_eq!(said.len(), 3, "each once: {finished:?}");
    assert_ne!(sandbox.git(["rev-parse", "main"]).trim(), before);
    for line in said {
        let command = line.split('`').rev().nth(1).expect("a command");
        let back = sandbox.program("sh").args(["-c", command]).run(SOON);
        assert_eq!(back.code(), Some(0), "{command}: {back:?}");
    }
    for branch in ["main", "other"] {
        assert_eq!(sandbox.git(["rev-parse", branch]).trim(), before);
    }
    assert!(!sandbox.git(["config", "--list"]).contains("agent@example.com"));
    let hints = &status(&sandbox)["hints"];
    let not_by_this_batch = hints.as_array().into_iter().flatten().filter(|hint| {
        let text = hint.as_str().unwrap_or_default();
        text.contains("not by this batch")
    });
    assert_eq!(not_by_this_batch.count(), 3, "{hints}");
}

#[test]
fn what_is_merged_is_what_the_commits_hold_whatever_git_replace_shows_for_it() {
    // The commit has other content than the file, whose entry in the index counts as read after it was written.
    let script = "evil=$(echo EVIL | git hash-object -w --stdin); good=$(echo good | git hash-object -w --stdin); \
                  git update-index --add --cacheinfo 100644,$evil,api.txt; git commit --quiet --message work; \
                  git replace -f $evil $good; git checkout -- api.txt; touch -d '1 hour' $(git rev-parse --git-path index)";
    let sandbox = two(LAZY, script, "true");
    let finished = batch(&sandbox, &["api.md", "--goal", "good=! grep -q EVIL api.txt"]).run(SOON);
    // The run refuses the claim, since its commit has other content than the files that were checked. Whether git refreshes
    // its index in between, so that the run commits the file as it is, is a matter of time.
    let merged = format!("{}:api.txt", target(&sandbox));
    let show = ["--no-replace-objects", "show", &merged];
    let merged = sandbox.program("git").args(show).run(SOON);
    assert!(["", "good\n"].contains(&&*merged.stdout), "{merged:?} {finished:?}");
    let said = |line: &&str| line.contains("`git replace` shows other content for 1 object");
    let said: Vec<&str> = finished.stdout.lines().filter(said).collect();
    assert_eq!(said.len(), 1, "{finished:?}");
    let command = said[0].split('`').rev().nth(1).expect("a command");
    let back = sandbox.program("sh").args(["-c", command]).run(SOON);
    assert_eq!(back.code(), Some(0), "{command}: {back:?}");
    assert_eq!(sandbox.git(["replace", "--list"]), "");
}

#[test]
fn a_commit_that_an_agent_puts_onto_the_target_is_said_with_the_way_back() {
    let script = format!(
        "{GONE}; target=$(git for-each-ref --format='%(refname)' 'refs/heads/ralph/*/target'); \
         git update-ref \"$target\" $(git commit-tree -m red -p \"$target\" \"$target^{{tree}}\"); echo ui > ui.txt"
    );
    let sandbox = two(LAZY, "echo api > api.txt", &script);
    let finished = batch(&sandbox, &["api.md", "ui.md"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said: Vec<&str> = finished
        .stdout
        .lines()
        .filter(|line| line.contains("not by this batch"))
        .collect();
    assert_eq!(said.len(), 1, "{finished:?}");
    assert!(said[0].contains("/target` was moved from"), "{said:?}");
}

#[test]
fn what_the_user_commits_meanwhile_is_no_warning() {
    let sandbox = two(LAZY, "touch \"$HOME/began\"; await go; echo api > api.txt", "true");
    let running = batch(&sandbox, &["api.md"]).start();
    crate::harness::wait_until(SOON, "the agent", || sandbox.read_home("began"));
    sandbox.git(["commit", "--quiet", "--allow-empty", "--message", "Mine"]);
    sandbox.release("go");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(!finished.stdout.contains("not by this batch"), "{finished:?}");
}

/// Lets the user of the sandbox sign commits with a key of ssh; false without ssh.
fn signs_commits(sandbox: &Sandbox) -> bool {
    if !is_installed("ssh-keygen") {
        skipped("merges that are signed: ssh-keygen is not installed");
        return false;
    }
    let home = sandbox.home().display().to_string();
    let script = format!(
        "ssh-keygen -q -t ed25519 -N '' -C sandbox -f '{home}/key' && \
         echo \"sandbox@example.invalid $(cat '{home}/key.pub')\" > '{home}/signers' && \
         git config --global gpg.format ssh && git config --global user.signingKey '{home}/key.pub' && \
         git config --global gpg.ssh.allowedSignersFile '{home}/signers' && git config --global commit.gpgSign true"
    );
    let made = sandbox.program("sh").args(["-c", &script]).run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    true
}

#[test]
fn merges_are_signed_where_the_user_signs_and_never_by_a_program_of_the_repository() {
    // These programs would run with the rights of the user.
    let planted = "printf '#!/bin/sh\ntouch \"$HOME/planted\"\n' > ../evil; chmod +x ../evil; \
                   for key in gpg.program gpg.openpgp.program gpg.x509.program gpg.ssh.program gpg.ssh.defaultKeyCommand; do \
                   git config $key \"$(cd .. && pwd)/evil\"; done; echo work > work.txt";
    let sandbox = two(LAZY, planted, "echo ui > ui.txt");
    if !signs_commits(&sandbox) {
        return;
    }
    let finished = batch(&sandbox, &["api.md", "ui.md", "--jobs", "2"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read_home("planted"), None, "ralph ran what an agent had named");
    let keys = sandbox.git(["config", "--local", "--name-only", "--get-regexp", "^gpg"]);
    assert_eq!(keys.lines().count(), 5, "{keys}");
    for key in keys.lines() {
        sandbox.git(["config", "--unset", key]);
    }
    for commit in history(&sandbox, &target(&sandbox)) {
        sandbox.git(["verify-commit", &commit]);
    }
    assert_verified(&sandbox, "true", &["api", "ui"]);
}

#[test]
fn a_key_that_cannot_be_used_is_said_before_an_agent_is_paid() {
    let sandbox = two(LAZY, "true", "true");
    let script = "printf '#!/bin/sh\necho the key is locked >&2; exit 1\n' > \"$HOME/locked\"; chmod +x \"$HOME/locked\"; \
                  git config --global gpg.program \"$HOME/locked\"; git config --global commit.gpgSign true";
    let made = sandbox.program("sh").args(["-c", script]).run(SOON);
    assert_eq!(made.code(), Some(0), "{made:?}");
    let finished = batch(&sandbox, &["api.md", "ui.md"]).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    assert!(finished.stderr.contains("cannot sign now"), "{finished:?}");
    // Some versions of git say no more than that signing failed.
    let of_git = sandbox
        .program("git")
        .args(["commit-tree", "-S", "-m", "signed", "HEAD^{tree}"])
        .run(SOON);
    assert!(!of_git.stderr.trim().is_empty(), "{of_git:?}");
    for line in of_git.stderr.lines() {
        assert!(finished.stderr.contains(line), "{line}: {finished:?}");
    }
    assert!(
        finished.stderr.contains("git config commit.gpgSign false"),
        "{finished:?}"
    );
    assert_eq!(sandbox.git(["branch", "--list", "ralph/*"]), "");
    sandbox.git(["config", "commit.gpgSign", "false"]);
    let unsigned = batch(&sandbox, &["api.md", "ui.md"]).run(SOON);
    assert_eq!(unsigned.code(), Some(0), "{unsigned:?}");
}

/// Looks at the target in a work tree of the user's own, as soon as the first plan works.
const LOOKED_AT: &str = r#"
if [ "$plan$n" = api1 ] && [ -e "$HOME/look" ]; then
    touch "$(git rev-parse --git-common-dir)/begun"
    while ! [ -e "$HOME/looking" ]; do sleep 0.05; done
fi
echo "$plan" > "$plan.txt"; tick; tick; over done"#;

#[test]
fn a_target_in_another_work_tree_of_the_user_moves_with_its_files() {
    let sandbox = sandbox_in(Sandbox::outside_of_tmp(), LOOKED_AT, &["api", "ui"]);
    let other = sandbox.home().join("other");
    let tree = other.to_str().expect("a path");
    sandbox.git(["worktree", "add", "--quiet", "-b", "feat", tree]);
    let confined = ["--sandbox", "on", "--jobs", "1", "--headless"];
    let into = [&confined[..], &["api.md", "ui.md", "--into", "feat"]].concat();
    let finished = batch(&sandbox, &into).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(other.join("api.txt").exists() && other.join("ui.txt").exists());
    assert_eq!(sandbox.git(["-C", tree, "status", "--porcelain"]), "");

    // The batch's own target, while the batch works.
    sandbox.git(["worktree", "remove", tree]);
    std::fs::write(sandbox.home().join("look"), "").expect("a file");
    let running = batch(&sandbox, &[&confined[..], &["api.md"]].concat()).start();
    wait_until(SOON, "the plan works", || sandbox.read(".git/begun"));
    sandbox.git(["worktree", "add", "--quiet", tree, &target(&sandbox)]);
    sandbox.release("looking");
    let finished = running.wait(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert!(other.join("api.txt").exists(), "{finished:?}");

    // A work tree that is no longer there holds nothing up.
    sandbox.git(["branch", "left"]);
    let left = sandbox.home().join("left");
    sandbox.git(["worktree", "add", "--quiet", left.to_str().expect("a path"), "left"]);
    sandbox.git(["worktree", "lock", left.to_str().expect("a path")]);
    std::fs::remove_dir_all(&left).expect("the work tree");
    let into = [&confined[..], &["ui.md", "--into", "left"]].concat();
    let refused = batch(&sandbox, &into).run(SOON);
    assert!(refused.stderr.contains("left is missing"), "{refused:?}");
    sandbox.git(["worktree", "unlock", left.to_str().expect("a path")]);
    let finished = batch(&sandbox, &into).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.git(["show", "left:ui.txt"]), "ui\n");

    // From a linked work tree, into the branch of the main one.
    std::fs::remove_file(sandbox.home().join("look")).expect("the file");
    let linked = batch(&sandbox, &[&confined[..], &["ui.md", "--into", "main"]].concat());
    let finished = linked.current_dir(&other).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    assert_eq!(sandbox.read("ui.txt").as_deref(), Some("ui\n"), "{finished:?}");
}
