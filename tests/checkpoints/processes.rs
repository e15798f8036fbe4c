//! Number of git processes between two iterations: starting one takes longer than its work.

use super::*;

const LOG: &str = "started.log";

/// Runs four iterations of an agent that runs `does`, in a repository with a commit. Returns the git commands of ralph
/// between each start of the agent and the next one.
fn between(does: &str) -> Vec<Vec<String>> {
    let mut sandbox = Sandbox::new();
    sandbox.run_before_git_of_ralph(&format!("echo \"${{*##*-c}}\" >> \"$HOME/{LOG}\""));
    sandbox.write("work", "");
    sandbox.git(["add", "--all"]);
    sandbox.git(["commit", "--quiet", "--message", "Work"]);
    let agent = format!("echo agent >> \"$HOME/{LOG}\"\n{does}\nsaid nothing; over done");
    sandbox.install(&Script::jsonl(&agent));
    let finished = sandbox.looping(["--max-iterations", "4"]).run(SOON);
    assert_eq!(checkpointed(&finished), 4, "{finished:?}");
    let log = sandbox.read_home(LOG).expect("what was started");
    let mut gaps: Vec<Vec<String>> = vec![Vec::new(); 5];
    for (gap, commands) in log.split("agent\n").enumerate() {
        for command in commands.lines() {
            // A checkpoint gets its name while the loop goes on, so the command may be late.
            gaps[gap_of_name(command).unwrap_or(gap)].push(command.to_owned());
        }
    }
    // The first gap includes the discovery of the repository, and the last one has no agent after it.
    gaps.pop();
    gaps.split_off(1)
}

/// Returns the gap of a command that names a checkpoint: `N-after` follows iteration N, `N-before` iteration N - 1.
fn gap_of_name(command: &str) -> Option<usize> {
    let (_, name) = command.split_once(" update-ref --no-deref refs/ralph/")?;
    let (iteration, moment) = name.split_once('/')?.1.split_whitespace().next()?.split_once('-')?;
    let iteration: usize = iteration.parse().ok()?;
    match moment {
        "after" => Some(iteration),
        _ => iteration.checked_sub(1),
    }
}

#[track_caller]
fn assert_at_most(most: usize, gaps: &[Vec<String>]) {
    assert_eq!(gaps.len(), 3, "{gaps:#?}");
    assert!(gaps.iter().all(|gap| gap.len() <= most), "{gaps:#?}");
}

/// `status`, `update-index`, `write-tree`, `commit-tree`, `update-ref` and `diff-tree`, then `diff-tree` for the names of the
/// files and `update-ref` for the checkpoint before the next iteration.
const FOR_FILES: usize = 8;

#[test]
fn after_an_edit_git_is_started_eight_times() {
    assert_at_most(FOR_FILES, &between("echo more >> work"));
}

#[test]
fn after_a_new_file_git_is_started_eight_times() {
    assert_at_most(FOR_FILES, &between("echo more >> work; echo new > \"$(date +%s%N)\""));
}

/// `ls-files` and a `rev-list` each for the iteration and for the run.
#[test]
fn after_a_commit_git_is_started_three_times_more() {
    assert_at_most(
        FOR_FILES + 3,
        &between("echo more >> work; git commit --quiet --all --message More"),
    );
}

/// `status` and two `update-ref`.
#[test]
fn where_nothing_was_done_git_is_started_three_times() {
    assert_at_most(3, &between(":"));
}
