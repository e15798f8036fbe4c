//! A rule in its written form: `Tool` or `Tool(what)`.
//!
//! The syntax is that of Claude Code, so that its rules can be pasted. A rule that could never match is refused with a
//! suggestion, since a rule without effect is worse than none.

use ralph_core::event::{self, ToolKinds};
use thiserror::Error;

use super::{
    pattern::{CommandPattern, PatternMatch},
    shell::is_transparent,
    tools::{self, ToolClass, is_other, near, tool_class},
};
use crate::settings::SettingOrigin;

/// The length limit of a rule.
const LONGEST_BYTES: usize = 1024;

/// The reason why a rule is invalid.
#[derive(Debug, Error, PartialEq)]
pub enum RuleError {
    #[error("it is longer than {LONGEST_BYTES} bytes")]
    TooLong,
    #[error("it has a control character")]
    Control,
    #[error("it names no tool; write `Bash(git push *)`, `Edit(src/**)` or `Read`")]
    NoTool,
    #[error("there is no tool `{name}`; did you mean `{near}`?")]
    UnknownTool { name: String, near: &'static str },
    #[error("there is no tool `{name}`; the tools are Bash, Edit, Read, WebFetch, WebSearch and `mcp__server__tool`")]
    NoSuchTool { name: String },
    #[error("its parenthesis is not closed; write `{instead}`")]
    Unclosed { instead: String },
    #[error("nothing opens its `)`; write `{instead}`")]
    Unopened { instead: String },
    #[error("its parentheses are empty, so it never matches; write `{instead}` for all of it")]
    Empty { instead: String },
    #[error("`{name}` takes nothing in parentheses; write `{name}`")]
    TakesNothing { name: String },
    #[error("commands are split at `{found}`, so it can never match; write a rule for each command")]
    Operator { found: &'static str },
    #[error("quotes are removed before commands are compared, so it can never match; write `{instead}`")]
    Quoted { instead: String },
    #[error("`:*` is only allowed at the end; use `*` elsewhere")]
    InnerColon,
    #[error("it is a path, and `Bash` is for commands; write `Edit({path})` or `Read({path})`")]
    PathOfCommand { path: String },
    #[error("rules apply to the command that `{program}` runs; write the rule for that command")]
    LookedThrough { program: String },
    #[error("it is not a host; write `WebFetch(domain:example.org)`")]
    NoDomain,
    #[error("hosts are compared in ASCII; write `{host}` as browsers send it, with `xn--`")]
    ForeignHost { host: String },
    #[error("`domain:` is for `WebFetch`; write `WebFetch({domain})`")]
    DomainElsewhere { domain: String },
}

/// The list that contains a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RuleList {
    Deny,
    Ask,
    Allow,
}

impl RuleList {
    /// All lists, in the order in which they decide.
    pub const ALL: [RuleList; 3] = [RuleList::Deny, RuleList::Ask, RuleList::Allow];

    pub fn name(self) -> &'static str {
        match self {
            RuleList::Deny => "deny",
            RuleList::Ask => "ask",
            RuleList::Allow => "allow",
        }
    }
}

/// A rule, and the place where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// The rule as written.
    pub text: String,
    pub origin: SettingOrigin,
    pub(super) tool: RuleTool,
    pub(super) spec: RuleSpec,
}

/// A rule that allows a request which the user was asked about and does not want to be asked about again.
#[derive(Debug, Clone, PartialEq)]
pub struct GrantedRule {
    pub rule: Rule,
    /// The texts of the `ask` rules that asked at that time. Only these are overruled.
    pub over: Vec<String>,
    /// The source of the rule, for display.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum RuleTool {
    Kind(ToolClass),
    /// A server's tools; all of them if the tool is `*` or missing.
    Mcp {
        pattern: CommandPattern,
        /// The pattern for agents that join the names of server and tool by a single `_`, so that the boundary is
        /// unknown.
        joined: CommandPattern,
        /// The server as written, which may be such a joined name.
        server: String,
    },
    Named(String),
}

/// The uses of a tool to which a rule applies.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RuleSpec {
    All,
    Command(CommandPattern),
    /// The path with its prefix, which determines what it is relative to.
    Path(String),
    /// The host, in which `*` matches any text.
    Domain(CommandPattern),
}

impl Rule {
    /// Parses a rule of a list.
    ///
    /// # Errors
    /// [`RuleError`] if the rule is invalid or could never match.
    pub fn read(text: &str, list: RuleList, origin: &SettingOrigin) -> Result<Rule, RuleError> {
        let text = text.trim();
        if text.len() > LONGEST_BYTES {
            return Err(RuleError::TooLong);
        }
        if text.contains(char::is_control) {
            return Err(RuleError::Control);
        }
        let (name, spec) = taken_apart(text)?;
        let tool = tool(name)?;
        let spec = match spec {
            None => RuleSpec::All,
            Some(spec) if spec.trim().is_empty() => {
                let instead = name.to_owned();
                return Err(RuleError::Empty { instead });
            }
            Some(spec) => read_spec(&tool, name, spec.trim(), list)?,
        };
        Ok(Rule {
            text: text.to_owned(),
            origin: origin.clone(),
            tool,
            spec,
        })
    }

    /// The kinds of tools to which the rule applies. Rules for files also apply to a shell, whose redirections name
    /// files.
    pub fn kinds(&self) -> ToolKinds {
        use event::ToolKind as Of;
        ToolKinds::from_kinds(match &self.tool {
            RuleTool::Kind(ToolClass::Shell) => &[Of::Shell],
            RuleTool::Kind(ToolClass::Edit) => &[Of::Edit, Of::Shell],
            RuleTool::Kind(ToolClass::Read) => &[Of::Read, Of::Shell],
            RuleTool::Kind(ToolClass::Fetch | ToolClass::Search) => &[Of::Fetch],
            RuleTool::Kind(ToolClass::Mcp { .. }) | RuleTool::Mcp { .. } => &[Of::Mcp],
            RuleTool::Kind(ToolClass::Other) | RuleTool::Named(_) => &[Of::Other],
        })
    }

    /// Whether this rule obviously matches everything that `other` matches.
    pub(super) fn covers(&self, other: &Rule) -> bool {
        self.tool == other.tool && (self.spec == RuleSpec::All || self.spec == other.spec)
    }

    /// Whether the rule applies to a tool of this name and kind, for any input.
    pub(super) fn is_for(&self, name: &str, kind: &ToolClass) -> bool {
        match (&self.tool, kind) {
            (
                RuleTool::Mcp {
                    joined, server: whole, ..
                },
                ToolClass::Mcp { server, tool },
            ) if server.is_empty() => whole == tool || joined.matches(tool) == PatternMatch::Yes,
            (RuleTool::Mcp { pattern, .. }, ToolClass::Mcp { server, tool }) => {
                pattern.matches(&format!("{server}__{tool}")) == PatternMatch::Yes
            }
            (RuleTool::Kind(known), _) => known == kind,
            (RuleTool::Named(known), ToolClass::Other) => known.eq_ignore_ascii_case(name),
            (RuleTool::Named(_) | RuleTool::Mcp { .. }, _) => false,
        }
    }
}

/// Splits a rule into the tool and the text in parentheses.
fn taken_apart(text: &str) -> Result<(&str, Option<&str>), RuleError> {
    match (text.split_once('('), text.strip_suffix(')')) {
        (None, None) => Ok((text, None)),
        (None, Some(before)) => {
            let instead = match before.split_once(' ') {
                Some(_) => format!("Bash({before})"),
                None => before.to_owned(),
            };
            Err(RuleError::Unopened { instead })
        }
        (Some(_), None) => Err(RuleError::Unclosed {
            instead: format!("{text})"),
        }),
        (Some((name, _)), Some(before)) => {
            let spec = &before[name.len() + 1..];
            let opened = spec.matches('(').count();
            match spec.matches(')').count() {
                closed if closed > opened => Err(RuleError::Unopened {
                    instead: before.to_owned(),
                }),
                _ => Ok((name.trim(), Some(spec))),
            }
        }
    }
}

fn tool(name: &str) -> Result<RuleTool, RuleError> {
    if name.is_empty() {
        return Err(RuleError::NoTool);
    }
    if let Some((server, tool)) = tools::mcp(name) {
        let name = name.to_owned();
        if server.is_empty() || name.contains(' ') {
            return Err(RuleError::NoSuchTool { name });
        }
        let tool = tool.filter(|tool| !tool.is_empty()).unwrap_or("*");
        let joined_by = |between: &str| {
            CommandPattern::new(&match server {
                "*" => "*".to_owned(),
                server => format!("{server}{between}{tool}"),
            })
        };
        return Ok(RuleTool::Mcp {
            pattern: joined_by("__"),
            joined: joined_by("_"),
            server: server.to_owned(),
        });
    }
    match tool_class(name) {
        ToolClass::Other if is_other(name) => Ok(RuleTool::Named(name.to_owned())),
        ToolClass::Other => Err(match near(name) {
            Some(near) => RuleError::UnknownTool {
                name: name.to_owned(),
                near,
            },
            // A command was written instead of a rule.
            None if name.contains(' ') => RuleError::NoTool,
            None => RuleError::NoSuchTool { name: name.to_owned() },
        }),
        kind => Ok(RuleTool::Kind(kind)),
    }
}

fn read_spec(tool: &RuleTool, name: &str, spec: &str, list: RuleList) -> Result<RuleSpec, RuleError> {
    match tool {
        RuleTool::Kind(ToolClass::Shell) => command(spec, list),
        RuleTool::Kind(ToolClass::Edit | ToolClass::Read) if spec.starts_with("domain:") => {
            Err(RuleError::DomainElsewhere {
                domain: spec.to_owned(),
            })
        }
        RuleTool::Kind(ToolClass::Edit | ToolClass::Read) if ["*", "**"].contains(&spec) => Ok(RuleSpec::All),
        RuleTool::Kind(ToolClass::Edit | ToolClass::Read) => Ok(RuleSpec::Path(spec.to_owned())),
        RuleTool::Kind(ToolClass::Fetch) => domain(spec),
        RuleTool::Kind(ToolClass::Search | ToolClass::Mcp { .. } | ToolClass::Other)
        | RuleTool::Mcp { .. }
        | RuleTool::Named(_) => Err(RuleError::TakesNothing { name: name.to_owned() }),
    }
}

fn command(spec: &str, list: RuleList) -> Result<RuleSpec, RuleError> {
    if [":*", "*"].contains(&spec) {
        return Ok(RuleSpec::All);
    }
    if spec.starts_with("domain:") {
        let domain = spec.to_owned();
        return Err(RuleError::DomainElsewhere { domain });
    }
    if spec.contains("/**") {
        let path = spec.to_owned();
        return Err(RuleError::PathOfCommand { path });
    }
    if let Some(found) = ["&&", "||", ";", "|", "&", "$(", "`", ">", "<"]
        .into_iter()
        .find(|found| spec.contains(found))
    {
        return Err(RuleError::Operator { found });
    }
    if spec.contains(['"', '\'', '\\']) {
        let instead = format!("Bash({})", spec.replace(['"', '\'', '\\'], ""));
        return Err(RuleError::Quoted { instead });
    }
    if spec.strip_suffix(":*").unwrap_or(spec).contains(":*") {
        return Err(RuleError::InnerColon);
    }
    let program = spec.split([' ', ':']).next().unwrap_or_default();
    let is_alone = spec.split_whitespace().count() == 1 && !spec.contains(":*");
    if list == RuleList::Allow && is_transparent(program) && !is_alone && !runs_a_file(spec) {
        let program = program.to_owned();
        return Err(RuleError::LookedThrough { program });
    }
    Ok(RuleSpec::Command(CommandPattern::new(spec)))
}

/// Whether the command is a shell with a script file, or `command -v`.
fn runs_a_file(spec: &str) -> bool {
    let mut words = spec.split_whitespace();
    let program = words.next().unwrap_or_default();
    let next = words.next().unwrap_or_default();
    let is_file = !next.starts_with(['-', '*']);
    match program {
        "command" => next == "-v",
        "bash" | "sh" | "zsh" | "dash" | "ash" | "ksh" => is_file,
        _ => false,
    }
}

fn domain(spec: &str) -> Result<RuleSpec, RuleError> {
    let host = spec.strip_prefix("domain:").ok_or(RuleError::NoDomain)?.trim();
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '.' | '-' | '*' | '_' | '[' | ']' | ':');
    if !host.is_ascii() && host.chars().all(is_part) {
        let host = host.to_owned();
        return Err(RuleError::ForeignHost { host });
    }
    match !host.is_empty() && host.chars().all(is_part) {
        true => Ok(RuleSpec::Domain(CommandPattern::new(&host.to_lowercase()))),
        false => Err(RuleError::NoDomain),
    }
}
