//! Accounts whose windows are nearly used up: iterations wait for the reset, in every run of the machine.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use ralph_core::{
    event::{
        Event, Headroom, IterationEvent, Record, TimeEvent, UserCommand, Wait, WaitCause, WaitEnd, WindowKind,
        WindowPace, WindowSample,
    },
    testing::rounds,
};
use ralph_state::store::accounts::AccountFile;
use serde_json::{from_value, json};

use super::started;
use crate::harness::{
    SOON, Sandbox, Script, events,
    in_process::{AgentTurn, FunctionAgent, LoopProject},
};

const HOUR_MS: u64 = 3_600_000;
const KEPT: Headroom = Headroom {
    five_hour: 15,
    week: 0,
    pace: WindowPace::Free,
};

/// An account with a window of five hours.
#[derive(Clone)]
struct Account {
    used_percent: Arc<AtomicU64>,
    resets_ms: u64,
}

impl Account {
    /// An account whose window is reset in two hours.
    fn used(project: &LoopProject, percent: u64) -> Self {
        Self {
            used_percent: Arc::new(AtomicU64::new(percent)),
            resets_ms: project.now_ms() + 2 * HOUR_MS,
        }
    }

    /// Uses five percent of the window, and reports that.
    fn work(&self, turn: &AgentTurn) {
        let is_reset = turn.now_ms() >= self.resets_ms;
        let (used_percent, resets_ms) = match is_reset {
            true => (5, self.resets_ms + 5 * HOUR_MS),
            false => (self.used_percent.fetch_add(5, Ordering::Relaxed) + 5, self.resets_ms),
        };
        turn.signal(&json!({"type": "window-used", "window": window(used_percent, resets_ms)}));
        turn.work();
        turn.over("One task less.");
    }

    fn agent(&self) -> FunctionAgent {
        let account = self.clone();
        FunctionAgent::jsonl(move |turn| {
            let account = account.clone();
            async move { account.work(&turn) }
        })
    }

    fn percent(&self) -> u64 {
        self.used_percent.load(Ordering::Relaxed)
    }
}

fn window(used_percent: u64, resets_ms: u64) -> serde_json::Value {
    json!({"kind": "five-hour", "usedPercent": used_percent, "resetsMs": resets_ms, "lengthMs": 5 * HOUR_MS})
}

fn waits(event: &Event) -> bool {
    matches!(
        event,
        Event::Time(TimeEvent::WaitStarted {
            wait: Wait::Headroom,
            ..
        })
    )
}

fn wait_of(records: &[Record]) -> (u64, WaitCause) {
    let mut waits = events(records).filter_map(|event| match event {
        Event::Time(TimeEvent::WaitStarted {
            wait: Wait::Headroom,
            until_ms,
            why,
            ..
        }) => Some((*until_ms, why.clone())),
        _ => None,
    });
    waits.next().expect("a wait")
}

#[tokio::test(start_paused = true)]
async fn three_runs_of_one_account_stop_at_its_line_and_go_on_after_the_reset() {
    let projects = [LoopProject::new(), LoopProject::new(), LoopProject::new()];
    let account = Account::used(&projects[0], 70);
    let runs = projects.each_ref().map(|project| {
        project.plan(5);
        let looping = project.looping(&account.agent()).beside(&projects[0]);
        looping.with(|settings| settings.headroom = KEPT).start()
    });
    for run in &runs {
        run.wait_for_record(waits).await;
    }
    // One iteration of each run may have been on its way at the line.
    let used = account.percent();
    assert!((85..85 + 3 * 5).contains(&used), "{used}% is used");
    for run in runs {
        let finished = run.wait().await;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        let records = finished.records();
        let (until_ms, why) = wait_of(&records);
        assert_eq!(until_ms, account.resets_ms + 1_000);
        let WaitCause::WindowUsed {
            window,
            used_percent,
            most_percent,
            ..
        } = why
        else {
            panic!("{why:?} is no window");
        };
        assert_eq!((window, most_percent), (WindowKind::FiveHour, 85));
        assert!(used_percent >= 85, "{used_percent}");
    }
    assert_eq!(account.percent(), used, "no iteration ran before the reset");
}

#[tokio::test(start_paused = true)]
async fn an_even_pace_spreads_iterations_over_the_window() {
    let project = LoopProject::new();
    project.plan(4);
    // Three of five hours have passed.
    let account = Account::used(&project, 55);
    let finished = project
        .looping(&account.agent())
        .with(|settings| settings.headroom.pace = WindowPace::Even)
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let starts = records.iter().filter_map(|record| match &record.event {
        Event::Iteration(IterationEvent::Started { .. }) => Some(record.at_ms),
        _ => None,
    });
    let starts: Vec<u64> = starts.collect();
    let quarter_ms = HOUR_MS / 4;
    for (before, after) in starts.iter().zip(&starts[1..]).skip(1) {
        let between_ms = after - before;
        assert!(
            between_ms.abs_diff(quarter_ms) < 10_000,
            "5% of five hours, and not {between_ms} ms"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_report_that_is_old_is_not_believed_and_a_new_one_of_another_run_is() {
    let project = LoopProject::new();
    project.plan(1);
    let now_ms = project.now_ms();
    let file = AccountFile::new(&project.paths().states(), "script");
    let report = |at_ms, resets_ms| WindowSample {
        at_ms,
        window: from_value(window(100, resets_ms)).expect("a window"),
    };
    for doubtful in [
        report(now_ms - 3 * HOUR_MS, now_ms - 1),
        report(now_ms - 6 * HOUR_MS, now_ms + HOUR_MS),
    ] {
        file.keep(doubtful).expect("a file of accounts");
        project.plan(1);
        let looping = project.looping(&FunctionAgent::worker());
        let finished = looping.with(|settings| settings.headroom = KEPT).run().await;
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert!(!events(&finished.records()).any(waits), "{doubtful:?} was believed");
    }
    file.keep(report(now_ms, now_ms + HOUR_MS)).expect("a file of accounts");
    project.plan(1);
    let looping = project.looping(&FunctionAgent::worker());
    let finished = looping.with(|settings| settings.headroom = KEPT).run().await;
    assert_eq!(wait_of(&finished.records()).0, now_ms + HOUR_MS + 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_with_room_takes_over_and_the_first_agent_returns_after_the_reset() {
    let project = LoopProject::new();
    project.plan(4);
    let account = Account::used(&project, 80);
    let second = FunctionAgent::jsonl(|turn| async move {
        turn.work();
        tokio::time::sleep(std::time::Duration::from_millis(HOUR_MS)).await;
        turn.over("One task less.");
    });
    let finished = project
        .looping(&account.agent())
        .standing_in(&second.called("second"))
        .with(|settings| {
            settings.headroom = KEPT;
            settings.limits.idle_timeout_ms = None;
            settings.limits.iteration_timeout_ms = None;
        })
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let adapters: Vec<&str> = events(&records)
        .filter_map(|event| match event {
            Event::Iteration(IterationEvent::Started { adapter, .. }) => Some(adapter.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(adapters[..3], ["script", "second", "second"]);
    assert!(!events(&records).any(waits));
}

#[tokio::test(start_paused = true)]
async fn the_user_may_use_more_of_a_window_than_runs_may() {
    let project = LoopProject::new();
    project.plan(3);
    let account = Account::used(&project, 80);
    let looping = project.looping(&account.agent());
    let running = looping.with(|settings| settings.headroom = KEPT).start();
    running.wait_for_record(waits).await;
    running.command(UserCommand::RetryNow).await.expect("a wait to end");
    running.wait_for_record(started(3)).await;
    let finished = running.wait().await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let ends: Vec<WaitEnd> = events(&finished.records())
        .filter_map(|event| match event {
            Event::Time(TimeEvent::WaitEnded { cause }) => Some(*cause),
            _ => None,
        })
        .collect();
    assert_eq!(ends, [WaitEnd::RetriedNow], "it holds until the reset");
}

#[test]
fn a_run_says_why_it_waits_and_the_next_one_of_the_machine_waits_as_well() {
    let sandbox = Sandbox::new();
    let resets_ms = ralph_system::os::now_ms() + HOUR_MS;
    let report = json!({"type": "window-used", "window": window(90, resets_ms)});
    sandbox.install(&Script::jsonl(&format!("echo '{report}'; work; over done")));
    let looping = || {
        sandbox
            .looping(["--max-iterations", "9"])
            .env("RALPH_HEADROOM_FIVE_HOUR", "15")
    };
    let running = looping().start();
    running.wait_for_record(SOON, waits);
    let status = sandbox.ralph(["status"]).run(SOON);
    let waiting = "waiting to leave a part of the account's window free";
    assert!(status.stdout.contains(waiting), "{status:?}");
    let stopped = sandbox.ralph(["stop"]).run(SOON);
    assert_eq!(stopped.code(), Some(0), "{stopped:?}");
    running.wait(SOON);
    let next = looping().start();
    next.wait_for_record(SOON, waits);
    sandbox.ralph(["stop"]).run(SOON);
    let finished = next.wait(SOON);
    assert!(
        !events(&finished.records()).any(started(1)),
        "no iteration began: {finished:?}"
    );
    let log = sandbox.ralph(["report"]).run(SOON);
    assert!(
        log.stdout.contains("to leave a part of the account's window free"),
        "{log:?}"
    );
}

/// The account of a long night: its window of five hours begins anew whenever it is over.
struct NightAccount {
    began_ms: AtomicU64,
    used_percent: AtomicU64,
}

impl NightAccount {
    /// Uses one percent of the window. Returns its used share and its reset.
    fn use_one_percent(&self, now_ms: u64) -> (u64, u64) {
        let began_ms = self.began_ms.load(Ordering::Relaxed);
        if now_ms >= began_ms + 5 * HOUR_MS {
            let windows = (now_ms - began_ms) / (5 * HOUR_MS);
            self.began_ms.store(began_ms + windows * 5 * HOUR_MS, Ordering::Relaxed);
            self.used_percent.store(0, Ordering::Relaxed);
        }
        let used_percent = self.used_percent.fetch_add(1, Ordering::Relaxed) + 1;
        (used_percent, self.began_ms.load(Ordering::Relaxed) + 5 * HOUR_MS)
    }
}

#[tokio::test(start_paused = true)]
async fn a_night_keeps_its_pace_over_all_windows() {
    // 500 take 25 hours of this clock; the nightly check runs them.
    let iterations = if rounds(1) > 1 { 500 } else { 120 };
    let project = LoopProject::new();
    project.plan(iterations);
    let account = Arc::new(NightAccount {
        began_ms: AtomicU64::new(project.now_ms()),
        used_percent: AtomicU64::new(0),
    });
    let shares: Arc<Mutex<Vec<(u64, u64)>>> = Arc::default();
    let (agents_account, agents_shares) = (Arc::clone(&account), Arc::clone(&shares));
    let agent = FunctionAgent::jsonl(move |turn| {
        let (account, shares) = (Arc::clone(&agents_account), Arc::clone(&agents_shares));
        async move {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            let now_ms = turn.now_ms();
            let (used_percent, resets_ms) = account.use_one_percent(now_ms);
            let passed_percent = 100 - (resets_ms - now_ms) * 100 / (5 * HOUR_MS);
            shares.lock().unwrap().push((used_percent, passed_percent));
            turn.signal(&json!({"type": "window-used", "window": window(used_percent, resets_ms)}));
            turn.work();
            turn.over("One task less.");
        }
    });
    let began_ms = project.now_ms();
    let finished = project
        .looping(&agent)
        .with(|settings| {
            settings.headroom = KEPT;
            settings.headroom.pace = WindowPace::Even;
            settings.limits.max_iterations = None;
            settings.limits.max_time_ms = None;
        })
        .run()
        .await;
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let shares = shares.lock().unwrap().clone();
    assert_eq!(shares.len(), iterations);
    // An iteration that starts at the line may end one percent above it.
    for (used_percent, passed_percent) in &shares {
        assert!(
            used_percent <= &(passed_percent + 1),
            "{used_percent}% of {passed_percent}%"
        );
        assert!(*used_percent <= 86, "{used_percent}%: 15 are kept free");
    }
    // One percent is three minutes of the window, of which 85 are used.
    let took_ms = project.now_ms() - began_ms;
    let least_ms = iterations as u64 * 3 * 60_000;
    let most_ms = (iterations as u64 / 85 + 1) * 5 * HOUR_MS;
    assert!((least_ms..most_ms).contains(&took_ms), "{} h", took_ms / HOUR_MS);
}
