//! The server's answers: a scenario of steps, one per main request; the last one repeats for ever.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::Value;

use super::{
    log::ModelRequest,
    tools::{CallArguments, ToolUse},
};

/// Steps for main requests and one answer for all side requests.
#[derive(Clone)]
pub struct Scenario {
    pub(super) steps: Vec<Step>,
    pub(super) side: Step,
    /// The window of the model; `None` if requests are not checked.
    pub(super) window: Option<usize>,
}

impl Scenario {
    /// A scenario that answers `ok` until steps are added.
    pub fn new() -> Scenario {
        Scenario {
            steps: Vec::new(),
            side: say("Side answer").into(),
            window: None,
        }
    }

    pub fn then(mut self, step: impl Into<Step>) -> Scenario {
        self.steps.push(step.into());
        self
    }

    /// Answers side requests with `step` as well, for errors that affect every request.
    pub fn side(mut self, step: impl Into<Step>) -> Scenario {
        self.side = step.into();
        self
    }

    /// Checks every request as an API does whose model has a window of `tokens`.
    pub fn window(mut self, tokens: usize) -> Scenario {
        self.window = Some(tokens);
        self
    }

    pub(super) fn step(&self, index: usize) -> Step {
        self.steps
            .get(index)
            .or(self.steps.last())
            .cloned()
            .unwrap_or_else(|| say("ok").into())
    }
}

impl<S: Into<Step>> From<S> for Scenario {
    fn from(step: S) -> Scenario {
        Scenario::new().then(step)
    }
}

/// One reply, optionally delayed.
#[derive(Clone)]
pub struct Step {
    pub(super) delay: Duration,
    pub(super) reply: StepReply,
}

impl Step {
    /// Delays the reply.
    pub fn after(mut self, delay: Duration) -> Step {
        self.delay = delay;
        self
    }
}

#[derive(Clone)]
pub(super) enum StepReply {
    Answer(ModelAnswer),
    Error(HttpError),
    /// The server sends no byte.
    Silence,
    /// The connection is closed before any byte.
    Drop,
    Decide(Arc<Decide>),
}

pub(super) type Decide = dyn Fn(&ModelRequest) -> Step + Send + Sync;

impl From<StepReply> for Step {
    fn from(reply: StepReply) -> Step {
        Step {
            delay: Duration::ZERO,
            reply,
        }
    }
}

impl From<ModelAnswer> for Step {
    fn from(answer: ModelAnswer) -> Step {
        StepReply::Answer(answer).into()
    }
}

impl From<HttpError> for Step {
    fn from(error: HttpError) -> Step {
        StepReply::Error(error).into()
    }
}

/// A model's answer: reasoning, then text, then tool calls.
#[derive(Clone, Default)]
pub struct ModelAnswer {
    pub(super) reasoning: Option<String>,
    pub(super) text: Option<String>,
    pub(super) tools: Vec<ToolUse>,
    /// Whether the answer ends because it has reached the maximum length.
    pub(super) is_cut_off: bool,
    pub(super) flow: Flow,
}

/// How an answer is transmitted.
#[derive(Clone, Default)]
pub(super) enum Flow {
    #[default]
    Whole,
    /// One word per interval.
    Drip(Duration),
    /// Endless words, one per interval.
    Endless(Duration),
    /// The first word, and the rest once the test opens the gate.
    Held(Gate),
    /// Silence after the text.
    Hang,
    /// The connection drops after the text.
    Cut,
    /// An error event instead of an answer.
    Error { code: String, message: String },
}

/// Holds an answer back until the test opens it.
#[derive(Clone, Default)]
pub struct Gate(Arc<AtomicBool>);

impl Gate {
    pub fn open(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_open(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// An empty answer to build on.
pub fn answer() -> ModelAnswer {
    ModelAnswer::default()
}

/// An answer of text alone, which ends the agent's turn.
pub fn say(text: &str) -> ModelAnswer {
    answer().text(text)
}

/// A command that waits for the file `go` in the project, and takes it away.
pub const UNTIL_GO: &str = "until [ -e go ]; do sleep 0.05; done; rm go";

/// An answer that calls the shell tool.
pub fn shell(command: &str) -> ModelAnswer {
    answer().shell(command)
}

/// An HTTP error in the protocol's own shape.
pub fn http(status: u16) -> HttpError {
    HttpError {
        status,
        headers: Vec::new(),
        body: None,
    }
}

/// Sends no byte until the client gives up or the server is dropped.
pub fn silence() -> Step {
    StepReply::Silence.into()
}

/// Closes the connection before any byte.
pub fn drop_connection() -> Step {
    StepReply::Drop.into()
}

/// Chooses the step from the request, for answers that depend on the prompt.
pub fn decide<S: Into<Step>>(choose: impl Fn(&ModelRequest) -> S + Send + Sync + 'static) -> Step {
    StepReply::Decide(Arc::new(move |request| choose(request).into())).into()
}

impl ModelAnswer {
    pub fn reasoning(mut self, text: &str) -> ModelAnswer {
        self.reasoning = Some(text.to_owned());
        self
    }

    pub fn text(mut self, text: &str) -> ModelAnswer {
        self.text = Some(text.to_owned());
        self
    }

    pub fn shell(self, command: &str) -> ModelAnswer {
        self.tool(ToolUse::Shell {
            command: command.to_owned(),
        })
    }

    /// Creates or replaces a file with the agent's own tool for it.
    pub fn write(self, path: &str, content: &str) -> ModelAnswer {
        self.tool(ToolUse::Write {
            path: path.to_owned(),
            content: content.to_owned(),
        })
    }

    pub fn read(self, path: &str) -> ModelAnswer {
        self.tool(ToolUse::Read { path: path.to_owned() })
    }

    /// Replaces a whole line of a file.
    pub fn edit(self, path: &str, old: &str, new: &str) -> ModelAnswer {
        self.tool(ToolUse::Edit {
            path: path.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
        })
    }

    /// Calls a tool by its name, offered or not.
    pub fn call(self, name: &str, arguments: Value) -> ModelAnswer {
        self.tool(ToolUse::Raw {
            name: name.to_owned(),
            arguments: CallArguments::Json(arguments),
        })
    }

    /// Calls a tool with arguments that are not JSON, if the API can express that.
    pub fn call_badly(self, name: &str, arguments: &str) -> ModelAnswer {
        self.tool(ToolUse::Raw {
            name: name.to_owned(),
            arguments: CallArguments::Text(arguments.to_owned()),
        })
    }

    /// Whether the answer has any text, complete or not.
    pub(super) fn has_text(&self) -> bool {
        self.text.is_some() || !matches!(self.flow, Flow::Whole)
    }

    fn tool(mut self, tool: ToolUse) -> ModelAnswer {
        self.tools.push(tool);
        self
    }

    /// Sends one word per `interval`.
    pub fn drip(self, interval: Duration) -> ModelAnswer {
        self.flow(Flow::Drip(interval))
    }

    /// Sends a word per `interval` and never ends.
    pub fn endless(self, interval: Duration) -> ModelAnswer {
        self.flow(Flow::Endless(interval))
    }

    /// Goes silent after headers and text.
    pub fn hang(self) -> ModelAnswer {
        self.flow(Flow::Hang)
    }

    /// Streams the first word of the text, and the rest once `gate` is open.
    pub fn held(self, gate: &Gate) -> ModelAnswer {
        self.flow(Flow::Held(gate.clone()))
    }

    /// Ends at the maximum length, and says so.
    pub fn cut_off(mut self) -> ModelAnswer {
        self.is_cut_off = true;
        self
    }

    /// Drops the connection after the text.
    pub fn cut(self) -> ModelAnswer {
        self.flow(Flow::Cut)
    }

    /// Reports an error within the stream, after a status of 200.
    pub fn error(self, code: &str, message: &str) -> ModelAnswer {
        self.flow(Flow::Error {
            code: code.to_owned(),
            message: message.to_owned(),
        })
    }

    fn flow(mut self, flow: Flow) -> ModelAnswer {
        self.flow = flow;
        self
    }
}

/// An answer with an error status.
#[derive(Clone)]
pub struct HttpError {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Option<Value>,
}

impl HttpError {
    pub fn header(mut self, name: &str, value: &str) -> HttpError {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Asks for an immediate retry, in every agent's format.
    pub fn retry_at_once(self) -> HttpError {
        self.header("retry-after", "0").header("retry-after-ms", "1")
    }

    /// Replaces the protocol's usual body for this status.
    pub fn body(mut self, body: Value) -> HttpError {
        self.body = Some(body);
        self
    }
}
