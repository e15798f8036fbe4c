//! A developer's day outside of the project: each refusal names a setting, and with the settings that were named the same
//! things work.

use std::{fs, path::PathBuf};

use ralph_core::event::{AgentSignal, Notice};
use serde_json::json;

use super::{has_landlock, noticed};
use crate::{
    agents_loop::signals,
    harness::{SOON, Sandbox, Script},
};

/// Things that are refused at first.
const THINGS: &[(&str, &str)] = &[
    ("push", "git push -q ../bare.git HEAD:refs/heads/x"),
    ("worktree", "git worktree add -q ../wt -b wt$$"),
    ("sibling", "echo x > ../sibling/new"),
    (
        "settings of a tool",
        "mkdir -p ~/.config/tool && echo x > ~/.config/tool/settings",
    ),
    ("profile", "echo '# x' >> ~/.profile"),
    ("login of a tool", "cat ~/.config/gh/hosts.yml"),
];

/// A command that no setting allows.
const NEVER: (&str, &str) = ("configuration of git", "git config --global alias.st status");

/// Runs a command, and reports its output and whether it failed as a tool's call.
const TOOL: &str = r#"tool() {
    output=$(sh -c "$2" 2>&1) && ok=true || ok=false
    output=$(echo "$output" | awk '{ gsub(/\\/, "\\\\"); gsub(/"/, "\\\""); printf "%s\\n", $0 }')
    printf '{"type":"tool-ended","call":"%s","tool":"sh","ok":%s,"output":"%s"}\n' "$1" "$ok" "$output"
}
"#;

/// The things that failed, and the notices.
fn day(sandbox: &Sandbox) -> (Vec<String>, Vec<Notice>) {
    let calls: String = THINGS
        .iter()
        .chain([&NEVER])
        .map(|(name, command)| format!("tool '{name}' \"{command}\"\n"))
        .collect();
    sandbox.install(&Script::jsonl(&format!("{TOOL}{calls}work; over Done.")));
    sandbox.plan(1);
    let finished = sandbox.looping(["--sandbox", "on"]).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let failed = signals(&records).into_iter().filter_map(|signal| match signal {
        AgentSignal::ToolEnded { call, ok: false, .. } => Some(call.to_string()),
        _ => None,
    });
    (failed.collect(), noticed(&records).cloned().collect())
}

#[test]
fn the_settings_that_refusals_name_are_all_that_a_day_needs() {
    let sandbox = Sandbox::outside_of_tmp();
    if !has_landlock(&sandbox) {
        return;
    }
    let beside = sandbox.project().parent().unwrap().to_owned();
    sandbox.git(["init", "--quiet", "--bare", "../bare.git"]);
    for place in [beside.join("sibling"), sandbox.home().join(".config/gh")] {
        fs::create_dir_all(place).unwrap();
    }
    for file in [".profile", ".config/gh/hosts.yml"] {
        fs::write(sandbox.home().join(file), "").unwrap();
    }
    let (failed, notices) = day(&sandbox);
    assert_eq!(failed.len(), THINGS.len() + 1, "{failed:?}");
    let forbids = |notices: &[Notice]| {
        notices
            .iter()
            .any(|notice| notice.code == "sandbox-forbids" && notice.text.contains("git config --global"))
    };
    assert!(forbids(&notices), "{notices:#?}");

    let (mut write, mut show) = (Vec::new(), Vec::new());
    for notice in notices {
        match &*notice.code {
            "sandbox-hides" => show.push(PathBuf::from(notice.data["place"].as_str())),
            "sandbox-denied" => write.push(PathBuf::from(notice.data["path"].as_str())),
            _ => {}
        }
    }
    assert!(
        !write.contains(&sandbox.home()) && !write.contains(&sandbox.home().join(".config")),
        "{write:?}"
    );
    for place in write.iter().filter(|place| !place.exists()) {
        fs::create_dir_all(place).unwrap();
    }
    let settings = json!({ "sandbox": { "write": write, "show": show } });
    fs::write(sandbox.config().join("ralph/config.json"), settings.to_string()).unwrap();
    let (failed, notices) = day(&sandbox);
    assert_eq!(failed, [NEVER.0], "{notices:#?}");
    assert!(forbids(&notices));
}

#[test]
fn pnpm_is_told_the_store_of_the_packages_that_are_there() {
    for (installed, settings, store) in [
        ("storeDir: /some/store/v3\n", "", "/some/store\n"),
        ("{\n  \"storeDir\": \"/some/store/v10\",\n}\n", "", "/some/store\n"),
        ("storeDir: /some/store/v3\n", "store-dir=/other\n", "\n"),
    ] {
        let sandbox = Sandbox::outside_of_tmp();
        if !has_landlock(&sandbox) {
            return;
        }
        sandbox.write("node_modules/.modules.yaml", installed);
        sandbox.write(".npmrc", settings);
        sandbox.install(&Script::jsonl(
            "echo \"$npm_config_store_dir\" > store.txt; work; over Done.",
        ));
        sandbox.plan(1);
        let finished = sandbox.looping(["--sandbox", "on"]).run(SOON);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        assert_eq!(
            sandbox.read("store.txt").as_deref(),
            Some(store),
            "{installed}{settings}"
        );
    }
}
