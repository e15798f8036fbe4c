//! Twelve tasks, an agent for each, in the user's own tree, where the user works as well.

use std::path::Path;

use nix::sys::signal::Signal;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::Value;

use crate::{
    harness::running::Finished,
    ledger::Comparison,
    world::{LONG, World},
};

/// The agent of each task.
const WORKERS: &str = "works codex works claude leaks gemini leaves opencode-run lies opencode-server works codex";
const TASKS: usize = 12;
const ARGS: &str = "--headless -a works -n 40 --max-cost-usd 20 --max-tokens 20000000";
/// Two that the user commits, and one that an agent commits with its own work.
const OF_USER: [&str; 3] = ["user-commit.txt", "user-side.txt", "user-work.txt"];

pub fn night(path: &Path) -> Option<Comparison> {
    let world = World::new(path, TASKS, false)?;
    let sandbox = &world.sandbox;
    let start = world.user_commits("PLAN.md", &world.plan(0..TASKS, WORKERS.split(' ')));
    sandbox.git(["checkout", "--quiet", "-b", "side"]);
    world.user_commits(OF_USER[1], "");
    sandbox.git(["checkout", "--quiet", "main"]);
    let last = disturbed(&world);
    let report = world.json("report --json");
    let (totals, changes) = (&report["totals"], &report["totals"]["changes"]);
    // The second session of codex was killed after its only request.
    let (sessions, used) = world.used(1, cost_of(&report, "claude"));
    let mut rows = world.compare_end(&last, &start, "HEAD", &OF_USER);
    rows.count("tasks done", &totals["tasksDone"], TASKS);
    rows.count("iterations", &totals["iterations"], sessions);
    rows.usage(&totals["usage"], used);
    let commits = world.ledger.lines("committed").len() + 2;
    rows.count("commits of agents and 2 of the user", &changes["commits"], commits);
    let on_head = sandbox.git(["rev-list", &format!("{start}..HEAD")]);
    rows.count("commits on HEAD", &changes["commits"], on_head.lines().count());
    let differing = sandbox.git(["diff", "--numstat", "-M", &start, "HEAD"]);
    let number = |line: &str, column| line.split('\t').nth(column)?.parse::<usize>().ok();
    let sum = |column| differing.lines().filter_map(|line| number(line, column)).sum();
    rows.count("files", &changes["files"], differing.lines().count());
    rows.count("lines added", &changes["added"], sum(0));
    rows.count("lines removed", &changes["removed"], sum(1));
    Some(rows)
}

/// Runs the plan, disturbed by its user.
fn disturbed(world: &World) -> Finished {
    let sandbox = &world.sandbox;
    world.tasks.iter().for_each(|(task, _)| world.hold(task));
    let goes_on = |task: &str| world.release(task);
    let first = sandbox.ralph(World::with_goal(ARGS)).start();
    goes_on("T01");
    world.began("T02");
    world.user_commits(OF_USER[0], "");
    goes_on("T02");
    world.began("T03");
    world.is_read("status --json", "/totals/usage");
    first.kill();
    first.wait_for_exit(LONG);
    goes_on("T03");
    // A terminal that nobody reads is closed, and the run goes on.
    let terminal = native_pty_system().openpty(PtySize::default()).expect("a terminal");
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_ralph"));
    command.arg("continue");
    command.cwd(sandbox.project());
    command.env_clear();
    for (name, value) in sandbox.environment() {
        command.env(name, value);
    }
    let mut screen = terminal.slave.spawn_command(command).expect("ralph on a terminal");
    drop(terminal.slave);
    world.began("T04");
    world.suspend();
    goes_on("T04");
    goes_on("T05");
    world.began("T06");
    drop(terminal.master);
    screen.wait().expect("the end of the screen");
    goes_on("T06");
    goes_on("T07");
    world.began("T08");
    // The stash takes along what the agent before has left uncommitted.
    sandbox.write(OF_USER[2], "the user's\n");
    sandbox.git(["stash", "push", "--quiet", "--include-untracked"]);
    sandbox.git(["stash", "pop", "--quiet", "--index"]);
    goes_on("T08");
    goes_on("T09");
    world.began("T10");
    sandbox.git(["rebase", "--quiet", "--autostash", "side"]);
    goes_on("T10");
    world.began("T11");
    sandbox.git(["checkout", "--quiet", "-b", "elsewhere"]);
    goes_on("T11");
    world.began("T12");
    world.signal(Signal::SIGKILL);
    goes_on("T12");
    world.all_end();
    sandbox.ralph(["continue", "--headless"]).run(LONG)
}

/// The cost of the iterations of one adapter.
fn cost_of(report: &Value, adapter: &str) -> f64 {
    let rows = report["view"]["iterations"]["rows"]["kept"].as_array();
    let of = rows.into_iter().flatten().filter(|row| row["adapter"] == adapter);
    of.filter_map(|row| row["usage"]["costUsd"].as_f64()).sum()
}
