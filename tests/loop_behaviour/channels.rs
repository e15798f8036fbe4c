//! The choice of channel for an agent, and the fallback if the installed version has only one.

use ralph_core::event::{ChannelKind, Event, RunEvent, WorkerEvent};

use crate::{
    harness::{SOON, Sandbox, Script, events},
    tui::watching,
};

/// The answer of an old version to the arguments of an unknown channel.
const REFUSES: &str = "echo \"error: unexpected argument 'acp' found\" >&2; exit 2";

/// An agent that completes one task. Its adapter declares a live channel that the program lacks.
fn outdated() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said working; work; over Done.").with_acp_command(REFUSES));
    sandbox
}

#[test]
fn an_installed_version_without_a_live_channel_is_run_one_way_and_says_so_on_the_screen() {
    let sandbox = outdated();
    let script = Script::jsonl("said working; work; over Done.").with_acp_command(REFUSES);
    let mut terminal = watching(&sandbox, &script);
    terminal.sees(" · 1 task · ");
    terminal.sees("script · one-way");
    terminal.press("l");
    terminal.sees("the installed `script` has no live channel");
    terminal.press("q");
    assert_eq!(terminal.ends(), 0);
    let records = sandbox.journal();
    let channels = events(&records).find_map(|event| match event {
        Event::Run(RunEvent::Started { settings, .. }) => Some(settings.channels.clone()),
        _ => None,
    });
    let channel = channels.and_then(|channels| channels.get("script").copied());
    assert_eq!(
        channel,
        Some(ChannelKind::Live),
        "somebody watches, who gets more of it"
    );
    let given_up = |event: &&Event| matches!(event, Event::Worker(WorkerEvent::LiveChannelGivenUp { .. }));
    assert_eq!(events(&records).filter(given_up).count(), 1);
    sandbox.assert_nothing_runs();
}

#[test]
fn a_run_that_needs_the_live_channel_ends_without_it_and_says_what_to_do() {
    assert_ends_without_work(&outdated(), &["--channel", "live"]);

    let sandbox = outdated();
    // An agent over ACP has to be configured to ask; this protocol does not need that.
    sandbox.install(&Script::jsonl("work; over Done.").live_over("claude-stream-json", REFUSES));
    sandbox.write(".ralph/config.json", r#"{ "permissions": { "ask": ["Bash(rm *)"] } }"#);
    assert_ends_without_work(&sandbox, &[]);
}

#[track_caller]
fn assert_ends_without_work(sandbox: &Sandbox, args: &[&str]) {
    let finished = sandbox.looping_as("text", args).run(SOON);
    assert_eq!(finished.code(), Some(1), "{finished:?}");
    let why = "its live channel did not start";
    assert!(finished.stdout.contains(why), "{finished:?}");
    let hint = "update the agent (`ralph adapters check script`";
    assert!(finished.stdout.contains(hint), "{finished:?}");
    let records = sandbox.journal();
    let given_up = |event: &Event| matches!(event, Event::Worker(WorkerEvent::LiveChannelGivenUp { .. }));
    assert!(!events(&records).any(given_up), "the other channel is not tried");
    assert!(
        sandbox.read("PLAN.md").is_some_and(|plan| plan.contains("- [ ]")),
        "nothing is done"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn where_nobody_watches_the_channel_that_needs_nothing_is_taken_and_named() {
    let sandbox = outdated();
    let finished = sandbox.looping_as("text", [] as [&str; 0]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let first = finished.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("script (one-way)"), "{first}");
}
