//! The tasks: commits of the repository whose patches can be applied from one commit on.

use std::{fs, path::Path};

use crate::harness::{SOON, Sandbox};

/// Most commits that are looked at.
const LOOKED_AT: usize = 400;
/// Commits between two starts that are tried.
const APART: usize = 10;
/// Most lines of a patch.
const LONGEST: usize = 400;

/// Puts the project to a commit of the repository at `path` from which `wanted` patches of later commits apply, one after
/// the other and, if they are to be `apart`, also each alone. Writes them to the directory of tasks. Returns names and
/// subjects; `None` if the history has too few.
pub fn find(sandbox: &Sandbox, path: &Path, wanted: usize, apart: bool) -> Option<Vec<(String, String)>> {
    let project = sandbox.project();
    fs::remove_dir_all(&project).expect("the project's directory");
    let clone = sandbox.program("git").current_dir(sandbox.home());
    let cloned = clone.args(["clone", "--quiet"]).arg(path).arg(&project).run(SOON);
    if !cloned.status.success() {
        println!("  {}", cloned.stderr.trim());
        return None;
    }
    let git = |line: &str| sandbox.git(line.split(' '));
    git("remote remove origin");
    let log = format!("log --first-parent --no-merges --reverse -{LOOKED_AT} --format=%H%x20%s");
    let log = git(&log);
    let log: Vec<_> = log.lines().filter_map(|line| line.split_once(' ')).collect();
    // The later the start, the fewer of its files have changed since.
    let starts = (1..log.len().saturating_sub(wanted)).rev().step_by(APART);
    let mut found = starts.filter_map(|at| Some((at, from(sandbox, &log[at..], wanted, apart)?)));
    let (start, tasks) = found.next()?;
    git(&format!("reset --quiet --hard {}^", log[start].0));
    git("checkout --quiet -B main");
    Some(tasks)
}

/// The first commits of `log` whose patches apply to its start.
fn from(sandbox: &Sandbox, log: &[(&str, &str)], wanted: usize, apart: bool) -> Option<Vec<(String, String)>> {
    let directory = sandbox.home().join("tasks");
    fs::create_dir_all(&directory).expect("a directory of the sandbox");
    let start = format!("{}^", log[0].0);
    let git = |line: &str| sandbox.program("git").args(line.split(' '));
    let mut tree = start.clone();
    let mut found = Vec::new();
    for (commit, subject) in log {
        let name = format!("T{:02}", found.len() + 1);
        let patch = directory.join(format!("{name}.patch"));
        let made = git(&format!("diff-tree -p --binary --full-index {commit}^ {commit}"));
        let made = made.run(SOON).stdout;
        // Texts alone, no submodule and nothing that the night itself needs.
        let others = ["GIT binary patch", " 160000", " b/PLAN.md"];
        if !(1..LONGEST).contains(&made.lines().count()) || others.iter().any(|text| made.contains(text)) {
            continue;
        }
        fs::write(&patch, made).expect("a patch");
        let applies_to = |tree: &str| {
            git(&format!("read-tree --reset -u {tree}")).run(SOON);
            let applied = git("apply --index").arg(&patch).run(SOON);
            applied.status.success()
        };
        if apart && !applies_to(&start) || !applies_to(&tree) {
            continue;
        }
        tree = sandbox.git(["write-tree"]).trim().to_owned();
        // The name of a task must not look like a setting.
        let subject = subject.chars().filter(|c| !"{}[]`<>\u{fffd}".contains(*c));
        found.push((name, subject.take(60).collect()));
        if found.len() == wanted {
            return Some(found);
        }
    }
    None
}
