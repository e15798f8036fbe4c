//! The arguments of `ralph`, declared for clap. Doc comments on them are the help.

use std::{ffi::OsString, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ralph_system::diagnostics::Filter;

use crate::config::Flag;

use super::{
    comment_args::CommentArgs,
    listing_args::{AdaptersCommand, ConfigCommand, GoalsCommand, ReportFormatArg},
    setting_flags::{self, SettingFlags},
};

/// Run your coding agent in a loop, one task at a time, until every task in the plan is done and verified
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    args_conflicts_with_subcommands = false,
    // Options typed after an alias override those of the alias.
    args_override_self = true,
    subcommand_negates_reqs = true,
    override_usage = "ralph [OPTIONS] [PLAN | \"TASK\"]\n       ralph <COMMAND>"
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<CliCommand>,

    /// The plan, as with `--plan`; or a task in quotes, which runs alone with a plan of its own below .ralph/plans
    #[arg(value_name = "PLAN | TASK")]
    pub(super) target: Vec<OsString>,

    /// Work in a work tree outside of the project, and merge the verified work into this branch, which is created if it
    /// does not exist
    #[arg(long, value_name = "BRANCH")]
    pub(super) tree: Option<String>,

    #[command(flatten)]
    pub(super) settings: SettingFlags,

    #[command(flatten)]
    pub(super) show: ShowFlags,

    /// The colours of the screen [default: `screen.theme`; chosen for the terminal; none if NO_COLOR is set]
    #[arg(long, value_enum, global = true)]
    pub(super) theme: Option<ThemeArg>,
    /// Draw without Unicode [default: if the locale has no Unicode]
    #[arg(long, global = true)]
    pub(super) ascii: bool,
    /// Leave the mouse to the terminal, so that it can select text; the palette (Ctrl-P) does it for all runs
    #[arg(long, global = true)]
    pub(super) no_mouse: bool,
    /// Read an additional configuration file, which overrides those of the user and the project
    #[arg(long, short, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
    /// Keep journals and recordings below this directory [default: ralph in the user's state directory]
    #[arg(long, value_name = "DIR", env = "RALPH_STATE_DIR", global = true)]
    pub(super) state_dir: Option<PathBuf>,
    /// Trust the project's own files for this command without asking; `ralph trust` lists them
    #[arg(long, global = true)]
    pub(super) trust_project: bool,
    /// Started as the loop behind a screen: by ralph itself
    #[arg(long = "__loop", hide = true)]
    pub(super) behind_screen: bool,
    /// Continue the last run, as its user has answered
    #[arg(long = "__continue", hide = true)]
    pub(super) continues: bool,
    /// The project whose work tree this is, which is prepared first: by ralph itself
    #[arg(long = "__tree-of", hide = true, value_name = "DIR", global = true)]
    pub(super) tree_of: Option<PathBuf>,
    /// Files that a merge has left in conflict, so that what they are now is no yardstick: by ralph itself
    #[arg(long = "__in-conflict", hide = true, value_name = "PATH")]
    pub(super) in_conflict: Vec<String>,
}

// Options of `ralph continue`.
#[derive(Debug, clap::Args)]
#[command(mut_args(setting_flags::hide_listed))]
pub(super) struct Continuing {
    /// Allow N more iterations than it has had
    #[arg(long, value_name = "N")]
    pub(super) iterations: Option<u32>,
    #[command(flatten)]
    pub(super) settings: SettingFlags,
    #[command(flatten)]
    pub(super) show: ShowFlags,
}

// Arguments of `ralph init`, and of what `ralph setup` has in common with it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct InitArgs {
    /// Tasks for the plan
    #[arg(value_name = "TASK")]
    pub(super) tasks: Vec<String>,
    /// A goal of your own, which replaces a detected goal of the same name; can be repeated
    #[arg(long = "goal", short = 'g', id = "named-goals", value_name = "NAME=COMMAND")]
    pub(super) goals: Vec<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(super) yes: bool,
    /// Show what would be written without writing it
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Do not run the detected commands
    #[arg(long)]
    pub(super) no_check: bool,
    /// Also write an AGENTS.md that tells agents the detected commands
    #[arg(long)]
    pub(super) agents_md: bool,
    /// Have the agent read the project and write an AGENTS.md, which is shown before it is accepted
    #[arg(long, conflicts_with_all = ["agents_md", "dry_run"])]
    pub(super) with_agent: bool,
    /// The project was just created, so finding no tests is not worth a note.
    #[arg(skip)]
    pub(super) is_new: bool,
}

// Arguments of `ralph import`.
#[derive(Debug, clap::Args)]
pub(super) struct ImportArgs {
    /// The requirements; `-` reads them from stdin
    #[arg(value_name = "SPEC")]
    pub(super) spec: PathBuf,
    /// The plan's title [default: that of the document, or the file's name]
    #[arg(long, value_name = "NAME")]
    pub(super) name: Option<String>,
    /// The file for the plan; `-` prints the plan. An existing file with tasks is not overwritten
    #[arg(long, value_name = "FILE", default_value = "PLAN.md")]
    pub(super) to: PathBuf,
    /// Have the agent write the plan; it is checked, and shown as a diff, before it is written
    #[arg(long)]
    pub(super) with_agent: bool,
    /// With `--with-agent`: do not ask for confirmation
    #[arg(long, short, requires = "with_agent")]
    pub(super) yes: bool,
    /// Say what an agent's plan lacks. The goal of the run in which the agent writes it
    #[arg(long = "__check", hide = true, value_name = "PLAN")]
    pub(super) check: Option<PathBuf>,
}

// Arguments of `ralph restore`.
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The iteration
    pub(super) n: Option<u32>,
    /// Restore the files as they were before the iteration
    #[arg(long)]
    pub(super) before: bool,
    /// Undo the last restore; again, to redo it
    #[arg(long, conflicts_with_all = ["n", "before"])]
    pub(super) undo: bool,
    /// The run, by its number, its ID or a part of it; -1 is the latest [default: the latest that worked]
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    pub(super) run: Option<String>,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(super) yes: bool,
}

// Options for display and logging.
#[derive(Debug, clap::Args)]
pub(super) struct ShowFlags {
    /// Show the run as text, without a screen
    #[arg(long)]
    pub(super) headless: bool,
    /// Run the loop in the process of its screen: closing the terminal stops the run
    #[arg(long)]
    pub(super) foreground: bool,
    /// The output on stdout: text for people, or the records of the journal as JSON lines
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: FormatArg,
    /// Log in detail to ralph.log in the run's directory and, without a screen, to stderr
    #[arg(long, short)]
    pub(super) verbose: bool,
    /// The events written to ralph.log: off, error, warn, info, debug, trace, or MODULE=LEVEL, separated by commas
    /// [default: info]
    #[arg(
        long = "log",
        value_name = "FILTER",
        env = "RALPH_LOG",
        hide_env_values = true,
        hide_short_help = true
    )]
    pub(super) log: Option<Filter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatArg {
    Text,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ThemeArg {
    /// Chosen for the terminal
    Auto,
    Dark,
    Light,
    /// The terminal's own sixteen colours
    #[value(name = "16")]
    Sixteen,
    None,
}

impl Args {
    /// The setting of the screen that a global flag sets.
    pub(super) fn screen_flags(&self) -> Vec<Flag> {
        let theme = self.theme.and_then(|theme| theme.to_possible_value());
        let theme = theme.map(|theme| Flag::new("--theme", "screen.theme", theme.get_name()));
        theme.into_iter().collect()
    }
}

// The arguments of a subcommand are declared only once it is typed (`defer`); otherwise every start would build those
// of all commands. A `///` comment on a struct of arguments would replace the help of the command that contains it.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(super) enum CliCommand {
    /// What `ralph` does without a command
    #[command(hide = true, disable_help_flag = true)]
    Run {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        rest: Vec<OsString>,
    },
    /// Set up this project: find the commands that test it, write them down as goals, and a plan
    Init(InitArgs),
    /// Create a new project: a directory with a repository, a plan and a first commit
    Setup {
        /// The name of the directory
        #[arg(value_name = "NAME")]
        name: String,
        /// Tasks for the plan
        #[arg(value_name = "TASK")]
        tasks: Vec<String>,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
        /// Show what would be created without creating it
        #[arg(long)]
        dry_run: bool,
    },
    /// Turn requirements into a plan: Markdown, plain text, a prd.json, or issues as `gh issue list --json title,body,number,labels`
    /// prints them
    Import(ImportArgs),
    /// Show the plan, check it, add a task: `ralph plan add "Write the parser"`
    Plan {
        /// The plan [default: the one that a run would use]
        #[arg(id = "plan-file", long = "plan", short = 'p', value_name = "FILE", global = true)]
        plan: Option<PathBuf>,
        /// Print only the task that the next iteration works on; exit code 1 if every task is done
        #[arg(long)]
        next: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        command: Option<PlanCommand>,
    },
    /// Continue the last run where it ended, after Ctrl-C, a limit or a block: with its counts, its session, your
    /// messages and the settings that it was started with; options of `ralph` that are typed here replace these
    /// settings. While the run is active, limits that are typed here become its limits, an adapter or a model gets its
    /// next iterations, and a permission mode decides from now on
    Continue(Box<Continuing>),
    #[command(flatten)]
    Batch(super::many::BatchCommand),
    /// Watch the loop work in a scratch repository, with a built-in agent that needs no model
    Demo {
        #[command(flatten)]
        show: ShowFlags,
    },
    /// Show what the active run is doing, or how the last run ended
    Status {
        /// Print one JSON object; with --watch, one line at every change
        #[arg(long)]
        json: bool,
        /// Repeat the status at every change until the run is over, and exit with its exit code; without a run, wait
        /// for one
        #[arg(long)]
        watch: bool,
    },
    /// Show the active run on this terminal as well; leave it with `q` then `d`
    Attach {
        /// The run [default: the active one of this project]
        #[arg(value_name = "RUN", conflicts_with = "url")]
        run: Option<String>,
        /// Connect over HTTP to the URL that ralph printed when the run began to listen
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Read the token for the URL from this file
        #[arg(long, value_name = "FILE", requires = "url")]
        token_file: Option<PathBuf>,
    },
    /// Wait for the end of the active run, and exit with its exit code
    Wait {
        /// The run [default: the active one of this project]
        #[arg(value_name = "RUN")]
        run: Option<String>,
    },
    /// Send the agent a message in the next prompt; a run that has ended resumes with it
    Steer {
        /// Deliver it now: live if the agent can take it, else by interrupting the current iteration
        #[arg(long, conflicts_with = "standing")]
        now: bool,
        /// Put it into every prompt, beginning with the next one
        #[arg(long)]
        standing: bool,
        /// To the agent of this plan of the last batch, by its name or its file
        #[arg(long, value_name = "PLAN")]
        to: Option<String>,
        /// Withdraw message N, as `ralph status` numbers it: one that is not delivered yet, or a standing one
        #[arg(long, value_name = "N", conflicts_with_all = ["now", "standing", "text"])]
        withdraw: Option<u32>,
        /// The message
        #[arg(required_unless_present = "withdraw", value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Comment on lines of the work: `ralph comment src/a.rs:12 "Name it"`; without a place, list the comments
    Comment(CommentArgs),
    /// Show how the agent changed tests, and confirm the changes: a run that ended only because of them is then
    /// verified. Also shows and confirms files that a task changed outside of its scope
    Confirm {
        /// Confirm without asking
        #[arg(long)]
        yes: bool,
    },
    /// List open permission requests and questions of the agent
    Asks {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer a permission request or a question of the agent: `ralph answer 3 yes`, `ralph answer 3 always`, `ralph
    /// answer 3 no "use the test database"`, `ralph answer 4 2`
    Answer {
        /// The number of the request, as `ralph asks` shows it
        ask: u32,
        /// `yes`; `always`: allow by the shown rule for the rest of this run; `project`: allow by it in every run of
        /// this project; `no` and a text for the agent; for a question, the number or name of a choice or your own
        /// words, and several answers in quotes for several questions
        #[arg(required = true, value_name = "ANSWER")]
        words: Vec<String>,
        /// With `always` or `project`: the rule to add instead of the shown one
        #[arg(long = "rule", value_name = "RULE")]
        rules: Vec<String>,
    },
    /// Pause after the current iteration; without a run, pause the running batch
    Pause,
    /// Resume a paused run
    Resume {
        /// Also end a wait and retry at once
        #[arg(long)]
        now: bool,
    },
    /// Skip to the next iteration: end the current one at once, without confirmation
    Skip,
    /// Stop the run gracefully, keeping the agent's work; closes the screen of a run that has ended
    Stop {
        /// Let the current iteration finish first
        #[arg(long, conflicts_with = "at_once")]
        after_iteration: bool,
        /// Kill the agent at once
        #[arg(long, visible_alias = "now")]
        at_once: bool,
    },
    /// Reset the stuck detector and resume
    ResetCircuit,
    /// List and start background tasks: commands that outlive an iteration and end with the run, such as a development server
    Tasks {
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        command: Option<TasksCommand>,
    },
    /// List and run goals: the commands that verify the work
    Goals {
        #[command(subcommand)]
        command: Option<GoalsCommand>,
    },
    /// List the rules on what agents may do, with where each is written, and test them
    Permissions {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        command: Option<PermissionsCommand>,
    },
    /// Show what agents and goals may do on this machine: writable and unreadable paths, and the keys passed on
    Sandbox {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
        #[command(subcommand)]
        command: Option<SandboxCommand>,
    },
    /// Summarize a run: what was done, why it ended, what is unverified, what needs your attention
    Report {
        /// The run, by its number, its ID or a part of it; -1 is the latest [default: the latest that worked]
        #[arg(value_name = "RUN", allow_negative_numbers = true)]
        run: Option<String>,
        /// The format: for people, for a pull request, or for programs
        #[arg(
            long = "format",
            id = "report-format",
            value_name = "FORMAT",
            value_enum,
            default_value = "text"
        )]
        format: ReportFormatArg,
        /// Print only what to read first: at most twelve lines
        #[arg(long, conflicts_with = "report-format")]
        short: bool,
        /// Instead of a report, send the spans and metrics of the run to this OpenTelemetry collector, or append them to
        /// this file
        #[cfg(feature = "telemetry")]
        #[arg(long, value_name = "URL|FILE", conflicts_with = "report-format")]
        otel: Option<String>,
    },
    /// List the runs in this project, the latest first
    Runs {
        /// List the latest run of each of your projects and of each work tree of a batch
        #[arg(long)]
        all: bool,
    },
    /// Show what iteration N changed
    Diff {
        /// The iteration [default: the latest]
        n: Option<u32>,
        /// Show what all iterations from this one on changed
        #[arg(long, value_name = "M")]
        since: Option<u32>,
        /// Show only the files, with line counts
        #[arg(long)]
        stat: bool,
        /// The run, by its number, its ID or a part of it; -1 is the latest [default: the latest that worked]
        #[arg(long, value_name = "ID", allow_hyphen_values = true)]
        run: Option<String>,
        /// Show only these files and directories of the project
        #[arg(last = true, value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Restore the files as they were after iteration N; without N, list the checkpoints
    Restore(RestoreArgs),
    /// Play a past run on the screen
    Replay {
        /// The run, by its number, its ID or a part of it; -1 is the latest [default: the latest that worked]
        #[arg(allow_negative_numbers = true)]
        run: Option<String>,
        /// Playback speed
        #[arg(long, value_name = "N", default_value_t = 1.0)]
        speed: f64,
    },
    /// List the agents that ralph can run, and whether they are installed
    Adapters {
        #[command(subcommand)]
        command: Option<AdaptersCommand>,
    },
    /// Check whether ralph can run here (agents, machine, project), and show how to fix problems
    Doctor {
        /// The format: for people or for programs
        #[arg(
            long = "format",
            id = "doctor-format",
            value_name = "FORMAT",
            value_enum,
            default_value = "text"
        )]
        format: DoctorFormatArg,
    },
    /// Show every setting in effect with its origin, and the files that are read
    Config {
        #[command(subcommand)]
        command: Option<ConfigCommand>,
    },
    /// Trust the current contents of this project's files for ralph: settings, adapters and prompt
    Trust {
        /// Show the contents of these files and whether they are trusted; exit code 1 if not
        #[arg(long, conflicts_with = "revoke")]
        show: bool,
        /// Withdraw the trust
        #[arg(long)]
        revoke: bool,
    },
    #[cfg(feature = "page")]
    #[command(flatten)]
    Web(super::web::WebCommand),
    /// Serve ralph's own tools to the agent that starts it, as an MCP server on stdin and stdout
    Mcp {
        /// The socket of the run [default: the run of this project]
        #[arg(long, value_name = "PATH")]
        socket: Option<PathBuf>,
        /// The run that the tools belong to; other runs refuse them [default: the active one]
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// A tool to leave out; can be repeated
        #[arg(long, value_name = "TOOL")]
        without: Vec<String>,
    },
    /// Serve an editor that speaks the Agent Client Protocol: its prompts start runs
    #[cfg(feature = "acp-server")]
    Acp(super::acp::AcpArgs),
    /// Send one notification by the setting `notify`, and say what was done
    Notify,
    /// Print completions for your shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell [default: from $SHELL]
        #[arg(value_name = "SHELL", value_enum)]
        shell: Option<Shell>,
    },
    /// Print the manual page, or write the pages of all commands
    Man {
        /// The directory for `ralph.1` and the pages of all commands
        #[arg(value_name = "DIR")]
        directory: Option<PathBuf>,
    },
    #[command(name = "__guard", hide = true)]
    Guard {
        #[arg(long)]
        spec: PathBuf,
    },
    #[command(name = "__tear-down", hide = true)]
    TearDown,
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent,
    #[cfg(feature = "native")]
    #[command(name = "__native-agent", hide = true)]
    NativeAgent {
        #[arg(long = "use-model", value_name = "NAME")]
        model: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DoctorFormatArg {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum PlanCommand {
    /// Print the prompt that the next iteration would get
    Prompt {
        /// Print the built-in instructions with placeholders, as a start for your own .ralph/prompt.md
        #[arg(long)]
        built_in: bool,
    },
    /// Report mistakes with line and column, and tasks that are too big or too vague; exit code 2 if the plan has
    /// mistakes
    Check {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a task after the last one, in the style of its neighbours; also while a run works on the plan
    Add {
        /// The task
        #[arg(required = true, value_name = "TASK")]
        task: Vec<String>,
        /// Add it after the last task below this heading; a missing heading is added at the end
        #[arg(long, short, value_name = "HEADING")]
        section: Option<String>,
    },
    /// Set a task of the active run aside: no iteration works on it, and the run is done without it
    SetAside {
        /// Take a task back that you have set aside
        #[arg(long)]
        undo: bool,
        /// The task, by the beginning of its text
        #[arg(required = true, value_name = "TASK")]
        task: Vec<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum TasksCommand {
    /// Start a command in the project: `ralph tasks start -- npm run dev`, or a line of shell in quotes
    Start {
        /// Print one JSON object with the number of the task
        #[arg(long)]
        json: bool,
        /// The command
        #[arg(
            required = true,
            value_name = "COMMAND",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        command: Vec<String>,
    },
    /// Print the output of a task without escape sequences
    Output {
        /// The number of the task, as `ralph tasks` shows it
        #[arg(value_name = "N")]
        number: u32,
        /// Follow the output until the task is over
        #[arg(long, short)]
        follow: bool,
        /// Print only this many bytes of the end
        #[arg(long, value_name = "N", default_value_t = 16_384)]
        bytes: u64,
    },
    /// End a task and everything it started
    Cancel {
        /// The number of the task, as `ralph tasks` shows it
        #[arg(value_name = "N")]
        number: u32,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum PermissionsCommand {
    /// Show the decision of the rules on a command, part by part; exit code 0 if allowed, 1 if denied, 8 if asked
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        /// The command, as a shell would run it
        #[arg(value_name = "COMMAND")]
        shell: Option<String>,
        /// The tool, by any of its names [default: Bash for a command, Edit for a path, WebFetch for an address]
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// The file that the tool gets
        #[arg(long, value_name = "FILE")]
        path: Vec<String>,
        /// The address that the tool gets
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Remove a rule that an answer added for this run or for this project
    Forget {
        /// The rule, as `ralph permissions` shows it
        rule: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SandboxCommand {
    /// Show how a path may be used, and why
    Explain {
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
    /// Let agents and goals write a path, or read a hidden one, in all projects: writes it to your own settings
    Allow {
        /// A file or directory; a missing directory is made
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Do not ask for confirmation
        #[arg(long, short)]
        yes: bool,
    },
    /// Run a command in the sandbox of an agent, regardless of `sandbox.mode`
    Run {
        #[arg(
            required = true,
            value_name = "COMMAND",
            trailing_var_arg = true,
            allow_hyphen_values = true
        )]
        command: Vec<OsString>,
    },
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
    ralph completions bash > ~/.local/share/bash-completion/completions/ralph
    ralph completions zsh > ~/.zfunc/_ralph    # a directory of $fpath
    ralph completions fish > ~/.config/fish/completions/ralph.fish
    ralph completions elvish >> ~/.config/elvish/rc.elv
    ralph completions powershell >> $PROFILE";

const TEST_EXAMPLES: &str = "\
Examples:
    ralph permissions test 'git push && ls'
    ralph permissions test --tool Edit --path src/main.rs
    ralph permissions test --url https://example.org/";

#[cfg(test)]
mod tests {
    use super::super::help;

    #[test]
    fn the_help_lists_the_flags_that_set_something() {
        let help = help::command().term_width(100).render_long_help().to_string();
        let (_, settings) = help.split_once("Settings:\n").expect("a heading");
        let (settings, _) = settings.split_once("\n\nExit codes").expect("what follows");
        insta::assert_snapshot!(settings);
    }
}
