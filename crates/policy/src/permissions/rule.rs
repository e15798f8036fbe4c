//! One rule, as it is written: `Tool` or `Tool(what)`.
//!
//! The words are Claude's, so that its rules can be pasted. What could never match is refused with what to type: a rule
//! without effect is worse than none.

use ralph_core::event::{self, ToolKinds};
use thiserror::Error;

use super::{
    pattern::{CommandPattern, Match},
    shell::is_transparent,
    tools::{self, ToolKind, is_other, kind_of, near},
};
use crate::settings::Origin;

/// Longest rule that is read.
const LONGEST_BYTES: usize = 1024;

/// What is wrong with a rule.
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
    #[error("there is nothing in its parentheses, which matches nothing; write `{instead}` for all of it")]
    Empty { instead: String },
    #[error("`{name}` takes nothing in parentheses; write `{name}`")]
    TakesNothing { name: String },
    #[error("commands are split at `{found}`, so it can never match; write a rule for each command")]
    Operator { found: &'static str },
    #[error("quotes are removed before commands are compared, so it can never match; write `{instead}`")]
    Quoted { instead: String },
    #[error("`:*` is only known at the end; write `*` for what may stand there")]
    InnerColon,
    #[error("it is a path, and `Bash` is for commands; write `Edit({path})` or `Read({path})`")]
    PathOfCommand { path: String },
    #[error("`{program}` is looked through to the command that it runs; write the rule for that one")]
    LookedThrough { program: String },
    #[error("it is not a host; write `WebFetch(domain:example.org)`")]
    NoDomain,
    #[error("`domain:` is for `WebFetch`; write `WebFetch({domain})`")]
    DomainElsewhere { domain: String },
}

/// Which of the lists a rule is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum List {
    Deny,
    Ask,
    Allow,
}

impl List {
    /// In the order in which they decide.
    pub const ALL: [List; 3] = [List::Deny, List::Ask, List::Allow];

    pub fn name(self) -> &'static str {
        match self {
            List::Deny => "deny",
            List::Ask => "ask",
            List::Allow => "allow",
        }
    }
}

/// A rule, and where it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// As it is written.
    pub text: String,
    pub origin: Origin,
    pub(super) tool: Tool,
    pub(super) spec: Spec,
}

/// A rule that allows what somebody was asked about and wants to be asked about no more.
#[derive(Debug, Clone, PartialEq)]
pub struct Granted {
    pub rule: Rule,
    /// The rules of `ask`, by their texts, that asked then: they are settled, and no others.
    pub over: Vec<String>,
    /// Where it is from, for people.
    pub origin: String,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tool {
    Kind(ToolKind),
    /// A server, and the tools of it: all of them where it says `*` or nothing.
    Mcp {
        pattern: CommandPattern,
        /// The same for agents that join the names of the server and the tool by `_`, so that they cannot be told apart.
        joined: CommandPattern,
        /// The server as it is written, which may be such a name.
        server: String,
    },
    Named(String),
}

/// What of a tool a rule is for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Spec {
    All,
    Command(CommandPattern),
    /// With its beginning, which says from where it counts.
    Path(String),
    /// With `*` for what may stand there.
    Domain(CommandPattern),
}

impl Rule {
    /// Reads a rule of a list.
    ///
    /// # Errors
    /// [`RuleError`] if it could never match.
    pub fn read(text: &str, list: List, origin: &Origin) -> Result<Rule, RuleError> {
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
            None => Spec::All,
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

    /// The kinds of tools that it is for. A shell reads and writes files, too, where `<` and `>` say which.
    pub fn kinds(&self) -> ToolKinds {
        use event::ToolKind as Of;
        ToolKinds::of(match &self.tool {
            Tool::Kind(ToolKind::Shell) => &[Of::Shell],
            Tool::Kind(ToolKind::Edit) => &[Of::Edit, Of::Shell],
            Tool::Kind(ToolKind::Read) => &[Of::Read, Of::Shell],
            Tool::Kind(ToolKind::Fetch | ToolKind::Search) => &[Of::Fetch],
            Tool::Kind(ToolKind::Mcp { .. }) | Tool::Mcp { .. } => &[Of::Mcp],
            Tool::Kind(ToolKind::Other) | Tool::Named(_) => &[Of::Other],
        })
    }

    /// Whether everything that `other` matches is matched by this one, as far as can be seen at once.
    pub(super) fn covers(&self, other: &Rule) -> bool {
        self.tool == other.tool && (self.spec == Spec::All || self.spec == other.spec)
    }

    /// Whether it is for a tool of this name and kind, whatever it is given.
    pub(super) fn is_for(&self, name: &str, kind: &ToolKind) -> bool {
        match (&self.tool, kind) {
            (
                Tool::Mcp {
                    joined, server: whole, ..
                },
                ToolKind::Mcp { server, tool },
            ) if server.is_empty() => whole == tool || joined.matches(tool) == Match::Yes,
            (Tool::Mcp { pattern, .. }, ToolKind::Mcp { server, tool }) => {
                pattern.matches(&format!("{server}__{tool}")) == Match::Yes
            }
            (Tool::Kind(known), _) => known == kind,
            (Tool::Named(known), ToolKind::Other) => known.eq_ignore_ascii_case(name),
            (Tool::Named(_) | Tool::Mcp { .. }, _) => false,
        }
    }
}

/// The tool, and what is in parentheses.
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

fn tool(name: &str) -> Result<Tool, RuleError> {
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
        return Ok(Tool::Mcp {
            pattern: joined_by("__"),
            joined: joined_by("_"),
            server: server.to_owned(),
        });
    }
    match kind_of(name) {
        ToolKind::Other if is_other(name) => Ok(Tool::Named(name.to_owned())),
        ToolKind::Other => Err(match near(name) {
            Some(near) => RuleError::UnknownTool {
                name: name.to_owned(),
                near,
            },
            // A command instead of a rule.
            None if name.contains(' ') => RuleError::NoTool,
            None => RuleError::NoSuchTool { name: name.to_owned() },
        }),
        kind => Ok(Tool::Kind(kind)),
    }
}

fn read_spec(tool: &Tool, name: &str, spec: &str, list: List) -> Result<Spec, RuleError> {
    match tool {
        Tool::Kind(ToolKind::Shell) => command(spec, list),
        Tool::Kind(ToolKind::Edit | ToolKind::Read) if spec.starts_with("domain:") => Err(RuleError::DomainElsewhere {
            domain: spec.to_owned(),
        }),
        Tool::Kind(ToolKind::Edit | ToolKind::Read) if ["*", "**"].contains(&spec) => Ok(Spec::All),
        Tool::Kind(ToolKind::Edit | ToolKind::Read) => Ok(Spec::Path(spec.to_owned())),
        Tool::Kind(ToolKind::Fetch) => domain(spec),
        Tool::Kind(ToolKind::Search | ToolKind::Mcp { .. } | ToolKind::Other) | Tool::Mcp { .. } | Tool::Named(_) => {
            Err(RuleError::TakesNothing { name: name.to_owned() })
        }
    }
}

fn command(spec: &str, list: List) -> Result<Spec, RuleError> {
    if [":*", "*"].contains(&spec) {
        return Ok(Spec::All);
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
    if list == List::Allow && is_transparent(program) && !is_alone && !runs_a_file(spec) {
        let program = program.to_owned();
        return Err(RuleError::LookedThrough { program });
    }
    Ok(Spec::Command(CommandPattern::new(spec)))
}

/// Whether a shell is named with a file, or a program that answers a question.
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

fn domain(spec: &str) -> Result<Spec, RuleError> {
    let host = spec.strip_prefix("domain:").ok_or(RuleError::NoDomain)?.trim();
    let is_part =
        |character: char| character.is_alphanumeric() || matches!(character, '.' | '-' | '*' | '_' | '[' | ']' | ':');
    match !host.is_empty() && host.chars().all(is_part) {
        true => Ok(Spec::Domain(CommandPattern::new(&host.to_lowercase()))),
        false => Err(RuleError::NoDomain),
    }
}
