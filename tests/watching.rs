//! `ralph status --watch`: a reader of a run that may come, go and come again.

use ralph::event::Event;
use serde_json::Value;

use crate::{
    harness::{SOON, Sandbox, Script, wait_until},
    tui::Terminal,
};

#[test]
fn a_watch_waits_for_a_run_shows_each_change_outlives_a_kill_and_ends_with_the_runs_exit_code() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::jsonl(
        "said working; [ $n = 1 ] || await go-$n; work; over 'One task less.'",
    ));
    sandbox.plan(3);
    let plain = sandbox.ralph(["status", "--watch"]).start();
    let json = sandbox.ralph(["status", "--watch", "--json"]).start();
    let terminal = Terminal::start(&sandbox.ralph(["monitor"]), 100, 30);
    terminal.sees("waiting until it does");
    wait_until(SOON, "both to wait", || {
        [&plain, &json]
            .iter()
            .all(|watch| watch.so_far().contains("waiting"))
            .then_some(())
    });

    let limited = ["--max-iterations", "3"];
    let first = sandbox.looping(limited).start();
    first.wait_for_record(SOON, |event| {
        matches!(event, Event::IterationStarted { iteration: 2, .. })
    });
    plain.wait_for_line(SOON, |line| line.contains("1 of 3 tasks · Task 2"));
    json.wait_for_line(SOON, |line| line.contains(r#""tasksDone":1"#));
    terminal.sees("1 of 3 done");
    assert!(!terminal.text().contains("0 of 3 done"), "{}", terminal.text());
    first.kill();
    first.wait_for_exit(SOON);
    terminal.sees("the run was interrupted");

    let resumed = sandbox.looping(limited).start();
    resumed.wait_for_record(SOON, |event| {
        matches!(event, Event::IterationStarted { iteration: 3, .. })
    });
    terminal.sees(&format!("running (pid {})", resumed.pid()));
    let of_resumed = format!(r#""pid":{},"#, resumed.pid());
    json.wait_for_line(SOON, |line| line.contains(&of_resumed));
    plain.wait_for_line(SOON, |line| line.starts_with("running iteration 3"));
    sandbox.let_go("go-3");
    assert_eq!(resumed.wait(SOON).code(), Some(6));
    let (plain, json) = (plain.wait(SOON), json.wait(SOON));
    assert_eq!((plain.code(), json.code()), (Some(6), Some(6)), "{plain:?} {json:?}");
    let last = plain.stdout.lines().last().expect("a line");
    assert!(last.contains("2 of 3 tasks"), "{}", plain.stdout);
    let states: Vec<Value> = json
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object in each line"))
        .collect();
    assert_eq!(states.last().expect("a line")["over"], true);
    assert!(states.windows(2).all(|two| two[0] != two[1]), "only changes are told");
    terminal.sees("2 of 3 done");
    // The screen of an older ralph had to be asked for.
    let screen = sandbox.ralph(["--monitor", "--headless"]).run(SOON);
    assert!(screen.stderr.contains("cannot be used with"), "{screen:?}");
}
