//! Declares every setting of a configuration.
//!
//! A setting is a single row; see [`settings!`]. The doc comments of the rows are the descriptions in the schema, in
//! editors and in the reference, so they address users. A setting without any effect must not be declared, so that
//! using it is reported as an error.

use ralph_agent::Channel;
use ralph_core::{
    event::{
        BackgroundLimits, Backoff, Bite, BreakerLimits, DayLimits, GoalsWhen, Headroom, Hooks, KnownFailures, Limits,
        Mode, Proof, ReviewWhen, RoomUse, SessionMode, SubagentLimits, TaskLimits, WindowPace,
    },
    limits::WARN_AT,
};
use ralph_policy::{
    choices, samples, settings,
    settings::{
        Amount, BigCount, Duration, FilePath, Limit, Maybe, NameList, OneOf, OptionalLimit, Percent, PositiveCount,
        Prose, SettingsRecord, SettingsSection, SingleLine, Switch, WholeNumber,
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
    prices::PriceTable,
    sandbox::SandboxSettings,
    screen::ScreenSettings,
    tree::TreeSettings,
    values::{AdapterTables, DiskSpace, MemorySize, Notify, PageAddress, Promise, ServerAddress, Telemetry},
};

settings! {
    /// The configuration of ralph.
    pub struct Config {
        /// The adapter of the agent to run; `ralph adapters` shows all of them. null uses the agent that is
        /// installed and logged in. If there are several, it uses the one chosen when ralph asked or with `ralph
        /// adapters use`, else the one whose adapter has the lowest `rank`. If there is none, it uses ralph's own agent, if that has a
        /// key.
        #[flag("--adapter", "ID", "The agent's adapter; `ralph adapters` shows them [default: the one that is logged in; `ralph adapters use` chooses among several]")]
        adapter("adapter"): Option<SingleLine> = null,
        /// The model, by the name that the agent uses. null leaves the choice to the agent.
        #[flag("--model", "NAME", "The model, by the name that the agent uses")]
        model("model"): Option<SingleLine> = null,
        /// A profile of the agent, such as `build` or `plan` of opencode. null leaves the choice to the agent.
        #[flag("--agent", "NAME", "opencode's own agent, such as build or plan")]
        agent("agent"): Option<SingleLine> = null,
        /// The server that the adapter `opencode-server` uses, such as "http://127.0.0.1:4190". null starts one for the run.
        /// A password comes from OPENCODE_SERVER_PASSWORD.
        #[flag("--server", "URL", "The opencode server to use [default: start one for the run]")]
        server("server"): Option<ServerAddress> = null,
        /// Timeout for connecting to that server and for its health check, in milliseconds.
        #[flag("--server-timeout", "MS", "Timeout of the server in milliseconds [default: 5000]")]
        server_timeout_ms("serverTimeout"): WholeNumber<1, 600_000> = 5000,
        permissions("permissions"): SettingsSection<PermissionSettings>,
        sandbox("sandbox"): SettingsSection<SandboxSettings>,
        keys("keys"): SettingsSection<SharedKeys>,
        /// The channel to the agent. "one-way": the agent gets its prompt, and ralph reads its output. "live": messages
        /// also reach the running turn; agents without such a channel are refused. "auto" uses the live channel if
        /// rules need it, or if a user watches (on a screen, or because the page or an editor has started the run) and the
        /// channel offers more: messages to the turn, or text while it is written. `ralph adapters` shows which agents have one.
        #[flag("--channel", "MODE", "The channel to the agent: auto, one-way or live [default: auto]")]
        channel("channel"): OneOf<Channel> = "auto",
        /// The plan, relative to the project. null uses PLAN.md, or else the existing plan of a mode: prd.json,
        /// IMPLEMENTATION_PLAN.md, REFACTOR_PLAN.md, @fix_plan.md or fix_plan.md, the last two also in .ralph; then
        /// PROMPT.md.
        #[flag("--plan", "FILE", "The plan: a checklist in Markdown, or a prd.json [default: PLAN.md, else that of a mode: prd.json, IMPLEMENTATION_PLAN.md, REFACTOR_PLAN.md, @fix_plan.md]")]
        plan("plan"): Option<FilePath> = null,
        /// The section of the plan that a run works through, by the text of its heading; tasks outside of it are
        /// ignored. null uses the whole plan. `ralph many --each-section` gives each of its runs one section.
        #[flag("--section", "NAME", "Work through one section of the plan only, by the text of its heading [default: the whole plan]")]
        section("section"): Option<SingleLine> = null,
        /// The kind of work: "implementation", "refactor" (behaviour stays the same) or "fix" (reproduce, then fix). It
        /// chooses the plan, the built-in instructions, and further files that the agent reads: PROMPT.md, PRD.md,
        /// REFACTOR.md, specs, @AGENT.md, AGENT.md, progress.txt. null derives it from the name of the plan; PLAN.md
        /// has no mode.
        #[flag("--mode", "MODE", "The kind of work: implementation, refactor or fix [default: by the plan's name]")]
        mode("mode"): Option<OneOf<Mode>> = null,
        /// Instructions that replace the built-in ones, with the placeholders {plan}, {task}, {iteration}, {progress}
        /// and {last_message}; {{task}} is the text {task}. ralph adds your messages and how to signal completion.
        #[flag("--prompt", "TEXT", "Instructions instead of the built-in ones; {plan}, {task}, {iteration}, {progress} and {last_message} are filled in")]
        prompt("prompt"): Option<Prose> = null,
        /// A file with such instructions, relative to the project. One file or layer may set only one of the two.
        #[flag("--prompt-file", "FILE", "A file with such instructions [default: .ralph/prompt.md if it exists]")]
        prompt_file("promptFile"): Option<FilePath> = null,
        /// "fresh": every iteration begins in a new session. "resume": it continues the previous session.
        #[flag("--session", "MODE", "The session of an iteration: fresh or resume (continues the last one) [default: fresh]")]
        session("session"): OneOf<SessionMode> = "fresh",
        limits("limits"): SettingsSection<LimitSettings>,
        /// Prices in dollars per million tokens, for agents that report tokens and no cost, as codex and gemini. A name
        /// is a prefix of a model's name, or the adapter whose other models have this price: {"gpt-5": {"input": 1.25,
        /// "output": 10, "cachedInput": 0.125}, "gemini": {"input": 1.25, "output": 10}}. A cost from prices is an
        /// estimate, shown with ≈; limits on cost apply to it.
        prices("prices"): PriceTable = {},
        headroom("headroom"): SettingsSection<HeadroomSettings>,
        /// How fast runs use up the windows of an account, as far as its agent reports them. "even": no iteration starts
        /// while more of a window is used than of its time has passed. "free": as fast as they can.
        pace("pace"): OneOf<WindowPace> = "free",
        backoff("backoff"): SettingsSection<BackoffSettings>,
        /// Adapters that take over while the first one is rate-limited, in this order: ["claude", "codex"]. Adapters
        /// that are not installed are left out with a notice.
        fallback("fallback"): NameList<Adapters> = [],
        /// Models that take over a task after iterations without success, in this order: models of the adapter, or of
        /// another one as `adapter/model`: ["sonnet", "codex/gpt-5.4"]. An iteration had no success if its claim was
        /// refused, it failed, or it made no progress; limits and questions do not count. The last model keeps the
        /// task; the next task begins with the first one.
        escalate("escalate"): NameList<Workers> = [],
        review("review"): SettingsSection<Review>,
        /// Commands that verify the work; ralph runs them with `sh -c` in the project before it accepts a claim. Without a target
        /// a goal passes if its command exits with 0; with one, the last number of its output also has to reach the target.
        /// "goals": [ { "name": "tests", "command": "cargo test", "timeout": "15m" },
        ///            { "name": "coverage", "command": "./coverage.sh", "target": 80 },
        ///            { "name": "api", "command": "go test ./...", "workspace": "services/api", "description": "the API's tests",
        ///              "enabled": false } ]
        /// `workspace` is the directory of the project in which a goal runs; a goal with `enabled` false does not run.
        /// With `onEdit` true a goal also runs after edits. `report` is the file in which its test runner says which tests ran,
        /// `sealed` a directory with tests that agents cannot see: "~/held-out/api".
        /// The default timeout of a goal is 15m. `--goal NAME=COMMAND` adds one; `ralph goals check` runs them alone.
        #[flag("--goal", "NAME=COMMAND", "A command that has to pass; can be repeated, adds to configured goals")]
        goals("goals"): Goals = [],
        /// Whether goals run in parallel or one after the other.
        goals_parallel("goalsParallel"): Switch = true,
        /// "background": goals run when the agent claims to be done, and on the files of each iteration while the next
        /// one works. "claim": only at a claim. "iteration": after every iteration, and a claim uses these results.
        goals_when("goalsWhen"): OneOf<GoalsWhen> = "background",
        /// The place where goals run: "auto", in a copy of the project that no agent has been in, or in the project's directory
        /// if that is not possible, which the run says; "required", only in the copy, so that a run without one stops at its
        /// start; "off", in the project's directory, where agents work.
        room("room"): OneOf<RoomUse> = "auto",
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
        /// "iteration": after each iteration, ralph commits what the agent left uncommitted to the branch that is checked
        /// out, with a message made from the task. Files that had uncommitted changes before the run stay as they are.
        /// No hook of the repository runs, and the commits are not signed. "off": only the agent commits.
        commit("commit"): OneOf<CommitWhen> = "off",
        breaker("breaker"): SettingsSection<BreakerSettings>,
        /// Changes to adapters, and adapters of your own, by id and with the keys of a manifest:
        /// "adapters": { "codex": { "command": { "program": "/opt/codex/bin/codex" } } }
        adapters("adapters"): AdapterTables = {},
        native("native"): SettingsSection<Native>,
        hooks("hooks"): SettingsSection<HookSettings>,
        /// The receiver of spans of the run, its iterations, their tools and goals, and of tokens and cost as metrics, for
        /// OpenTelemetry: the address of a collector that takes OTLP over HTTP, such as "http://127.0.0.1:4318", or a file
        /// of JSON lines outside of the project. Prompts, answers and arguments are not sent. null sends nothing.
        otel("otel"): Option<Telemetry> = null,
        /// How you are notified when the run is over or needs you: "none"; "bell" or "osc9" (a notification of the
        /// terminal emulator) on the screen; or a command, which also works headless. The command finds the reason in
        /// RALPH_REASON, and a link to the page, if there is one (`page`), in RALPH_URL.
        notify("notify"): Notify = "osc9",
        /// The public address of the page with your runs, such as `https://ralph.example.org`. A `notify` command finds
        /// a link below it in RALPH_URL, to the run or to the open request. null uses the address that the run listens
        /// on, if it does.
        page("page"): Option<PageAddress> = null,
        /// The address of a run's HTTP API, such as "127.0.0.1:4180", for clients with the token that `ralph token`
        /// prints; port 0 uses a free port. null serves it only on the run's own socket. Allowed only in your own file,
        /// not in one of a project.
        #[flag("--listen", "ADDRESS", "Serve the run's HTTP API here, such as 127.0.0.1:4180; `ralph token` prints its token [default: nowhere]")]
        listen("listen"): Option<ListenAddress> = null,
        /// Host names of an encrypting proxy that forwards requests to that address, which other machines may then
        /// reach: ["ralph.example.org"]. Allowed only in your own file, not in one of a project.
        #[flag("--behind-proxy", "HOSTS", "Host names of an encrypting proxy that forwards requests to that address, separated by commas")]
        behind_proxy("behindProxy"): ProxyHosts = [],
        /// Whether the machine is kept awake while a run is neither over nor paused: by `systemd-inhibit` on Linux, by
        /// `caffeinate` on macOS. If that is not possible, the run says so and goes on.
        keep_awake("keepAwake"): Switch = false,
        tree("tree"): SettingsSection<TreeSettings>,
        screen("screen"): SettingsSection<ScreenSettings>,
        keep("keep"): SettingsSection<RetentionSettings>,
        /// The destination of verified work of `ralph many` and `ralph take`. "merge": it is merged into the batch's target. "branch": the
        /// plan's branch is pushed to the remote `origin`. "pr": a pull request is opened there, and watched until it is merged or
        /// closed. The agents get none of the forge's keys, and goals are needed, since nothing unverified is delivered.
        #[flag("--deliver", "HOW", "With `many` and `take`: merge verified work here, push a branch, or open a pull request: merge, branch or pr [default: merge]")]
        deliver("deliver"): OneOf<DeliverTo> = "merge",
    }
}

settings! {
    /// Durations are written as 500ms, 90s, 10m, 8h, 1h30m or 2d. Only "unlimited" removes a limit.
    pub struct LimitSettings for Limits {
        /// Maximum iterations of a run.
        #[flag("--max-iterations", "N", "Stop after N iterations, or \"unlimited\" [default: 50]")]
        max_iterations("maxIterations"): Limit<PositiveCount> = 50,
        /// Maximum time of a run. It ends a running iteration.
        #[flag("--max-time", "TIME", "Stop after this total time, such as 90s, 10m, 8h, or \"unlimited\" [default: 8h]")]
        max_time_ms("maxTime"): Limit<Duration> = "8h",
        /// Maximum time of an iteration.
        #[flag("--iteration-timeout", "TIME", "End an iteration after this time, or \"unlimited\" [default: 60m]")]
        iteration_timeout_ms("iterationTimeout"): Limit<Duration> = "60m",
        /// Maximum idle time of an agent: no output, and no CPU use by any of its processes.
        #[flag("--idle-timeout", "TIME", "End an iteration that was idle (no output, no CPU) for this time, or \"unlimited\" [default: 10m]")]
        idle_timeout_ms("idleTimeout"): Limit<Duration> = "10m",
        /// Maximum time of ralph's own work before and after an iteration: checkpoint, plan and prompt. A run whose
        /// checkpoint takes longer ends; a very large repository may need more.
        phase_timeout_ms("phaseTimeout"): Maybe<Duration> = "10m",
        /// Maximum memory that the processes of an agent, a goal or a background task use together, such as "6GiB", or
        /// "75%" of the machine's. All of them are killed before they use more. Only on Linux.
        memory("memory"): Limit<MemorySize> = "75%",
        /// Maximum number of processes of an agent, a goal or a background task.
        processes("processes"): Limit<BigCount> = 4000,
        /// Space that stays free on the disks of the project, the state directory and temporary files, such as "5GiB", or
        /// "2%" of the disk; of a small disk at most a tenth. With less, no iteration starts until there is space again;
        /// with less than half of it, running agents, goals and background tasks are killed.
        disk_free("diskFree"): Limit<DiskSpace> = "1GiB",
        /// Maximum cost of a run in dollars, as reported by the agent or estimated from `prices`. null is unlimited.
        #[flag("--max-cost-usd", "USD", "Stop when the agent has reported this cost [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Maximum tokens of a run, as reported by the agent. null is unlimited.
        #[flag("--max-tokens", "N", "Stop when the agent has reported this many tokens [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
        /// Maximum iterations that start within an hour. null is unlimited.
        #[flag("--calls-per-hour", "N", "Start at most N iterations an hour [default: unlimited]")]
        calls_per_hour("callsPerHour"): OptionalLimit<PositiveCount> = null,
        /// Maximum tool calls of an iteration; the next call ends it. null is unlimited.
        max_steps("maxSteps"): OptionalLimit<PositiveCount> = null,
        per_task("perTask"): SettingsSection<TaskLimitSettings>,
        per_day("perDay"): SettingsSection<DayLimitSettings>,
        subagents("subagents"): SettingsSection<SubagentLimitSettings>,
    }
    with {
        warn_at: Some(WARN_AT),
    }
}

settings! {
    /// Limits for one task of the plan. A task that reaches one is set aside like a blocked task, and the run continues
    /// with the others; `ralph continue` with a higher limit resumes it.
    pub struct TaskLimitSettings for TaskLimits {
        /// Maximum iterations on a task. null is unlimited.
        #[flag("--max-iterations-per-task", "N", "Set a task aside after N iterations on it [default: unlimited]")]
        max_iterations("maxIterations"): OptionalLimit<PositiveCount> = null,
        /// Maximum cost of a task in dollars, as reported by the agent or estimated from `prices`. It ends a running iteration. null is unlimited.
        #[flag("--max-cost-usd-per-task", "USD", "Set a task aside when the agent has reported this cost for it [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Maximum tokens of a task, as reported by the agent. It ends a running iteration. null is unlimited.
        #[flag("--max-tokens-per-task", "N", "Set a task aside when the agent has reported this many tokens for it [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
    }
}

settings! {
    /// Limits for all runs of the project together on one day, from midnight to midnight in local time.
    pub struct DayLimitSettings for DayLimits {
        /// Maximum cost of a day in dollars, as reported by the agents or estimated from `prices`. It ends a running iteration. null is unlimited.
        #[flag("--max-cost-usd-per-day", "USD", "Wait for tomorrow when agents have reported this cost today [default: unlimited]")]
        max_cost_usd("maxCostUsd"): OptionalLimit<Amount> = null,
        /// Maximum tokens of a day, as reported by the agents. It ends a running iteration. null is unlimited.
        #[flag("--max-tokens-per-day", "N", "Wait for tomorrow when agents have reported this many tokens today [default: unlimited]")]
        max_tokens("maxTokens"): OptionalLimit<BigCount> = null,
    }
}

settings! {
    /// Limits for the subagents that an agent starts in one iteration. What exceeds one is denied where the agent has a
    /// limit of its own or asks; else it ends the iteration, and the run continues.
    pub struct SubagentLimitSettings for SubagentLimits {
        /// Maximum subagents that run at the same time.
        #[flag("--max-parallel-subagents", "N", "Let at most N subagents run at once, or \"unlimited\" [default: 10]")]
        at_once("atOnce"): Limit<PositiveCount> = 10,
        /// Maximum subagents of an iteration.
        #[flag("--max-subagents", "N", "Let an iteration start at most N subagents, or \"unlimited\" [default: 30]")]
        per_iteration("perIteration"): Limit<PositiveCount> = 30,
        /// Maximum levels of subagents: with 1, a subagent may start no other.
        #[flag("--max-subagent-depth", "N", "Let subagents start others down to level N, or \"unlimited\" [default: 2]")]
        depth("depth"): Limit<PositiveCount> = 2,
    }
}

settings! {
    /// The part of an account's windows that stays free for your own work, in percent: no iteration starts above it, in
    /// any run of this machine, until the window is reset. claude reports its windows when they are nearly used up, codex
    /// on its live channel, which is used then.
    pub struct HeadroomSettings {
        /// Percent of the window of five hours that stays free.
        five_hour("fiveHour"): Percent = 0,
        /// Percent of the window of a week that stays free.
        week("week"): Percent = 0,
    }
}

settings! {
    /// Delays after failures: `base`, doubled with each further failure up to `max`, plus up to a tenth at random.
    pub struct BackoffSettings for Backoff {
        /// Delay after the first failure.
        base_ms("base"): Duration = "5s",
        /// Longest delay after a failure.
        max_ms("max"): Duration = "5m",
    }
    with {
        jitter: 0.1,
    }
}

settings! {
    /// A reviewer: an agent other than the author examines the changes once the goals pass. Its findings send the
    /// author back to the work; they are advice and prove nothing. Changes of the reviewer to files are undone.
    pub struct Review {
        /// The adapter of the reviewer. null uses that of the run if a model is set here; without either, there are no
        /// reviews.
        #[flag("--review", "ID", "Have another agent, with this adapter, review the changes [default: no reviewer]")]
        adapter("adapter"): Option<SingleLine> = null,
        /// The model of the reviewer, by the name that its agent uses. null leaves the choice to the agent.
        model("model"): Option<SingleLine> = null,
        /// "task": after each iteration that finished a task, and before the run is done. "end": only before the run is done.
        when("when"): OneOf<ReviewWhen> = "task",
    }

    /// The evidence that a claim of completion needs.
    pub struct CompletionSettings {
        /// The token that an agent writes as <promise>…</promise> when all is done. null uses a fresh token for each
        /// run, which no old file or transcript can contain.
        #[flag("--promise", "TEXT", "The token with which an agent signals completion [default: a new one for each run]")]
        promise("promise"): Option<Promise> = null,
        /// Minimum confidence of an accepted claim, 0 to 100. The agent's own word is worth 10, all ticked boxes of the
        /// plan 50, all goals 40. Without boxes and goals, the agent's word in two consecutive iterations is worth 40
        /// more: at 10, one claim is enough; at 50, it has to be repeated. At 60, ticked boxes alone are not enough:
        /// the agent has to say that it is done. At 90, boxes and goals both count.
        min_confidence("minConfidence"): Percent = 50,
    }

    /// Checks of the tests that goals run, so that *verified* means more than an exit code.
    pub struct Gate {
        /// Whether goals run before the first iteration, so that ralph notices tests that later disappear: "auto" if
        /// the command of a goal names a test runner, "on", "off".
        baseline("baseline"): OneOf<Baseline> = "auto",
        /// Additional files that an agent may not change to pass the goals, as patterns: ["spec/**",
        /// "scripts/check.sh"]. The files of known test runners are always guarded.
        guard("guard"): NameList<GuardPatterns> = [],
        /// Files that an agent may change although they are tests or belong to a test runner: ["tests/snapshots/**"].
        guard_not("guardNot"): NameList<GuardPatterns> = [],
        /// The result of a goal whose failing tests all failed before the first iteration: "block", it fails; "forgive", it passes
        /// if its runner names each failing test and other tests pass.
        #[flag("--known-failures", "HOW", "Tests that failed before the first iteration: block (a goal fails by them) or forgive [default: block]")]
        known_failures("knownFailures"): OneOf<KnownFailures> = "block",
        /// Whether ralph tries small changes that tests should notice (of Python, Rust, JavaScript, TypeScript and Go) and runs the
        /// goals once without the work, and the consequence: "off"; "report" tells what was noticed; "refuse" refuses a claim
        /// if two altered expectations in tests of the work were not, or none of three in any tests; "require" if no expectation or no line was, or if all tests pass
        /// without the work.
        bite("bite"): OneOf<Bite> = "refuse",
        /// The minimum evidence for exit code 0: "any", "passed" (goals passed) or "verified" (goals ran tests that
        /// were counted, guarded and seen to notice changes). A run with less ends with 9.
        #[flag("--require", "PROOF", "The minimum proof of success: any, passed or verified; less exits with 9 [default: any]")]
        require("require"): OneOf<Proof> = "any",
    }

    /// ralph's own tools, which agents get as the MCP server `ralph`: the plan, the goals, claims, questions and notes.
    pub struct ToolSettings {
        /// Whether agents get these tools.
        enabled("enabled"): Switch = true,
    }

    /// Ignored files in checkpoints, which otherwise contain all files that git does not ignore.
    pub struct CheckpointSettings {
        /// Ignored files that checkpoints include, as patterns of .gitignore: [".env.local", "build/*.bin"]. To find
        /// them, each checkpoint searches all ignored files.
        include("include"): NameList<IgnorePatterns> = [],
    }
}

settings! {
    /// The stuck detector stops a loop that makes no progress. After this many consecutive iterations the agent is
    /// warned; after twice as many the run stops. If the iterations only failed, one last try follows after the
    /// cooldown. "unlimited" turns a check off.
    pub struct BreakerSettings for BreakerLimits {
        /// Consecutive iterations without progress: no change to files, no new ticked box, no commit.
        no_progress("noProgress"): Limit<PositiveCount> = 3,
        /// Consecutive iterations that failed in the same way, or whose claim was refused because a goal failed in the
        /// same way.
        same_error("sameError"): Limit<PositiveCount> = 5,
        /// The pause before the last try of a run whose iterations fail in the same way, and before each try while the
        /// network or the model is down. `ralph reset-circuit` resets the stuck detector and ends the pause.
        cooldown_ms("cooldown"): Duration = "30m",
    }
}

settings! {
    /// Background tasks (`ralph tasks`): commands that outlive an iteration but not the run, such as a development
    /// server or a long test. They are confined like goals.
    pub struct BackgroundSettings for BackgroundLimits {
        /// Maximum time of a task.
        timeout_ms("timeout"): Limit<Duration> = "1h",
        /// Whether agents may start background tasks and cancel their own. The rules of `permissions` apply to the
        /// commands.
        agents("agents"): Switch = true,
    }
}

settings! {
    /// Commands of your own that ralph runs with `sh -c` in the project at points of a run, one after the other. Each gets
    /// the facts as JSON on its stdin and as variables (RALPH_HOOK, RALPH_ITERATION, RALPH_TASK), and what it prints is in
    /// the log of the run. They run outside of the sandbox, without the keys of agents: name programs that no agent can
    /// change.
    pub struct HookSettings for Hooks {
        /// Before each iteration. If it fails, the run stops.
        before_iteration("beforeIteration"): Option<Prose> = null,
        /// After each iteration, when its result has been examined.
        after_iteration("afterIteration"): Option<Prose> = null,
        /// When a task is done, once for each task.
        on_task_done("onTaskDone"): Option<Prose> = null,
        /// When the agent cannot go on with a task without you.
        on_blocked("onBlocked"): Option<Prose> = null,
        /// When the run is over, unless you have stopped it at once.
        on_end("onEnd"): Option<Prose> = null,
        /// Maximum time of a hook, which is ended then.
        timeout_ms("timeout"): Duration = "1m",
    }
}

settings! {
    /// Retention of old runs: journals, recordings and checkpoints. A run beyond any of the first three limits is
    /// deleted when another one starts, except the last run that ended. "unlimited" removes a limit.
    pub struct RetentionSettings {
        /// Number of runs that are kept, the latest ones.
        runs("runs"): Limit<PositiveCount> = 20,
        /// Time since the last event of a run, after which it is not kept.
        age_ms("age"): Limit<Duration> = "90d",
        /// Total size of journals and recordings, in MiB; beyond it, the oldest runs are not kept. Checkpoints do not
        /// count.
        size_mib("sizeMiB"): Limit<PositiveCount> = 2048,
        /// Maximum size of the recording and of the signal log of an iteration, in MiB.
        recording_mib("recordingMiB"): PositiveCount = 64,
    }
}

impl Default for Config {
    fn default() -> Self {
        Config::defaults()
    }
}

/// When ralph commits what an agent left uncommitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommitWhen {
    Off,
    Iteration,
}

choices! {
    CommitWhen: "off" = Off, "iteration" = Iteration;
    DeliverTo: "merge" = Merge, "branch" = Branch, "pr" = Pr;
    Baseline: "auto" = Auto, "on" = On, "off" = Off;
}

/// The destination of a batch's verified work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliverTo {
    Merge,
    Branch,
    Pr,
}

/// Whether the goals are run before the first iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Baseline {
    Auto,
    On,
    Off,
}

impl Config {
    /// How much of the windows of accounts stays free.
    pub fn headroom(&self) -> Headroom {
        Headroom {
            five_hour: self.headroom.five_hour,
            week: self.headroom.week,
            pace: self.pace,
        }
    }
}

samples! {
    /// Ids of adapters.
    Adapters: r#"["claude", "codex"]"#;
    /// Models, with or without an adapter.
    Workers: r#"["sonnet", "codex/gpt-5.4"]"#;
    /// Patterns in the syntax of `.gitignore`.
    IgnorePatterns: r#"[".env.local", "build/*.bin"]"#;
    /// Patterns of files that decide the results of tests.
    GuardPatterns: r#"["spec/**", "scripts/check.sh"]"#;
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ralph_core::{
        event::{Completion, SizeLimit},
        limits::LIMITS,
    };
    use ralph_policy::settings::{Merged, Node, SettingKeys, SettingOrigin};

    use super::*;
    use crate::config::{self, Flag, SettingSources, example, file, load};

    #[test]
    fn every_limit_names_its_setting_and_its_option() {
        let flags = config::flags();
        for row in LIMITS {
            let flag = flags.iter().find(|flag| flag.key == row.setting);
            let declared = flag.map(|flag| (flag.declared.name, flag.declared.value));
            assert_eq!(declared, Some((row.flag, row.value)), "{:?}", row.kind);
        }
    }

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
                max_steps: None,
                phase_timeout_ms: Some(600_000),
                memory: Some(SizeLimit::Percent(75)),
                processes: Some(4000),
                disk_free: Some(SizeLimit::Bytes(1 << 30)),
                warn_at: Some(0.8),
                per_task: TaskLimits::default(),
                per_day: DayLimits::default(),
                subagents: SubagentLimits {
                    at_once: Some(10),
                    per_iteration: Some(30),
                    depth: Some(2),
                },
                ..Limits::default()
            }
        );
        assert_eq!((config.backoff.base_ms, config.backoff.max_ms), (5_000, 300_000));
        assert_eq!(config.session, SessionMode::Fresh);
        assert_eq!(config.completion.min_confidence, Completion::default().min_confidence);
        assert_eq!(config.breaker, BreakerLimits::default());
        assert_eq!(
            (config.goals_when, config.goals_parallel),
            (GoalsWhen::Background, true)
        );
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
                "sandbox.mode" => "off",
                "sandbox.hosts" => "example.org",
                "sandbox.sockets" => "ssh-agent",
                "sandbox.write" | "sandbox.hide" | "sandbox.show" => "~/x",
                "channel" => "live",
                "native.baseUrl" => "http://127.0.0.1:7",
                "native.wire" => "anthropic",
                "native.contextTokens" | "native.answerTokens" => "9000",
                "native.effort" => "low",
                "prices" => r#"{"m": {"input": 1, "output": 2}}"#,
                "goalsWhen" => "claim",
                "room" => "off",
                "gate.baseline" => "on",
                "gate.bite" => "off",
                "gate.knownFailures" => "forgive",
                "gate.require" => "verified",
                "goalsParallel" | "background.agents" | "tools.enabled" => "false",
                "keepAwake" => "true",
                "limits.memory" | "limits.diskFree" => "6GiB",
                "languageServers" => r#"{"gopls": {"enabled": false}}"#,
                "mcp" => r#"{"x": {"command": "y"}}"#,
                "review.when" => "end",
                "pace" => "even",
                "commit" => "iteration",
                "deliver" => "pr",
                "otel" => "/spans.jsonl",
                "screen.theme" => "16",
                "goals" => "tests=true",
                "permissions.timeout"
                | "backoff.max"
                | "limits.maxTime"
                | "limits.iterationTimeout"
                | "limits.idleTimeout"
                | "limits.phaseTimeout"
                | "breaker.cooldown"
                | "background.timeout"
                | "hooks.timeout"
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
