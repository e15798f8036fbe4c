//! What can be typed after `ralph`.

use std::{ffi::OsString, net::SocketAddr, path::PathBuf};

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    config::listen::{listen_address, proxy_host},
    diagnostics::Filter,
    ui::tui::theme::Palette,
};

use super::setting_flags::SettingFlags;

/// Run your coding agent in a loop, one task at a time, until every task in the plan is done and verified
#[derive(Debug, Parser)]
#[command(
    name = "ralph",
    version,
    args_conflicts_with_subcommands = false,
    // What is typed after an alias overrides what the alias says.
    args_override_self = true,
    subcommand_negates_reqs = true,
    after_help = EXIT_CODES
)]
pub(super) struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,

    #[command(flatten)]
    pub(super) settings: SettingFlags,

    #[command(flatten)]
    pub(super) show: ShowFlags,

    /// The colours of the screen [default: what suits the terminal; none where NO_COLOR is set]
    #[arg(long, value_enum, global = true)]
    pub(super) theme: Option<ThemeArg>,
    /// Draw the screen without Unicode [default: where the locale has none]
    #[arg(long, global = true)]
    pub(super) ascii: bool,
    /// Leave the mouse to the terminal, so that it can select text
    #[arg(long, global = true)]
    pub(super) no_mouse: bool,
    /// Read one more configuration file, which overrides the user's and the project's
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) config: Option<PathBuf>,
    /// Keep journals and recordings below this directory [default: ralph in the user's state directory]
    #[arg(long, value_name = "DIR", env = "RALPH_STATE_DIR", global = true)]
    pub(super) state_dir: Option<PathBuf>,
    /// Let the project's own files count for this command, whatever they say; `ralph trust` says what they are
    #[arg(long, global = true)]
    pub(super) trust_project: bool,
    /// Started as the loop behind a screen: by ralph itself
    #[arg(long = "__loop", hide = true)]
    pub(super) behind_screen: bool,
    /// The same as `ralph status`
    #[arg(long, hide = true)]
    pub(super) status: bool,
    /// Show the run on the screen, as is done on a terminal anyway
    #[arg(long, hide = true, conflicts_with = "headless")]
    pub(super) monitor: bool,
    /// The same as `ralph reset-circuit`
    #[arg(long, hide = true)]
    pub(super) reset_circuit: bool,
}

/// How a run is shown.
#[derive(Debug, clap::Args)]
pub(super) struct ShowFlags {
    /// Show the run as text, without a screen
    #[arg(long)]
    pub(super) headless: bool,
    /// Run the loop in the process of its screen: closing the terminal stops the run
    #[arg(long)]
    pub(super) foreground: bool,
    /// What goes to stdout: text for people, or the records of the journal as JSON lines
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: FormatArg,
    /// Log in detail to ralph.log in the run's directory and, without a screen, to stderr
    #[arg(long)]
    pub(super) verbose: bool,
    /// Which events ralph.log gets: off, error, warn, info, debug, trace, or MODULE=LEVEL, separated by commas
    /// [default: info]
    #[arg(long = "log", value_name = "FILTER", env = "RALPH_LOG", hide_env_values = true)]
    pub(super) log: Option<Filter>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FormatArg {
    Text,
    Jsonl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ThemeArg {
    Dark,
    Light,
    /// The terminal's own sixteen colours
    #[value(name = "16")]
    Sixteen,
    None,
}

impl From<ThemeArg> for Palette {
    fn from(theme: ThemeArg) -> Self {
        match theme {
            ThemeArg::Dark => Palette::Dark,
            ThemeArg::Light => Palette::Light,
            ThemeArg::Sixteen => Palette::Sixteen,
            ThemeArg::None => Palette::Mono,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Watch the loop work in a scratch repository, with a built-in agent that needs no model
    Demo {
        #[command(flatten)]
        show: ShowFlags,
    },
    /// Show what the running loop is doing, or how the last run ended
    Status {
        /// As one JSON object; with --watch, one a line at every change
        #[arg(long)]
        json: bool,
        /// Show it again at every change, until the run is over, and exit with its exit code; waits for a run if there
        /// is none
        #[arg(long)]
        watch: bool,
    },
    /// The same as `ralph status --watch`
    #[command(hide = true)]
    Monitor,
    /// Show the running loop on this terminal, too; leave it with `q` then `d`
    Attach {
        /// The run [default: the one that works in this project]
        #[arg(value_name = "RUN", conflicts_with = "url")]
        run: Option<String>,
        /// Reach the run over HTTP: what its ralph printed when it was told to listen
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// Read the token for the URL from this file
        #[arg(long, value_name = "FILE", requires = "url")]
        token_file: Option<PathBuf>,
    },
    /// Wait for the end of the running loop, and exit with its exit code
    Wait {
        /// The run [default: the one that works in this project]
        #[arg(value_name = "RUN")]
        run: Option<String>,
    },
    /// Send the agent a message in the next prompt; a run that has ended resumes with it
    Steer {
        /// Deliver it now: live if the agent can take it, else by interrupting the current iteration
        #[arg(long, conflicts_with = "standing")]
        now: bool,
        /// Put it into every prompt from the next one on
        #[arg(long)]
        standing: bool,
        /// The message
        #[arg(required = true, value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Withdraw a message that was not delivered yet, or a standing one
    Withdraw {
        /// Its number, as `ralph status` shows it
        id: u32,
    },
    /// List what the agent asks: to be allowed something, or in words
    Asks {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Answer what the agent asks: `ralph answer 3 yes`, `ralph answer 3 always`, `ralph answer 3 no "use the test database"`,
    /// `ralph answer 4 2`
    Answer {
        /// Its number, as `ralph asks` shows it
        ask: u32,
        /// `yes`; `always` to allow in this run what the rule says that `ralph asks` shows, `project` in every run of this
        /// project; `no` and what the agent is told with it; to a question the number of a choice, its name, or words of your
        /// own, and several answers in quotes where several questions are asked
        #[arg(required = true, value_name = "ANSWER")]
        words: Vec<String>,
        /// With `always` or `project`: the rule that is added instead of the one that is shown
        #[arg(long = "rule", value_name = "RULE")]
        rules: Vec<String>,
    },
    /// Pause after the current iteration
    Pause,
    /// Resume a paused run
    Resume {
        /// Also end a wait and try again at once
        #[arg(long)]
        now: bool,
    },
    /// Skip to the next iteration: end the current one at once, without asking
    Skip,
    /// Stop the run gracefully, keeping the agent's work; closes the screen of a run that has ended
    Stop {
        /// Let the current iteration finish first
        #[arg(long, conflicts_with = "at_once")]
        after_iteration: bool,
        /// Kill the agent at once
        #[arg(long)]
        at_once: bool,
    },
    /// Reset the stuck detector and resume
    ResetCircuit,
    /// Manage goals (commands that verify the work)
    Goals {
        #[command(subcommand)]
        command: GoalsCommand,
    },
    /// Try and list the rules on what agents may do
    Permissions {
        #[command(subcommand)]
        command: PermissionsCommand,
    },
    /// Show, explain and try what agents and goals may do on this machine
    Sandbox {
        #[command(subcommand)]
        command: SandboxCommand,
    },
    /// Summarize a run: what was done, why it ended, what is unverified, what needs your attention
    Report {
        /// The run [default: the latest]
        #[arg(value_name = "RUN")]
        run: Option<String>,
        /// For people, for a pull request, or for programs
        #[arg(
            long = "format",
            id = "report-format",
            value_name = "FORMAT",
            value_enum,
            default_value = "text"
        )]
        format: ReportFormatArg,
    },
    /// List the runs in this project, the latest first
    Runs,
    /// Show what iteration N changed
    Diff {
        /// The iteration
        n: u32,
        /// Show only the files, with line counts
        #[arg(long)]
        stat: bool,
        /// The run [default: the latest]
        #[arg(long, value_name = "ID")]
        run: Option<String>,
    },
    /// Restore the files as they were after iteration N; without N, list the checkpoints
    Restore {
        /// The iteration
        n: Option<u32>,
        /// Restore them as they were before the iteration
        #[arg(long)]
        before: bool,
        /// The run [default: the latest]
        #[arg(long, value_name = "ID")]
        run: Option<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
    },
    /// Play a past run on the screen
    Replay {
        /// The run [default: the latest]
        run: Option<String>,
        /// Playback speed
        #[arg(long, value_name = "N", default_value_t = 1.0)]
        speed: f64,
    },
    /// Show and check the agents ralph can run
    Adapters {
        #[command(subcommand)]
        command: AdaptersCommand,
    },
    /// Check whether ralph can run here (agents, machine, project) and how to fix what is missing
    Doctor {
        /// For people or for programs
        #[arg(
            long = "format",
            id = "doctor-format",
            value_name = "FORMAT",
            value_enum,
            default_value = "text"
        )]
        format: DoctorFormatArg,
    },
    /// Show the settings and where they come from
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Trust what this project's own files say to ralph: settings, adapters and prompt, as they are now
    Trust {
        /// Show what they say and whether it is trusted; exit code 1 if it is not
        #[arg(long, conflicts_with = "revoke")]
        show: bool,
        /// Take the trust back
        #[arg(long)]
        revoke: bool,
    },
    /// Print the token that lets a program or a browser use the API of this project's runs, where they listen (`--listen`)
    Token {
        /// Print the read-only one, which cannot command
        #[arg(long)]
        read_only: bool,
        /// Print that of `ralph web`, which is for the runs of all projects
        #[arg(long)]
        web: bool,
        /// Make new ones first, so that the old ones stop working
        #[arg(long)]
        revoke: bool,
    },
    /// Serve the runs of all your projects on one page, for this machine's browser or, through a tunnel, your phone's
    Web {
        /// Where to listen [default: 127.0.0.1:7257]
        #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
        listen: Option<SocketAddr>,
        /// Names under which an encrypting proxy passes requests on to that address, separated by commas
        #[arg(long, value_name = "HOSTS", value_delimiter = ',', value_parser = proxy_host)]
        behind_proxy: Vec<String>,
    },
    #[command(name = "__guard", hide = true)]
    Guard {
        #[arg(long)]
        spec: PathBuf,
    },
    #[command(name = "__demo-agent", hide = true)]
    DemoAgent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum ReportFormatArg {
    Text,
    Markdown,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum DoctorFormatArg {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum GoalsCommand {
    /// Run all goals once and show each result; exit code 1 if one fails
    Check,
}

#[derive(Debug, Subcommand)]
pub(super) enum PermissionsCommand {
    /// Say what the rules make of a command, part by part; exit code 0 if it is allowed, 1 if denied, 8 if asked
    #[command(after_help = TEST_EXAMPLES)]
    Test {
        /// What a shell would run
        #[arg(value_name = "COMMAND")]
        shell: Option<String>,
        /// The tool, by any of its names [default: Bash for a command, Edit for a path, WebFetch for an address]
        #[arg(long, value_name = "NAME")]
        tool: Option<String>,
        /// A file that the tool is given
        #[arg(long, value_name = "FILE")]
        path: Vec<String>,
        /// An address that the tool is given
        #[arg(long, value_name = "URL")]
        url: Option<String>,
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// List the rules in effect, and where each is written
    List {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Take back a rule that an answer has added, for this run or for this project
    Forget {
        /// As `ralph permissions list` shows it
        rule: String,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum SandboxCommand {
    /// List what may be written, what cannot be read, and which variables with keys are passed on
    Show {
        /// As one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Say what may be done with a path, and why
    Explain {
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
    /// Run a command as an agent would run it, whatever `sandbox.mode` says
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

#[derive(Debug, Subcommand)]
pub(super) enum AdaptersCommand {
    /// List the adapters and whether they are installed
    List,
    /// Print an adapter's settings, each with its origin
    Show { id: String },
    /// Check whether an adapter's program is installed, and its version; without ID, all of them
    Check { id: Option<String> },
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Print every effective setting with its origin
    Show,
    /// Print the JSON schema of configuration files
    Schema,
    /// Print the files that are read
    Path,
}

const TEST_EXAMPLES: &str = "\
Examples:
    ralph permissions test 'git push && ls'
    ralph permissions test --tool Edit --path src/main.rs
    ralph permissions test --url https://example.org/";

const EXIT_CODES: &str = "\
Exit codes:
    0  done                              5  another ralph is already running
    1  the agent or ralph failed         6  a limit was reached
    2  usage                             7  no progress
    3  configuration or plan invalid     8  blocked: needs your answer
    4  agent unavailable               129, 130, 143  hung up, interrupted or stopped, terminated";

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_help_lists_the_flags_that_set_something() {
        let help = Args::command().term_width(100).render_long_help().to_string();
        let (_, settings) = help.split_once("Settings:\n").expect("a heading");
        let (settings, _) = settings.split_once("\n\nExit codes").expect("what follows");
        insta::assert_snapshot!(settings);
    }
}
