//! Batches under the conditions of real repositories. Each is followed by the same checks: every agent commit is on a
//! branch, every target commit passes the goal, the user's files are unchanged, and the repository is sound.

use std::fs;

use super::{
    assert_verified, batch, many,
    merges::{AFTER, GONE},
    sandbox, show,
};
use crate::harness::{SOON, Sandbox, running::Finished, skipped};

/// Runs `$HOME/PLAN.sh`, resolves conflicts with `$HOME/resolve.sh`, and records its commits.
const CAREFUL: &str = r#"
message="Work of $plan"
if grep -q -- '- \[ \] Merge' "$RALPH_PLAN"; then
    eval "$(cat "$HOME/resolve.sh")"
elif [ "$n" = 1 ]; then
    eval "$(cat "$HOME/$plan.sh")"
fi
tick
git add --all && git commit --quiet --message "$message" && git rev-parse HEAD >> "$HOME/commits"
over done"#;

/// Keeps both sides of a conflict.
const UNION: &str = "sed -i '/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d' shared.txt";

/// A project with uncommitted work of its user, and its plans.
struct Field {
    sandbox: Sandbox,
    plans: Vec<&'static str>,
    /// The user's side of the repository before the batch, as git reports it.
    user: Vec<String>,
}

impl Field {
    /// Commits what the shell script `files` creates, and gives each plan its script.
    fn new(files: &str, plans: &[(&'static str, &str)], resolve: &str) -> Field {
        let names: Vec<&str> = plans.iter().map(|(plan, _)| *plan).collect();
        let sandbox = sandbox(CAREFUL, &names);
        for (name, script) in plans.iter().copied().chain([("resolve", resolve)]) {
            fs::write(sandbox.home().join(format!("{name}.sh")), script).expect("a script");
        }
        sandbox.write("draft.txt", "base\n");
        let made = sandbox.program("sh").args(["-c", files]).run(SOON);
        assert_eq!(made.code(), Some(0), "{made:?}");
        sandbox.git(["add", "--all"]);
        sandbox.git(["commit", "--quiet", "--message", "Files"]);
        sandbox.write("draft.txt", "stashed\n");
        sandbox.git(["stash", "--quiet"]);
        sandbox.write("draft.txt", "changed\n");
        sandbox.write("note.txt", "mine\n");
        let user = user_of(&sandbox);
        let plans = plans.iter().map(|(plan, _)| *plan).collect();
        Field { sandbox, plans, user }
    }

    /// Two plans side by side; the second one finishes after the first is merged.
    fn two(files: &str, first: &str, second: &str, resolve: &str) -> Field {
        let second = format!("{AFTER}; {second}");
        Field::new(files, &[("api", first), ("ui", &second)], resolve)
    }

    fn run(&self, goal: &str) -> Finished {
        let files = self.plans.iter().map(|plan| format!("{plan}.md"));
        let jobs = self.plans.len().min(4).to_string();
        let args: Vec<String> = files
            .chain(["--jobs".to_owned(), jobs, "--goal".to_owned(), format!("all={goal}")])
            .collect();
        batch(&self.sandbox, &args.iter().map(String::as_str).collect::<Vec<_>>()).run(SOON * 2)
    }

    /// Runs the batch and checks that all plans are merged.
    #[track_caller]
    fn merges_all(&self, goal: &str) -> Finished {
        let finished = self.run(goal);
        self.assert_sound(&finished, goal, &self.plans);
        finished
    }

    /// Checks a batch that merged these plans.
    #[track_caller]
    fn assert_sound(&self, finished: &Finished, goal: &str, merged: &[&str]) {
        let all = self.plans.len();
        let code = i32::from(merged.len() < all);
        assert_eq!(finished.code(), Some(code), "{finished:?}");
        let said = format!("{} of {all} plans merged", merged.len());
        assert!(finished.stdout.contains(&said), "{said}: {finished:?}");
        assert_verified(&self.sandbox, goal, merged);
        self.assert_nothing_lost();
    }

    #[track_caller]
    fn assert_nothing_lost(&self) {
        let commits = self.sandbox.read_home("commits").unwrap_or_default();
        assert!(!commits.is_empty(), "no agent has committed");
        for commit in commits.lines() {
            let on = self.sandbox.git(["branch", "--all", "--contains", commit]);
            assert_ne!(on, "", "{commit} is on no branch");
        }
        assert_eq!(user_of(&self.sandbox), self.user);
        assert_eq!(self.sandbox.git(["fsck", "--no-dangling"]), "");
        self.sandbox.waits_until_nothing_runs();
    }
}

/// HEAD, index, files, stash and configuration of the user.
fn user_of(sandbox: &Sandbox) -> Vec<String> {
    let shown = [
        &["symbolic-ref", "HEAD"][..],
        &["rev-parse", "HEAD"],
        &["status", "--porcelain"],
        &["diff", "HEAD"],
        &["stash", "list", "--format=%H %gs"],
        &["config", "--list", "--local"],
    ];
    let shown = shown.into_iter().map(|args| sandbox.git(args));
    shown.chain(sandbox.read("note.txt")).collect()
}

#[test]
fn lines_at_the_same_place_are_resolved_and_nothing_is_lost() {
    let field = Field::two("true", "echo api >> shared.txt", "echo ui >> shared.txt", UNION);
    field.merges_all("! grep -q '^<<<' shared.txt");
    assert_eq!(show(&field.sandbox, "shared.txt").lines().count(), 3);
}

#[test]
fn a_binary_file_of_both_is_resolved_by_a_third_version() {
    let both = "printf '\\0both\\n' > logo.png";
    let field = Field::two(
        "printf '\\0base\\n' > logo.png",
        "printf '\\0api\\n' > logo.png",
        "printf '\\0ui\\n' > logo.png",
        both,
    );
    field.merges_all("test -s logo.png");
    assert_eq!(show(&field.sandbox, "logo.png"), "\0both\n");
}

#[test]
fn a_file_that_one_deleted_and_the_other_edited_stays_where_a_commit_names_it() {
    let field = Field::two(
        "echo one > old.txt",
        "git rm --quiet old.txt",
        "echo two >> old.txt",
        "message='Keep old.txt, which has a new line'",
    );
    field.merges_all("test -e PLAN.md");
    assert_eq!(show(&field.sandbox, "old.txt"), "one\ntwo\n");
}

#[test]
fn an_edit_of_a_file_that_the_other_renamed_arrives_at_its_new_name() {
    let field = Field::two(
        "seq 20 > old.txt",
        "git mv old.txt new.txt",
        "echo more >> old.txt",
        "false",
    );
    field.merges_all("! test -e old.txt || ! test -e new.txt");
    assert_eq!(show(&field.sandbox, "new.txt").lines().last(), Some("more"));
}

#[test]
fn a_file_that_both_renamed_has_the_name_that_a_commit_gives() {
    let field = Field::two(
        "seq 20 > old.txt",
        "git mv old.txt first.txt",
        "git mv old.txt second.txt",
        "git rm --quiet --cached old.txt; rm second.txt; message='old.txt is first.txt, and not second.txt'",
    );
    field.merges_all("test -e old.txt || test -e first.txt || test -e second.txt");
    let files = field
        .sandbox
        .git(["ls-tree", "--name-only", &super::target(&field.sandbox)]);
    assert!(files.contains("first.txt") && !files.contains("second.txt"), "{files}");
}

#[test]
fn a_mode_of_one_and_an_edit_of_the_other_come_together() {
    let field = Field::two("echo one > run.sh", "chmod +x run.sh", "echo two >> run.sh", "false");
    field.merges_all("test -e run.sh");
    let target = super::target(&field.sandbox);
    let entry = field.sandbox.git(["ls-tree", &target, "run.sh"]);
    assert!(entry.starts_with("100755 "), "{entry}");
    assert_eq!(show(&field.sandbox, "run.sh"), "one\ntwo\n");
}

#[test]
fn a_link_of_both_leads_where_the_resolution_says() {
    let field = Field::two("true", "ln -s api new", "ln -s ui new", "rm new; ln -s both new");
    field.merges_all("test -L new || ! test -e new");
    assert_eq!(show(&field.sandbox, "new").trim_end(), "both");
}

#[test]
fn a_file_of_one_and_a_directory_of_the_other_come_together() {
    let field = Field::two(
        "true",
        "echo api > thing",
        "mkdir thing; echo ui > thing/ui",
        "mv thing~* thing/api",
    );
    field.merges_all("test -e thing || test -e PLAN.md");
    let both = ["thing/api", "thing/ui"].map(|file| show(&field.sandbox, file));
    assert_eq!(both, ["api\n", "ui\n"]);
}

#[test]
fn a_repository_in_a_work_tree_is_kept_and_the_other_plan_is_merged() {
    let inner = "git init --quiet lib; (cd lib; echo x > x; git add x; git commit --quiet --message x)";
    let field = Field::new("true", &[("api", inner), ("ui", "echo ui > ui.txt")], "false");
    let finished = field.run("true");
    field.assert_sound(&finished, "true", &["ui"]);
}

#[test]
fn a_target_that_was_moved_deleted_or_replaced_never_costs_a_commit() {
    let target = "target=$(git for-each-ref --format='%(refname)' 'refs/heads/ralph/*/target')";
    for (spoil, merged) in [
        ("git update-ref $target $(git merge-base HEAD main)", &["api", "ui"][..]),
        ("git update-ref -d $target", &["api", "ui"]),
    ] {
        let field = Field::two(
            "true",
            "echo api > api.txt",
            &format!("{GONE}; {target}; {spoil}; echo ui > ui.txt"),
            "false",
        );
        let finished = field.run("true");
        field.assert_sound(&finished, "true", merged);
    }
}

#[test]
fn an_ignored_file_of_one_plan_makes_no_other_pass() {
    let field = Field::two(
        "echo cache/ > .gitignore; echo base > source",
        "mkdir cache; cp source cache/made; echo api > api.txt",
        "git rm --quiet source; mkdir -p cache; touch cache/made",
        "false",
    );
    let goal = "test -e cache/made || { mkdir -p cache; cp source cache/made; }";
    let finished = field.run(goal);
    field.assert_sound(&finished, goal, &["api"]);
}

#[test]
fn a_batch_begun_by_a_hook_of_git_works_in_its_own_trees_alone() {
    let field = Field::new(
        "true",
        &[("api", "echo api > api.txt"), ("ui", "echo ui > ui.txt")],
        "false",
    );
    let (sandbox, git_dir) = (&field.sandbox, field.sandbox.project().join(".git"));
    let hook = format!(
        "#!/bin/sh\n{} many --adapter script api.md ui.md --jobs 2 > \"$HOME/said\" 2>&1; echo $? >> \"$HOME/said\"\n",
        env!("CARGO_BIN_EXE_ralph")
    );
    crate::harness::write_program(&git_dir.join("hooks/post-commit"), &hook);
    let commit = sandbox
        .program("git")
        .args(["commit", "--quiet", "--allow-empty", "--message", "Begin"]);
    let commit = commit
        .env("GIT_DIR", &git_dir)
        .env("GIT_INDEX_FILE", git_dir.join("index"))
        .env("GIT_WORK_TREE", sandbox.project())
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .run(SOON);
    let said = sandbox.read_home("said").unwrap_or_default();
    assert!(
        said.contains("2 of 2 plans merged") && said.ends_with("\n0\n"),
        "{said} {commit:?}"
    );
    assert_verified(sandbox, "true", &["api", "ui"]);
    let now = user_of(&field.sandbox);
    assert_eq!(
        (&now[0], &now[2..]),
        (&field.user[0], &field.user[2..]),
        "but for its commit"
    );
}

#[test]
fn a_disk_that_is_full_loses_nothing_and_the_batch_goes_on_once_there_is_space() {
    let fill = "[ -e \"$HOME/filled\" ] || { touch \"$HOME/filled\"; head -c 100000000 /dev/zero > \"$XDG_STATE_HOME/filler\" 2>/dev/null; }";
    let work = format!("echo $plan > $plan.txt; {fill}");
    let field = Field::new("true", &[("api", &work), ("ui", &work)], "false");
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let script = format!(
        "mount -t tmpfs -o size=8m none \"$XDG_STATE_HOME\" || exit 77
         {ralph} many --adapter script api.md ui.md --jobs 2; echo \"first $?\"
         rm \"$XDG_STATE_HOME/filler\"; {ralph} many resume; echo \"then $?\""
    );
    let both = field.sandbox.program("unshare").args(["--mount", "sh", "-c", &script]);
    let both = both
        .env("FAKE_AGENT", env!("CARGO_BIN_EXE_fake-agent"))
        .env("RALPH_LIMITS_DISK_FREE", "unlimited")
        .run(SOON);
    if both.code() != Some(0) {
        return skipped(&format!("a test of a full disk: {}", both.stderr.trim()));
    }
    assert!(both.stdout.contains("first 1\n"), "{both:?}");
    assert!(
        both.stdout.contains("2 of 2 plans merged") && both.stdout.ends_with("then 0\n"),
        "{both:?}"
    );
    field.assert_nothing_lost();
}

#[test]
fn eight_plans_at_one_place_are_all_merged() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let plans = names.map(|plan| (plan, "echo $plan >> shared.txt"));
    let field = Field::new("true", &plans, UNION);
    field.merges_all("! grep -q '^<<<' shared.txt");
    assert_eq!(show(&field.sandbox, "shared.txt").lines().count(), 9);
    assert_eq!(many(&field.sandbox, "resume").run(SOON).code(), Some(0));
}
