//! Six plans as a batch, and three issues as pull requests. Each is killed and resumed.

use std::{fs, path::Path};

use serde_json::Value;

use crate::{
    forge::{ForgeStandIn, TOKEN},
    harness::{agents::is_on_path, running::Running, wait_until},
    ledger::Comparison,
    world::{LONG, World},
};

/// The agent of each plan, and the tasks of each.
const WORKERS: [&str; 6] = ["gemini", "codex", "claude", "leaks", "works", "opencode-run"];
const CLAUDE: usize = 2;
const EACH: usize = 2;
const ADDRESS: &str = "https://github.com/team/shop.git";

pub fn many_plans(path: &Path) -> Option<Comparison> {
    let world = World::new(path, WORKERS.len() * EACH, true)?;
    let sandbox = &world.sandbox;
    let mut start = String::new();
    for (at, worker) in WORKERS.into_iter().enumerate() {
        let plan = world.plan(at * EACH..(at + 1) * EACH, [worker; EACH].into_iter());
        start = world.user_commits(&format!("plans/p{at}.md"), &plan);
    }
    let plans: String = (0..WORKERS.len()).map(|at| format!("plans/p{at}.md ")).collect();
    let args = World::with_goal(&format!("many {plans} --headless --jobs 3 -a works"));
    // The batch is killed while three of its agents work: each has begun, thus its iteration counts.
    let held = [CLAUDE * EACH + 1, 3 * EACH, 4 * EACH].map(|at| world.tasks[at].0.as_str());
    let meanwhile = || _ = world.user_commits("user.txt", "");
    let last = killed(&world, &args, &held, || {}, meanwhile).wait(LONG);
    let status = world.json("many status --json");
    let target = status["target"].as_str().unwrap_or_default();
    let mut rows = world.compare_end(&last, &start, target, &["user.txt"]);
    rows.count("tasks done", &sum(&status, "/tasks/done"), world.tasks.len());
    rows.count("plans merged", &status["counts"]["merged"], WORKERS.len());
    let claude = status["plans"][CLAUDE]["usage"]["costUsd"].as_f64();
    compare_use(&mut rows, &world, &status, claude.unwrap_or_default());
    let commits = sandbox.git(["rev-list", "--no-merges", &format!("{start}..{target}")]);
    let committed = world.ledger.lines("committed").len();
    rows.row("commits in the target", commits.lines().count(), committed);
    Some(rows)
}

pub fn pull_requests(path: &Path) -> Option<Comparison> {
    const ISSUES: usize = 3;
    let world = is_on_path("gh").then(|| World::new(path, ISSUES, true))??;
    let sandbox = &world.sandbox;
    let forge = ForgeStandIn::start(&sandbox.project().with_file_name("forge"));
    let gh = sandbox.config().join("gh");
    fs::create_dir_all(&gh).expect("gh's directory");
    let known = fs::read_to_string(sandbox.home().join(".gitconfig")).expect("git's configuration");
    let redirected = format!("{known}[url \"{}\"]\n\tinsteadOf = {ADDRESS}\n", forge.bare.display());
    let socket = format!("http_unix_socket: {}\n", forge.socket().display());
    let hosts = format!("github.com:\n    user: me\n    oauth_token: {TOKEN}\n    git_protocol: https\n");
    let files = [
        (sandbox.home().join(".gitconfig"), redirected),
        (gh.join("config.yml"), socket),
        (gh.join("hosts.yml"), hosts),
    ];
    for (path, text) in files {
        fs::write(path, text).expect("a configuration");
    }
    sandbox.git(["remote", "add", "origin", ADDRESS]);
    sandbox.git(["push", "--quiet", "origin", "main"]);
    let start = sandbox.git(["rev-parse", "HEAD"]).trim().to_owned();
    for (number, (name, subject)) in (1..).zip(&world.tasks) {
        let title = format!("{name}: {subject}");
        forge.add_issue(number, &title, &format!("- [ ] {title}\n"), &["ralph"]);
    }
    let args = World::with_goal("take 1 2 3 --deliver pr --jobs 2 --headless -a works");
    let has_pull = || wait_until(LONG, "a pull request", || (!forge.pulls().is_empty()).then_some(()));
    let resumed = killed(&world, &args, &["T02", "T03"], has_pull, || {});
    for issue in 1..=ISSUES {
        let pull = wait_until(LONG, "a pull request", || forge.pull_of(&format!("issue-{issue}")));
        forge.set_check(&pull, "SUCCESS", "");
        forge.merge(&pull);
    }
    let last = resumed.wait(LONG);
    let status = world.json("many status --json");
    sandbox.git(["fetch", "--quiet", "origin", "main"]);
    let mut rows = world.compare_end(&last, &start, "FETCH_HEAD", &[]);
    rows.count("pull requests merged", &status["counts"]["merged"], ISSUES);
    rows.row("pull requests made", forge.pulls().len(), ISSUES);
    let closed = (1..=3).filter(|issue| forge.is_closed(*issue));
    rows.row("issues closed", closed.count(), ISSUES);
    compare_use(&mut rows, &world, &status, 0.0);
    Some(rows)
}

/// Starts a batch, kills it once agents wait at the `held` tasks, and resumes it after what happens `meanwhile`.
fn killed(world: &World, args: &[String], held: &[&str], moment: impl Fn(), meanwhile: impl Fn()) -> Running {
    held.iter().for_each(|task| world.hold(task));
    let batch = world.sandbox.ralph(args).start();
    moment();
    held.iter().for_each(|task| world.began(task));
    world.is_read("many status --json", "/usage");
    batch.kill();
    batch.wait_for_exit(LONG);
    world.all_end();
    meanwhile();
    held.iter().for_each(|task| world.release(task));
    world.sandbox.ralph(["many", "resume", "--headless"]).start()
}

/// The sum of a number of all plans.
fn sum(status: &Value, pointer: &str) -> Value {
    let plans = status["plans"].as_array().into_iter().flatten();
    let numbers = plans.filter_map(|plan| plan.pointer(pointer)?.as_u64());
    numbers.sum::<u64>().into()
}

fn compare_use(rows: &mut Comparison, world: &World, status: &Value, claude: f64) {
    let (sessions, used) = world.used(0, claude);
    rows.count("iterations", &sum(status, "/iterations"), sessions);
    rows.usage(&status["usage"], used);
}
