//! Builds the command line of one session from a manifest and a request.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use ralph_core::event::{Problem, ProblemKind};
use ralph_state::control::BUDGET_VARIABLE;
use ralph_system::proc::{Launch, Stdin, StdoutMode};

use super::{
    Capabilities, SessionRequest, check,
    dialect::DialectTrait,
    manifest::{LiveLaunch, Manifest, PromptBy},
    mcp::{McpServer, with_before},
    template::{AdapterPlaceholder, AdapterTemplate},
};

/// Variables of sessions that a program does not get if it outlives the iteration in which it was started.
pub(super) const OF_ONE_SESSION: [&str; 2] = ["RALPH_ITERATION", BUDGET_VARIABLE];

/// The launch of a session, without its guard.
///
/// # Errors
/// A [`Problem`] that stops the loop: the program is missing, or the agent has no option for something the request
/// names. Running it with another model than requested would be worse than not running it.
pub(super) fn launch(
    manifest: &Manifest,
    request: &SessionRequest,
    live: Option<&LiveLaunch>,
    servers: &[McpServer],
) -> Result<Launch, Problem> {
    let capabilities = live.map_or(manifest.capabilities, |live| live.capabilities);
    let values = PlaceholderValues::new(manifest, capabilities, request)?;
    let program = check::find(manifest, &request.cwd).map_err(|error| {
        Problem::said(
            ProblemKind::NotInstalled,
            error
                .hints()
                .into_iter()
                .fold(error.to_string(), |text, hint| format!("{text}; {hint}")),
        )
    })?;
    let command = &manifest.command;
    let mut env: Vec<(String, String)> = command
        .env
        .iter()
        .filter_map(|(name, value)| Some((name.clone(), values.fill(value)?)))
        .collect();
    env.extend(request.env.iter().cloned());
    let mut args = values.args(manifest, live.map_or(&command.args, |live| &live.args));
    if let Some(live) = live.filter(|_| !request.asks.is_empty()) {
        args.extend(
            live.asking
                .args
                .iter()
                .filter_map(|arg| values.fill(arg))
                .map(OsString::from),
        );
        let told = live.asking.env.iter();
        env.extend(told.filter_map(|(name, value)| Some((name.clone(), values.fill(value)?))));
    }
    for (cap, limit) in manifest.subagents.lowered(&request.subagents) {
        let limit = limit.to_string();
        let filled = |text: &AdapterTemplate| {
            text.fill(|placeholder| (placeholder == AdapterPlaceholder::Limit).then(|| limit.clone()))
        };
        args.extend(cap.args.iter().filter_map(filled).map(OsString::from));
        env.extend(cap.env.iter().map(|name| (name.clone(), limit.clone())));
    }
    let in_messages = live.is_some_and(|live| live.protocol.transmits(AdapterPlaceholder::McpServers));
    if !servers.is_empty() && !in_messages {
        let mcp = &manifest.mcp;
        let servers = mcp.form.written(servers);
        args.extend(
            mcp.args
                .iter()
                .filter_map(|arg| named(arg, &servers))
                .map(OsString::from),
        );
        env.extend(mcp_variables(manifest, &servers, &env));
    }
    Ok(Launch {
        args,
        env,
        env_remove: command.env_remove.clone(),
        stdin: match command.prompt {
            _ if live.is_some() => Stdin::Piped,
            PromptBy::Stdin => Stdin::File(request.prompt.clone()),
            PromptBy::File => Stdin::Null,
        },
        stdout: if live.is_some()
            || manifest
                .dialect
                .is_some_and(|dialect| dialect.has(DialectTrait::Structured))
        {
            StdoutMode::Piped
        } else {
            StdoutMode::Terminal
        },
        size: request.size,
        ladder: manifest.stop,
        readable: vec![request.prompt.clone(), request.scratch.clone()],
        unpacks_to: command.unpacks_to.clone(),
        ..Launch::new(
            program,
            &request.cwd,
            manifest.stop.grace,
            &request.run.0,
            &request.scratch,
        )
    })
}

/// The variables that pass on the MCP servers in `written`, merged with the values that the session has in `before`.
pub(super) fn mcp_variables(manifest: &Manifest, written: &str, before: &[(String, String)]) -> Vec<(String, String)> {
    let variables = manifest.mcp.env.iter().filter_map(|(name, value)| {
        let before = variable(before, name);
        Some((name.clone(), with_before(&named(value, written)?, before.as_deref())))
    });
    variables.collect()
}

/// A variable of a program that gets those of ralph and these.
pub(super) fn variable(given: &[(String, String)], name: &str) -> Option<String> {
    let set = given.iter().rfind(|(known, _)| known == name);
    set.map(|(_, value)| value.clone()).or_else(|| std::env::var(name).ok())
}

/// Fills a template that contains no placeholder but the MCP servers.
fn named(template: &AdapterTemplate, servers: &str) -> Option<String> {
    template.fill(|placeholder| (placeholder == AdapterPlaceholder::McpServers).then(|| servers.to_owned()))
}

/// The path of a session's file that makes its agent ask.
pub(super) fn asking_file(scratch: &Path) -> PathBuf {
    scratch.join("asking.toml")
}

/// The values of the placeholders in one session.
struct PlaceholderValues {
    model: Option<String>,
    agent: Option<String>,
    session: Option<String>,
    prompt: String,
    asking_file: Option<String>,
    ralph: Option<String>,
}

impl PlaceholderValues {
    fn new(manifest: &Manifest, capabilities: Capabilities, request: &SessionRequest) -> Result<Self, Problem> {
        let id = &manifest.id;
        manifest
            .can_be_given(request.model.as_deref(), request.agent.as_deref())
            .map_err(|error| Problem::said(ProblemKind::Usage, error.to_string()))?;
        let takes_session = manifest.command.takes(AdapterPlaceholder::Session);
        if request.resume.is_some() && !capabilities.resume && !takes_session {
            return Err(Problem::said(
                ProblemKind::SessionLost,
                format!("adapter `{id}` cannot continue a session"),
            ));
        }
        let Some(prompt) = request.prompt.to_str() else {
            let text = format!("{}: not a name that can be given to an agent", request.prompt.display());
            let kind = ProblemKind::Usage;
            return Err(Problem::said(kind, text));
        };
        Ok(Self {
            model: request
                .model
                .as_deref()
                .and_then(|model| manifest.model_form.apply(model).ok())
                .map(|named| named.name.to_owned()),
            agent: request.agent.clone(),
            session: request.resume.as_ref().map(|session| session.0.clone()),
            prompt: prompt.to_owned(),
            asking_file: asking_file(&request.scratch).to_str().map(str::to_owned),
            ralph: check::own_executable(),
        })
    }

    fn args(&self, manifest: &Manifest, written: &[AdapterTemplate]) -> Vec<OsString> {
        let command = &manifest.command;
        let mut args = Vec::new();
        for arg in written {
            let group = match arg.whole() {
                Some(AdapterPlaceholder::Model) => &command.model,
                Some(AdapterPlaceholder::Agent) => &command.agent,
                Some(AdapterPlaceholder::Resume) => &command.resume,
                Some(
                    AdapterPlaceholder::AskingFile
                    | AdapterPlaceholder::Limit
                    | AdapterPlaceholder::McpServers
                    | AdapterPlaceholder::Port
                    | AdapterPlaceholder::PromptFile
                    | AdapterPlaceholder::Ralph
                    | AdapterPlaceholder::Session,
                )
                | None => {
                    args.extend(self.fill(arg).map(OsString::from));
                    continue;
                }
            };
            let filled: Option<Vec<_>> = group.iter().flatten().map(|element| self.fill(element)).collect();
            args.extend(filled.into_iter().flatten().map(OsString::from));
        }
        args
    }

    fn fill(&self, template: &AdapterTemplate) -> Option<String> {
        template.fill(|placeholder| match placeholder {
            AdapterPlaceholder::Model => self.model.clone(),
            AdapterPlaceholder::Agent => self.agent.clone(),
            AdapterPlaceholder::AskingFile => self.asking_file.clone(),
            AdapterPlaceholder::Session => self.session.clone(),
            AdapterPlaceholder::PromptFile => Some(self.prompt.clone()),
            AdapterPlaceholder::Ralph => self.ralph.clone(),
            // `{resume}` stands for a list, never for a value; the others are not allowed here.
            AdapterPlaceholder::Resume
            | AdapterPlaceholder::Port
            | AdapterPlaceholder::McpServers
            | AdapterPlaceholder::Limit => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ralph_core::event::{RunId, SessionId, SubagentLimits, ToolKinds};
    use ralph_policy::settings::{Node, SettingOrigin};
    use ralph_system::proc::Size;

    use crate::{
        Display,
        catalog::{AdapterSources, Catalog},
    };

    use super::*;

    struct Nowhere;

    impl Display for Nowhere {
        fn show(&mut self, _bytes: &[u8]) {}
    }

    fn request() -> SessionRequest {
        SessionRequest {
            run: RunId("r".to_owned()),
            iteration: 1,
            prompt: PathBuf::from("/state/prompt.md"),
            cwd: PathBuf::from("/"),
            model: None,
            agent: None,
            resume: None,
            size: Size { cols: 80, rows: 24 },
            asks: ToolKinds::NONE,
            subagents: SubagentLimits::default(),
            one_way: false,
            env: vec![("RALPH_PLAN".to_owned(), "/plan.md".to_owned())],
            scratch: PathBuf::from("/scratch"),
            display: Box::new(Nowhere),
        }
    }

    fn manifest(id: &str, settings: serde_json::Value) -> Manifest {
        let adapters = serde_json::json!({ id: settings });
        let config = vec![Node::from_value(adapters, &SettingOrigin::Default)];
        Catalog::load(&AdapterSources {
            config,
            ..AdapterSources::default()
        })
        .manifest(id)
        .expect("a manifest")
    }

    fn codex() -> Manifest {
        // The program exists on every machine; only the command line is checked.
        manifest("codex", serde_json::json!({"command": {"program": "sh"}}))
    }

    fn args(manifest: &Manifest, request: &SessionRequest) -> Vec<String> {
        let launch = launch(manifest, request, None, &[]).expect("a launch");
        launch
            .args
            .into_iter()
            .map(|arg| arg.into_string().expect("UTF-8"))
            .collect()
    }

    #[test]
    fn a_fresh_session_without_a_model_leaves_both_out() {
        assert_eq!(
            args(&codex(), &request()),
            [
                "exec",
                "--json",
                "--skip-git-repo-check",
                "--dangerously-bypass-approvals-and-sandbox",
                "-"
            ]
        );
    }

    #[test]
    fn model_and_session_stand_where_the_manifest_wants_them() {
        let request = SessionRequest {
            model: Some("openai/gpt-5.4".to_owned()),
            resume: Some(SessionId("01a1".to_owned())),
            ..request()
        };
        let args = args(&codex(), &request);
        assert_eq!(args[..3], ["exec", "resume", "01a1"]);
        assert_eq!(args[args.len() - 3..], ["--model", "gpt-5.4", "-"]);
    }

    #[test]
    fn the_prompt_is_standard_input_and_stdout_is_apart_from_the_terminal() {
        let launch = launch(&codex(), &request(), None, &[]).expect("a launch");
        assert_eq!(launch.stdin, Stdin::File(PathBuf::from("/state/prompt.md")));
        assert_eq!(launch.stdout, StdoutMode::Piped);
        assert!(launch.program.is_absolute());
        assert!(launch.env.contains(&("RALPH_PLAN".to_owned(), "/plan.md".to_owned())));
    }

    #[test]
    fn a_prompt_file_is_named_and_standard_input_is_empty() {
        let custom = manifest(
            "mine",
            serde_json::json!({"dialect": "terminal", "command": {
                "program": "sh", "args": ["--file={prompt_file}"], "prompt": "file", "env": {"M": "{model}", "X": "1"},
            }}),
        );
        let launch = launch(&custom, &request(), None, &[]).expect("a launch");
        assert_eq!(launch.args, ["--file=/state/prompt.md"]);
        assert_eq!((launch.stdin, launch.stdout), (Stdin::Null, StdoutMode::Terminal));
        assert!(launch.env.contains(&("X".to_owned(), "1".to_owned())));
        assert!(
            !launch.env.iter().any(|(name, _)| name == "M"),
            "a variable without a value is not set"
        );
    }

    #[test]
    fn a_missing_program_is_a_problem_that_says_how_to_install_it() {
        let codex = manifest(
            "codex",
            serde_json::json!({"command": {"program": "no-such-program-anywhere"}}),
        );
        let problem = launch(&codex, &request(), None, &[]).expect_err("no launch");
        assert_eq!(problem.kind, ProblemKind::NotInstalled);
        assert!(
            problem.text.contains("`no-such-program-anywhere` is not on PATH"),
            "{}",
            problem.text
        );
        assert!(problem.text.contains("npm install"), "{}", problem.text);
    }

    #[test]
    fn the_agents_own_limits_on_subagents_are_lowered_and_never_raised() {
        let limited = |at_once, depth| SessionRequest {
            subagents: SubagentLimits {
                at_once,
                depth,
                per_iteration: Some(1),
            },
            ..request()
        };
        let option = |at_once| args(&codex(), &limited(at_once, None)).last().cloned();
        let lowered = "agents.max_concurrent_threads_per_session=3".to_owned();
        assert_eq!(option(Some(3)), Some(lowered));
        assert_eq!(option(Some(6)).as_deref(), Some("-"));
        assert_eq!(option(None).as_deref(), Some("-"));
        let claude = manifest("claude", serde_json::json!({"command": {"program": "sh"}}));
        let launch = launch(&claude, &limited(Some(10), Some(9)), None, &[]).expect("a launch");
        let value = |name: &str| {
            let mut env = launch.env.iter();
            env.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
        };
        assert_eq!(value("CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS"), Some("10"));
        assert_eq!(value("CLAUDE_CODE_MAX_SUBAGENT_SPAWN_DEPTH"), None);
    }

    #[test]
    fn what_an_agent_cannot_be_told_is_refused_and_not_ignored() {
        let demo = manifest("demo", serde_json::json!({}));
        let kind = |request| launch(&demo, &request, None, &[]).expect_err("no launch").kind;
        assert_eq!(
            kind(SessionRequest {
                model: Some("m".to_owned()),
                ..request()
            }),
            ProblemKind::Usage
        );
        assert_eq!(
            kind(SessionRequest {
                agent: Some("build".to_owned()),
                ..request()
            }),
            ProblemKind::Usage
        );
        let resume = Some(SessionId("s".to_owned()));
        assert_eq!(kind(SessionRequest { resume, ..request() }), ProblemKind::SessionLost);
    }

    #[test]
    fn a_model_without_provider_is_refused_where_one_is_needed() {
        let wants = manifest(
            "codex",
            serde_json::json!({"command": {"program": "sh"}, "model": {"form": "provider/name"}}),
        );
        let with = |model: &str| SessionRequest {
            model: Some(model.to_owned()),
            ..request()
        };
        assert_eq!(
            launch(&wants, &with("m"), None, &[]).expect_err("no launch").kind,
            ProblemKind::Usage
        );
        assert!(args(&wants, &with("p/m")).contains(&"p/m".to_owned()));
    }

    #[test]
    fn the_demo_agent_is_ralph_itself() {
        let launch = launch(&manifest("demo", serde_json::json!({})), &request(), None, &[]).expect("a launch");
        assert_eq!(launch.program, std::env::current_exe().expect("an executable"));
        assert_eq!(launch.args, ["__demo-agent"]);
        assert_ne!(launch.program, Path::new(""));
    }
}
