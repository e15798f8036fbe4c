//! The table of `docs/guide/agents.md` that says which scenarios the tests run with which agent, from their own lists.

use std::{env, fs, path::Path};

use crate::harness::agent::Agent;

const PAGE: &str = "docs/guide/agents.md";
const HEADING: &str = "## What the tests try with each\n";
/// Writes the table if it is set.
const WRITE: &str = "RALPH_TEST_WRITE";

/// The columns, and the scenarios that show them: a file, and the function if the file has several.
const COLUMNS: [(&str, &[(&str, &str)]); 9] = [
    ("works a plan", &[(include_str!("a_plan.rs"), "scenario")]),
    (
        "refused key",
        &[
            (include_str!("a_refused_key.rs"), "scenario"),
            (include_str!("../live_channel.rs"), "a_refused_key_ends_the_run"),
        ],
    ),
    ("silence, limit, cut", &[(include_str!("a_bad_night.rs"), "scenario")]),
    ("failing server", &[(include_str!("a_failing_server.rs"), "scenario")]),
    ("token limit", &[(include_str!("a_limit.rs"), "scenario")]),
    ("interrupt, leftovers", &[(include_str!("an_interrupt.rs"), "scenario")]),
    (
        "resume",
        &[
            (include_str!("resuming.rs"), "scenario"),
            (
                include_str!("../live_channel.rs"),
                "a_session_is_continued_and_each_turn_counts_for_itself",
            ),
        ],
    ),
    (
        "message while it works",
        &[(
            include_str!("../live_channel.rs"),
            "a_message_comes_while_a_tool_runs_and_no_command_outlives_its_session",
        )],
    ),
    (
        "rules",
        &[(
            include_str!("../approvals/each_agent.rs"),
            "rules_keys_and_answers_from_elsewhere_decide_and_the_agent_goes_on",
        )],
    ),
];

/// The agents of the table. The other APIs of ralph's own agent are tried as this one is.
const AGENTS: [Agent; 11] = [
    Agent::Claude,
    Agent::Codex,
    Agent::Gemini,
    Agent::Opencode,
    Agent::OpencodeServer,
    Agent::Copilot,
    Agent::Pi,
    Agent::Kimi,
    Agent::Kilo,
    Agent::Cline,
    Agent::Native,
];

/// The list of agents of `scenario` in `source`: that of its macro, or the macro's own list.
fn agents_of(source: &str, scenario: &str) -> Vec<String> {
    let call = |source: &str, start: &str| {
        let at = source.find(start)? + start.len();
        let rest = &source[at..];
        Some(rest[..rest.find(')')?].to_owned())
    };
    let macros = include_str!("../harness/agent.rs");
    let found = ["each_agent!(", "each_live_agent!("].into_iter().find_map(|name| {
        let flat = source
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .replace("!( ", "!(");
        let list = call(&flat, &format!("{name}{scenario}"))?;
        match list.strip_prefix(':') {
            Some(list) => Some(list.to_owned()),
            None => call(macros, &format!("agent::{name}\n            $scenario:")),
        }
    });
    let list = found.unwrap_or_else(|| panic!("no agents run {scenario}"));
    list.split([',', ';'])
        .filter_map(|pair| Some(pair.split_whitespace().nth(1)?.to_owned()))
        .collect()
}

fn table() -> String {
    let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let mut table = format!(
        "| adapter | {} | tokens | cost |\n|---|{}---|---|\n",
        names.join(" | "),
        "---|".repeat(names.len())
    );
    for agent in AGENTS {
        let variant = format!("{agent:?}");
        let tried = |scenarios: &[(&str, &str)]| {
            let mut all = scenarios
                .iter()
                .flat_map(|(source, scenario)| agents_of(source, scenario));
            all.any(|name| name == variant)
        };
        let mut marks: Vec<bool> = COLUMNS.iter().map(|(_, scenarios)| tried(scenarios)).collect();
        marks.extend([agent.tells_tokens(), agent.tells_cost()]);
        let marks: Vec<&str> = marks.into_iter().map(|mark| if mark { "✔" } else { "–" }).collect();
        table += &format!("| `{}` | {} |\n", agent.adapter(), marks.join(" | "));
    }
    table
}

#[test]
fn the_guide_says_what_is_tried_with_each_agent() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let text = fs::read_to_string(&path).expect("the page");
    let start = text.find(HEADING).expect("the heading") + HEADING.len();
    let begin = start + text[start..].find("\n| adapter").expect("a table") + 1;
    let end = text[begin..].find("\n\n").map_or(text.len(), |end| begin + end + 1);
    let table = table();
    if env::var_os(WRITE).is_some() {
        fs::write(&path, [&text[..begin], &table, &text[end..]].concat()).expect("written");
        return;
    }
    assert_eq!(
        &text[begin..end],
        table,
        "`RALPH_TEST_WRITE=1 cargo test --test all agents_loop::coverage` writes it"
    );
}

#[test]
fn a_list_is_that_of_the_call_or_of_the_macro() {
    assert_eq!(
        agents_of("each_agent!(scenario: a Codex; b Pi, c Kilo);", "scenario"),
        ["Codex", "Pi", "Kilo"]
    );
    let by_the_macro = agents_of("each_agent!(scenario);", "scenario");
    assert!(
        by_the_macro.iter().any(|name| name == "OpencodeServer"),
        "{by_the_macro:?}"
    );
}
