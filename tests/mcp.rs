//! ralph as a server and as a client of the Model Context Protocol, judged by the protocol's own conformance suite.
//!
//! The suite speaks HTTP, and ralph stdin and stdout alone: `bridge.mjs` carries the messages as they are.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::harness::{Program, SOON, Sandbox, Script, languages::node_modules};

/// The results of the suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Finding {
    Passes,
    /// ralph refuses what the scenario needs, since it does not offer it.
    NotOffered,
    /// The scenario is about HTTP, which is the bridge's.
    OfHttp,
}
use Finding::{NotOffered, OfHttp, Passes};

/// The scenarios for servers.
const SERVER: [(&str, Finding); 32] = [
    ("completion-complete", NotOffered),
    ("dns-rebinding-protection", OfHttp),
    ("elicitation-sep1034-defaults", NotOffered),
    ("elicitation-sep1330-enums", NotOffered),
    ("json-schema-2020-12", NotOffered),
    ("logging-set-level", NotOffered),
    ("ping", Passes),
    ("prompts-get-embedded-resource", NotOffered),
    ("prompts-get-simple", NotOffered),
    ("prompts-get-with-args", NotOffered),
    ("prompts-get-with-image", NotOffered),
    ("prompts-list", NotOffered),
    ("resources-list", NotOffered),
    ("resources-read-binary", NotOffered),
    ("resources-read-text", NotOffered),
    ("resources-subscribe", NotOffered),
    ("resources-templates-read", NotOffered),
    ("resources-unsubscribe", NotOffered),
    ("server-initialize", Passes),
    ("server-sse-multiple-streams", OfHttp),
    ("server-sse-polling", OfHttp),
    ("tools-call-audio", NotOffered),
    ("tools-call-elicitation", NotOffered),
    ("tools-call-embedded-resource", NotOffered),
    ("tools-call-error", Passes),
    ("tools-call-image", NotOffered),
    ("tools-call-mixed-content", NotOffered),
    ("tools-call-sampling", NotOffered),
    ("tools-call-simple-text", Passes),
    ("tools-call-with-logging", NotOffered),
    ("tools-call-with-progress", NotOffered),
    ("tools-list", Passes),
];

/// ralph's tools in place of those that scenarios call: one that answers with text, and one that fails without arguments.
const STANDING_IN: [(&str, &str); 2] = [("test_simple_text", "plan"), ("test_error_handling", "blocked")];

/// Words of ralph's refusals, and of the suite where it does not find its own tool.
const REFUSALS: [&str; 3] = [
    "there is no method",
    "there is no such tool",
    "not found. Available tools: ",
];

/// The packages of `tests/mcp`, with the bridge beside them.
fn packages(sandbox: &Sandbox) -> Option<PathBuf> {
    let packages = node_modules(include_str!("mcp/package.json"))?;
    let home = sandbox.home();
    symlink(packages.join("node_modules"), home.join("node_modules")).expect("a link");
    fs::write(home.join("bridge.mjs"), include_str!("mcp/bridge.mjs")).expect("written");
    Some(packages)
}

/// The suite, which writes its results to `results` in the sandbox's home.
fn suite(sandbox: &Sandbox, packages: &Path, args: &[&str]) -> Program {
    let program = packages.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    sandbox
        .program("node")
        .arg(program)
        .args(args)
        .current_dir(sandbox.home())
}

/// The checks of each scenario, from the results of the suite.
fn checks(sandbox: &Sandbox) -> BTreeMap<String, Vec<Value>> {
    let results = fs::read_dir(sandbox.home().join("results")).expect("results");
    let read = results.map(|entry| {
        let directory = entry.expect("a result").path();
        let checks = fs::read_to_string(directory.join("checks.json")).expect("checks");
        let name = directory.file_name().expect("a name").to_string_lossy().into_owned();
        let (scenario, _) = name.split_at(name.len() - "-2026-11-30T18-14-02-120Z".len());
        (
            scenario.to_owned(),
            serde_json::from_str(&checks).expect("a list of checks"),
        )
    });
    read.collect()
}

/// Compares the checks of a scenario with what is known of it.
#[track_caller]
fn assert_found(scenario: &str, known: Finding, checks: &[Value]) {
    let failed = checks.iter().filter(|check| check["status"] == "FAILURE");
    let failures: Vec<&str> = failed
        .map(|check| check["errorMessage"].as_str().unwrap_or_default())
        .collect();
    let is_refusal = |failure: &&str| REFUSALS.iter().any(|words| failure.contains(words));
    let is_as_known = match known {
        Passes => failures.is_empty() && checks.iter().any(|check| check["status"] == "SUCCESS"),
        NotOffered => !failures.is_empty() && failures.iter().all(is_refusal),
        OfHttp => true,
    };
    assert!(is_as_known, "{scenario}: {known:?}: {checks:#?}");
}

#[allow(clippy::print_stdout)] // the figures, with `--nocapture`
#[test]
fn the_server_passes_what_it_offers_and_refuses_the_rest() {
    let sandbox = Sandbox::new();
    let Some(packages) = packages(&sandbox) else { return };
    sandbox.plan(1);
    sandbox.install(&Script::jsonl("said ready; await go; work; over done"));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_line(SOON, |line| line.contains("ready"));
    let bridge = sandbox
        .program("node")
        .arg(sandbox.home().join("bridge.mjs"))
        .args([env!("CARGO_BIN_EXE_ralph"), "mcp"])
        .env("TOOLS", json!(BTreeMap::from(STANDING_IN)).to_string())
        .start();
    let url = bridge.wait_for_line(SOON, |line| line.starts_with("http"));
    let args = ["server", "--url", &url, "--suite", "all", "-o", "results"];
    let judged = suite(&sandbox, &packages, &args).run(2 * SOON);
    assert!(judged.stdout.contains("=== SUMMARY ==="), "{judged:?}");
    assert_eq!(bridge.so_far(), format!("{url}\n"), "no line was refused");
    bridge.kill();
    sandbox.release("go");
    assert_eq!(running.wait(SOON).code(), Some(0));
    let mut found = checks(&sandbox);
    for (scenario, known) in SERVER {
        let checks = found.remove(&format!("server-{scenario}"));
        assert_found(scenario, known, &checks.expect("results of each scenario"));
    }
    assert_eq!(found, BTreeMap::new(), "scenarios that `SERVER` does not name");
    let count = |wanted: Finding| SERVER.iter().filter(|(_, known)| *known == wanted).count();
    println!(
        "MCP server: {} scenarios, {} passed, {} not offered, {} about HTTP",
        SERVER.len(),
        count(Passes),
        count(NotOffered),
        count(OfHttp)
    );
    sandbox.waits_until_nothing_runs();
}

#[cfg(feature = "native")]
mod client {
    use super::*;
    use crate::{
        agents_loop::{in_order, plan_one_task, work_on},
        harness::agent::Agent,
        stand_in::{Scenario, StandIn, Step, answer},
    };

    /// The scenarios for clients that ralph's own agent passes.
    const PASSED: [&str; 2] = ["initialize", "tools_call"];

    /// The others: connections over HTTP, their logins, and forms for the user, none of which it has.
    const NOT_OFFERED: [&str; 21] = [
        "auth/2025-03-26-oauth-endpoint-fallback",
        "auth/2025-03-26-oauth-metadata-backcompat",
        "auth/basic-cimd",
        "auth/client-credentials-basic",
        "auth/client-credentials-jwt",
        "auth/metadata-default",
        "auth/metadata-var1",
        "auth/metadata-var2",
        "auth/metadata-var3",
        "auth/pre-registration",
        "auth/resource-mismatch",
        "auth/scope-from-scopes-supported",
        "auth/scope-from-www-authenticate",
        "auth/scope-omitted-when-undefined",
        "auth/scope-retry-limit",
        "auth/scope-step-up",
        "auth/token-endpoint-auth-basic",
        "auth/token-endpoint-auth-none",
        "auth/token-endpoint-auth-post",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
    ];

    /// A run whose agent has the suite's server, and the address of the server as its argument.
    const RUN: &str = "MCP_URL=$1 exec \"$RALPH\" --adapter native --plan PLAN.md --headless\n";

    #[allow(clippy::print_stdout)] // the figures, with `--nocapture`
    #[test]
    fn the_agent_of_ralph_passes_the_scenarios_of_its_connection() {
        let model = StandIn::start(Scenario::new());
        let sandbox = Agent::Native.sandbox(&model, 0).expect("it is always there");
        let Some(packages) = packages(&sandbox) else { return };
        let known = suite(&sandbox, &packages, &["list", "--client"]).run(SOON);
        let mut known: Vec<&str> = known
            .stdout
            .lines()
            .filter_map(|line| line.strip_prefix("  - "))
            .collect();
        known.sort_unstable();
        let mut named = [&PASSED[..], &NOT_OFFERED].concat();
        named.sort_unstable();
        assert_eq!(named, known);

        let bridge = json!({"command": "node", "args": [sandbox.home().join("bridge.mjs")]});
        fs::create_dir_all(sandbox.config().join("ralph")).expect("a directory");
        let settings = json!({"mcp": {"suite": bridge}}).to_string();
        fs::write(sandbox.config().join("ralph/config.json"), settings).expect("the user's configuration");
        fs::write(sandbox.home().join("run.sh"), format!("cd \"$PROJECT\"\n{RUN}")).expect("written");
        let adds: Step = answer().call("mcp__suite__add_numbers", json!({"a": 5, "b": 3})).into();
        for (scenario, first) in PASSED.into_iter().zip([None, Some(adds)]) {
            plan_one_task(&sandbox);
            model.play(in_order([first.as_slice(), &work_on(scenario)]));
            let args = [
                "client",
                "--command",
                "sh run.sh",
                "--scenario",
                scenario,
                "-o",
                "results",
                "--timeout",
                "60000",
            ];
            let judged = suite(&sandbox, &packages, &args)
                .env("PROJECT", sandbox.project())
                .env("RALPH", env!("CARGO_BIN_EXE_ralph"))
                .run(4 * SOON);
            assert_eq!(judged.code(), Some(0), "{judged:?}");
        }
        let found = checks(&sandbox);
        for scenario in PASSED {
            assert_found(scenario, Passes, &found[scenario]);
        }
        let read: Vec<String> = model
            .main_requests()
            .into_iter()
            .flat_map(|request| request.tool_results)
            .collect();
        assert!(
            read.iter().any(|result| result == "The sum of 5 and 3 is 8"),
            "{read:?}"
        );
        let (passed, others) = (PASSED.len(), NOT_OFFERED.len());
        println!(
            "MCP client: {} scenarios, {passed} passed, {others} not offered",
            passed + others
        );
        sandbox.waits_until_nothing_runs();
    }
}
