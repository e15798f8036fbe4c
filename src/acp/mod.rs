//! `ralph acp`: ralph as an agent of the Agent Client Protocol, for editors and other clients.
//!
//! A session belongs to a project. A prompt starts a run there, as `ralph` does on the command line, or answers the question
//! that the run of the session waits for. The turn lasts until the run is over or has a question that only words can answer.

mod follow;
mod updates;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ralph_core::event::{Answer, AnswerPlace, Remember, RuleScope, SteeringKind, StopReason, StopRequest, UserCommand};
use ralph_driver::{DeferredMessage, LeaveOutcome, leave};
use ralph_state::{control::ControlRequest, store::journal::read_view};
use ralph_system::paths::ProjectPaths;
use ralph_text::{
    console::print_json,
    json_rpc::{self, INVALID_PARAMS, INVALID_REQUEST, JsonRpcMessage, METHOD_NOT_FOUND, notification},
    with_causes,
};
use ralph_tools::json_rpc::{InputLine, received};
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{Receiver, UnboundedSender, unbounded_channel},
    time::timeout,
};

use crate::ui::headless::text::moment;

pub(crate) use follow::RunStarter;
use follow::{CommandLine, RunNews, SessionNews, ask};
use updates::{ALLOW, ALLOW_IN_RUN, CHOICE, ShownRun, choices, message, permission};

/// The supported protocol version.
const VERSION: u64 = 1;
/// Most bytes of a line from the client. Prompts may have files in them.
pub(crate) const LINE_CAP_BYTES: usize = 16 << 20;
/// Time that runs have to end after the client has gone. A loop ends its agent within seconds.
const ENDING: Duration = Duration::from_secs(60);

/// Finds the state of the project at this directory.
pub(crate) type ProjectLookup = Box<dyn Fn(&Path) -> Result<ProjectPaths, String>>;

/// Serves a client until it disconnects. The runs of its sessions are stopped then.
pub(crate) async fn serve(mut lines: Receiver<InputLine>, starter: RunStarter, projects: ProjectLookup) {
    let (sender, mut news) = unbounded_channel();
    let mut client = EditorClient {
        starter: Arc::new(starter),
        projects,
        news: sender,
        sessions: Vec::new(),
        requests: 0,
        pending: HashMap::new(),
    };
    loop {
        tokio::select! {
            line = lines.recv() => match line {
                Some(line) => client.read(&line),
                None => break,
            },
            Some((session, heard)) = news.recv() => client.hear(session, heard),
        }
    }
    (0..client.sessions.len()).for_each(|session| client.stop(session));
    while client.sessions.iter().any(EditorSession::is_at_work) {
        match timeout(ENDING, news.recv()).await {
            Ok(Some((session, heard))) => client.hear(session, heard),
            Ok(None) | Err(_) => return,
        }
    }
}

struct EditorClient {
    starter: Arc<RunStarter>,
    projects: ProjectLookup,
    news: UnboundedSender<SessionNews>,
    /// Sessions by number; ids contain it.
    sessions: Vec<EditorSession>,
    /// The number of the last request to the client.
    requests: u64,
    /// Requests to the client: session and question.
    pending: HashMap<u64, (usize, u32)>,
}

struct EditorSession {
    paths: ProjectPaths,
    /// The request of the turn that lasts.
    turn: Option<Value>,
    state: SessionState,
    shown: ShownRun,
    /// The last question that the client was asked.
    asked: u32,
    is_cancelled: bool,
    /// Whether the client named MCP servers that no agent gets, and was not told yet.
    has_servers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionState {
    /// No run works for the session.
    Idle,
    /// The ended run needs an answer to this question.
    Blocked(u32),
    Starting,
    Running,
}

impl EditorSession {
    fn is_at_work(&self) -> bool {
        matches!(self.state, SessionState::Starting | SessionState::Running)
    }
}

impl EditorClient {
    fn read(&mut self, line: &InputLine) {
        match received(line) {
            Some(Ok(JsonRpcMessage::Request { id, method, params })) => {
                let done = match &*method {
                    "initialize" => Ok(Some(greeting())),
                    "authenticate" => Ok(Some(json!({}))),
                    "session/new" => self.open(&params).map(Some),
                    "session/prompt" => self.prompt(&id, &params).map(|()| None),
                    method => Err((METHOD_NOT_FOUND, format!("ralph does not know the method {method}"))),
                };
                match done {
                    Ok(Some(result)) => {
                        write(&json_rpc::result(&id, &result));
                        if method == "session/new" {
                            self.offer_commands();
                        }
                    }
                    Ok(None) => {}
                    Err((code, why)) => write(&json_rpc::refusal(&id, code, &why)),
                }
            }
            Some(Ok(JsonRpcMessage::Notification { method, params })) if method == "session/cancel" => {
                if let Ok(session) = self.session(&params) {
                    self.stop(session);
                }
            }
            Some(Ok(JsonRpcMessage::Response { id, outcome })) => self.answered(id, outcome.ok()),
            Some(Ok(JsonRpcMessage::Notification { .. })) | None => {}
            Some(Err(refusal)) => write(&refusal),
        }
    }

    fn open(&mut self, params: &Value) -> Result<Value, ErrorReply> {
        let directory = params["cwd"].as_str().map(Path::new).filter(|path| path.is_absolute());
        let directory = directory.ok_or_else(|| invalid("`cwd` has to be the absolute path of a project"))?;
        let directory = directory
            .canonicalize()
            .map_err(|error| invalid(format!("{}: {error}", directory.display())))?;
        let paths = (self.projects)(&directory).map_err(invalid)?;
        self.sessions.push(EditorSession {
            paths,
            turn: None,
            state: SessionState::Idle,
            shown: ShownRun::default(),
            asked: 0,
            is_cancelled: false,
            has_servers: params["mcpServers"]
                .as_array()
                .is_some_and(|servers| !servers.is_empty()),
        });
        Ok(json!({"sessionId": id_of(self.sessions.len() - 1)}))
    }

    fn offer_commands(&self) {
        let input = json!({"hint": "path of a plan"});
        let commands = json!([
            {"name": "plan", "description": "Work on a plan of the project", "input": input},
            {"name": "continue", "description": "Continue the last run of the project where it ended"},
        ]);
        let update = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
        self.update(self.sessions.len() - 1, &update);
    }

    fn session(&self, params: &Value) -> Result<usize, ErrorReply> {
        let named = params["sessionId"].as_str().unwrap_or_default();
        let number = (0..self.sessions.len()).find(|number| id_of(*number) == named);
        number.ok_or_else(|| invalid(format!("there is no session {named:?}")))
    }

    fn prompt(&mut self, id: &Value, params: &Value) -> Result<(), ErrorReply> {
        let number = self.session(params)?;
        let session = &mut self.sessions[number];
        if session.turn.is_some() {
            return Err((INVALID_REQUEST, "a turn of this session still lasts".to_owned()));
        }
        let prompt = PromptText::read(params, session.paths.project());
        if prompt.text.trim().is_empty() {
            return Err(invalid("the prompt has no text"));
        }
        match session.state {
            SessionState::Running | SessionState::Starting => {
                let command = match session.shown.waiting().first() {
                    Some(ask) => UserCommand::Answer {
                        ask: ask.number,
                        answer: Answer::Words {
                            words: vec![prompt.text; ask.request.questions.len().max(1)],
                        },
                        at: AnswerPlace::Api,
                    },
                    None => UserCommand::Steer {
                        kind: SteeringKind::Now,
                        text: prompt.text,
                    },
                };
                ask(&session.paths, ControlRequest::Command { command }, number, &self.news);
            }
            SessionState::Blocked(ask) => {
                let answer = DeferredMessage::Answer {
                    ask,
                    answer: Answer::Words {
                        words: vec![prompt.text],
                    },
                    at: AnswerPlace::Api,
                };
                match leave(&session.paths, &answer, None) {
                    Ok(LeaveOutcome::Refused { why }) => {
                        return Err((INVALID_REQUEST, why));
                    }
                    Ok(_) => {}
                    Err(error) => return Err((INVALID_REQUEST, with_causes(&error))),
                }
                self.begin(
                    number,
                    CommandLine {
                        command: Some("continue"),
                        prompt: None,
                    },
                );
            }
            SessionState::Idle => self.begin(number, prompt.command_line()),
        }
        let session = &mut self.sessions[number];
        session.is_cancelled = false;
        session.turn = Some(id.clone());
        if std::mem::take(&mut session.has_servers) {
            let text = "! the MCP servers of this editor are not passed on: `mcp` in .ralph/config.json gives agents servers\n";
            self.update(number, &message(text));
        }
        Ok(())
    }

    fn begin(&mut self, number: usize, line: CommandLine) {
        let session = &mut self.sessions[number];
        session.shown = match (line.command, session.paths.latest_run()) {
            // The session does not repeat what it has shown of the run.
            (Some(_), Some(run)) => read_view(&session.paths, &run)
                .map(ShownRun::from_view)
                .unwrap_or_default(),
            (_, _) => ShownRun::default(),
        };
        session.state = SessionState::Starting;
        session.asked = 0;
        let from = session.shown.view.records;
        self.starter.start(&session.paths, line, from, number, &self.news);
    }

    fn hear(&mut self, number: usize, heard: RunNews) {
        match heard {
            RunNews::Began => {
                self.sessions[number].state = SessionState::Running;
                if self.sessions[number].is_cancelled {
                    self.stop(number);
                }
            }
            RunNews::Refused { why } => {
                let session = &mut self.sessions[number];
                session.state = SessionState::Idle;
                if let Some(turn) = session.turn.take() {
                    write(&json_rpc::refusal(&turn, INVALID_REQUEST, &why));
                }
            }
            RunNews::NotDone { why } => self.update(number, &message(&format!("! {why}\n"))),
            RunNews::Record(record) => {
                let clock = |at_ms| moment(at_ms, record.at_ms);
                let updates = self.sessions[number].shown.take(&record, clock);
                updates.iter().for_each(|update| self.update(number, update));
                self.ask_the_user(number);
            }
            RunNews::Over { reason } => self.over(number, reason),
        }
    }

    /// Asks the client what the agent has asked since the last look.
    fn ask_the_user(&mut self, number: usize) {
        let session = &mut self.sessions[number];
        let waiting = session.shown.waiting().into_iter();
        let new: Vec<_> = waiting.filter(|ask| ask.number > session.asked).cloned().collect();
        for ask in new {
            self.sessions[number].asked = ask.number;
            let offered = match ask.request.questions.is_empty() {
                true => Some(permission(&ask)),
                false => choices(&ask),
            };
            match offered {
                Some(mut params) => {
                    params["sessionId"] = id_of(number).into();
                    self.requests += 1;
                    self.pending.insert(self.requests, (number, ask.number));
                    write(&json_rpc::request(self.requests, "session/request_permission", &params));
                }
                None => {
                    let texts = ask.request.questions.iter().map(|question| question.text.as_str());
                    let texts = texts.collect::<Vec<_>>().join("\n");
                    self.update(
                        number,
                        &message(&format!(
                            "\n{texts}\n\nThe agent waits for your answer: reply with it.\n"
                        )),
                    );
                    self.end_turn(number, "end_turn", None);
                }
            }
        }
    }

    /// Passes the client's answer on to the run.
    fn answered(&mut self, id: u64, result: Option<Value>) {
        let Some((number, ask_number)) = self.pending.remove(&id) else {
            return;
        };
        let chosen = result
            .as_ref()
            .and_then(|result| result["outcome"]["optionId"].as_str());
        let remember = Remember {
            scope: RuleScope::Run,
            rules: Vec::new(),
        };
        let answer = match chosen {
            Some(ALLOW) => Answer::Allow { remember: None },
            Some(ALLOW_IN_RUN) => Answer::Allow {
                remember: Some(remember),
            },
            Some(option) if option.starts_with(CHOICE) => Answer::Words {
                words: vec![option[CHOICE.len()..].to_owned()],
            },
            // A client that cancels the turn answers so, too.
            Some(_) | None => Answer::Deny { message: None },
        };
        let command = UserCommand::Answer {
            ask: ask_number,
            answer,
            at: AnswerPlace::Api,
        };
        ask(
            &self.sessions[number].paths,
            ControlRequest::Command { command },
            number,
            &self.news,
        );
    }

    /// Stops the run of a session, now or as soon as it begins.
    fn stop(&mut self, number: usize) {
        let session = &mut self.sessions[number];
        session.is_cancelled = true;
        if session.state == SessionState::Running {
            let command = UserCommand::Stop {
                stop: StopRequest::Graceful,
            };
            ask(&session.paths, ControlRequest::Command { command }, number, &self.news);
        }
    }

    fn over(&mut self, number: usize, reason: Option<StopReason>) {
        let session = &mut self.sessions[number];
        let blocked = session
            .shown
            .blocked()
            .map(|(ask, question)| (ask, question.to_owned()));
        let verdict = session.shown.verdict();
        let is_blocked = matches!(reason, Some(StopReason::Blocked { .. }));
        session.state = match &blocked {
            Some((ask, _)) if is_blocked => SessionState::Blocked(*ask),
            Some(_) | None => SessionState::Idle,
        };
        let stop = match (session.is_cancelled, &reason) {
            (true, _) => "cancelled",
            (false, Some(StopReason::LimitReached { .. })) => "max_turn_requests",
            (false, _) => "end_turn",
        };
        self.update(number, &verdict);
        if let Some((_, question)) = blocked.filter(|_| is_blocked) {
            let text = format!("\n{question}\n\nReply with your answer, and ralph continues.\n");
            self.update(number, &message(&text));
        }
        self.end_turn(number, stop, reason.as_ref());
    }

    fn end_turn(&mut self, number: usize, stop: &str, reason: Option<&StopReason>) {
        let Some(turn) = self.sessions[number].turn.take() else {
            return;
        };
        let mut result = json!({"stopReason": stop});
        if let Some(reason) = reason {
            result["_meta"] = json!({"ralph": {
                "reason": reason, "exitCode": reason.exit_code(), "words": ralph_words::stop_in_words(reason),
            }});
        }
        write(&json_rpc::result(&turn, &result));
    }

    fn update(&self, session: usize, update: &Value) {
        write(&notification(
            "session/update",
            &json!({"sessionId": id_of(session), "update": update}),
        ));
    }
}

/// The text of a prompt, and the plan that it names.
#[derive(Debug, PartialEq, Eq)]
struct PromptText {
    text: String,
    /// The file of the project that is the whole prompt.
    file: Option<PathBuf>,
}

impl PromptText {
    fn read(params: &Value, project: &Path) -> Self {
        let mut files = Vec::new();
        let contents = params["prompt"].as_array().into_iter().flatten();
        let texts = contents.filter_map(|content| match content["type"].as_str()? {
            "text" => Some(content["text"].as_str()?.trim().to_owned()),
            kind @ ("resource_link" | "resource") => {
                let uri = content["uri"].as_str().or(content["resource"]["uri"].as_str())?;
                let path = reqwest::Url::parse(uri).ok().and_then(|url| url.to_file_path().ok());
                files.extend(
                    path.as_deref()
                        .and_then(|path| path.strip_prefix(project).ok())
                        .map(Path::to_owned),
                );
                let text = content["resource"]["text"].as_str().filter(|_| kind == "resource");
                Some(text.unwrap_or(uri).to_owned())
            }
            _ => None,
        });
        let texts: Vec<String> = texts.filter(|text| !text.is_empty()).collect();
        Self {
            file: files.pop().filter(|_| texts.len() == 1),
            text: texts.join("\n\n"),
        }
    }

    /// A run of the named plan, the continued last run, or a run of one task.
    fn command_line(self) -> CommandLine {
        let run = |prompt: String| CommandLine {
            command: None,
            prompt: Some(prompt),
        };
        match (
            &self.file,
            self.text
                .strip_prefix('/')
                .map(|line| line.split_once(' ').unwrap_or((line, ""))),
        ) {
            (Some(file), _) => run(file.display().to_string()),
            (None, Some(("continue", ""))) => CommandLine {
                command: Some("continue"),
                prompt: None,
            },
            (None, Some(("plan", path))) if !path.trim().is_empty() => run(path.trim().to_owned()),
            (None, Some(("plan", _))) => CommandLine {
                command: None,
                prompt: None,
            },
            (None, Some(_) | None) => run(self.text),
        }
    }
}

/// The code and the text of an error.
type ErrorReply = (i64, String);

fn invalid(why: impl Into<String>) -> ErrorReply {
    (INVALID_PARAMS, why.into())
}

fn id_of(session: usize) -> String {
    format!("session-{session}")
}

/// The agent's description and capabilities.
fn greeting() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentInfo": {"name": "ralph", "title": "ralph", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {
            "loadSession": false,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
        },
        "authMethods": [],
    })
}

fn write(message: &Value) {
    print_json(&format!("{message}\n"));
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
