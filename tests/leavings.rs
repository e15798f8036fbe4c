//! The things that a session leaves behind beside the files of the project: HEAD elsewhere, processes, locks, stashes, a pause.

use std::fs;

use ralph_core::event::{AgentEvent, AgentSignal, Event};

use crate::harness::{SOON, Sandbox, Script, running::Finished, warnings};

/// Ticks one box and commits nothing.
const TICK: &str = "sed -i '0,/- \\[ \\]/s//- [x]/' PLAN.md; over done";

/// A project with two tasks, whose agent runs `does` and ticks one box. `$n` is the number of its iteration.
fn project(does: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n");
    sandbox.write("work", "");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Start"]);
    sandbox.install(&Script::jsonl(&format!("{does}\n{TICK}")));
    sandbox
}

#[track_caller]
fn finishes(sandbox: &Sandbox) -> Finished {
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    finished
}

fn needs(sandbox: &Sandbox) -> String {
    let report = sandbox.ralph(["report", "--format", "json"]).run(SOON);
    let report: serde_json::Value = serde_json::from_str(&report.stdout).expect("a report");
    report["needsPerson"].to_string()
}

/// The warnings with all of `words`.
fn told(finished: &Finished, words: &[&str]) -> Vec<String> {
    let mut warnings = warnings(&finished.records());
    warnings.retain(|text| words.iter().all(|word| text.contains(word)));
    warnings
}

#[test]
fn a_detached_head_is_told_once_with_the_commits_that_are_on_no_branch() {
    let sandbox =
        project("[ $n = 1 ] && git checkout -q --detach\necho $n >> work; git commit -q --all --message \"Step $n\"");
    let head = || sandbox.git(["rev-parse", "--short=12", "HEAD"]).trim().to_owned();
    let finished = finishes(&sandbox);
    let said = told(
        &finished,
        &[
            "HEAD is detached; the run began on",
            "1 commit is on no branch",
            "Step 1",
        ],
    );
    assert_eq!(said.len(), 1, "{finished:?}");
    assert_eq!(told(&finished, &["HEAD is detached"]).len(), 1, "{finished:?}");
    assert!(
        sandbox.prompt(2).contains("- HEAD is detached; the run began on"),
        "{}",
        sandbox.prompt(2)
    );
    let kept = format!("`git branch NAME {}`", head());
    assert!(
        needs(&sandbox).contains(&kept),
        "the newest commit is named: {}",
        needs(&sandbox)
    );
    assert!(finished.stdout.contains("\"type\":\"head-placed\""), "{finished:?}");
}

#[test]
fn commits_that_are_left_on_no_branch_are_told_when_head_is_back_and_forgotten_once_they_are_kept() {
    let sandbox = project(
        "case $n in 1) git checkout -q --detach; git commit -q --allow-empty -m Loose;; 2) git checkout -q -;; \
         3) git branch kept HEAD@{1}; git checkout -q -b other; git checkout -q -;; esac",
    );
    sandbox.write("PLAN.md", "- [ ] One\n- [ ] Two\n- [ ] Three\n");
    let finished = finishes(&sandbox);
    assert_eq!(
        told(&finished, &["is checked out; 1 commit is on no branch", "Loose"]).len(),
        1,
        "{finished:?}"
    );
    assert!(!needs(&sandbox).contains("on no branch"), "{}", needs(&sandbox));
}

#[test]
fn another_branch_is_told_and_so_is_a_run_that_begins_detached() {
    let sandbox = project("[ $n = 1 ] && git checkout -q -b side");
    let finished = finishes(&sandbox);
    assert_eq!(
        told(&finished, &["`side` is checked out; the run began on"]).len(),
        1,
        "{finished:?}"
    );
    assert!(needs(&sandbox).contains("`side` is checked out"), "{}", needs(&sandbox));

    let sandbox = project(":");
    sandbox.git(["checkout", "--quiet", "--detach"]);
    let finished = finishes(&sandbox);
    assert_eq!(
        told(&finished, &["HEAD is detached; commits made here"]).len(),
        1,
        "{finished:?}"
    );
    assert!(
        sandbox.prompt(1).contains("- HEAD is detached; commits made here"),
        "{}",
        sandbox.prompt(1)
    );
    assert!(!sandbox.prompt(2).contains("HEAD is detached"), "{}", sandbox.prompt(2));
}

#[test]
fn what_is_half_done_is_told_with_the_commands_that_end_it() {
    let sandbox = project(
        "[ $n = 1 ] && { git checkout -q -b side; echo a > work; git commit -q -a -m A; git checkout -q -; \
         echo b > work; git commit -q -a -m B; git rebase -q side; }",
    );
    let finished = finishes(&sandbox);
    let text = "a rebase is not finished, `git rebase --continue` or `git rebase --abort` ends it";
    assert_eq!(told(&finished, &[text]).len(), 1, "{finished:?}");
    assert!(sandbox.prompt(2).contains(text), "{}", sandbox.prompt(2));
    assert!(needs(&sandbox).contains(text), "{}", needs(&sandbox));
}

#[test]
fn a_plan_that_a_rebase_took_away_is_not_restored_into_it() {
    let sandbox = project(
        "[ $n = 1 ] && { git checkout -q -b side; git rm -q PLAN.md; echo a > work; git commit -q -a -m A; git checkout -q -; \
         echo b > work; git commit -q -a -m B; git rebase -q side; }; over done; exit 0",
    );
    let finished = sandbox.looping([] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(7), "{finished:?}");
    assert!(
        needs(&sandbox).contains("`git rebase --abort` ends it"),
        "{}",
        needs(&sandbox)
    );
    assert!(!needs(&sandbox).contains("ralph restore"), "{}", needs(&sandbox));
}

#[test]
fn processes_that_a_session_left_are_named_but_not_the_agents_own_helpers() {
    let helper = "import subprocess as s; s.Popen(['sleep', '302'], stdin=s.PIPE)";
    let sandbox = project(&format!(
        "[ $n = 1 ] && {{ sleep 301 & sh -c 'sleep 303; echo over' < /dev/null & python3 -c \"{helper}\"; }}"
    ));
    let finished = finishes(&sandbox);
    let said = told(
        &finished,
        &[
            "ended 2 processes that the session left: ",
            "sleep 301",
            "sh -c sleep 303; echo over",
        ],
    );
    assert_eq!(said.len(), 1, "{:?}", warnings(&finished.records()));
    assert!(
        said[0].contains("`ralph tasks start -- COMMAND`") && !said[0].contains("sleep 302"),
        "{said:?}"
    );
    assert!(
        sandbox
            .prompt(2)
            .contains("- Ended 2 processes that the session left: "),
        "{}",
        sandbox.prompt(2)
    );
    let log = fs::read_to_string(sandbox.the_run().log()).expect("a log");
    assert!(
        log.contains("sleep") && !log.contains("sleep 30") && !log.contains("echo over"),
        "programs without arguments: {log}"
    );
}

#[test]
fn a_process_that_git_leaves_after_a_commit_is_not_told() {
    let sandbox = project(
        "[ $n = 1 ] && for as in /usr/bin/git git-lfs; do\n\
         bash -c \"exec -a $as sh maintenance run --auto --quiet --detach\" < /dev/null > /dev/null &\n\
         await $!; done",
    );
    sandbox.write("maintenance", ": > \"$HOME/$$\"; sleep 304; echo over\n");
    let finished = finishes(&sandbox);
    assert_eq!(
        told(&finished, &["ended 1 process", "git-lfs maintenance run --auto"]).len(),
        1,
        "{:?}",
        warnings(&finished.records())
    );
}

#[test]
fn a_lock_that_a_session_left_is_removed_and_one_from_before_stays() {
    let sandbox = project(
        "[ $n = 1 ] && { : > .git/index.lock; : > .git/refs/heads/x.lock; }\n\
         [ $n = 2 ] && { echo more >> work; git commit -q --all --message More; }",
    );
    sandbox.write(".git/config.lock", "");
    let finished = finishes(&sandbox);
    let said = told(
        &finished,
        &["removed 2 lock files of git that the session left: ", ".git/index.lock"],
    );
    assert_eq!(said.len(), 1, "{finished:?}");
    assert!(
        sandbox.prompt(2).contains(".git/refs/heads/x.lock"),
        "{}",
        sandbox.prompt(2)
    );
    assert_eq!(
        sandbox.git(["log", "-1", "--format=%s"]).trim(),
        "More",
        "the next session could commit"
    );
    assert!(sandbox.read(".git/config.lock").is_some());
}

#[test]
fn a_stash_that_is_left_is_told_and_named_at_the_end() {
    let sandbox = project("[ $n = 1 ] && { echo more >> work; git stash -q; }");
    let finished = finishes(&sandbox);
    let said = told(
        &finished,
        &["1 stash was made during the iteration and not taken back", "WIP on"],
    );
    assert_eq!(said.len(), 1, "{finished:?}");
    assert!(
        sandbox.prompt(2).contains("- 1 stash was made"),
        "{}",
        sandbox.prompt(2)
    );
    assert!(
        needs(&sandbox).contains("a stash of the run is left"),
        "{}",
        needs(&sandbox)
    );
}

#[test]
fn a_stash_that_is_made_and_taken_back_where_trees_share_stashes_is_told() {
    let sandbox = project("[ $n = 1 ] && { echo more >> work; git stash -q; git stash pop -q; }");
    let tree = sandbox.home().join("tree");
    sandbox.git(["worktree", "add", "--quiet", tree.to_str().unwrap()]);
    let finished = sandbox.looping([] as [&str; 0]).current_dir(&tree).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let said = told(&finished, &["a stash was made or taken", "changes of another plan"]);
    assert_eq!(said.len(), 1, "{finished:?}");
    let alone = project("[ $n = 1 ] && { echo more >> work; git stash -q; git stash pop -q; }");
    assert_eq!(told(&finishes(&alone), &["a stash"]), [] as [&str; 0]);
}

#[test]
fn a_stash_of_the_user_that_an_agent_drops_is_told_with_the_command_that_brings_it_back() {
    let sandbox = project("[ $n = 2 ] && git stash drop -q");
    sandbox.write("work", "mine\n");
    sandbox.git(["stash", "--quiet"]);
    let commit = sandbox.git(["rev-parse", "--short=12", "stash@{0}"]).trim().to_owned();
    let finished = finishes(&sandbox);
    let back = format!("`git stash store {commit}` brings it back");
    assert_eq!(
        told(&finished, &["1 stash was dropped during the iteration", &back]).len(),
        1,
        "{finished:?}"
    );
    assert!(!needs(&sandbox).contains("stash"), "{}", needs(&sandbox));
}

#[test]
fn a_pause_that_the_agents_stream_reports_is_refused_and_another_is_told_as_perhaps_the_agents() {
    for (input, is_refused) in [("touch .ralph-pause", true), ("make", false)] {
        let tool = format!(r#"{{"type":"tool-started","call":"1","tool":"Bash","input":"{input}"}}"#);
        let sandbox = project(&format!(
            "printf '%s\\n' '{tool}'\nsaid ready\nawait go\ntouch .ralph-pause\nawait on"
        ));
        let running = sandbox.looping([] as [&str; 0]).start();
        running.wait_for_record(
            SOON,
            |event| matches!(event, Event::Agent(AgentEvent::Reported { signal: AgentSignal::Said { text }, .. }) if text == "ready"),
        );
        sandbox.release("go");
        running.wait_for_record(SOON, |event| {
            let wanted = match is_refused {
                true => "pause-refused",
                false => "pause-during-session",
            };
            event.notice().is_some_and(|notice| notice.code == wanted)
        });
        assert_eq!(sandbox.read(".ralph-pause").is_none(), is_refused);
        _ = fs::remove_file(sandbox.project().join(".ralph-pause")); // gone if it was refused
        sandbox.release("on");
        let finished = running.wait(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
    }
}
