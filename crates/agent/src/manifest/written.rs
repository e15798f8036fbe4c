//! The declaration of every key of a manifest. `docs/guide/adapters.md` is the reference for users.

use ralph_core::event::ToolKind;
use ralph_policy::{
    settings,
    settings::{
        AnyText, Grammar, Maybe, Mistake, NamedChoice, Node, OneOf, OpenGroup, SettingsSection, SomeOf, Switch, Terms,
        TextList, WholeNumber, accept_or,
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
    /// An adapter as it is written, its layers merged.
    pub(crate) struct WrittenAdapter {
        /// Has to agree with the name of the file.
        id("id"): Maybe<AnyText>,
        /// What people call it.
        title("title"): Maybe<AnyText>,
        /// The version it was tested with.
        verified("verified"): Maybe<AnyText>,
        /// Whether the agent is a program with a terminal or a server.
        transport("transport"): OneOf<Transport> = "pty",
        /// How its output is understood.
        dialect("dialect"): Maybe<OneOf<DialectKind>>,
        command("command"): SettingsSection<WrittenCommand>,
        live("live"): SettingsSection<WrittenLive>,
        mcp("mcp"): SettingsSection<WrittenMcp>,
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
}

settings! {
    /// The command line of one session.
    pub(crate) struct WrittenCommand {
        /// A name on `PATH`, or a path.
        program("program"): Maybe<AnyText>,
        /// Arguments, none of which passes through a shell.
        args("args"): Maybe<TextList>,
        /// What `{model}` in `args` stands for when a model is set.
        model("model"): Maybe<TextList>,
        /// What `{agent}` in `args` stands for when an agent is named.
        agent("agent"): Maybe<TextList>,
        /// What `{resume}` in `args` stands for when a session is continued.
        resume("resume"): Maybe<TextList>,
        /// What carries the prompt.
        prompt("prompt"): Maybe<OneOf<PromptBy>>,
        /// Variables for the agent, beside those of ralph's own environment.
        env("env"): OpenGroup<AnyText>,
        /// Variables the agent does not get, wherever they are set.
        env_remove("env_remove"): TextList = [],
        /// The variable that says where it unpacks libraries of its own at each start, and leaves them: it names a directory
        /// that is removed with the program.
        unpacks_to("unpacks_to"): Maybe<AnyText>,
        /// Its tools do not see the user's git configuration.
        git_identity("git_identity"): Switch = false,
    }
}

settings! {
    /// The channel on which it can be told something while it works.
    pub(crate) struct WrittenLive {
        /// What is spoken on it.
        protocol("protocol"): Maybe<OneOf<LiveKind>>,
        /// Arguments for it, in place of those of the command.
        args("args"): Maybe<TextList>,
        /// How a message reaches the running turn.
        steering("steering"): OneOf<Steering> = "protocol",
        /// Whether a session can be continued on it.
        resume("resume"): Switch = true,
        /// Whether it tells there how many tokens a whole turn used.
        usage("usage"): Switch = true,
        /// Whether the name of each use of a tool begins with the tool's own name.
        named_calls("named_calls"): Switch = false,
        asking("asking"): SettingsSection<WrittenAsking>,
    }
}

settings! {
    /// What makes it ask before it uses a tool, where a run has rules.
    pub(crate) struct WrittenAsking {
        /// The kinds of tools before every use of which it asks.
        kinds("kinds"): Maybe<SomeOf<ToolKind>>,
        /// Arguments in addition to those of the channel.
        args("args"): TextList = [],
        /// Variables in addition to those of the command.
        env("env"): OpenGroup<AnyText>,
        /// The text of a file that the others name.
        file("file"): Maybe<AnyText>,
        /// Files in which its user allows it to run commands without asking.
        bypass("bypass"): TextList = [],
    }
}

settings! {
    /// How it is given MCP servers; over ACP it needs nothing of this.
    pub(crate) struct WrittenMcp {
        /// How the servers are written where `{mcp_servers}` stands.
        form("form"): OneOf<McpForm> = "json",
        /// Arguments in addition to those of the command, or of the live channel.
        args("args"): TextList = [],
        /// Variables in addition to those of the command. A JSON object joins one that is there.
        env("env"): OpenGroup<AnyText>,
        /// On its live channel it goes on after its turn as long as its servers do, so that it has to be stopped.
        stays("stays"): Switch = false,
    }
}

settings! {
    /// How models are named.
    pub(crate) struct WrittenModel {
        /// With their provider or without.
        form("form"): OneOf<ModelForm> = "name",
    }
}

settings! {
    /// What the agent says about usage.
    pub(crate) struct WrittenUsage {
        /// Whether a continued session tells what the turn used, or the sum so far.
        counts("counts"): Maybe<OneOf<UsageScope>>,
    }
}

settings! {
    /// How the agent is stopped.
    pub(crate) struct WrittenStop {
        /// The signal that makes it clean up best.
        first("first"): OneOf<StopSignal> = "terminate",
        /// How long it may take after each, in milliseconds.
        grace_ms("grace_ms"): WholeNumber<0, 60_000> = 3000,
    }
}

settings! {
    /// How its version is found out.
    pub(crate) struct WrittenProbe {
        /// Arguments that make it print its version.
        args("args"): Maybe<TextList>,
    }
}

settings! {
    /// What it needs to reach its model.
    pub(crate) struct WrittenLogin {
        /// Variables, each of which is enough.
        env("env"): TextList = [],
        /// Further variables with keys that it may use.
        keys("keys"): TextList = [],
        /// Files, each of which is enough.
        files("files"): TextList = [],
        /// What to type to log in.
        hint("hint"): Maybe<AnyText>,
    }
}

settings! {
    /// What it has to be given where it is confined.
    pub(crate) struct WrittenSandbox {
        /// Directories that it keeps its own state in.
        write("write"): TextList = [],
        /// Files of its own state beside them.
        write_files("write_files"): TextList = [],
        /// Hosts that it connects to, its model's first of all.
        hosts("hosts"): TextList = [],
    }
}

settings! {
    /// Where it comes from.
    pub(crate) struct WrittenInstall {
        /// What to type to install it.
        hint("hint"): Maybe<AnyText>,
    }
}

settings! {
    /// What it can do beyond running a prompt to its end.
    pub(crate) struct WrittenCapabilities {
        /// It takes text while it works.
        live_steering("live_steering"): Switch = false,
        /// It tells how many tokens it used.
        usage("usage"): Switch = false,
        /// It tells what that cost.
        cost("cost"): Switch = false,
        /// It tells that while its turn goes on.
        usage_in_turn("usage_in_turn"): Maybe<Switch>,
    }
}

settings! {
    /// What its words mean, where it says them to a person only.
    pub(crate) struct WrittenPatterns {
        /// How much one request used.
        usage("usage"): Maybe<Expression>,
        /// What it cost.
        cost("cost"): Maybe<Expression>,
        /// It asks its user something.
        asks("asks"): Maybe<Expression>,
        /// Its last message begins.
        message("message"): Maybe<Expression>,
        /// It got on: what stands before that matters no more.
        after("after"): Maybe<Expression>,
        problem("problem"): SettingsSection<WrittenProblems>,
    }
}

settings! {
    /// What failures are known by.
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

impl NamedChoice for UsageScope {
    const CHOICES: &'static [(&'static str, Self)] = &[("turn", UsageScope::Turn), ("session", UsageScope::Session)];
}

impl NamedChoice for Transport {
    const CHOICES: &'static [(&'static str, Self)] = &[("pty", Transport::Pty), ("http", Transport::Http)];
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

impl NamedChoice for PromptBy {
    const CHOICES: &'static [(&'static str, Self)] = &[("stdin", PromptBy::Stdin), ("file", PromptBy::File)];
}

impl NamedChoice for ModelForm {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("name", ModelForm::Name),
        ("provider/name", ModelForm::ProviderName),
        ("any", ModelForm::Any),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::assert_committed;

    use ralph_policy::settings::{SettingForm, SettingKeys, reference};

    const REFERENCE: &str = include_str!("../../../../docs/guide/adapters.md");

    #[test]
    fn the_reference_has_a_row_for_every_key_and_no_other() {
        let (_, keys) = REFERENCE.split_once("## Keys").expect("a chapter");
        let (keys, _) = keys.split_once("\n## ").expect("a chapter after it");
        let rows: Vec<_> = keys
            .lines()
            .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
            .collect();
        let declared = SettingKeys::for_record::<WrittenAdapter>();
        let declared = declared.iter().map(|(key, field)| match field.kind.form {
            SettingForm::Open => format!("{key}.NAME"),
            SettingForm::Leaf | SettingForm::Section { .. } => key.to_owned(),
        });
        let mut known: Vec<String> = declared.collect();
        known.sort_by_key(|key| rows.iter().position(|row| row == key));
        assert_eq!(rows, known);
    }

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
