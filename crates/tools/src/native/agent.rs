//! The agent's end of the protocol: opens sessions, and runs turns while reading further messages.

use std::{
    env, io,
    path::{Path, PathBuf},
    pin::pin,
    rc::Rc,
};

use ralph_state::http_client::HAS_TLS;
use ralph_text::console;
use serde_json::{Value, json};
use tokio::{runtime::Builder, sync::mpsc::Receiver};

use super::{
    api::Api,
    client::{Client, INVALID_PARAMS, INVALID_REQUEST, text_of},
    endpoint::{OWN_KEY, Options, OptionsError},
    failure::Failure,
    history::History,
    message::{Message, Offer, Tokens},
    servers::Servers,
    session::{self, Kept, Session},
    system, tools,
    turn::{End, Spent, Turn},
};
use crate::json_rpc::{self, Line, METHOD_NOT_FOUND, Message as Incoming};

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
    let mut listener = match json_rpc::read(io::stdin(), LINE_CAP_BYTES) {
        Ok(lines) => lines,
        Err(error) => {
            console::complain(&format!("error: {error}"));
            return 1;
        }
    };
    let agent = Agent {
        client: Rc::new(Client::new()),
        model,
        open: None,
    };
    let code = runtime.block_on(agent.serve(&mut listener));
    // A search may still be running on another thread.
    runtime.shutdown_background();
    code
}

struct Agent {
    client: Rc<Client>,
    model: Option<String>,
    open: Option<Open>,
}

/// An open session.
struct Open {
    session: Session,
    history: History,
    spent: Spent,
    options: Options,
    api: Api,
    model: String,
    project: PathBuf,
    system: String,
    servers: Servers,
    /// The agent's own tools, and those of the servers.
    offers: Vec<Offer>,
}

/// Ends the agent with this exit code.
struct Leave(u8);

/// The reason why a turn ended.
enum Ended {
    By(Result<End, Failure>),
    Cancelled,
    /// The client has disconnected.
    Alone,
}

impl Agent {
    async fn serve(mut self, lines: &mut Receiver<Line>) -> u8 {
        while let Some(line) = lines.recv().await {
            let handled = match incoming(&line) {
                Some(Incoming::Request { id, method, params }) => self.take(&id, &method, &params, lines).await,
                // No turn is running and no request is pending, so these have no effect.
                Some(Incoming::Notification { .. } | Incoming::Response { .. }) | None => Ok(()),
            };
            if let Err(Leave(code)) = handled {
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
        lines: &mut Receiver<Line>,
    ) -> Result<(), Leave> {
        match method {
            "initialize" => self.client.respond(id, &greeting()),
            "session/new" => {
                let session = Session::begin(session::directory().as_deref());
                self.open(id, params, session, Kept::default()).await?;
            }
            "session/load" => {
                let named = params["sessionId"].as_str().unwrap_or_default();
                match Session::load(session::directory().as_deref(), named) {
                    Ok((session, kept)) => self.open(id, params, session, kept).await?,
                    Err(why) => self.client.refuse(id, INVALID_PARAMS, &why, &Value::Null),
                }
            }
            "session/set_model" => match (&mut self.open, params["modelId"].as_str()) {
                (Some(open), Some(model)) => {
                    model.clone_into(&mut open.model);
                    self.client.respond(id, &json!({}));
                }
                (_, _) => self
                    .client
                    .refuse(id, INVALID_PARAMS, "there is no session, or no modelId", &Value::Null),
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

    async fn open(&mut self, id: &Value, params: &Value, session: Session, kept: Kept) -> Result<(), Leave> {
        let project = params["cwd"].as_str().map_or_else(|| PathBuf::from("."), PathBuf::from);
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let options = Options::read(variable, self.model.clone(), HAS_TLS).map_err(|error| {
            // The exit code is that of a wrong command line, since another try would fail the same way.
            console::complain(&format!("error: {error}"));
            Leave(match error {
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
        let (servers, troubles) = Servers::start(params, &project, &[OWN_KEY, key]).await;
        troubles.iter().for_each(|why| console::complain(why));
        self.client.speak_of(&session.id);
        self.retell(&kept, &options);
        let models = json!({
            "currentModelId": model, "availableModels": [{"modelId": model, "name": model}],
        });
        self.client
            .respond(id, &json!({"sessionId": session.id, "models": models}));
        self.open = Some(Open {
            history: History::of(kept.messages),
            spent: Spent {
                cost_usd: kept.cost_usd,
                ..Spent::default()
            },
            system: system::instructions(&project),
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
    fn retell(&self, kept: &Kept, options: &Options) {
        for message in &kept.messages {
            let (kind, text) = match message {
                Message::User { text } => ("user_message_chunk", text),
                Message::Assistant(answer) if !answer.text.is_empty() => ("agent_message_chunk", &answer.text),
                Message::Assistant(_) | Message::Results { .. } => continue,
            };
            self.client
                .tell(kind, json!({"content": {"type": "text", "text": text}}));
        }
        if kept.cost_usd > 0.0 {
            let cost = json!({"amount": kept.cost_usd, "currency": "USD"});
            self.client.tell(
                "usage_update",
                json!({"used": 0, "size": options.context_tokens, "cost": cost}),
            );
        }
    }

    /// Runs a turn while reading further messages.
    async fn converse(&mut self, id: &Value, params: &Value, lines: &mut Receiver<Line>) -> Result<(), Leave> {
        let Some(mut open) = self.open.take() else {
            self.client
                .refuse(id, INVALID_REQUEST, "there is no session", &Value::Null);
            return Ok(());
        };
        let ended = self.turn(&mut open, text_of(params), lines).await;
        if let Some(repaired) = open.history.repair() {
            open.session.keep(repaired);
        }
        self.client.end_turn();
        let used = open.spent.usage();
        let stop = |reason: &str| self.client.respond(id, &json!({"stopReason": reason, "usage": used}));
        match ended {
            Ended::By(Ok(End::Done)) => stop("end_turn"),
            Ended::By(Ok(End::Requests)) => stop("max_turn_requests"),
            Ended::By(Ok(End::Length)) => stop("max_tokens"),
            Ended::By(Ok(End::Refused)) => stop("refusal"),
            Ended::By(Err(failure)) => {
                self.client
                    .refuse(id, failure.code(), &failure.text, &json!({"usage": used}));
            }
            Ended::Cancelled => stop("cancelled"),
            Ended::Alone => return Err(Leave(0)),
        }
        self.open = Some(open);
        Ok(())
    }

    async fn turn(&self, open: &mut Open, prompt: String, lines: &mut Receiver<Line>) -> Ended {
        let message = Message::User { text: prompt };
        open.session.keep(&message);
        open.history.push(message);
        open.spent.tokens = Tokens::default();
        let mut turn = Turn {
            client: &self.client,
            api: &open.api,
            options: &open.options,
            model: &open.model,
            system: &open.system,
            project: Path::new(&open.project),
            offers: &open.offers,
            servers: &open.servers,
            history: &mut open.history,
            session: &mut open.session,
            spent: &mut open.spent,
        };
        let mut running = pin!(turn.run());
        loop {
            tokio::select! {
                // Messages that arrive before the end of the turn become part of it.
                biased;
                line = lines.recv() => match line.as_ref().map(incoming) {
                    None => return Ended::Alone,
                    Some(Some(Incoming::Response { id, outcome })) => self.client.answered(id, outcome.ok()),
                    Some(Some(Incoming::Notification { method, .. })) if method == "session/cancel" => return Ended::Cancelled,
                    Some(Some(Incoming::Request { id, method, params })) => self.take_meanwhile(id, &method, &params),
                    Some(Some(Incoming::Notification { .. }) | None) => {}
                },
                ended = &mut running => return Ended::By(ended),
            }
        }
    }

    fn take_meanwhile(&self, id: Value, method: &str, params: &Value) {
        match method {
            "_session/steering" => self.client.steer(id, text_of(params)),
            "session/prompt" | "session/new" | "session/load" | "session/set_model" => {
                self.client
                    .refuse(&id, INVALID_REQUEST, "a turn is running", &Value::Null);
            }
            other => self.unknown(&id, other),
        }
    }
}

/// Parses a line; `None` if it is not a message.
fn incoming(line: &Line) -> Option<Incoming> {
    match line {
        Line::Whole(line) => Incoming::of_line(line),
        Line::TooLong => None,
    }
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
