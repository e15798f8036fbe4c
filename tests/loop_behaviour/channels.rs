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
fn a_run_that_needs_the_live_channel_does_not_begin_without_it_and_says_what_to_do() {
    let sandbox = outdated();
    refused(
        &sandbox,
        &["--channel", "live"],
        "adapter `script` has no live channel: ",
    );

    // An agent over ACP has to be configured to ask; this protocol does not need that.
    sandbox.install(&Script::jsonl("work; over Done.").live_over("claude-stream-json", REFUSES));
    sandbox.write(".ralph/config.json", r#"{ "permissions": { "ask": ["Bash(rm *)"] } }"#);
    refused(&sandbox, &[], "adapter `script` cannot enforce the rules: ");
}

#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], told: &str) {
    let finished = sandbox.looping_as("text", args).run(SOON);
    assert_eq!(finished.code(), Some(3), "{finished:?}");
    let told = format!("{told}its live channel did not start (error: unexpected argument 'acp' found)");
    assert!(finished.stderr.contains(&told), "{}", finished.stderr);
    let hint = "hint: update the agent (`ralph adapters check script`";
    assert!(finished.stderr.contains(hint), "{}", finished.stderr);
    assert!(sandbox.paths().run_ids().is_empty(), "no run has begun");
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
