//! The agent's end of the protocol: opens sessions, and runs turns while reading further messages.

use std::{
    env, io,
    path::{Path, PathBuf},
    pin::pin,
    rc::Rc,
};

use ralph_state::http_client::HAS_TLS;
use ralph_text::console;
use ralph_text::json_rpc::{INVALID_PARAMS, INVALID_REQUEST, JsonRpcMessage as Incoming, METHOD_NOT_FOUND};
use serde_json::{Value, json};
use tokio::{runtime::Builder, sync::mpsc::Receiver};

use super::{
    api::Api,
    client::{AcpClient, text_of},
    endpoint::{AgentOptions, OWN_KEY, OptionsError},
    failure::ApiFailure,
    history::ChatHistory,
    message::{ChatMessage, TokenUsage, ToolDescription},
    models::ModelFacts,
    servers::SessionServers,
    session::{self, SessionFile},
    system, tools,
    turn::{SessionUsage, TurnOutcome, TurnRunner},
};
use crate::json_rpc::{InputLine, read};

/// The supported protocol version.
const VERSION: u64 = 1;
/// Most bytes of a line from the client.
const LINE_CAP_BYTES: usize = 64 << 20;

/// The exit code for configurations that always fail.
const USAGE: u8 = 2;

/// Serves a client on stdin and stdout until it disconnects. `model` is the model named for this run. Returns the exit
/// code.
pub fn run(model: Option<String>) -> u8 {
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            console::complain(&format!("error: {error}"));
            return 1;
        }
    };
    let mut listener = match read(io::stdin(), LINE_CAP_BYTES) {
        Ok(lines) => lines,
        Err(error) => {
            console::complain(&format!("error: {error}"));
            return 1;
        }
    };
    let mut agent = NativeAgent {
        client: Rc::default(),
        model,
        open: None,
    };
    let code = runtime.block_on(async {
        let code = agent.serve(&mut listener).await;
        if let Some(open) = agent.open {
            open.servers.end().await;
        }
        code
    });
    // A search may still be running on another thread.
    runtime.shutdown_background();
    code
}

struct NativeAgent {
    client: Rc<AcpClient>,
    model: Option<String>,
    open: Option<OpenSession>,
}

/// An open session.
struct OpenSession {
    session: SessionFile,
    history: ChatHistory,
    spent: SessionUsage,
    options: AgentOptions,
    api: Api,
    model: String,
    facts: ModelFacts,
    project: PathBuf,
    system: String,
    servers: SessionServers,
    /// The agent's own tools, and those of the servers.
    offers: Vec<ToolDescription>,
}

/// Ends the agent with this exit code.
struct AgentExit(u8);

/// The reason why a turn ended.
enum TurnEnd {
    Finished(Result<TurnOutcome, ApiFailure>),
    Cancelled,
    /// The client has disconnected.
    Disconnected,
}

impl NativeAgent {
    async fn serve(&mut self, lines: &mut Receiver<InputLine>) -> u8 {
        while let Some(line) = lines.recv().await {
            let handled = match line.message() {
                Some(Incoming::Request { id, method, params }) => self.take(&id, &method, &params, lines).await,
                // No turn is running and no request is pending, so these have no effect.
                Some(Incoming::Notification { .. } | Incoming::Response { .. }) | None => Ok(()),
            };
            if let Err(AgentExit(code)) = handled {
                return code;
            }
        }
        0
    }

    async fn take(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        lines: &mut Receiver<InputLine>,
    ) -> Result<(), AgentExit> {
        match method {
            "initialize" => self.client.respond(id, &greeting()),
            "session/new" => {
                let session = SessionFile::begin(session::directory().as_deref());
                self.open(id, params, session, None).await?;
            }
            "session/load" => {
                let named = params["sessionId"].as_str().unwrap_or_default();
                match SessionFile::load(session::directory().as_deref(), named) {
                    Ok((session, stored)) => self.open(id, params, session, Some(stored)).await?,
                    Err(why) => self.client.refuse(id, INVALID_PARAMS, &why, &Value::Null),
                }
            }
            "session/set_config_option" => match (&mut self.open, params["value"].as_str()) {
                (Some(open), Some(model)) if params["configId"] == "model" => {
                    model.clone_into(&mut open.model);
                    open.facts = open.options.facts(model);
                    self.client.respond(id, &config_options(model));
                }
                (_, _) => {
                    let why = "there is no session, or no such option";
                    self.client.refuse(id, INVALID_PARAMS, why, &Value::Null);
                }
            },
            "session/prompt" => return self.converse(id, params, lines).await,
            "_session/steering" => self.client.leave(id),
            other => self.unknown(id, other),
        }
        Ok(())
    }

    fn unknown(&self, id: &Value, method: &str) {
        let message = format!("Method not found: {method}");
        self.client.refuse(id, METHOD_NOT_FOUND, &message, &Value::Null);
    }

    async fn open(
        &mut self,
        id: &Value,
        params: &Value,
        session: SessionFile,
        stored: Option<Vec<ChatMessage>>,
    ) -> Result<(), AgentExit> {
        let project = params["cwd"].as_str().map_or_else(|| PathBuf::from("."), PathBuf::from);
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let options = AgentOptions::read(variable, self.model.clone(), HAS_TLS).map_err(|error| {
            // The exit code is that of a wrong command line, since another try would fail the same way.
            console::complain(&format!("error: {error}"));
            AgentExit(match error {
                OptionsError::EndpointMissing | OptionsError::KeyMissing { .. } => 1,
                OptionsError::AddressInvalid { .. }
                | OptionsError::TlsMissing { .. }
                | OptionsError::ValueInvalid { .. } => USAGE,
            })
        })?;
        let opened = match Api::new(&options) {
            Ok(api) => match &options.model {
                Some(model) => Ok((api, model.clone())),
                None => api.only_model().await.map(|model| (api, model)),
            },
            Err(failure) => Err(failure),
        };
        let (api, model) = match opened {
            Ok(opened) => opened,
            Err(failure) => {
                self.client.refuse(id, failure.code(), &failure.text, &Value::Null);
                return Ok(());
            }
        };
        let key = options.endpoint.key.as_ref().map_or(OWN_KEY, |key| key.variable);
        let (servers, troubles) = SessionServers::start(params, &project, &[OWN_KEY, key]).await;
        troubles.iter().for_each(|why| console::complain(why));
        self.client.set_session(&session.id);
        let mut opened = config_options(&model);
        if stored.is_none() {
            opened["sessionId"] = session.id.as_str().into();
        }
        let stored = stored.unwrap_or_default();
        self.replay(&stored);
        self.client.respond(id, &opened);
        self.open = Some(OpenSession {
            history: ChatHistory::restored(stored),
            spent: SessionUsage::default(),
            system: system::instructions(&project),
            facts: options.facts(&model),
            offers: tools::offers().into_iter().chain(servers.offers()).collect(),
            servers,
            session,
            options,
            api,
            model,
            project,
        });
        Ok(())
    }

    /// Repeats the messages of a continued session, as the protocol requires.
    fn replay(&self, stored: &[ChatMessage]) {
        for message in stored {
            let (kind, text) = match message {
                ChatMessage::User { text, .. } => ("user_message_chunk", text),
                ChatMessage::Assistant(answer) if !answer.text.is_empty() => ("agent_message_chunk", &answer.text),
                ChatMessage::Assistant(_) | ChatMessage::Results { .. } => continue,
            };
            self.client
                .send_update(kind, json!({"content": {"type": "text", "text": text}}));
        }
    }

    /// Runs a turn while reading further messages.
    async fn converse(&mut self, id: &Value, params: &Value, lines: &mut Receiver<InputLine>) -> Result<(), AgentExit> {
        let Some(mut open) = self.open.take() else {
            self.client
                .refuse(id, INVALID_REQUEST, "there is no session", &Value::Null);
            return Ok(());
        };
        let ended = self.turn(&mut open, text_of(params), lines).await;
        if let Some(repaired) = open.history.repair() {
            open.session.append(repaired);
        }
        self.client.end_turn();
        let used = open.spent.usage();
        let stop = |reason: &str| {
            self.client
                .respond(id, &json!({"stopReason": reason, "_meta": {"usage": used}}))
        };
        match ended {
            TurnEnd::Finished(Ok(TurnOutcome::Done)) => stop("end_turn"),
            TurnEnd::Finished(Ok(TurnOutcome::Requests)) => stop("max_turn_requests"),
            TurnEnd::Finished(Ok(TurnOutcome::Spent(limit))) => {
                console::complain(limit.words());
                stop("max_turn_requests");
            }
            TurnEnd::Finished(Ok(TurnOutcome::Length)) => stop("max_tokens"),
            TurnEnd::Finished(Ok(TurnOutcome::Refused)) => stop("refusal"),
            TurnEnd::Finished(Err(failure)) => {
                self.client
                    .refuse(id, failure.code(), &failure.text, &json!({"usage": used}));
            }
            TurnEnd::Cancelled => stop("cancelled"),
            TurnEnd::Disconnected => return Err(AgentExit(0)),
        }
        self.open = Some(open);
        Ok(())
    }

    async fn turn(&self, open: &mut OpenSession, prompt: String, lines: &mut Receiver<InputLine>) -> TurnEnd {
        open.spent.tokens = TokenUsage::default();
        let mut turn = TurnRunner {
            client: &self.client,
            api: &open.api,
            options: &open.options,
            model: &open.model,
            facts: &mut open.facts,
            system: &open.system,
            project: Path::new(&open.project),
            offers: &open.offers,
            servers: &open.servers,
            history: &mut open.history,
            session: &mut open.session,
            spent: &mut open.spent,
        };
        let mut running = pin!(turn.run(prompt));
        loop {
            tokio::select! {
                // Messages that arrive before the end of the turn become part of it.
                biased;
                line = lines.recv() => match line.as_ref().map(InputLine::message) {
                    None => return TurnEnd::Disconnected,
                    Some(Some(Incoming::Response { id, outcome })) => self.client.peer.resolve(id, outcome),
                    Some(Some(Incoming::Notification { method, .. })) if method == "session/cancel" => return TurnEnd::Cancelled,
                    Some(Some(Incoming::Request { id, method, params })) => self.take_meanwhile(id, &method, &params),
                    Some(Some(Incoming::Notification { .. }) | None) => {}
                },
                ended = &mut running => return TurnEnd::Finished(ended),
            }
        }
    }

    fn take_meanwhile(&self, id: Value, method: &str, params: &Value) {
        match method {
            "_session/steering" => self.client.steer(id, text_of(params)),
            "session/prompt" | "session/new" | "session/load" | "session/set_config_option" => {
                self.client
                    .refuse(&id, INVALID_REQUEST, "a turn is running", &Value::Null);
            }
            other => self.unknown(&id, other),
        }
    }
}

/// The options of a session, in the form of a result: its model.
fn config_options(model: &str) -> Value {
    json!({"configOptions": [{
        "id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": model,
        "options": [{"value": model, "name": model}],
    }]})
}

/// The agent's description and capabilities.
fn greeting() -> Value {
    json!({
        "protocolVersion": VERSION,
        "agentInfo": {"name": "ralph-native", "title": "ralph's own agent", "version": env!("CARGO_PKG_VERSION")},
        "agentCapabilities": {
            "loadSession": true,
            "promptCapabilities": {"image": false, "audio": false, "embeddedContext": true},
        },
        "authMethods": [],
        "_meta": {"steering": {"supported": true}},
    })
}
