//! The time of a checkpoint, compared with git's own work on the same tree.

mod support;

use std::{
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::event::RunId;
use ralph_git::{Moment, Repository};
use ralph_system::{paths::States, proc::Supervisor};
use support::{
    agent, now_ns,
    numbers::{Quantity, Times, rounds},
    report::{Row, note, title},
    scratch::{Scratch, printed},
};

const ROUNDS: usize = 15;
/// Makes this bench measure checkpoints of the repository it is started in.
const MARK: &str = "__bench-checkpoints";
const MOST_BEYOND: Duration = Duration::from_millis(60);
const MOST_SCANS: f64 = 2.0;
/// Files that change at once; fewer in a smaller repository.
const MANY: usize = 200;

fn main() {
    agent::become_agent_if_asked();
    let args: Vec<String> = env::args().collect();
    if let [_, mark, scratch, files] = &args[..]
        && mark == MARK
    {
        return measure(Path::new(scratch), files.parse().expect("a number of files"));
    }
    for files in [100, 5000] {
        title(&format!("checkpoint, {files} files (medians)"));
        rows(files);
    }
}

/// Returns the numbers of files that change before each round of a case.
fn cases(files: usize) -> [usize; 3] {
    [0, 1, MANY.min(files)]
}

fn rows(files: usize) {
    let scratch = Scratch::new(files);
    let status = Times::of(rounds(ROUNDS), || drop(scratch.git(["status", "--porcelain"]))).median();
    // In a child process with the scratch's environment, from which git's configuration is read.
    let this = env::current_exe().expect("the bench's own path");
    let mut command = scratch.command(this);
    command.arg(MARK).arg(scratch.path("run")).arg(files.to_string());
    let measured = printed(&mut command);
    scratch.git(["commit", "--all", "--quiet", "--message", "Changed"]);
    note(&format!("git status: {}", Quantity::from(status)));
    for (changed, line) in cases(files).into_iter().zip(measured.lines()) {
        let checkpoint = Duration::from_nanos(line.parse().expect("a number"));
        let project = scratch.project();
        let add = repeated(|| change(&project, changed), || scratch.add_all_aside());
        let files = if changed == 1 { "file" } else { "files" };
        Row::new(format!("{changed} {files} changed"), checkpoint)
            .beside("git add -A", add)
            .at_most(MOST_BEYOND + add.mul_f64(MOST_SCANS))
            .print();
    }
}

/// Prints the median time of each case in nanoseconds.
fn measure(scratch: &Path, files: usize) {
    let project = env::current_dir().expect("the project");
    let (repository, _) =
        Repository::discover(&project, scratch, &States::below(scratch), &Supervisor::default()).expect("a repository");
    let run = RunId("bench".to_owned());
    let mut number = 0;
    let mut checkpoint = || {
        number += 1;
        repository
            .checkpoint(&run, number, Moment::After)
            .expect("a checkpoint");
    };
    checkpoint();
    for changed in cases(files) {
        let time = repeated(|| change(&project, changed), &mut checkpoint);
        say(&time.as_nanos().to_string());
    }
}

/// Returns the median time of `action` over some rounds, each after `prepare`.
fn repeated(prepare: impl Fn(), mut action: impl FnMut()) -> Duration {
    let round = |_| {
        prepare();
        let start = Instant::now();
        action();
        start.elapsed()
    };
    (0..rounds(ROUNDS)).map(round).collect::<Times>().median()
}

/// Gives `count` files new contents.
fn change(project: &Path, count: usize) {
    for number in 0..count {
        let path = project.join(format!("src/module{:03}/file{number:05}.txt", number / 50));
        fs::write(path, format!("changed at {}\n", now_ns())).expect("a file");
    }
}

#[allow(clippy::print_stdout)] // read by the process that started this one
fn say(line: &str) {
    println!("{line}");
}
