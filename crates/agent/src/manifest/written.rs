//! The declaration of every key of a manifest. `docs/guide/adapters.md` is the reference for users.

use ralph_core::event::ToolKind;
use ralph_policy::{
    choices, settings,
    settings::{
        AnyText, Grammar, Maybe, Mistake, NamedChoice, Node, OneOf, OpenGroup, PositiveCount, SettingsSection, SomeOf,
        Switch, Terms, TextList, WholeNumber, accept_or,
    },
};
use ralph_system::proc::StopSignal;
use serde_json::{Value, json};

use super::{
    super::{
        dialect::{DialectKind, LinePattern},
        mcp::McpForm,
        model::ModelForm,
        protocol::{LiveKind, Steering},
    },
    PromptBy, Transport,
};

/// The words for manifests in error messages.
pub(crate) const LANGUAGE: Terms = Terms {
    whole: "the adapter",
    whole_expected: "an object of adapter settings",
    section_expected: "a table",
    removed: &[],
};

settings! {
    /// An adapter as written, with its layers merged.
    pub(crate) struct WrittenAdapter {
        /// The id, which must equal the name of the file.
        id("id"): Maybe<AnyText>,
        /// The adapter whose keys apply where this one has none: another account of the same agent, for example.
        base("base"): Maybe<AnyText>,
        /// The name for people.
        title("title"): Maybe<AnyText>,
        /// The place of a built-in adapter among those of which a run that names none uses the first. Your own come after
        /// them. Without one it is only used if it is named, except `native`.
        rank("rank"): Maybe<PositiveCount>,
        /// The id of the same agent in the ACP registry, if the adapter is built in: `acp:ID` gets its directories and
        /// its login.
        acp("acp"): Maybe<AnyText>,
        /// The version of the agent that the adapter was tested with.
        verified("verified"): Maybe<AnyText>,
        /// Whether the agent is a program with a terminal or a server.
        transport("transport"): OneOf<Transport> = "pty",
        /// The format of the output.
        dialect("dialect"): Maybe<OneOf<DialectKind>>,
        command("command"): SettingsSection<WrittenCommand>,
        live("live"): SettingsSection<WrittenLive>,
        mcp("mcp"): SettingsSection<WrittenMcp>,
        subagents("subagents"): SettingsSection<WrittenSubagents>,
        model("model"): SettingsSection<WrittenModel>,
        usage("usage"): SettingsSection<WrittenUsage>,
        stop("stop"): SettingsSection<WrittenStop>,
        probe("probe"): SettingsSection<WrittenProbe>,
        login("login"): SettingsSection<WrittenLogin>,
        sandbox("sandbox"): SettingsSection<WrittenSandbox>,
        install("install"): SettingsSection<WrittenInstall>,
        capabilities("capabilities"): SettingsSection<WrittenCapabilities>,
        patterns("patterns"): SettingsSection<WrittenPatterns>,
    }

    /// The command line of one session.
    pub(crate) struct WrittenCommand {
        /// The program: a name on `PATH`, or a path.
        program("program"): Maybe<AnyText>,
        /// Arguments, passed without a shell; none if there is no such key.
        args("args"): Maybe<TextList>,
        /// The arguments for `{model}` in `args` if a model is set.
        model("model"): Maybe<TextList>,
        /// The arguments for `{agent}` in `args` if an agent is set.
        agent("agent"): Maybe<TextList>,
        /// The arguments for `{resume}` in `args` if a session is continued.
        resume("resume"): Maybe<TextList>,
        /// How the prompt is passed.
        prompt("prompt"): Maybe<OneOf<PromptBy>>,
        /// Variables for the agent, in addition to those of ralph's environment.
        env("env"): OpenGroup<AnyText>,
        /// Variables that are always removed from the agent's environment.
        env_remove("env_remove"): TextList = [],
        /// The variable for the directory to which the agent unpacks its libraries at each start and leaves them. It
        /// names a directory that is removed with the program.
        unpacks_to("unpacks_to"): Maybe<AnyText>,
        /// Whether the agent's tools do not see the user's git configuration.
        git_identity("git_identity"): Switch = false,
    }

    /// The live channel, which carries messages to the running agent.
    pub(crate) struct WrittenLive {
        /// The protocol of the channel.
        protocol("protocol"): Maybe<OneOf<LiveKind>>,
        /// Arguments that replace those of the command; may be left out if the command has none.
        args("args"): Maybe<TextList>,
        /// How a message reaches the running turn.
        steering("steering"): OneOf<Steering> = "protocol",
        /// Whether a session can be continued on the channel.
        resume("resume"): Switch = true,
        /// Whether the agent reports the tokens of a whole turn on the channel.
        usage("usage"): Switch = true,
        /// Whether the name of each use of a tool begins with the tool's own name.
        named_calls("named_calls"): Switch = false,
        asking("asking"): SettingsSection<WrittenAsking>,
    }

    /// How the agent is made to request permission before it uses a tool, for runs with rules.
    pub(crate) struct WrittenAsking {
        /// The kinds of tools that the agent requests permission for at every use.
        kinds("kinds"): Maybe<SomeOf<ToolKind>>,
        /// Arguments in addition to those of the channel.
        args("args"): TextList = [],
        /// Variables in addition to those of the command.
        env("env"): OpenGroup<AnyText>,
        /// The text of a file that the other settings refer to.
        file("file"): Maybe<AnyText>,
        /// Files in which the user can allow the agent to run commands without asking.
        bypass("bypass"): TextList = [],
    }

    /// How the agent gets MCP servers; not needed over ACP.
    pub(crate) struct WrittenMcp {
        /// The format of the servers in place of `{mcp_servers}`.
        form("form"): OneOf<McpForm> = "json",
        /// Arguments in addition to those of the command, or of the live channel.
        args("args"): TextList = [],
        /// Variables in addition to those of the command. A JSON object is merged with an existing one.
        env("env"): OpenGroup<AnyText>,
        /// Whether the agent on its live channel keeps running after its turn while its servers run, and must be
        /// stopped.
        stays("stays"): Switch = false,
    }

    /// The subagents that the agent starts.
    pub(crate) struct WrittenSubagents {
        /// The names of the tools that start one. Each use counts as one, unless the agent reports its subagents itself;
        /// a use that the agent requests permission for is denied at a limit.
        tools("tools"): TextList = [],
        at_once("at_once"): SettingsSection<WrittenSubagentCap>,
        depth("depth"): SettingsSection<WrittenSubagentCap>,
    }

    /// A limit of the agent itself, which is lowered to that of the run.
    pub(crate) struct WrittenSubagentCap {
        /// The limit of an agent that is not told one.
        own("own"): Maybe<PositiveCount>,
        /// Arguments that set it, in addition to those of the command, or of the live channel.
        args("args"): TextList = [],
        /// The variable that sets it.
        env("env"): Maybe<AnyText>,
    }

    /// The form of model names.
    pub(crate) struct WrittenModel {
        /// Names with or without the provider.
        form("form"): OneOf<ModelForm> = "name",
    }

    /// The meaning of reported usage.
    pub(crate) struct WrittenUsage {
        /// Whether a continued session reports the usage of the turn or the sum so far.
        counts("counts"): Maybe<OneOf<UsageScope>>,
    }

    /// How the agent is stopped.
    pub(crate) struct WrittenStop {
        /// The first signal, with which the agent cleans up best.
        first("first"): OneOf<StopSignal> = "terminate",
        /// The grace period after each signal, in milliseconds.
        grace_ms("grace_ms"): WholeNumber<0, 60_000> = 3000,
    }

    /// How the version is determined.
    pub(crate) struct WrittenProbe {
        /// Arguments that print the version.
        args("args"): Maybe<TextList>,
    }

    /// The credentials of the agent.
    pub(crate) struct WrittenLogin {
        /// Variables with a credential; each is enough.
        env("env"): TextList = [],
        /// Additional variables with keys that the agent may use.
        keys("keys"): TextList = [],
        /// Files with a credential; each is enough.
        files("files"): TextList = [],
        /// The command to log in.
        hint("hint"): Maybe<AnyText>,
    }

    /// Access that the agent needs in the sandbox.
    pub(crate) struct WrittenSandbox {
        /// Directories with the agent's own state.
        write("write"): TextList = [],
        /// Files with the agent's own state outside of them.
        write_files("write_files"): TextList = [],
        /// Hosts that the agent connects to, its model's first.
        hosts("hosts"): TextList = [],
    }

    /// How to get the agent.
    pub(crate) struct WrittenInstall {
        /// The command to install the agent.
        hint("hint"): Maybe<AnyText>,
    }

    /// Capabilities beyond running a prompt to its end.
    pub(crate) struct WrittenCapabilities {
        /// The agent accepts text while it works.
        live_steering("live_steering"): Switch = false,
        /// The agent reports used tokens.
        usage("usage"): Switch = false,
        /// The agent reports the cost.
        cost("cost"): Switch = false,
        /// The agent reports usage during its turn.
        usage_in_turn("usage_in_turn"): Maybe<Switch>,
    }

    /// The meaning of output that the agent writes only for people.
    pub(crate) struct WrittenPatterns {
        /// The usage of one request.
        usage("usage"): Maybe<Expression>,
        /// The cost of one request.
        cost("cost"): Maybe<Expression>,
        /// A question to the user.
        asks("asks"): Maybe<Expression>,
        /// The beginning of the last message.
        message("message"): Maybe<Expression>,
        /// A sign of progress; earlier output is ignored.
        after("after"): Maybe<Expression>,
        problem("problem"): SettingsSection<WrittenProblems>,
    }

    /// The signs of failures.
    pub(crate) struct WrittenProblems {
        auth("auth"): Maybe<Expression>,
        model_unknown("model-unknown"): Maybe<Expression>,
        rate_limited("rate-limited"): Maybe<Expression>,
        quota_exhausted("quota-exhausted"): Maybe<Expression>,
        overloaded("overloaded"): Maybe<Expression>,
        network("network"): Maybe<Expression>,
        context_overflow("context-overflow"): Maybe<Expression>,
        other("other"): Maybe<Expression>,
    }
}

/// A regular expression over one line.
pub(crate) struct Expression;

impl Grammar for Expression {
    type Value = LinePattern;

    fn read(node: &Node, key: &str) -> Result<LinePattern, Vec<Mistake>> {
        let read = match node.text() {
            Some(text) => LinePattern::new(text).map_err(Some),
            None => Err(None),
        };
        accept_or::<Self>(node, key, read)
    }

    fn expected() -> String {
        r#"a regular expression, such as "^Error: ""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "format": "regex" })
    }
}

/// The meaning of a continued session's usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsageScope {
    /// The usage of the turn.
    Turn,
    /// The sum over the session.
    Session,
}

choices! {
    UsageScope: "turn" = Turn, "session" = Session;
    Transport: "pty" = Pty, "http" = Http;
    PromptBy: "stdin" = Stdin, "file" = File;
    ModelForm: "name" = Name, "provider/name" = ProviderName, "any" = Any;
}

impl NamedChoice for DialectKind {
    const CHOICES: &'static [(&'static str, Self)] = &DialectKind::NAMES;
}

impl NamedChoice for LiveKind {
    const CHOICES: &'static [(&'static str, Self)] = &LiveKind::NAMES;
}

impl NamedChoice for McpForm {
    const CHOICES: &'static [(&'static str, Self)] = &McpForm::NAMES;
}

impl NamedChoice for Steering {
    const CHOICES: &'static [(&'static str, Self)] = &Steering::NAMES;
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::assert_committed;

    use ralph_policy::settings::{SettingKeys, reference};

    #[test]
    fn the_page_of_all_keys_is_the_committed_one() {
        let head = "# Keys of an adapter\n\nEvery key of an adapter's file, as it is declared. \
                    [Adapters](../guide/adapters.md) explains them and how they work together.\n";
        let page = reference::page::<WrittenAdapter>(&|_, _| Vec::new());
        assert_committed(
            "docs/reference/adapter.md",
            &format!("{head}{page}"),
            "the_page_of_all_keys",
        );
    }

    #[test]
    fn a_key_is_suggested_by_likeness_of_the_whole_or_of_its_last_part() {
        let keys = SettingKeys::for_record::<WrittenAdapter>();
        assert_eq!(keys.nearest("command.arg"), Some("command.args"));
        assert_eq!(keys.nearest("program"), Some("command.program"));
        assert_eq!(keys.nearest("zzzzz"), None);
    }
}
