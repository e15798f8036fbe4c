//! Declares every setting of a configuration.
//!
//! A setting is a single row; see [`settings!`]. The doc comments of the rows are the descriptions in the schema, in
//! editors and in the reference, so they address users. A setting without any effect must not be declared, so that
//! using it is reported as an error.

use ralph_agent::Channel;
use ralph_core::event::{
    BackgroundLimits, Backoff, Bite, BreakerLimits, DayLimits, GoalsWhen, Limits, Mode, OnDayLimit, Proof, ReviewWhen,
    SessionMode, TaskLimits,
};
use ralph_policy::{
    settings,
    settings::{
        Amount, BigCount, Duration, FilePath, Fraction, Limit, Maybe, NameList, NamedChoice, OneOf, OptionalLimit,
        Percent, PositiveCount, Prose, Sample, SettingsRecord, SettingsSection, SingleLine, Switch, WholeNumber,
    },
};

use super::{
    goals::Goals,
    keys::SharedKeys,
    languages::LanguageServers,
    listen::{ListenAddress, ProxyHosts},
    mcp::McpTables,
    native::Native,
    permissions::PermissionSettings,
    sandbox::SandboxSettings,
    screen::ScreenSettings,
    values::{AdapterTables, Notify, PageAddress, Promise, ServerAddress},
};

/// Settings of earlier versions, with their replacements.
pub(super) const REMOVED: &[(&str, &str)] = &[(
    "completion.requireDualCondition",
    "`completion.minConfidence` decides it: at 10, one claim is enough where nothing proves it; at 50, it has to be \
     repeated",
)];

settings! {
    /// The configuration of ralph.
    pub struct Config {
        /// The adapter of the agent to run: `ralph adapters list` has them all. null takes the one that is installed and logged
        /// in; of several the one that was chosen when ralph asked or with `ralph adapters use`, else the first of
        /// opencode-server, claude, codex, gemini, qwen-code and aider; where there is none of these, ralph's own, if it has a key.
        #[flag("--adapter", "ID", "The agent's adapter; `ralph adapters list` shows them [default: the one that is logged in; `ralph adapters use` says which of several]")]
        adapter("adapter"): Option<SingleLine> = null,
        /// The model, as the agent names it. null leaves it to the agent.
        #[flag("--model", "NAME", "The model, as the agent names it")]
        model("model"): Option<SingleLine> = null,
        /// The agent's own profile, such as `build` or `plan` of opencode. null leaves it to the agent.
        #[flag("--agent", "NAME", "opencode's own agent, such as build or plan")]
        agent("agent"): Option<SingleLine> = null,
        /// The server that the adapter `opencode-server` uses, such as "http://127.0.0.1:4190". null starts one for the run.
        /// A password comes from OPENCODE_SERVER_PASSWORD.
        #[flag("--server", "URL", "The opencode server to use [default: start one for the run]")]
        server("server"): Option<ServerAddress> = null,
        /// Milliseconds a connection to that server may take, and its answer to whether it is well.
        #[flag("--server-timeout", "MS", "Milliseconds that the server may take to answer [default: 5000]")]
        server_timeout_ms("serverTimeout"): WholeNumber<1, 600_000> = 5000,
        permissions("permissions"): SettingsSection<PermissionSettings>,
        sandbox("sandbox"): SettingsSection<SandboxSettings>,
        keys("keys"): SettingsSection<SharedKeys>,
        /// How ralph talks with the agent. "one-way": it gets its prompt and is listened to. "live": it can be told something
        /// while it works, so that messages reach the running turn; an agent without such a channel is refused. "auto" takes
        /// the live one where rules need it, and where somebody watches on a screen who gets more of it: messages that reach
        /// the turn, or text as it is written. `ralph adapters list` shows who has one.
        #[flag("--channel", "MODE", "How ralph talks with the agent: auto, one-way or live [default: auto]")]
        channel("channel"): OneOf<Channel> = "auto",
        /// The plan, relative to the project. null takes PLAN.md, or else the plan of a mode that exists: prd.json,
        /// IMPLEMENTATION_PLAN.md, REFACTOR_PLAN.md, @fix_plan.md or fix_plan.md; the last ones also in .ralph. At last, PROMPT.md.
        #[flag("--plan", "FILE", "The plan: a checklist in Markdown, or a prd.json [default: PLAN.md, else that of a mode: prd.json, IMPLEMENTATION_PLAN.md, REFACTOR_PLAN.md, @fix_plan.md]")]
        plan("plan"): Option<FilePath> = null,
        /// The section of the plan that a run works through, by the words of its heading: tasks outside of it are no matter. null is all
        /// of the plan. `ralph many --each-section` gives one to each of its runs.
        #[flag("--section", "NAME", "Work through one section of the plan only, by the words of its heading [default: all of it]")]
        section("section"): Option<SingleLine> = null,
        /// What kind of work is done: "implementation", "refactor" (what the code does stays the same) or "fix" (reproduced before it is
        /// fixed). It chooses the plan, what the built-in instructions ask for, and what the agent reads besides: PROMPT.md, PRD.md,
        /// REFACTOR.md, specs, @AGENT.md, AGENT.md, progress.txt. null goes by the plan's name; PLAN.md stands for no mode.
        #[flag("--mode", "MODE", "What kind of work: implementation, refactor or fix [default: by the plan's name]")]
        mode("mode"): Option<OneOf<Mode>> = null,
        /// Instructions in place of the built-in ones, with {plan}, {task}, {iteration}, {progress} and {last_message} in them;
        /// {{task}} is the text {task}. What the user steers and how to end is added by ralph.
        #[flag("--prompt", "TEXT", "Instructions instead of the built-in ones; {plan}, {task}, {iteration}, {progress} and {last_message} are filled in")]
        prompt("prompt"): Option<Prose> = null,
        /// A file with such instructions, relative to the project. Only one of the two may be set in one place.
        #[flag("--prompt-file", "FILE", "A file with such instructions [default: .ralph/prompt.md if it exists]")]
        prompt_file("promptFile"): Option<FilePath> = null,
        /// Whether a prompt has what the session before reported at its end, quoted, and the names of the files that it changed:
        /// 1 KB at most. A session that is continued is told neither.
        handover("handover"): Switch = true,
        /// "fresh": every iteration begins without memory of the one before. "resume": it continues the session.
        #[flag("--session", "MODE", "Whether an iteration starts a new session or continues the last one: fresh or resume [default: fresh]")]
        session("session"): OneOf<SessionMode> = "fresh",
        limits("limits"): SettingsSection<LimitSettings>,
        backoff("backoff"): SettingsSection<BackoffSettings>,
        /// Adapters that take over while the first one is limited, in this order, until it is back: ["claude", "codex"]. One
        /// that is not installed is left out with a notice.
        fallback("fallback"): NameList<Adapters> = [],
        /// Who takes over a task that iterations get nowhere with, one after the other: models of the adapter, or of another as
        /// `adapter/model`: ["sonnet", "codex/gpt-5.4"]. An iteration got nowhere if its claim was refused, it failed, or it made
        /// no progress; limits and questions do not count. The last one stays, and the next task begins as every task does.
        escalate("escalate"): NameList<Workers> = [],
        /// Iterations that get nowhere with a task, after which the next of `escalate` takes over.
        escalate_after("escalateAfter"): PositiveCount = 2,
        review("review"): SettingsSection<Review>,
        /// What ralph runs itself before it believes that the work is done, by `sh -c` in the project. Without a target a goal
        /// passes when its command exits with 0; with one, the last number it prints has to reach it, too.
        /// "goals": [ { "name": "tests", "command": "cargo test", "timeout": "15m" },
        ///            { "name": "coverage", "command": "./coverage.sh", "target": 80 },
        ///            { "name": "api", "command": "go test ./...", "workspace": "services/api", "description": "the API's tests",
        ///              "enabled": false } ]
        /// `workspace` is the directory of the project in which a goal runs, and a goal with `enabled` false is left out.
        /// 15m is the timeout of a goal that names none. `--goal NAME=COMMAND` adds one; `ralph goals check` runs them alone.
        #[flag("--goal", "NAME=COMMAND", "A command that has to pass; can be repeated, adds to configured goals")]
        goals("goals"): Goals = [],
        /// Whether goals are run side by side or one after the other.
        goals_parallel("goalsParallel"): Switch = true,
        /// "claim": goals are run when the agent claims to be done. "iteration": after every iteration, and a claim goes by the
        /// same results. "both" means "iteration".
        goals_when("goalsWhen"): OneOf<GoalsWhen> = "claim",
        completion("completion"): SettingsSection<CompletionSettings>,
        gate("gate"): SettingsSection<Gate>,
        tools("tools"): SettingsSection<ToolSettings>,
        /// MCP servers of your own, by name, that every agent gets which can be told of them; each is started by the agent:
        /// "mcp": { "serena": { "command": "uvx", "args": ["--from", "serena-agent", "serena", "start-mcp-server"], "env": {} } }
        mcp("mcp"): McpTables = {},
        background("background"): SettingsSection<BackgroundSettings>,
        /// Changes to the language servers that ralph knows, and others, by name: each has `command`, `args`, the `extensions` of its
        /// files, `roots` (files that a root has), `language` (what the protocol calls it), `options` (its own), and `enabled`:
        /// "languageServers": { "pylsp": { "enabled": false }, "nixd": { "command": "nixd", "extensions": ["nix"], "roots": ["flake.nix"] } }
        language_servers("languageServers"): LanguageServers = {},
        checkpoint("checkpoint"): SettingsSection<CheckpointSettings>,
        breaker("breaker"): SettingsSection<BreakerSettings>,
        /// Changes to adapters, and adapters of your own, by id and with the keys of a manifest:
        /// "adapters": { "codex": { "command": { "program": "/opt/codex/bin/codex" } } }
        adapters("adapters"): AdapterTables = {},
        native("native"): SettingsSection<Native>,
        /// How somebody who looks elsewhere is told that the run is over or needs them: "none", on the screen "bell" and
        /// "osc9" (a notification of the terminal emulator), or, headless as well, a command, which finds the reason in
        /// RALPH_REASON, and in RALPH_URL a link to the page, where there is one (`page`).
        notify("notify"): Notify = "osc9",
        /// Where you reach the page with your runs, such as `https://ralph.example.org`: a `notify` command finds a link there in
        /// RALPH_URL, to the run or to what is asked. null takes the address where the run listens, if it does.
        page("page"): Option<PageAddress> = null,
        /// Where the HTTP API of a run is served, such as "127.0.0.1:4180", to whoever has the token that `ralph token` prints;
        /// port 0 takes a free one. null serves it nowhere but on the run's own socket. Not for a project's own file: only yours.
        #[flag("--listen", "ADDRESS", "Serve the run's HTTP API here, such as 127.0.0.1:4180; `ralph token` prints its token [default: nowhere]")]
        listen("listen"): Option<ListenAddress> = null,
        /// Names under which a proxy that encrypts passes requests on to that address, which may then be one that other machines
        /// reach: ["ralph.example.org"]. Not for a project's own file: only yours.
        #[flag("--behind-proxy", "HOSTS", "Names under which an encrypting proxy passes requests on to that address, separated by commas")]
        behind_proxy("behindProxy"): ProxyHosts = [],
        screen("screen"): SettingsSection<ScreenSettings>,
        keep("keep"): SettingsSection<RetentionSettings>,
    }
}

settings! {
    /// Durations are written 500ms, 90s, 10m, 8h, 1h30m or 2d. Only "unlimited" removes a limit.
    pub struct LimitSettings for Limits {
        /// Iterations in a run.
        #[flag("--max-iterations", "N", "Stop after N iterations, or \"unlimited\" [default: 50]")]
        max_iterations("maxIterations"): Limit<PositiveCount> = 50,
        /// Time a run may take. It ends an iteration that is running.
        #[flag("--max-time", "TIME", "Stop after this total time, such as 90s, 10m, 8h, or \"unlimited\" [default: 8h]")]
        max_time_ms("maxTime"): Limit<Duration> = "8h",
        /// Time one iteration may take.
        #[flag("--iteration-timeout", "TIME", "End an iteration after this time, or \"unlimited\" [default: 60m]")]
        iteration_timeout_ms("iterationTimeout"): Limit<Duration> = "60m",
        /// Time an agent may be idle: it writes nothing, and none of its processes uses the CPU.
        #[flag("--idle-timeout", "TIME", "End an iteration that was idle (no output, no CPU) for this time, or \"unlimited\" [default: 10m]")]
        idle_timeout_ms("idleTimeout"): Limit<Duration> = "10m",
        /// Time ralph's own work before an iteration may take, and after it: checkpoint, plan and prompt. A run whose
        /// checkpoint does not end is ended; a very large repository may need more.
        phase_timeout_ms("phaseTimeout"): Maybe<Duration> = "10m",
        /// Dollars a run may cost, as far as the agent reports them. null is unlimited.
        #[flag("--max-cost-usd", "USD", "Stop when the agent has reported this cost [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Tokens a run may use, as far as the agent reports them. null is unlimited.
        #[flag("--max-tokens", "N", "Stop when the agent has reported so many tokens [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
        /// Iterations that may begin within an hour. null is unlimited.
        #[flag("--calls-per-hour", "N", "Start at most N iterations an hour [default: unlimited]")]
        calls_per_hour("callsPerHour"): OptionalLimit<PositiveCount> = null,
        /// Uses of tools in one iteration, which ends with the one beyond. null is unlimited.
        max_steps("maxSteps"): OptionalLimit<PositiveCount> = null,
        per_task("perTask"): SettingsSection<TaskLimitSettings>,
        per_day("perDay"): SettingsSection<DayLimitSettings>,
    }
}

settings! {
    /// What a run may use for one task of the plan. A task that has used it up is set aside, as one that is blocked, and the run
    /// goes on with the others; `ralph continue` with a higher limit takes it up again.
    pub struct TaskLimitSettings for TaskLimits {
        /// Iterations on a task. null is unlimited.
        #[flag("--max-iterations-per-task", "N", "Set a task aside after N iterations on it [default: unlimited]")]
        max_iterations("maxIterations"): OptionalLimit<PositiveCount> = null,
        /// Dollars a task may cost, as far as the agent reports them. It ends an iteration that is running. null is unlimited.
        #[flag("--max-cost-usd-per-task", "USD", "Set a task aside when the agent has reported this cost for it [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Tokens a task may use, as far as the agent reports them. It ends an iteration that is running. null is unlimited.
        #[flag("--max-tokens-per-task", "N", "Set a task aside when the agent has reported so many tokens for it [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
    }
}

settings! {
    /// What all runs of the project may use together in a day, from midnight to midnight on your clock.
    pub struct DayLimitSettings for DayLimits {
        /// Dollars a day may cost, as far as agents report them. It ends an iteration that is running. null is unlimited.
        #[flag("--max-cost-usd-per-day", "USD", "Wait for tomorrow when agents have reported this cost today [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Tokens a day may use, as far as agents report them. It ends an iteration that is running. null is unlimited.
        #[flag("--max-tokens-per-day", "N", "Wait for tomorrow when agents have reported so many tokens today [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
        /// What a run does then. "wait": it goes on at midnight; one whose `maxTime` ends before that stops at once. "stop": it
        /// stops.
        on_limit("onLimit"): OneOf<OnDayLimit> = "wait",
    }
}

settings! {
    /// Delays after a failure: `base`, doubled with each further failure, at most `max`, and up to the share `jitter` of it
    /// more.
    pub struct BackoffSettings for Backoff {
        /// Delay after the first failure.
        base_ms("base"): Duration = "5s",
        /// Longest delay after a failure.
        max_ms("max"): Duration = "5m",
        /// Share of a delay that is added at random, 0 to 1.
        jitter("jitter"): Fraction = 0.1,
    }
}

settings! {
    /// A reviewer: an agent that is not the author looks at what changed, once the goals pass. Its findings send the author back to
    /// the work; they are advice, and prove nothing. What it changes in the files is put back.
    pub struct Review {
        /// The reviewer's adapter. null is that of the run, if a model is named here; if neither is, nobody reviews.
        #[flag("--review", "ID", "Have another agent review what was changed: its adapter [default: no reviewer]")]
        adapter("adapter"): Option<SingleLine> = null,
        /// The reviewer's model, as its agent names it. null leaves it to the agent.
        model("model"): Option<SingleLine> = null,
        /// "task": after each iteration that finished a task, and before the run is done. "end": only before the run is done.
        when("when"): OneOf<ReviewWhen> = "task",
        /// How often findings send the author back to the same work. After that the run goes on, and the report has the findings.
        rounds("rounds"): WholeNumber<0, 10> = 2,
    }
}

settings! {
    /// What it takes to believe that the work is done.
    pub struct CompletionSettings {
        /// What an agent has to promise, in the line <promise>…</promise>, when all is done. null takes a fresh token for
        /// each run, which no old file or transcript can contain.
        #[flag("--promise", "TEXT", "The token with which an agent signals completion [default: a new one for each run]")]
        promise("promise"): Option<Promise> = null,
        /// Confidence, 0 to 100, below which a claim is refused. The agent's own word is worth 10, all ticked boxes of the plan
        /// 50, all goals 40. Where there are neither boxes nor goals, the agent's word given in two consecutive iterations is
        /// worth 40 more: at 10, one claim is enough there; at 50, it has to be repeated. At 60, ticked boxes alone are not
        /// enough: the agent has to say that it is done. At 90, boxes and goals both count.
        min_confidence("minConfidence"): Percent = 50,
    }
}

settings! {
    /// What ralph finds out about the tests that goals run, so that *verified* means more than an exit code.
    pub struct Gate {
        /// Whether the goals are run before the first iteration, so that tests which are gone at the end are noticed: "auto" where
        /// the command of a goal names a test runner, "on", "off".
        baseline("baseline"): OneOf<Baseline> = "auto",
        /// Files besides those of known test runners that an agent may not change to pass the goals, as patterns:
        /// ["spec/**", "scripts/check.sh"].
        guard("guard"): NameList<GuardPatterns> = [],
        /// Files that an agent may change although they are tests or belong to a test runner: ["tests/snapshots/**"].
        guard_not("guardNot"): NameList<GuardPatterns> = [],
        /// Whether goals whose tests failed at a claim run once more: a test that then passes is flaky, and the goal has to pass twice
        /// in a row.
        rerun("rerun"): Switch = true,
        /// Whether goals that pass after guarded files changed have to pass with these as they were, too.
        trial("trial"): Switch = true,
        /// Whether small changes are tried that tests should notice, and what follows: "off"; "report" tells how many were noticed;
        /// "refuse" refuses a claim if none of at least three altered expectations was; "require" if no expectation or no line was.
        bite("bite"): OneOf<Bite> = "refuse",
        /// The most changes that are tried at a claim, half of them expectations of tests. They begin within three times as long as the
        /// goals took, or a minute.
        mutants("mutants"): PositiveCount = 6,
        /// The least that ends a run with exit code 0: "any", "passed" (goals passed) or "verified" (goals ran tests that were counted,
        /// guarded and seen to notice changes). Less ends with 9.
        #[flag("--require", "PROOF", "The least proof that counts as success: any, passed, verified; less exits with 9 [default: any]")]
        require("require"): OneOf<Proof> = "any",
    }
}

settings! {
    /// ralph's own tools, which agents get as the MCP server `ralph`: the plan, the goals, claims, questions and notes.
    pub struct ToolSettings {
        /// Whether agents get them.
        enabled("enabled"): Switch = true,
        /// Whether agents may propose tasks; the plan stays as it is until you change it.
        proposals("proposals"): Switch = true,
        /// Whether agents get tools that ask language servers (`lsp_…`) and ast-grep (`ast_…`), where one is installed.
        languages("languages"): Switch = true,
        /// What each process of a language server can allocate, in MiB.
        language_memory_mib("languageMemoryMiB"): Limit<PositiveCount> = 4096,
    }
}

settings! {
    /// What checkpoints hold beside the files that git does not ignore.
    pub struct CheckpointSettings {
        /// Ignored files that are in checkpoints all the same, as patterns of .gitignore: [".env.local", "build/*.bin"]. To
        /// find them ralph looks through everything that is ignored, each time.
        include("include"): NameList<IgnorePatterns> = [],
    }
}

settings! {
    /// The stuck detector: stops a loop that makes no progress. After so many consecutive iterations the agent is told; after
    /// twice as many the run stops. Only iterations that failed get one more try first, after the cooldown. "unlimited" gives one
    /// of them up.
    pub struct BreakerSettings for BreakerLimits {
        /// Consecutive iterations without progress: no new tree, no new box, nothing committed.
        no_progress("noProgress"): Limit<PositiveCount> = 3,
        /// Consecutive iterations that failed in the same way, or whose claim was refused as a goal failed in the same way.
        same_error("sameError"): Limit<PositiveCount> = 5,
        /// How long a run whose iterations fail in the same way pauses before one last try; while the network or the model is down,
        /// before each. `ralph reset-circuit` resets the stuck detector and ends the pause.
        cooldown_ms("cooldown"): Duration = "30m",
    }
}

settings! {
    /// Background tasks (`ralph tasks`): commands that outlive an iteration and not the run, such as a development server or a long
    /// test. They are confined as goals are.
    pub struct BackgroundSettings for BackgroundLimits {
        /// How many run at a time.
        at_once("atOnce"): PositiveCount = 3,
        /// Time after which one is ended.
        timeout_ms("timeout"): Limit<Duration> = "1h",
        /// Size of what is kept of the output of one, in MiB: its beginning and its end.
        output_mib("outputMiB"): PositiveCount = 8,
        /// Whether agents may start background tasks, and cancel those. What they run is held to the rules of `permissions`.
        agents("agents"): Switch = true,
    }
}

settings! {
    /// What is kept of old runs: journals, recordings and checkpoints. A run that is beyond any of the first three is deleted
    /// when another starts, but never the last one that came to an end. "unlimited" gives one of them up.
    pub struct RetentionSettings {
        /// Runs that are kept, the latest ones.
        runs("runs"): Limit<PositiveCount> = 20,
        /// Time since the last thing that happened in a run, after which it is not kept.
        age_ms("age"): Limit<Duration> = "90d",
        /// Size of all journals and recordings, in MiB, beyond which the oldest runs are not kept. Checkpoints do not count.
        size_mib("sizeMiB"): Limit<PositiveCount> = 2048,
        /// Size at which the recording of an iteration ends, and its signal log, in MiB.
        recording_mib("recordingMiB"): PositiveCount = 64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::defaults()
    }
}

/// Whether the goals are run before the first iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    Auto,
    On,
    Off,
}

impl NamedChoice for Baseline {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("auto", Baseline::Auto), ("on", Baseline::On), ("off", Baseline::Off)];
}

/// Ids of adapters.
pub struct Adapters;

impl Sample for Adapters {
    const SAMPLE: &'static str = r#"["claude", "codex"]"#;
}

/// Models, with or without an adapter.
pub struct Workers;

impl Sample for Workers {
    const SAMPLE: &'static str = r#"["sonnet", "codex/gpt-5.4"]"#;
}

/// Patterns in the syntax of `.gitignore`.
pub struct IgnorePatterns;

impl Sample for IgnorePatterns {
    const SAMPLE: &'static str = r#"[".env.local", "build/*.bin"]"#;
}

/// Patterns of files that decide the results of tests.
pub struct GuardPatterns;

impl Sample for GuardPatterns {
    const SAMPLE: &'static str = r#"["spec/**", "scripts/check.sh"]"#;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ralph_core::event::Completion;
    use ralph_policy::settings::{Merged, Node, SettingKeys, SettingOrigin};

    use super::*;
    use crate::config::{Flag, SettingSources, example, file, load};

    #[test]
    fn the_defaults_are_those_of_the_documentation() {
        let config = Config::default();
        assert_eq!(
            config.limits,
            Limits {
                max_iterations: Some(50),
                max_time_ms: Some(8 * 3_600_000),
                iteration_timeout_ms: Some(3_600_000),
                idle_timeout_ms: Some(600_000),
                max_cost_usd: None,
                max_tokens: None,
                calls_per_hour: None,
                max_steps: None,
                phase_timeout_ms: Some(600_000),
                per_task: TaskLimits::default(),
                per_day: DayLimits::default(),
            }
        );
        assert_eq!((config.backoff.base_ms, config.backoff.max_ms), (5_000, 300_000));
        assert_eq!(config.session, SessionMode::Fresh);
        assert_eq!(config.completion.min_confidence, Completion::default().min_confidence);
        assert_eq!(config.breaker, BreakerLimits::default());
        assert_eq!((config.goals_when, config.goals_parallel), (GoalsWhen::Claim, true));
        assert_eq!(config.keep.runs, Some(20));
    }

    #[test]
    fn the_example_says_every_default_and_nothing_else() {
        let text = example();
        let mut merged = Merged::defaults::<Config>();
        let keys = SettingKeys::for_record::<Config>();
        let mut missing: Vec<&str> = keys.iter().map(|(key, _)| key).collect();
        let layer = file::layer(Path::new("config.example.json"), &text);
        assert!(layer.mistakes.is_empty() && layer.notices.is_empty());
        for leaf in layer.leaves {
            let path = leaf.path.join(".");
            assert_eq!(merged.get(&path).unwrap().value(), leaf.node.value(), "{path}");
            missing.retain(|known| *known != path);
            merged.set(leaf);
        }
        assert_eq!(missing, Vec::<&str>::new());
        assert_eq!(merged.read::<Config>().unwrap(), Config::default());
    }

    #[test]
    fn a_near_name_is_found_at_any_level() {
        let keys = SettingKeys::for_record::<Config>();
        for (unknown, near) in [
            ("limits.maxIteration", "limits.maxIterations"),
            ("maxIterations", "limits.maxIterations"),
            ("max_iterations", "limits.maxIterations"),
            ("limits.adapter", "adapter"),
            ("limit", "limits"),
            ("promtFile", "promptFile"),
            ("keep.recordingMB", "keep.recordingMiB"),
            ("adaptor", "adapter"),
        ] {
            assert_eq!(keys.nearest(unknown), Some(near), "{unknown}");
        }
    }

    #[test]
    fn a_name_like_no_other_has_no_near_one() {
        let keys = SettingKeys::for_record::<Config>();
        for unknown in ["colour", "daemon", ""] {
            assert_eq!(keys.nearest(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn every_default_is_of_its_grammar() {
        for (key, field) in SettingKeys::for_record::<Config>().iter() {
            let default = Node::from_value(field.default_value(), &SettingOrigin::Default);
            let mistakes = (field.kind.check)(&default, key);
            assert!(mistakes.is_empty(), "{mistakes:?}");
        }
    }

    #[test]
    fn every_setting_changes_the_configuration() {
        for (key, _) in SettingKeys::for_record::<Config>().iter() {
            let other = match key {
                "session" => "resume",
                "mode" => "fix",
                "server" => "http://127.0.0.1:7",
                "listen" => "127.0.0.1:7",
                "page" => "https://ralph.example.org",
                "permissions.mode" => "ask",
                "permissions.deny" | "permissions.ask" | "permissions.allow" => "Bash(rm *)",
                "permissions.onTimeout" => "allow",
                "sandbox.mode" => "on",
                "sandbox.hosts" => "example.org",
                "sandbox.write" | "sandbox.hide" | "sandbox.show" => "~/x",
                "channel" => "live",
                "native.baseUrl" => "http://127.0.0.1:7",
                "native.wire" => "anthropic",
                "native.contextTokens" | "native.answerTokens" => "9000",
                "native.prices" => r#"{"m": {"input": 1, "output": 2}}"#,
                "limits.perDay.onLimit" => "stop",
                "goalsWhen" => "both",
                "gate.baseline" => "on",
                "gate.bite" => "off",
                "gate.require" => "verified",
                "gate.rerun" => "false",
                "gate.trial" => "false",
                "goalsParallel" | "handover" | "background.agents" | "screen.mouse" | "tools.enabled"
                | "tools.languages" | "tools.proposals" => "false",
                "languageServers" => r#"{"gopls": {"enabled": false}}"#,
                "mcp" => r#"{"x": {"command": "y"}}"#,
                "review.when" => "end",
                "screen.theme" => "16",
                "screen.glyphs" => "ascii",
                "goals" => "tests=true",
                "backoff.jitter" => "0.5",
                "permissions.timeout"
                | "backoff.max"
                | "limits.maxTime"
                | "limits.iterationTimeout"
                | "limits.idleTimeout"
                | "limits.phaseTimeout"
                | "breaker.cooldown"
                | "background.timeout"
                | "keep.age" => "9m",
                "backoff.base" => "9s",
                "adapters" => r#"{"codex": {"title": "x"}}"#,
                _ => "7",
            };
            let flags = vec![Flag::new("--flag", key, other)];
            let config = load(&SettingSources {
                flags,
                ..SettingSources::default()
            })
            .unwrap()
            .config;
            assert_ne!(config, Config::default(), "{key} changes nothing");
        }
    }
}
