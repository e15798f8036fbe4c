//! Errors that are found before anything is started.

use std::{ffi::OsStr, os::unix::ffi::OsStrExt};

use super::assert_refused;
use crate::harness::{SOON, Sandbox, Script};

/// A sandbox with a working adapter.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox
}

/// Checks that `args` are refused and that the tree is unchanged.
#[track_caller]
fn refused(sandbox: &Sandbox, args: &[&str], code: i32, naming: &[&str], hint: &str) {
    let before = tree(sandbox);
    let finished = sandbox.looping(args).run(SOON);
    assert_refused(sandbox, &finished, code, naming, hint);
    assert_eq!(tree(sandbox), before, "the tree was touched");
}

fn tree(sandbox: &Sandbox) -> String {
    sandbox.git(["status", "--porcelain", "--ignored"]) + &sandbox.git(["for-each-ref"])
}

#[test]
fn a_project_without_a_plan() {
    let sandbox = sandbox();
    std::fs::remove_file(sandbox.project().join("PLAN.md")).unwrap();
    let project = sandbox.project();
    refused(
        &sandbox,
        &[],
        3,
        &["no plan in", project.to_str().unwrap()],
        "`ralph init` creates one",
    );
}

#[test]
fn a_plan_that_is_not_there() {
    refused(
        &sandbox(),
        &["--plan", "NOPE.md"],
        3,
        &["NOPE.md", "no such plan"],
        "--plan FILE",
    );
}

#[test]
fn a_plan_that_is_empty() {
    let sandbox = sandbox();
    sandbox.write("E.md", " \n\n");
    refused(&sandbox, &["--plan", "E.md"], 3, &["E.md", "empty"], "- [ ]");
}

#[test]
fn a_plan_that_is_a_directory() {
    let sandbox = sandbox();
    sandbox.write("plans/one.md", "- [ ] One\n");
    refused(
        &sandbox,
        &["--plan", "plans"],
        3,
        &["plans", "it is a directory"],
        "--plan FILE",
    );
}

#[test]
fn a_plan_that_is_not_utf8() {
    let sandbox = sandbox();
    std::fs::write(sandbox.project().join("L.md"), b"- [ ] one\n- [ ] gr\xfc\xdfen\n").unwrap();
    refused(
        &sandbox,
        &["--plan", "L.md"],
        3,
        &["L.md", "line 2, column 9", "not UTF-8"],
        "UTF-8",
    );
}

#[test]
fn a_plan_without_tasks() {
    let sandbox = sandbox();
    sandbox.write("T.md", "# Plan\n\n- just a list\n\n```\n- [ ] an example\n```\n");
    refused(&sandbox, &["--plan", "T.md"], 3, &["T.md", "no task found"], "- [ ]");
}

#[test]
fn a_plan_in_broken_json() {
    let sandbox = sandbox();
    sandbox.write("b.json", "{\n  \"userStories\": [\n");
    refused(
        &sandbox,
        &["--plan", "b.json"],
        3,
        &["b.json", "line 2", "not valid JSON"],
        "plain JSON",
    );
}

#[test]
fn an_adapter_that_is_mistyped() {
    refused(
        &sandbox(),
        &["--adapter", "scrpt"],
        3,
        &["no adapter `scrpt`"],
        "did you mean `script`?",
    );
}

#[test]
fn an_adapter_that_nothing_resembles() {
    refused(&sandbox(), &["--adapter", "zzz"], 3, &["no adapter `zzz`"], "codex");
}

#[test]
fn an_adapter_whose_program_is_missing() {
    let sandbox = sandbox();
    sandbox.install_adapter(
        "absent",
        "id = \"absent\"\ndialect = \"terminal\"\n[command]\nprogram = \"no-such-agent\"\nargs = []\nprompt = \"stdin\"\n\
         [install]\nhint = \"make install-the-agent\"\n",
    );
    let naming = ["adapter `absent`", "`no-such-agent` is not on PATH"];
    refused(&sandbox, &["--adapter", "absent"], 4, &naming, "make install-the-agent");
}

#[test]
fn an_adapter_with_a_mistake() {
    let sandbox = sandbox();
    sandbox.install_adapter(
        "odd",
        "id = \"odd\"\ndialect = \"terminl\"\n[command]\nprogram = \"sh\"\nargs = []\nprompt = \"stdin\"\n",
    );
    let naming = [
        "odd.toml:2",
        "`dialect` is the text \"terminl\" (did you mean \"terminal\"?)",
    ];
    refused(&sandbox, &["--adapter", "odd"], 3, &naming, "ralph adapters show odd");
}

#[test]
fn an_adapter_with_an_unknown_placeholder() {
    let sandbox = sandbox();
    sandbox.install_adapter(
        "odd",
        "id = \"odd\"\ndialect = \"terminal\"\n[command]\nprogram = \"sh\"\nargs = [\"{modle}\"]\nprompt = \"stdin\"\n",
    );
    refused(&sandbox, &["--adapter", "odd"], 3, &["odd.toml", "modle"], "");
}

#[test]
fn a_configuration_that_is_broken() {
    let sandbox = sandbox();
    sandbox.write(".ralph/config.json", "{\n  \"limits\": {\n    \"maxTime\": \"1h\"\n");
    refused(
        &sandbox,
        &[],
        3,
        &[".ralph/config.json", "line", "not valid JSON"],
        "comments",
    );
}

#[test]
fn a_setting_that_does_not_exist() {
    let sandbox = sandbox();
    sandbox.write(
        ".ralph/config.json",
        "{\n  // comments are fine\n  \"limits\": { \"maxTme\": \"1h\" }\n}\n",
    );
    let naming = [".ralph/config.json:3", "unknown setting `limits.maxTme`"];
    refused(&sandbox, &[], 3, &naming, "did you mean `limits.maxTime`?");
}

#[test]
fn a_setting_of_the_wrong_type() {
    let sandbox = sandbox();
    let config = sandbox.config().join("ralph/config.json");
    std::fs::write(&config, "{ \"limits\": { \"maxTime\": 90 } }\n").unwrap();
    let place = format!("{}:1", config.display());
    refused(
        &sandbox,
        &[],
        3,
        &[&place, "`limits.maxTime` is the number 90", "\"90s\""],
        "ralph config",
    );
}

#[test]
fn a_configuration_file_that_is_not_there() {
    refused(
        &sandbox(),
        &["--config", "nope.json"],
        3,
        &["nope.json"],
        "ralph config",
    );
}

#[test]
fn a_variable_or_flag_with_a_value_that_means_nothing() {
    let sandbox = sandbox();
    refused(
        &sandbox,
        &["--max-time", "soon"],
        3,
        &["--max-time", "soon", "90s"],
        "ralph --help",
    );
    let finished = sandbox
        .looping([] as [&str; 0])
        .env("RALPH_LIMITS_IDLE_TIMEOUT", "-1s")
        .run(SOON);
    assert_refused(
        &sandbox,
        &finished,
        3,
        &["RALPH_LIMITS_IDLE_TIMEOUT", "-1s"],
        "ralph config",
    );
}

#[test]
fn a_prompt_with_an_unknown_placeholder() {
    let sandbox = sandbox();
    sandbox.write(".ralph/prompt.md", "Work.\nYour task: {tsk}\n");
    let naming = [".ralph/prompt.md", "line 2, column 12", "unknown placeholder `{tsk}`"];
    refused(&sandbox, &[], 3, &naming, "did you mean `{task}`?");
}

#[test]
fn a_prompt_file_that_is_not_there() {
    refused(
        &sandbox(),
        &["--prompt-file", "nope.md"],
        3,
        &["nope.md", "cannot be read"],
        "--prompt-file",
    );
}

#[test]
fn a_command_line_that_makes_no_sense() {
    let sandbox = sandbox();
    refused(&sandbox, &["--max-tiem", "3"], 2, &["--max-tiem"], "--max-time");
    refused(
        &sandbox,
        &["--format", "yaml"],
        2,
        &["yaml", "text, jsonl"],
        "ralph --help",
    );
    refused(&sandbox, &["frobnicate"], 2, &["frobnicate"], "ralph -h");
    refused(&sandbox, &["stauts"], 2, &["stauts"], "ralph status");
    refused(&sandbox, &["logs"], 2, &["logs"], "ralph status --watch");
    refused(
        &sandbox,
        &["build", "a", "web", "app"],
        2,
        &["build a web app"],
        "ralph \"build a web app\"",
    );
    refused(&sandbox, &["TODO.md"], 3, &["TODO.md"], "- [ ] ");
    refused(&sandbox, &["PLAN.md", "--plan", "PLAN.md"], 2, &["PLAN.md"], "once");
    refused(
        &sandbox,
        &["diff", "abc"],
        2,
        &["abc", "a whole number"],
        "ralph diff --help",
    );
    refused(
        &sandbox,
        &["--prompt", "a", "--prompt-file", "b"],
        2,
        &["--prompt"],
        "ralph --help",
    );
}

#[test]
fn commands_to_a_loop_that_is_not_there() {
    let sandbox = sandbox();
    for args in [&["pause"][..], &["resume"], &["skip"], &["stop"]] {
        let finished = sandbox.ralph(args).run(SOON);
        assert_refused(
            &sandbox,
            &finished,
            1,
            &["ralph is not running in this project"],
            "ralph status",
        );
    }
    // The message would be left for the last run, but there is none.
    let finished = sandbox.ralph(["steer", "hello"]).run(SOON);
    assert_refused(
        &sandbox,
        &finished,
        1,
        &["no runs in this project yet"],
        "start one with `ralph`",
    );
    let finished = sandbox.ralph(["status"]).run(SOON);
    assert_refused(&sandbox, &finished, 1, &["no runs in this project yet"], "ralph demo");
    let finished = sandbox.ralph(["restore"]).run(SOON);
    assert_refused(
        &sandbox,
        &finished,
        1,
        &["no runs in this project yet"],
        "ralph PLAN.md",
    );
}

#[test]
fn a_model_for_an_agent_that_cannot_be_given_one() {
    let sandbox = sandbox();
    for (flag, what) in [("--model", "a model (`opus`)"), ("--agent", "an agent (`opus`)")] {
        let finished = sandbox.looping([flag, "opus"]).run(SOON);
        let said = ["adapter `script` has no option for", what];
        assert_refused(&sandbox, &finished, 3, &said, &format!("leave `{flag}` out"));
        assert!(sandbox.paths().run_ids().is_empty(), "no run began");
    }
}

#[test]
fn a_limit_on_cost_with_an_agent_that_reports_none() {
    let sandbox = sandbox();
    let unbound = "`--max-time TIME` or `--max-iterations N` bounds it instead";
    for flag in ["--max-cost-usd", "--max-cost-usd-per-task", "--max-cost-usd-per-day"] {
        let finished = sandbox.looping(["--adapter", "demo", flag, "20"]).run(SOON);
        let said = ["demo reports no cost, so a limit on cost would not end the run"];
        assert_refused(&sandbox, &finished, 3, &said, unbound);
    }
    // An agent that reports tokens has a cost once its model has a price.
    let native = ["--adapter", "native", "--model", "gpt-5", "--max-cost-usd", "20"];
    let prices = |name: &str| ("RALPH_PRICES", format!(r#"{{"{name}": {{"input": 1, "output": 2}}}}"#));
    let keyed = || {
        sandbox
            .looping(native)
            .env("OPENAI_API_KEY", "x")
            .env("OPENAI_BASE_URL", "http://127.0.0.1:9")
    };
    let finished = keyed().run(SOON);
    let said = ["native reports no cost, and `prices` has no price for gpt-5"];
    let example = r#"`"prices": { "gpt-5": { "input": 1.25, "output": 10 } }` in your settings"#;
    assert_refused(&sandbox, &finished, 3, &said, example);
    let (name, other) = prices("claude");
    let finished = keyed().env(name, other).run(SOON);
    assert_refused(&sandbox, &finished, 3, &said, example);
    // Every model that the run may use needs one.
    let (name, price) = prices("gpt");
    let escalating = keyed().env(name, &price).env("RALPH_ESCALATE", "o5").run(SOON);
    let said = ["native reports no cost, and `prices` has no price for o5"];
    assert_refused(&sandbox, &escalating, 3, &said, r#""o5""#);
    assert!(sandbox.paths().run_ids().is_empty(), "no run began");
    for name in ["gpt", "native"] {
        let (variable, price) = prices(name);
        let finished = keyed().env(variable, price).args(["--max-time", "1s"]).run(SOON);
        assert_ne!(finished.code(), Some(3), "{finished:?}");
    }
}

#[test]
fn a_limit_on_tokens_with_an_agent_that_reports_none() {
    let sandbox = sandbox();
    for flag in ["--max-tokens", "--max-tokens-per-task", "--max-tokens-per-day"] {
        let finished = sandbox.looping(["--adapter", "demo", flag, "20000"]).run(SOON);
        let said = ["demo reports no tokens, so a limit on tokens would not end the run"];
        let instead = "`--max-time TIME` or `--max-iterations N` bounds it instead, with `--max-tokens unlimited`";
        assert_refused(&sandbox, &finished, 3, &said, instead);
    }
    assert!(sandbox.paths().run_ids().is_empty(), "no run began");
}

#[test]
fn prices_where_they_once_were() {
    let sandbox = sandbox();
    sandbox.write("old.json", r#"{ "native": { "prices": {} } }"#);
    let finished = sandbox.looping(["--config", "old.json"]).run(SOON);
    let said = ["unknown setting `native.prices`"];
    assert_refused(&sandbox, &finished, 3, &said, "did you mean `prices`?");
}

#[test]
fn a_model_without_the_provider_that_the_agent_wants() {
    let sandbox = sandbox();
    let adapter = "dialect = \"terminal\"\nmodel.form = \"provider/name\"\n[command]\nprogram = \"true\"\n\
                   args = [\"{model}\"]\nmodel = [\"{model}\"]\nprompt = \"stdin\"\n";
    sandbox.install_adapter("picky", adapter);
    let finished = sandbox.ralph(["--adapter", "picky", "--model", "gpt-5"]).run(SOON);
    let said = ["adapter `picky` needs the model as `provider/name`, got `gpt-5`"];
    assert_refused(&sandbox, &finished, 3, &said, "--model PROVIDER/gpt-5");
    assert!(sandbox.paths().run_ids().is_empty(), "no run began");
}

#[test]
fn a_session_that_is_to_be_continued_on_a_channel_that_cannot() {
    let sandbox = sandbox();
    sandbox.install_adapter("gemini", "[command]\nprogram = \"sh\"\n");
    let args = ["--adapter", "gemini", "--session", "resume", "--channel", "live"];
    let finished = sandbox.ralph(args).run(SOON);
    let said = ["adapter `gemini` cannot continue a session on its live channel"];
    assert_refused(&sandbox, &finished, 2, &said, "--channel one-way");
    assert!(sandbox.paths().run_ids().is_empty(), "no run began");
}

#[test]
fn the_one_way_channel_of_an_adapter_that_has_only_a_live_one() {
    let sandbox = sandbox();
    let adapter = "[command]\nprogram = \"sh\"\n[live]\nprotocol = \"acp\"\nargs = []\n";
    sandbox.install_adapter("mine", adapter);
    let finished = sandbox.ralph(["--adapter", "mine", "--channel", "one-way"]).run(SOON);
    let said = ["adapter `mine` has only a live channel"];
    assert_refused(&sandbox, &finished, 2, &said, "--channel auto");
}

#[test]
fn an_adapter_of_a_program_that_claims_to_take_messages_while_it_works() {
    let sandbox = sandbox();
    let adapter = "dialect = \"terminal\"\ncapabilities.live_steering = true\n[command]\nprogram = \"true\"\n\
                   args = []\nprompt = \"stdin\"\n";
    sandbox.install_adapter("eager", adapter);
    let finished = sandbox.ralph(["--adapter", "eager"]).run(SOON);
    let said = [
        "eager.toml:2",
        "`capabilities.live_steering` needs `transport = \"http\"`",
    ];
    assert_refused(&sandbox, &finished, 3, &said, "ralph adapters show eager");
}

#[test]
fn a_project_path_that_is_not_utf8_is_refused_by_every_command() {
    let sandbox = sandbox();
    let odd = sandbox.home().join(OsStr::from_bytes(b"caf\xe9"));
    let project = odd.join("project");
    std::fs::create_dir_all(&project).unwrap();
    std::fs::write(project.join("PLAN.md"), "- [ ] One\n").unwrap();
    let rename = format!("mv $'{}/caf\\xe9' NEW-NAME", sandbox.home().display());
    let naming = ["the project's path is not valid UTF-8", "caf\u{fffd}/project"];
    for args in [
        &["status"][..],
        &["doctor"],
        &["steer", "hello"],
        &["report"],
        &["config"],
        &["goals", "check"],
    ] {
        let finished = sandbox.ralph(args).current_dir(&project).run(SOON);
        assert_refused(&sandbox, &finished, 3, &naming, &rename);
    }
    let finished = sandbox.looping([] as [&str; 0]).current_dir(&project).run(SOON);
    assert_refused(&sandbox, &finished, 3, &naming, &rename);
    // The command that the hint suggests works.
    let script = format!("cd .. && mv $'{}' cafe", odd.as_os_str().as_bytes().escape_ascii());
    let renamed = sandbox
        .program("bash")
        .args(["-c", &script])
        .current_dir(&odd)
        .run(SOON);
    assert_eq!(renamed.code(), Some(0), "{renamed:?}");
    let project = sandbox.home().join("cafe/project");
    let finished = sandbox.ralph(["config"]).current_dir(&project).run(SOON);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
}

#[test]
fn a_plan_whose_name_is_not_utf8_is_refused_by_name() {
    let sandbox = sandbox();
    let name = OsStr::from_bytes(b"caf\xe9.md");
    std::fs::write(sandbox.project().join(name), "- [ ] One\n").unwrap();
    let naming = ["`caf\u{fffd}.md` on the command line is not valid UTF-8"];
    let finished = sandbox.looping([OsStr::new("--plan"), name]).run(SOON);
    assert_refused(&sandbox, &finished, 3, &naming, "mv $'caf\\xe9.md' NEW-NAME");
}

#[test]
fn settings_of_tasks_that_are_mistakes_are_refused_with_line_column_and_suggestion() {
    let sandbox = sandbox();
    let plan = |task: &str| sandbox.write("T.md", &format!("# Plan\n\n- [ ] one\n- [x] two\n- [ ] three {task}\n"));
    for (task, code, wrong, hint) in [
        (
            "{modle=x}",
            3,
            "line 5, column 14: unknown task setting `modle`",
            "in backticks",
        ),
        (
            "{adapter=codx}",
            3,
            "line 5, column 13: there is no adapter `codx`",
            "did you mean `codex`?",
        ),
        (
            "{model=x}",
            3,
            "line 5, column 13: adapter `script` has no option for a model",
            "from the task",
        ),
        (
            "{adapter=gone}",
            4,
            "line 5, column 13: adapter `gone`: program",
            "PATH",
        ),
    ] {
        sandbox.install_adapter(
            "gone",
            "id = \"gone\"\ndialect = \"terminal\"\ntitle = \"gone\"\n[command]\nprogram = \"no-such-program\"\nprompt = \"stdin\"\nargs = []\n",
        );
        plan(task);
        refused(&sandbox, &["--plan", "T.md"], code, &["T.md", wrong], hint);
    }
    sandbox.write("t.json", r#"[{"title": "a", "adapter": "script", "model": true}]"#);
    refused(
        &sandbox,
        &["--plan", "t.json"],
        3,
        &["t.json", "line 1, column 47", "`model` is true"],
        "",
    );
    let before = tree(&sandbox);
    let escalating = sandbox.looping([] as [&str; 0]).env("RALPH_ESCALATE", "big");
    let naming = ["`escalate`, \"big\": adapter `script` has no option for a model"];
    assert_refused(
        &sandbox,
        &escalating.run(SOON),
        3,
        &naming,
        "ralph adapters show script",
    );
    for (reviewer, code, wrong, hint) in [
        (
            "codx",
            3,
            "`review`: there is no adapter `codx`",
            "did you mean `codex`?",
        ),
        ("gone", 4, "`review`: adapter `gone`: program", "PATH"),
    ] {
        refused(&sandbox, &["--review", reviewer], code, &[wrong], hint);
    }
    assert_eq!(tree(&sandbox), before);
    // A finished task no longer needs its adapter.
    plan("{adapter=script}\n- [x] four {adapter=codx}");
    assert_eq!(sandbox.looping(["--plan", "T.md"]).run(SOON).code(), Some(0));
}
