//! The server: accepts connections, logs requests, takes the next step, answers.

use std::{
    collections::HashMap,
    io::BufReader,
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{
    connection::{AnswerConnection, Halt},
    http::{RawRequest, read_request},
    log::{ExchangeLog, ExchangeOutcome, ModelExchange, ModelRequest, RequestKind},
    protocol::{self, ConversationTexts, ModelProtocol},
    scenario::{Flow, Scenario, Step, StepReply, http},
    strict,
};

/// A running server. Dropping it ends every answer and joins every thread.
pub struct StandIn {
    address: SocketAddr,
    shared: Arc<StandInShared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct StandInShared {
    log: ExchangeLog,
    script: Mutex<ScenarioPosition>,
    /// The reasons why requests were refused.
    flaws: Mutex<Vec<String>>,
    closing: AtomicBool,
    /// Open connections, which closing uses to end hanging answers.
    open: Mutex<HashMap<usize, TcpStream>>,
}

/// A scenario and the position in it.
struct ScenarioPosition {
    scenario: Scenario,
    next: usize,
}

impl Default for ScenarioPosition {
    fn default() -> ScenarioPosition {
        ScenarioPosition {
            scenario: Scenario::new(),
            next: 0,
        }
    }
}

impl StandIn {
    /// Starts on a free port of 127.0.0.1.
    pub fn start(scenario: impl Into<Scenario>) -> StandIn {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port on 127.0.0.1");
        let address = listener.local_addr().expect("a bound listener has an address");
        let shared = Arc::new(StandInShared::default());
        let acceptor = thread::Builder::new().name("stand-in".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.accept(&listener)
        });
        let server = StandIn {
            address,
            shared,
            acceptor: Some(acceptor.expect("a thread")),
        };
        server.play(scenario);
        server
    }

    /// The server's URL, without a slash at the end.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The base URL for agents that speak an OpenAI protocol, without a slash at the end.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Replaces the scenario; the next main request takes its first step.
    pub fn play(&self, scenario: impl Into<Scenario>) {
        *self.shared.script.lock() = ScenarioPosition {
            scenario: scenario.into(),
            next: 0,
        };
    }

    /// All exchanges so far, oldest first.
    pub fn exchanges(&self) -> Vec<ModelExchange> {
        self.shared.log.all()
    }

    /// The main requests so far, oldest first.
    pub fn main_requests(&self) -> Vec<ModelRequest> {
        self.exchanges()
            .into_iter()
            .map(|exchange| exchange.request)
            .filter(is_main)
            .collect()
    }

    /// The flaws of requests, if the scenario checks them.
    pub fn flaws(&self) -> Vec<String> {
        self.shared.flaws.lock().clone()
    }

    /// Number of main requests so far. Requests are large: a caller that waits for one should not copy them all.
    pub fn main_request_count(&self) -> usize {
        self.shared.log.count(is_main)
    }

    /// Prints the exchanges for a failing test: the step that answered, and the agent's message.
    #[allow(clippy::print_stderr)] // shown with the failure
    fn print_exchanges(&self) {
        for ModelExchange { request, step, outcome } in self.exchanges() {
            let ModelRequest {
                number, method, path, ..
            } = &request;
            let last = request.tool_results.last().map(String::as_str).unwrap_or_default();
            let last: String = last.chars().take(200).collect();
            eprintln!("request {number}: {method} {path}, step {step:?}, {outcome:?}, last result {last:?}");
        }
    }

    /// Waits for main request `n`, counted from 1.
    ///
    /// # Panics
    /// If it does not arrive within `deadline`.
    pub fn wait_for_request(&self, n: usize, deadline: Duration) -> ModelRequest {
        self.wait_for(deadline, &format!("main request {n}"), |exchanges| {
            exchanges
                .iter()
                .map(|exchange| &exchange.request)
                .filter(|request| is_main(request))
                .nth(n - 1)
                .cloned()
        })
    }

    /// Waits until request `number` is over and returns its outcome.
    ///
    /// # Panics
    /// If it is not over within `deadline`.
    pub fn wait_for_end(&self, number: usize, deadline: Duration) -> ExchangeOutcome {
        self.wait_for(deadline, &format!("end of request {number}"), |exchanges| {
            exchanges.get(number - 1)?.outcome
        })
    }

    /// Waits until `found` returns a value for the log.
    ///
    /// # Panics
    /// If it returns none within `deadline`; `what` is in the message.
    pub fn wait_for<T>(&self, deadline: Duration, what: &str, found: impl Fn(&[ModelExchange]) -> Option<T>) -> T {
        self.shared.log.wait(deadline, found).unwrap_or_else(|| {
            let seen: Vec<_> = self
                .exchanges()
                .into_iter()
                .map(|seen| format!("{} {} {:?}", seen.request.method, seen.request.path, seen.outcome))
                .collect();
            panic!("no {what} within {deadline:?}; seen: {seen:#?}")
        })
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if thread::panicking() {
            self.print_exchanges();
        }
        self.shared.closing.store(true, Ordering::SeqCst);
        for stream in self.shared.open.lock().values() {
            _ = stream.shutdown(Shutdown::Both); // it may have ended meanwhile
        }
        _ = TcpStream::connect(self.address); // wakes the acceptor, which then sees that it is to close
        if let Some(acceptor) = self.acceptor.take() {
            _ = acceptor.join(); // a panic there has been printed, and a second one here would abort
        }
    }
}

impl StandInShared {
    fn accept(&self, listener: &TcpListener) {
        thread::scope(|threads| {
            for (id, stream) in listener.incoming().enumerate() {
                let Ok(stream) = stream else { continue };
                // The connection is registered before the check: either closing finds it here, or this sees that the
                // server is closing.
                if let Ok(clone) = stream.try_clone() {
                    self.open.lock().insert(id, clone);
                }
                if self.closing.load(Ordering::SeqCst) {
                    return;
                }
                let open = OpenConnection { shared: self, id };
                threads.spawn(move || {
                    let _open = open;
                    self.serve(stream);
                });
            }
        });
    }

    fn serve(&self, mut stream: TcpStream) {
        _ = stream.set_nodelay(true); // only a matter of speed
        let Ok(clone) = stream.try_clone() else { return };
        let mut reader = BufReader::new(clone);
        let Ok(clone) = stream.try_clone() else { return };
        let mut connection = AnswerConnection::new(clone);
        while let Ok(Some(raw)) = read_request(&mut reader, &mut stream) {
            if self.handle(raw, &mut connection).is_err() {
                return;
            }
        }
    }

    fn handle(&self, raw: RawRequest, out: &mut AnswerConnection) -> Result<(), Halt> {
        let protocol = protocol::for_request(&raw.method, &raw.path);
        let encoding = raw.header("content-encoding").map(str::to_owned);
        let body = serde_json::from_slice(&raw.body).unwrap_or(Value::Null);
        let conversation = protocol.map(|protocol| protocol.read(&body)).unwrap_or_default();
        let flaw = self.flaw(&body, &conversation);
        let request = request(raw, body, protocol.is_some(), conversation);
        let (step, index) = match flaw {
            Some(flaw) => (refusal(&flaw), None),
            None => self.next_step(request.kind),
        };
        let request = self.log.begin(request, index);
        let answered = match (protocol, encoding) {
            // An explicit error: an agent that compresses its requests would otherwise be answered as if they were
            // empty.
            (_, Some(encoding)) => out.respond(415, &[], Some(&json!({ "error": format!("encoding {encoding}") }))),
            (Some(protocol), None) => answer(protocol, &request, step, out),
            (None, None) => answer_without_model(&request, out),
        };
        self.log.end(
            request.number,
            match answered {
                Ok(()) => ExchangeOutcome::Answered,
                Err(Halt::Cut) => ExchangeOutcome::Cut,
                Err(Halt::Gone) => ExchangeOutcome::ClientGone,
            },
        );
        answered
    }

    /// The flaw of a request, which is also kept for the test.
    fn flaw(&self, body: &Value, conversation: &ConversationTexts) -> Option<String> {
        let window = self.script.lock().scenario.window?;
        let flaw = strict::flaw(body, &conversation.parts, protocol::longest_answer(body), window)?;
        self.flaws.lock().push(flaw.clone());
        Some(flaw)
    }

    fn next_step(&self, kind: RequestKind) -> (Step, Option<usize>) {
        let mut script = self.script.lock();
        match kind {
            RequestKind::Main => {
                let index = script.next;
                script.next += 1;
                (script.scenario.step(index), Some(index))
            }
            RequestKind::Side | RequestKind::Other => (script.scenario.side.clone(), None),
        }
    }
}

fn refusal(flaw: &str) -> Step {
    let error = json!({ "code": "invalid_request_error", "message": flaw });
    http(400).body(json!({ "error": error })).into()
}

/// Closes a connection when its thread ends, even after a panic in a scenario's closure.
struct OpenConnection<'a> {
    shared: &'a StandInShared,
    id: usize,
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        if let Some(stream) = self.shared.open.lock().remove(&self.id) {
            _ = stream.shutdown(Shutdown::Both); // the client may be gone
        }
    }
}

fn request(raw: RawRequest, body: Value, known: bool, conversation: ConversationTexts) -> ModelRequest {
    let kind = match (known, conversation.tools.is_empty()) {
        (true, false) => RequestKind::Main,
        (true, true) => RequestKind::Side,
        (false, _) => RequestKind::Other,
    };
    ModelRequest {
        number: 0,
        kind,
        method: raw.method,
        path: raw.path,
        headers: raw.headers,
        body,
        tools: conversation.tools,
        user_texts: conversation.user_texts,
        tool_results: conversation.tool_results,
    }
}

fn answer(
    protocol: &dyn ModelProtocol,
    request: &ModelRequest,
    step: Step,
    out: &mut AnswerConnection,
) -> Result<(), Halt> {
    out.wait(step.delay)?;
    match step.reply {
        StepReply::Answer(answer) => match protocol.whole(request, &answer) {
            Some(whole) => answer_at_once(protocol, &answer.flow, &whole, out),
            None => protocol.stream(request, &answer, out),
        },
        StepReply::Error(error) => {
            let body = error.body.unwrap_or_else(|| protocol.error_body(error.status));
            out.respond(error.status, &error.headers, Some(&body))
        }
        StepReply::Silence => Err(out.hang()),
        StepReply::Drop => Err(out.cut()),
        StepReply::Decide(choose) => answer(protocol, request, choose(request), out),
    }
}

/// Sends an answer in one piece. A fault in the middle of a stream happens before it instead.
fn answer_at_once(
    protocol: &dyn ModelProtocol,
    flow: &Flow,
    whole: &Value,
    out: &mut AnswerConnection,
) -> Result<(), Halt> {
    match flow {
        Flow::Whole | Flow::Drip(_) | Flow::Held(_) => out.respond(200, &[], Some(whole)),
        Flow::Endless(_) | Flow::Hang => Err(out.hang()),
        Flow::Cut => Err(out.cut()),
        Flow::Error { .. } => {
            let status = protocol.failed();
            out.respond(status, &[], Some(&protocol.error_body(status)))
        }
    }
}

fn answer_without_model(request: &ModelRequest, out: &mut AnswerConnection) -> Result<(), Halt> {
    let unknown = json!({ "error": { "message": "stand-in: no such path" } });
    match protocol::without_model(&request.method, &request.path) {
        Some(body) => out.respond(200, &[], Some(&body)),
        None if request.method == "HEAD" => out.respond(404, &[], None),
        None => out.respond(404, &[], Some(&unknown)),
    }
}

fn is_main(request: &ModelRequest) -> bool {
    request.kind == RequestKind::Main
}
