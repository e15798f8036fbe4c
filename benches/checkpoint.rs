//! A checkpoint beside what git itself needs to look at the same tree.

mod support;

use std::{
    env, fs,
    path::Path,
    time::{Duration, Instant},
};

use ralph::{
    event::RunId,
    host::git::{Moment, Repository},
};
use support::{
    agent, now_ns,
    numbers::Times,
    report::{Row, title},
    scratch::{Scratch, printed},
};

const ROUNDS: usize = 15;
/// Makes this bench measure checkpoints of the repository it is started in.
const MARK: &str = "__bench-checkpoints";
const MOST_BEYOND: Duration = Duration::from_millis(30);
const MOST_SCANS: f64 = 1.2;
/// Files that change at once, so far as there are so many.
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

/// Measures in a process with the scratch's environment, since git's configuration is read from there.
fn rows(files: usize) {
    let scratch = Scratch::new(files);
    let status = Times::of(ROUNDS, || drop(scratch.git(["status", "--porcelain"]))).median();
    let this = env::current_exe().expect("the bench's own path");
    let mut command = scratch.command(this);
    command.arg(MARK).arg(scratch.path("run")).arg(files.to_string());
    let measured = printed(&mut command);
    // The same tree as the checkpoints of many changed files have met.
    let add = Times::of(ROUNDS, || scratch.add_all_aside()).median();
    for line in measured.lines() {
        let (nanoseconds, name) = line.split_once(' ').expect("two words a line");
        let time = Duration::from_nanos(nanoseconds.parse().expect("a number"));
        Row::new(name, time)
            .beside("git status", status)
            .at_most(MOST_BEYOND + add.mul_f64(MOST_SCANS))
            .print();
    }
    Row::new("one `git add -A` on a copied index", add)
        .beside("git status", status)
        .print();
}

/// Prints one line for each case: nanoseconds and name.
fn measure(scratch: &Path, files: usize) {
    let project = env::current_dir().expect("the project");
    let (repository, _) = Repository::discover(&project, scratch).expect("a repository");
    let run = RunId("bench".to_owned());
    let mut number = 0;
    let mut checkpoint = || {
        number += 1;
        let start = Instant::now();
        repository
            .checkpoint(&run, number, Moment::After)
            .expect("a checkpoint");
        start.elapsed()
    };
    say("the first", checkpoint());
    say("nothing changed", repeated(|| (), &mut checkpoint));
    say("one file changed", repeated(|| change(1), &mut checkpoint));
    let many = MANY.min(files);
    say(
        &format!("{many} files changed"),
        repeated(|| change(many), &mut checkpoint),
    );
}

fn repeated(mut prepare: impl FnMut(), checkpoint: &mut impl FnMut() -> Duration) -> Duration {
    let round = |_| {
        prepare();
        checkpoint()
    };
    (0..ROUNDS).map(round).collect::<Times>().median()
}

fn change(count: usize) {
    for number in 0..count {
        let path = format!("src/module{:03}/file{number:05}.txt", number / 50);
        fs::write(path, format!("changed at {}\n", now_ns())).expect("a file");
    }
}

#[allow(clippy::print_stdout)] // read by the process that started this one
fn say(name: &str, time: Duration) {
    println!("{} {name}", time.as_nanos());
}
