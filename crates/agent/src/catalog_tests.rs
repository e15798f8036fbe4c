use std::{fs, os::unix::fs::PermissionsExt};

use insta::assert_snapshot;
use ralph_core::event::{AgentSignal, Exit, ProblemKind, Usage};
use ralph_text::{Position, with_causes};
use serde_json::json;

use crate::{
    Capabilities,
    dialect::{Finish, ZonedClock, terminal_with},
};

use super::*;

/// The adapter directories of a user and of a project.
struct Home {
    dir: tempfile::TempDir,
    config: Vec<Node>,
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        for layer in ["user", "project"] {
            fs::create_dir(dir.path().join(layer)).expect("a directory");
        }
        Self {
            dir,
            config: Vec::new(),
        }
    }

    fn with(self, file: &str, text: &str) -> Self {
        fs::write(self.dir.path().join(file), text).expect("a file");
        self
    }

    fn configured(mut self, adapters: serde_json::Value) -> Self {
        let origin = SettingOrigin::file(Path::new("config.json"), Position { line: 1, column: 1 });
        self.config.push(Node::from_value(adapters, &origin));
        self
    }

    fn catalog(&self) -> Catalog {
        Catalog::load(&AdapterSources {
            directories: ["user", "project", "missing"]
                .map(|layer| self.dir.path().join(layer))
                .to_vec(),
            config: self.config.clone(),
            ..AdapterSources::default()
        })
    }

    /// The error of adapter `id`, without the directory.
    fn error(&self, id: &str) -> String {
        let error = self.catalog().manifest(id).expect_err("an error");
        causes(&error).replace(&format!("{}/", self.dir.path().display()), "")
    }
}

/// The error without the part that names the adapter.
fn causes(error: &AgentError) -> String {
    with_causes(std::error::Error::source(error).expect("an error in a manifest"))
}

const COMPLETE: &str = "dialect = \"terminal\"\n[command]\nprogram = \"x\"\nargs = []\nprompt = \"stdin\"\n";

/// The error of a complete manifest with these lines in front of it.
fn error_with(lines: &str) -> String {
    Home::new()
        .with("user/x.toml", &format!("{lines}\n{COMPLETE}"))
        .error("x")
}

/// The error of a manifest with these lines as its `command` table.
fn error_in_command(lines: &str) -> String {
    Home::new()
        .with("user/x.toml", &format!("dialect = \"terminal\"\n[command]\n{lines}\n"))
        .error("x")
}

#[test]
fn every_built_in_adapter_is_complete() {
    let catalog = Catalog::load(&AdapterSources::default());
    let ids: Vec<_> = catalog.ids().collect();
    assert_eq!(
        ids,
        [
            "aider",
            "claude",
            "cline",
            "codex",
            "copilot",
            "demo",
            "gemini",
            "kilo",
            "kimi",
            #[cfg(feature = "native")]
            "native",
            "opencode-run",
            "opencode-server",
            "pi",
            "qwen-code"
        ]
    );
    for id in ids {
        let manifest = catalog.manifest(id).expect("a good manifest");
        assert_eq!(manifest.id, id);
    }
    for id in ["claude", "codex", "gemini", "opencode-run"] {
        let capabilities = catalog.manifest(id).expect("a good manifest").capabilities;
        assert!(capabilities.resume && capabilities.usage, "{id}");
    }
}

#[test]
fn every_built_in_agent_has_its_state_and_its_login_in_it_and_hosts_for_a_strict_sandbox() {
    let catalog = Catalog::load(&AdapterSources::default());
    for id in catalog.ids() {
        let manifest = catalog.manifest(id).expect("a good manifest");
        if id == "demo" {
            continue; // It is ralph, and has none.
        }
        assert!(!manifest.state.is_empty() && !manifest.hosts.is_empty(), "{id}");
        let is_project = |file: &&String| !file.starts_with(['~', '$']);
        for file in manifest.credentials.files.iter().filter(|file| !is_project(file)) {
            let is_in_state = manifest.state.iter().any(|state| Path::new(file).starts_with(state));
            assert!(is_in_state || manifest.state_files.contains(file), "{id}: {file}");
        }
    }
}

#[test]
fn an_agent_that_names_no_state_has_that_of_its_login() {
    let state = |written: &str| {
        let text =
            format!("dialect = \"terminal\"\n[command]\nprogram = \"x\"\nargs = []\nprompt = \"stdin\"\n{written}");
        let manifest = manifest_of_text("x", &text).expect("a good manifest");
        (manifest.state, manifest.state_files)
    };
    let login = "[login]\nfiles = [\"~/.agent/login\", \"~/.agent.json\"]\n";
    let own = |directory: &str, file: &str| (vec![directory.to_owned()], vec![file.to_owned()]);
    assert_eq!(state(login), own("~/.agent", "~/.agent.json"));
    let named = "[sandbox]\nwrite = [\"~/a\"]\nwrite_files = [\"~/b\"]\n";
    assert_eq!(state(&format!("{login}{named}")), own("~/a", "~/b"));
    assert_eq!(state(""), (Vec::new(), Vec::new()));
}

/// The cells of an adapter's row in a table of a page.
#[track_caller]
fn row<'a>(page: &'a str, id: &str) -> Vec<&'a str> {
    let row = page.lines().find(|line| line.starts_with(&format!("| `{id}` |")));
    let row = row.unwrap_or_else(|| panic!("no row for {id}"));
    row.split('|').map(str::trim).skip(1).collect()
}

/// Whether the cells claim live steering, resuming, usage and cost.
fn told(cells: &[&str]) -> [bool; 4] {
    std::array::from_fn(|index| !(cells[index].starts_with("no") || cells[index] == "-"))
}

#[test]
fn the_table_has_every_built_in_adapter_as_it_is() {
    let guide = include_str!("../../../docs/guide/agents.md");
    let catalog = Catalog::load(&AdapterSources::default());
    for id in catalog.ids() {
        let manifest = catalog.manifest(id).expect("a good manifest");
        let Capabilities {
            live_steering,
            resume,
            usage,
            cost,
            ..
        } = manifest.capabilities;
        let live = manifest.live.is_some_and(|live| live.capabilities.live_steering);
        let can = [live_steering || live, resume, usage, cost];
        let verified = manifest.verified.as_deref();

        let cells = row(guide, id);
        assert_eq!(cells[2], verified.unwrap_or("-"), "{cells:?}");
        assert_eq!(told(&cells[3..]), can, "{cells:?}");
        let to_install = manifest.install.iter().all(|hint| guide.contains(hint.as_str()));
        assert!(
            to_install,
            "the guide does not say how to install {id}: {:?}",
            manifest.install
        );
    }
    let ranked = |id| {
        let manifest = catalog.manifest(id).ok()?;
        Some((manifest.rank?, manifest.install?))
    };
    let mut ranked: Vec<(u32, String)> = catalog.ids().filter_map(ranked).collect();
    ranked.sort_unstable();
    assert_eq!(ranked.len(), 11);
    let rows = ranked.iter().map(|(_, hint)| guide.find(hint.as_str()));
    assert!(
        rows.is_sorted(),
        "the guide lists the agents in another order: {ranked:?}"
    );
}

#[test]
fn layers_are_merged_key_by_key_and_each_value_keeps_its_origin() {
    let home = Home::new()
        .with(
            "user/codex.toml",
            "# mine\n[command]\nprogram = \"/opt/codex\"\n\n[command.env]\nA = \"user\"\n",
        )
        .with(
            "project/codex.toml",
            "[command.env]\nA = \"project\"\nB = \"2\"\nMY_API_KEY = \"sk-1\"\n",
        )
        .configured(json!({"codex": {"stop": {"grace_ms": 500}}}));
    let manifest = home.catalog().manifest("codex").expect("a manifest");
    assert_eq!(manifest.stop.grace.as_millis(), 500);
    let shown = home.catalog().show("codex").expect("an adapter");
    let path = home.dir.path().display().to_string();
    assert_snapshot!(shown.replace(&path, ""), @r#"
    id = "codex"                                                  # built in
    title = "Codex CLI"                                           # built in
    rank = 3                                                      # built in
    acp = "codex-acp"                                             # built in
    verified = "0.171.0"                                          # built in
    transport = "pty"                                             # built in
    dialect = "codex-json"                                        # built in
    command.program = "/opt/codex"                                # /user/codex.toml:3:1
    command.args = ["exec", "{resume}", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "{model}", "-"]  # built in
    command.model = ["--model", "{model}"]                        # built in
    command.resume = ["resume", "{session}"]                      # built in
    command.prompt = "stdin"                                      # built in
    command.env.A = "project"                                     # /project/codex.toml:2:1
    command.env.B = "2"                                           # /project/codex.toml:3:1
    command.env.MY_API_KEY = (not shown)                          # /project/codex.toml:4:1
    live.protocol = "codex-app-server"                            # built in
    live.args = ["app-server"]                                    # built in
    live.asking.bypass = ["$CODEX_HOME/rules/*.rules", "~/.codex/rules/*.rules", ".codex/rules/*.rules", "/etc/codex/rules/*.rules"]  # built in
    mcp.form = "toml"                                             # built in
    mcp.args = ["-c", "mcp_servers={mcp_servers}"]                # built in
    subagents.tools = ["spawn_agent"]                             # built in
    subagents.at_once.own = 6                                     # built in
    subagents.at_once.args = ["-c", "agents.max_concurrent_threads_per_session={limit}"]  # built in
    model.form = "name"                                           # built in
    stop.first = "interrupt"                                      # built in
    stop.grace_ms = 500                                           # config.json:1:1
    probe.args = ["--version"]                                    # built in
    login.env = ["CODEX_API_KEY"]                                 # built in
    login.keys = ["OPENAI_API_KEY"]                               # built in
    login.files = ["$CODEX_HOME/auth.json", "~/.codex/auth.json"]  # built in
    login.hint = "run `codex login`, or set CODEX_API_KEY"        # built in
    sandbox.write = ["$CODEX_HOME", "~/.codex"]                   # built in
    sandbox.hosts = ["api.openai.com", "auth.openai.com", "chatgpt.com"]  # built in
    install.hint = "npm install -g @openai/codex"                 # built in
    capabilities.usage = true                                     # built in
    "#);
}

#[test]
fn a_new_adapter_needs_a_file_with_four_keys() {
    let home = Home::new().with("project/mine.toml", COMPLETE);
    let manifest = home.catalog().manifest("mine").expect("a manifest");
    assert_eq!((manifest.title.as_str(), manifest.verified), ("mine", None));
    assert!(!manifest.capabilities.resume);
}

#[test]
fn the_examples_in_the_reference_are_complete_adapters() {
    let reference = include_str!("../../../docs/guide/adapters.md");
    for (head, id) in [
        ("# .ralph/adapters/mine.toml", "mine"),
        ("# ~/.config/ralph/adapters/qwen.toml", "qwen"),
    ] {
        let start = reference.find(head).expect("an example");
        let example = reference[start..].split("```").next().expect("its end");
        let home = Home::new().with(&format!("project/{id}.toml"), example);
        assert!(home.catalog().manifest(id).is_ok(), "{id}");
    }
}

#[test]
fn an_adapter_that_is_not_complete_says_what_is_missing_and_where() {
    let home = Home::new().with("user/mine.toml", "title = \"Mine\"\n[command]\nprogram = \"x\"\n");
    assert_snapshot!(home.error("mine"), @"user/mine.toml:1:1: adapter `mine` is not complete: `dialect`, `command.prompt` are missing");
    let home = Home::new().configured(json!({"mine": {"title": "x"}}));
    assert_snapshot!(home.error("mine"), @"config.json:1:1: adapter `mine` is not complete: `dialect`, `command.program`, `command.prompt` are missing");
}

#[test]
fn a_program_without_arguments_needs_no_list_of_them() {
    let command = "[command]\nprogram = \"x\"\n";
    let one_way = format!("dialect = \"terminal\"\n{command}prompt = \"stdin\"\n");
    let live = format!("{command}[live]\nprotocol = \"acp\"\n");
    let both = format!("{one_way}[live]\nprotocol = \"acp\"\n");
    for (file, is_live) in [(&one_way, false), (&live, true), (&both, true)] {
        let home = Home::new().with("user/mine.toml", file);
        let manifest = home.catalog().manifest("mine").expect("a complete adapter");
        assert!(manifest.command.args.is_empty(), "{file}");
        assert_eq!(
            manifest.live.map(|live| live.args.len()),
            is_live.then_some(0),
            "{file}"
        );
    }
    let unclear = both.replace("prompt", "args = [\"run\"]\nprompt");
    let home = Home::new().with("user/mine.toml", &unclear);
    assert_snapshot!(home.error("mine"), @"user/mine.toml:7:1: adapter `mine` is not complete: `live.args` is missing");
    let server = format!("transport = \"http\"\ndialect = \"opencode-json\"\n{command}");
    assert_snapshot!(Home::new().with("user/mine.toml", &server).error("mine"), @"user/mine.toml:1:1: adapter `mine` is not complete: `command.args` is missing");
}

#[test]
fn an_adapter_with_nothing_but_a_live_channel_is_complete() {
    let live = "[live]\nprotocol = \"acp\"\nargs = [\"acp\"]\n";
    let home = Home::new().with("user/mine.toml", &format!("[command]\nprogram = \"mine\"\n{live}"));
    let manifest = home.catalog().manifest("mine").expect("a good manifest");
    assert_eq!(manifest.dialect, None);
    let Capabilities {
        live_steering, resume, ..
    } = manifest.capabilities;
    assert!(live_steering && resume);
    assert!(manifest.can_be_given(Some("p/m"), Some("plan")).is_ok());
    let home = Home::new().with("user/mine.toml", live);
    assert_snapshot!(home.error("mine"), @"user/mine.toml:1:1: adapter `mine` is not complete: `command.program` is missing");
    let half = format!("[command]\nprogram = \"mine\"\nprompt = \"stdin\"\n{live}");
    let home = Home::new().with("user/mine.toml", &half);
    assert_snapshot!(home.error("mine"), @"user/mine.toml:1:1: adapter `mine` is not complete: `dialect` is missing");
}

#[cfg(feature = "native")]
#[test]
fn an_unknown_adapter_is_an_error_with_a_suggestion_and_the_list() {
    let error = Catalog::load(&AdapterSources::default())
        .manifest("codxe")
        .expect_err("no such adapter");
    assert_eq!(error.to_string(), "there is no adapter `codxe`");
    assert_eq!(
        error.hints(),
        [
            "did you mean `codex`?",
            "there are: aider, claude, cline, codex, copilot, demo, gemini, kilo, kimi, native, opencode-run, opencode-server, pi, qwen-code"
        ]
    );
    let error = Catalog::load(&AdapterSources::default())
        .manifest("zzz")
        .expect_err("no such adapter");
    assert_eq!(
        error.hints(),
        [
            "there are: aider, claude, cline, codex, copilot, demo, gemini, kilo, kimi, native, opencode-run, opencode-server, pi, qwen-code"
        ]
    );
}

#[test]
fn unknown_keys_are_named_with_line_and_suggestion() {
    assert_snapshot!(error_with("# a comment\n\ndialekt = \"x\""), @"user/x.toml:3:1: unknown setting `dialekt`; did you mean `dialect`?");
    assert_snapshot!(error_with("[stop]\ngraceMs = 1\n[nonsense]\nq = 1"), @"user/x.toml:2:1: unknown setting `stop.graceMs`; did you mean `stop.grace_ms`? (and 1 more)");
    let home = Home::new().configured(json!({"codex": {"command": {"programm": "x"}}}));
    assert_snapshot!(home.error("codex"), @"config.json:1:1: unknown setting `command.programm`; did you mean `command.program`?");
}

#[test]
fn values_of_the_wrong_kind_are_named_with_what_they_should_be() {
    assert_snapshot!(error_with("title = 1"), @"user/x.toml:1:1: `title` is the number 1; expected a text");
    assert_snapshot!(error_with("stop = 5"), @"user/x.toml:1:1: `stop` is the number 5; expected a table");
    assert_snapshot!(error_with("stop.grace_ms = 1.5"), @"user/x.toml:1:6: `stop.grace_ms` is the number 1.5; expected a whole number from 0 to 60000, such as 50");
    assert_snapshot!(error_with("stop.grace_ms = 3600000"), @"user/x.toml:1:6: `stop.grace_ms` is the number 3600000; expected a whole number from 0 to 60000, such as 50");
    assert_snapshot!(error_with("probe.args = [\"a\", 1]"), @"user/x.toml:1:20: `probe.args[1]` is the number 1; expected a text");
    assert_snapshot!(error_with("transport = \"ssh\""), @r#"user/x.toml:1:1: `transport` is the text "ssh"; expected "pty" or "http""#);
    assert_snapshot!(error_with("transport = \"http\""), @r#"user/x.toml:2:1: `dialect` is the text "terminal"; expected "opencode-json" with `transport = "http"`"#);
    let server = "transport = \"http\"\ndialect = \"opencode-json\"\n[command]\nprogram = \"x\"\nargs = [\"serve\"]\n";
    assert_snapshot!(Home::new().with("user/x.toml", server).error("x"), @r#"user/x.toml:5:1: with `transport = "http"`, `{port}` must be in `command.args`"#);
    assert_snapshot!(error_with("stop.first = \"kill\""), @r#"user/x.toml:1:6: `stop.first` is the text "kill"; expected "interrupt" or "terminate""#);
    assert_snapshot!(Home::new().configured(json!({"codex": 1})).error("codex"), @"config.json:1:1: the adapter is the number 1; expected an object of adapter settings");
    assert_snapshot!(Home::new().configured(json!({"codex": {"title": null}})).error("codex"), @"config.json:1:1: `title` is null; expected a text");
}

#[test]
fn everything_that_is_wrong_with_a_layer_is_told_at_once() {
    let home = Home::new().with("user/x.toml", "titel = 1\nverified = 2\n[stop]\nfirst = \"kill\"\n");
    let error = home.catalog().manifest("x").expect_err("an error");
    let directory = format!("{}/", home.dir.path().display());
    let told: Vec<_> = [causes(&error)].into_iter().chain(error.hints()).collect();
    assert_snapshot!(told.join("\n").replace(&directory, ""), @r#"
    user/x.toml:1:1: unknown setting `titel`; did you mean `title`? (and 2 more)
    also user/x.toml:2:1: `verified` is the number 2; expected a text
    also user/x.toml:4:1: `stop.first` is the text "kill"; expected "interrupt" or "terminate"
    `ralph adapters show x` prints each value and its origin
    "#);
}

#[test]
fn placeholders_are_checked_when_loaded() {
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"stdin\"\nargs = [\"{modle}\"]"), @"user/x.toml:5:1: unknown placeholder `{modle}` in `command.args`; known there: {model}, {agent}, {resume}, {prompt_file}, {ralph}");
    assert_snapshot!(error_in_command("program = \"{model}\"\nprompt = \"stdin\"\nargs = []"), @"user/x.toml:3:1: unknown placeholder `{model}` in `command.program`; known there: {ralph}");
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"stdin\"\nargs = [\"--m={model}\"]"), @"user/x.toml:5:1: `{model}` in `command.args` must be an element of its own: it stands for all of `command.model`");
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"stdin\"\nargs = [\"{model}\"]"), @"user/x.toml:5:1: `command.args` uses `{model}`, but there is no `command.model` to say what it stands for");
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"stdin\"\nargs = []\nmodel = [\"{session}\"]"), @"user/x.toml:6:1: unknown placeholder `{session}` in `command.model`; known there: {model}");
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"stdin\"\nargs = []\n[command.env]\nA = \"{x}\""), @"user/x.toml:7:1: unknown placeholder `{x}` in `command.env.A`; known there: {model}, {agent}, {session}, {prompt_file}, {ralph}");
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"file\"\nargs = []"), @r#"user/x.toml:4:1: with `command.prompt = "file"`, `{prompt_file}` must be in `command.args` or `command.env`"#);
    assert_snapshot!(error_in_command("program = \"x\"\nprompt = \"typed\"\nargs = []"), @r#"user/x.toml:4:1: `command.prompt` is the text "typed"; expected "stdin" or "file""#);
    assert_snapshot!(error_in_command("program = \" \"\nprompt = \"stdin\"\nargs = []"), @"user/x.toml:3:1: `command.program` is empty");
}

#[test]
fn files_that_are_no_manifests_are_named() {
    assert_snapshot!(Home::new().with("user/x.toml", "a = 1\nb = = 2\n").error("x"), @"user/x.toml: line 2, column 5: not valid TOML (extra `=`, expected nothing)");
    assert_snapshot!(Home::new().with("user/x.toml", &format!("id = \"y\"\n{COMPLETE}")).error("x"), @"user/x.toml:1:1: `id` is `y`, but the name of the file makes it `x`");
    assert_snapshot!(Home::new().with("user/My Agent.toml", COMPLETE).error("My Agent"), @"user/My Agent.toml:1:1: `My Agent` cannot name an adapter: lower-case letters, digits, `-`, `_` and `.` only");
    let home = Home::new();
    fs::write(home.dir.path().join("user/x.toml"), b"\xff").expect("a file");
    assert_snapshot!(home.error("x"), @"user/x.toml cannot be read: line 1, column 1: not UTF-8");
}

#[test]
fn one_broken_adapter_does_not_harm_the_others() {
    let home = Home::new()
        .with("user/bad.toml", "nonsense = 1\n")
        .with("user/README.md", "not a manifest");
    let catalog = home.catalog();
    assert!(catalog.manifest("codex").is_ok());
    let listed = catalog.list(home.dir.path());
    let broken: Vec<_> = listed
        .iter()
        .filter(|listed| listed.broken.is_some())
        .map(|listed| &listed.id)
        .collect();
    assert_eq!(broken, ["bad"]);
    assert!(catalog.show("bad").expect("an adapter").contains("# broken: "));
}

#[test]
fn a_program_is_found_from_the_directory_the_session_runs_in() {
    let home = Home::new().configured(json!({"codex": {"command": {"program": "./agent"}}}));
    let program = home.dir.path().join("agent");
    fs::write(&program, "#!/bin/sh\necho 'codex-cli 0.171.0'\n").expect("a script");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    let report = home
        .catalog()
        .check("codex", home.dir.path(), |_| Supervisor::default())
        .expect("a report");
    assert_eq!(report.path, Some(program.clone()));
    assert_eq!(
        report.version,
        check::InstalledVersion::Said("codex-cli 0.171.0".to_owned())
    );
    assert_eq!(report.comparison(), check::Comparison::Same);
    let listed = home.catalog().list(home.dir.path());
    assert!(
        listed
            .iter()
            .any(|listed| listed.installed.as_deref() == Some(&program))
    );
    assert_eq!(
        home.catalog()
            .check("codex", Path::new("/"), |_| Supervisor::default())
            .expect("a report")
            .path,
        None
    );
}

/// The signals for output of aider 0.86.2 in a session that ended with exit code 0.
fn told_by_aider(shown: &str) -> Vec<AgentSignal> {
    let manifest = Catalog::load(&AdapterSources::default())
        .manifest("aider")
        .expect("an adapter");
    let mut parser = terminal_with(manifest.patterns.expect("patterns"));
    let clock = ZonedClock::at("2026-11-20T10:00:00Z");
    let mut out = Vec::new();
    parser.feed(shown.as_bytes(), &clock, &mut out);
    let exit = Some(Exit::Code { code: 0 });
    parser.finish(Finish { exit, stderr: "" }, &clock, &mut out);
    out
}

#[test]
fn aiders_refusals_fail_the_session_although_its_exit_code_is_0() {
    for (shown, kind) in [
        (
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - Incorrect API key provided: x.\n\
             The API provider is not able to authenticate you. Check your API key.\n",
            ProblemKind::Auth,
        ),
        (
            // The spinner erases itself before the message.
            "░█\x08\x08█░\x08\x08  \x08\x08litellm.AuthenticationError: AuthenticationError: OpenAIException - \r\n\
             {\"error\":{\"message\":\"invalid x-api-key\"}}\r\n",
            ProblemKind::Auth,
        ),
        (
            "litellm.RateLimitError: RateLimitError: OpenAIException - slow down\n\
             The API provider has rate limited you. Try again later or check your quotas.\n",
            ProblemKind::RateLimited { until_ms: None },
        ),
        (
            "litellm.InternalServerError: InternalServerError: OpenAIException - Connection error.\n\
             The API provider's servers are down or overloaded.\nRetrying in 0.2 seconds...\n\
             The API provider's servers are down or overloaded.\n",
            ProblemKind::Overloaded,
        ),
        (
            "litellm.BadRequestError: OpenAIException - invalid x-api-key\n",
            ProblemKind::Auth,
        ),
        ("litellm.NotFoundError: no such model\n", ProblemKind::ModelUnknown),
        (
            "Model openai/x has hit a token limit!\nToken counts below are approximate.\n",
            ProblemKind::ContextOverflow,
        ),
        ("litellm.BadRequestError: no\n", ProblemKind::Other),
    ] {
        let out = told_by_aider(shown);
        let problem = out.iter().find_map(|signal| match signal {
            AgentSignal::Problem { problem } => Some(problem.kind),
            _ => None,
        });
        assert_eq!(problem, Some(kind), "{shown}");
        assert!(matches!(out.last(), Some(AgentSignal::TurnEnded { ok: false, .. })));
    }
}

#[test]
fn aiders_tokens_and_costs_are_counted_and_a_failure_that_it_overcame_is_none() {
    let out = told_by_aider(
        "The API provider's servers are down or overloaded.\r\nRetrying in 0.2 seconds...\r\nI will add the file.\r\n\
         Tokens: 2.3k sent, 1.2k cache hit, 112 received. Cost: $0.0012 message, $0.0034 session.\r\n\
         Applied edit to hello.txt\r\nCommit 1a2b3c4 feat: add it\r\n",
    );
    let usage = Usage {
        input_tokens: Some(2_300),
        cached_tokens: Some(1_200),
        output_tokens: Some(112),
        cost_usd: Some(0.0012),
        ..Usage::default()
    };
    assert_eq!(out[0], AgentSignal::Usage { usage });
    assert!(
        matches!(&out[1..], [AgentSignal::TurnEnded { ok: true, .. }]),
        "{out:?}"
    );
    let both = told_by_aider(
        "Tokens: 2.3k sent, 800 cache write, 1.2k cache hit, 112 received.\nCost: $0.03 message, $0.04 session.\n",
    );
    assert_eq!(both.len(), 3, "tokens, cost and the end: {both:?}");
}

#[test]
fn a_pattern_that_is_none_is_refused_with_its_place() {
    let broken = |patterns: &str| {
        Home::new()
            .with("user/x.toml", &format!("{COMPLETE}{patterns}"))
            .error("x")
    };
    let error = broken("[patterns.problem]\nauth = \"(\"\n");
    assert!(
        error.starts_with("user/x.toml:") && error.contains("`patterns.problem.auth`"),
        "{error}"
    );
    let error = broken("[patterns]\nusage = \"Tokens\"\n");
    assert!(error.contains("`(?<input>...)` or `(?<cached>...)`"), "{error}");
    let error = broken("[patterns.problem]\nauht = \"x\"\n");
    assert!(error.contains("auth"), "{error}");
}

#[test]
fn every_agent_that_comes_with_ralph_gets_its_own_keys_and_not_those_of_the_others() {
    let catalog = Catalog::load(&AdapterSources::default());
    let all = catalog.keys();
    for (id, own) in [
        (
            "aider",
            &[
                "ANTHROPIC_API_KEY",
                "DEEPSEEK_API_KEY",
                "GEMINI_API_KEY",
                "OPENAI_API_KEY",
                "OPENROUTER_API_KEY",
            ][..],
        ),
        (
            "claude",
            &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
            ],
        ),
        ("codex", &["CODEX_API_KEY", "OPENAI_API_KEY"]),
        (
            "gemini",
            &[
                "GEMINI_API_KEY",
                "GOOGLE_API_KEY",
                "GOOGLE_GENAI_USE_GCA",
                "GOOGLE_GENAI_USE_VERTEXAI",
            ],
        ),
        ("opencode-run", &PROVIDERS),
        (
            "opencode-server",
            &[&PROVIDERS[..6], &["OPENCODE_SERVER_PASSWORD"], &PROVIDERS[6..]].concat(),
        ),
        ("qwen-code", &["DASHSCOPE_API_KEY", "OPENAI_API_KEY"]),
        #[cfg(feature = "native")]
        (
            "native",
            &[
                "ANTHROPIC_API_KEY",
                "OPENAI_API_KEY",
                "RALPH_NATIVE_API_KEY",
                "RALPH_NATIVE_BASE_URL",
            ],
        ),
    ] {
        let others = catalog.keys_of_others(&catalog.manifest(id).expect("a manifest"));
        let passed: Vec<&String> = all.iter().filter(|name| !others.contains(name)).collect();
        assert_eq!(passed, own, "{id}");
    }
    // The demo agent needs no key and is ralph itself.
    assert!(
        catalog
            .keys_of_others(&catalog.manifest("demo").expect("a manifest"))
            .is_empty()
    );
}

const PROVIDERS: [&str; 7] = [
    "ANTHROPIC_API_KEY",
    "DASHSCOPE_API_KEY",
    "DEEPSEEK_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
];

#[test]
fn an_agent_of_ones_own_gets_all_keys_until_it_names_its_own_and_keeps_what_its_adapter_sets() {
    let home = Home::new().configured(json!({ "codex": { "command": { "env": { "GEMINI_API_KEY": "x" } } } }));
    let home = home.with(
        "user/mine.toml",
        "dialect = \"terminal\"\n[command]\nprogram = \"sh\"\nargs = []\nprompt = \"stdin\"\n",
    );
    let catalog = home.catalog();
    let others = |id: &str| catalog.keys_of_others(&catalog.manifest(id).expect("a manifest"));
    assert!(others("mine").is_empty());
    assert!(!others("codex").contains(&"GEMINI_API_KEY".to_owned()));
    assert!(others("codex").contains(&"GOOGLE_API_KEY".to_owned()));
}

#[test]
fn an_account_is_the_directory_of_the_agents_state_which_an_adapter_may_move() {
    let moved = json!({"claude": {"command": {"env": {"CLAUDE_CONFIG_DIR": "/home/me/.claude-work"}}}});
    let catalog = Catalog::load(&AdapterSources {
        config: vec![Node::from_value(moved, &SettingOrigin::BuiltIn)],
        ..AdapterSources::default()
    });
    let account = |id: &str| catalog.manifest(id).expect("a good manifest").account();
    assert_eq!(account("claude"), "/home/me/.claude-work");
    assert!(account("codex").contains("codex"));
    assert_eq!(account("demo"), "demo");
}

#[test]
fn another_account_of_an_agent_is_an_adapter_on_the_base_of_its_own() {
    let second = json!({
        "codex-work": {"base": "codex", "command": {"env": {"CODEX_HOME": "/home/me/.codex-work"}}},
        "codex": {"command": {"program": "/opt/codex"}},
        "third": {"base": "codex-work"},
        "lost": {"base": "code"},
    });
    let catalog = Catalog::load(&AdapterSources {
        config: vec![Node::from_value(second, &SettingOrigin::BuiltIn)],
        ..AdapterSources::default()
    });
    let [first, second] = ["codex", "codex-work"].map(|id| catalog.manifest(id).expect("a good manifest"));
    assert_eq!(
        (&*second.id, &second.command.program),
        ("codex-work", &first.command.program)
    );
    assert_eq!(second.account(), "/home/me/.codex-work");
    assert_ne!(first.account(), second.account());
    assert_eq!(second.state[0], "/home/me/.codex-work");
    assert!(
        second
            .credentials
            .files
            .contains(&"/home/me/.codex-work/auth.json".to_owned()),
        "{:?}",
        second.credentials
    );
    let shown = catalog.show("codex-work").expect("an adapter");
    assert!(
        shown.contains("id = \"codex-work\"") && shown.contains("program = \"/opt/codex\""),
        "{shown}"
    );
    for (id, why) in [
        ("third", "which has a `base` itself"),
        ("lost", "`base` is `code`, which does not exist"),
    ] {
        let error = catalog.manifest(id).expect_err("no such base");
        assert!(ralph_text::with_causes(&error).contains(why), "{error:?}");
    }
}
