//! One turn: requests to the model and its tool calls alternate, until the model is done.

use std::{path::Path, rc::Rc, time::Duration};

use futures_util::future::join_all;
use ralph_text::console;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{
    api::{Api, StreamListener},
    budget::{SpentLimit, longest_answer},
    client::{AcpClient, PermissionOutcome},
    compaction,
    endpoint::{AgentOptions, OWN_KEY},
    failure::{self, ApiFailure, FailureClass},
    history::{self, ChatHistory},
    message::{ChatMessage, ModelAnswer, ModelCall, ModelRequest, TokenUsage, ToolDescription, ToolResult},
    models::ModelFacts,
    repeats::{Repeated, Repeats},
    servers::SessionServers,
    session::SessionFile,
    tools::{self, PreparedUse, ToolAction, ToolOutcome},
    wire::{AnswerPiece, AnswerStop, USUAL_ANSWER, Wire},
};

/// How often an answer that reached the length limit is continued.
const CONTINUATIONS: u32 = 3;

/// How often a conversation that the API finds too long is shortened for one request.
const SHORTENED: u32 = 2;
/// Most tokens of a summary, thoughts included.
const LONGEST_SUMMARY: u32 = 8192;
/// The longest answer that a model is taken to give if nothing is known of it.
const UNKNOWN_LONGEST: u32 = 8192;
/// Fewest tokens of an answer that are asked for in a full window.
const SHORTEST_ROOM: u32 = 256;

const NUDGE: &str = "You have thought, but neither said nor done anything. Use a tool, or say what came of your work.";
const CONTINUE: &str =
    "Your answer was cut off, since it was too long. Go on where it ended; write long files in several parts.";
const NOT_RUN: &str =
    "not run: an earlier change of this answer failed. Mend that first, then call it again if it is still right.";
const DENIED: &str = "denied: it was not done, and must not be done in another way either. Go on without it.";

/// The context of a turn.
pub(super) struct TurnRunner<'a> {
    pub(super) client: &'a Rc<AcpClient>,
    pub(super) api: &'a Api,
    pub(super) options: &'a AgentOptions,
    pub(super) model: &'a str,
    pub(super) facts: &'a mut ModelFacts,
    pub(super) system: &'a str,
    pub(super) project: &'a Path,
    pub(super) offers: &'a [ToolDescription],
    pub(super) servers: &'a SessionServers,
    pub(super) history: &'a mut ChatHistory,
    pub(super) session: &'a mut SessionFile,
    pub(super) spent: &'a mut SessionUsage,
}

/// The usage of a session.
#[derive(Debug, Default)]
pub(super) struct SessionUsage {
    /// The tokens of the running turn.
    pub(super) tokens: TokenUsage,
    /// The number of tool calls.
    pub(super) calls: u64,
    /// The number of answers.
    pub(super) answers: u64,
}

impl SessionUsage {
    /// The tokens of the running turn, in the form of the protocol's turn result.
    pub(super) fn usage(&self) -> Value {
        let tokens = self.tokens;
        if tokens == TokenUsage::default() {
            // Usage that the API did not count is null, since zero would be a count.
            return Value::Null;
        }
        json!({
            "inputTokens": tokens.input, "outputTokens": tokens.output, "cachedReadTokens": tokens.cache_read,
            "cachedWriteTokens": tokens.cache_write, "totalTokens": tokens.input.saturating_add(tokens.output),
        })
    }
}

/// The outcome of a turn that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnOutcome {
    Done,
    /// The turn has reached the limit of requests.
    Requests,
    /// The iteration has spent what it may.
    Spent(SpentLimit),
    Length,
    Refused,
}

impl TurnRunner<'_> {
    /// Runs the turn until the model is done. Cancel safe: dropping the future ends its processes, and the history can
    /// be repaired.
    ///
    /// # Errors
    /// The [`ApiFailure`] that ended the turn.
    pub(crate) async fn run(&mut self, prompt: String) -> Result<TurnOutcome, ApiFailure> {
        self.record(ChatMessage::user(prompt));
        let (mut repeats, mut was_nudged, mut continued) = (Repeats::default(), false, 0);
        for _ in 0..self.options.max_requests {
            for text in self.client.take_messages() {
                self.record(ChatMessage::user(text));
            }
            if let Err(limit) = self.longest_answer() {
                return Ok(TurnOutcome::Spent(limit));
            }
            self.make_room().await;
            let longest = match self.longest_answer() {
                Ok(longest) => longest,
                Err(limit) => return Ok(TurnOutcome::Spent(limit)),
            };
            let (answer, stop) = self.request_answer(longest).await?;
            self.record(ChatMessage::Assistant(answer.clone()));
            if stop == AnswerStop::Refused {
                return Ok(TurnOutcome::Refused);
            }
            if !answer.calls.is_empty() {
                let results = self.use_tools(&answer.calls).await;
                self.take_results(&answer.calls, results, &mut repeats)?;
                continue;
            }
            let more = match stop {
                AnswerStop::Length if continued == CONTINUATIONS => return Ok(TurnOutcome::Length),
                AnswerStop::Length => {
                    continued += 1;
                    CONTINUE
                }
                _ if self.client.has_messages() => continue,
                _ if answer.text.trim().is_empty() && !was_nudged => {
                    was_nudged = true;
                    NUDGE
                }
                AnswerStop::Done | AnswerStop::Refused => return Ok(TurnOutcome::Done),
            };
            self.record(ChatMessage::user(more));
        }
        Ok(TurnOutcome::Requests)
    }

    /// Adds a message to the conversation, in memory and on disk.
    fn record(&mut self, message: ChatMessage) {
        self.session.append(&message);
        self.history.push(message);
    }

    /// Makes the conversation fit the window of the model: a summary takes the place of old steps, and what is still too
    /// much, or cannot be summed up, is left out.
    async fn make_room(&mut self) {
        let offers = self.offers.iter().map(ToolDescription::bytes).sum::<usize>();
        let (window, beside) = (self.facts.window, history::tokens_of(self.system.len() + offers));
        if !self.history.is_full(window, beside) {
            return;
        }
        let before = self.history.tokens();
        let has_summary = self.sum_up(window).await;
        if self.history.fit(window, beside) > 0 || has_summary {
            self.session.compact(self.history.messages());
            let told = format!("compacted {before} tokens to {}", self.history.tokens());
            self.spent.answers += 1;
            let content = json!({"type": "text", "text": told});
            let update = json!({"messageId": format!("answer-{}", self.spent.answers), "content": content});
            self.client.send_update("agent_thought_chunk", update);
        }
    }

    /// Replaces old steps by a summary of the model. Returns whether there is one.
    async fn sum_up(&mut self, window: u64) -> bool {
        let Some((task, steps)) = self.history.messages().first().zip(self.history.old_steps(window)) else {
            return false;
        };
        let wish = compaction::wish(task, steps, usize::try_from(window / 2 * 4).unwrap_or(usize::MAX));
        let count = steps.len();
        let left = longest_answer(&self.options.budget, self.spent.tokens, history::tokens_of(wish.len()));
        let quarter = u32::try_from(window / 4).unwrap_or(u32::MAX);
        let bounds = [
            Some(LONGEST_SUMMARY),
            Some(quarter),
            self.facts.answer,
            left.ok().flatten(),
        ];
        let longest = bounds.into_iter().flatten().min();
        let messages = [ChatMessage::user(wish)];
        let request = ModelRequest {
            model: self.model,
            system: compaction::SYSTEM,
            messages: &messages,
            offers: &[],
            answer_tokens: longest,
            reasoning: self.facts.reasoning,
            effort: None,
        };
        let mut listener = SummaryListener {
            retries: self.options.retries,
        };
        // Without a summary, old results are left out, and the next request shows what is wrong.
        let Ok(reply) = self.api.ask(request, &mut listener).await else {
            return false;
        };
        self.spent.tokens = self.spent.tokens.plus(reply.tokens);
        let has_summary = !reply.answer.text.trim().is_empty();
        if has_summary {
            self.history.sum_up(count, &reply.answer.text, window);
        }
        has_summary
    }

    /// Returns the longest answer to the conversation.
    ///
    /// # Errors
    /// The limit that is reached, if the iteration has spent what it may.
    fn longest_answer(&self) -> Result<Option<u32>, SpentLimit> {
        let left = longest_answer(&self.options.budget, self.spent.tokens, self.history.tokens())?;
        // A limit above that of the model would be refused, and one far above what models write is not needed.
        let (most, ample) = match self.facts.answer {
            Some(most) => (most, most),
            None => (UNKNOWN_LONGEST, 2 * UNKNOWN_LONGEST),
        };
        let left = left.filter(|left| *left < ample).map(|left| left.min(most));
        let usual = match self.options.endpoint.wire {
            Wire::Anthropic => Some(USUAL_ANSWER.min(self.facts.answer.unwrap_or(u32::MAX))),
            Wire::Chat | Wire::Responses => None,
        };
        let longest = self.options.answer_tokens.or(usual).into_iter().chain(left).min();
        let room = u32::try_from(self.history.room(self.facts.window)).unwrap_or(u32::MAX);
        Ok(longest.map(|longest| longest.min(room.max(SHORTEST_ROOM))))
    }

    /// Sends a request to the model. A conversation that is too long is shortened, and reasoning that the API does not
    /// take back is left out.
    async fn request_answer(
        &mut self,
        mut answer_tokens: Option<u32>,
    ) -> Result<(ModelAnswer, AnswerStop), ApiFailure> {
        let mut shortened = 0;
        let mut reply = loop {
            self.spent.answers += 1;
            let mut listener = StreamToClient {
                client: self.client,
                answers: &mut self.spent.answers,
                retries: self.options.retries,
            };
            let request = ModelRequest {
                model: self.model,
                system: self.system,
                messages: self.history.messages(),
                offers: self.offers,
                answer_tokens,
                reasoning: self.facts.reasoning,
                effort: self.options.effort,
            };
            match self.api.ask(request, &mut listener).await {
                Err(failure) if failure.class == FailureClass::Overflow && shortened < SHORTENED => {
                    shortened += 1;
                    match failure::window_of(&failure.text).filter(|window| *window < self.facts.window) {
                        Some(window) => {
                            self.facts.window = window;
                            self.make_room().await;
                            answer_tokens = self.longest_answer().unwrap_or(answer_tokens);
                        }
                        None if self.history.make_room() == 0 => return Err(failure),
                        None => {}
                    }
                }
                Err(failure) if failure.refuses_reasoning() && self.history.forget_thoughts() > 0 => {}
                reply => break reply?,
            }
        };
        for (number, call) in reply.answer.calls.iter_mut().enumerate() {
            // Results refer to calls by their ids.
            if call.id.is_empty() {
                call.id = format!("call_{}_{number}", self.history.messages().len());
            }
        }
        self.count(reply.tokens);
        Ok((reply.answer, reply.stop))
    }

    fn count(&mut self, tokens: TokenUsage) {
        self.history.count(tokens);
        self.spent.tokens = self.spent.tokens.plus(tokens);
        if longest_answer(&self.options.budget, self.spent.tokens, 0).is_err() {
            // The run would end the agent at once. The calls of the last answer are carried out first, and the end of
            // the turn reports these tokens.
            return;
        }
        // Reported during the turn, so that a limit on tokens can end it.
        let update = json!({
            "used": self.history.tokens(), "size": self.facts.window,
            "_meta": {"usage": self.spent.usage()},
        });
        self.client.send_update("usage_update", update);
    }

    /// Carries out the calls of one answer. Calls with side effects run in order until a change of a file fails, since
    /// the model wrote later calls on the assumption that it succeeds. Read-only calls wait only for the changes before
    /// them. Permission for commands is requested at once, so that the user sees all of them.
    async fn use_tools(&mut self, calls: &[ModelCall]) -> Vec<ToolResult> {
        let done = watch::Sender::new(ChangeProgress::default());
        let mut changes = 0;
        let places = calls.iter().map(|call| {
            let place = CallPosition {
                id: self.next_call(call),
                after: changes,
                changes: !tools::is_read_only(&call.name),
            };
            changes += usize::from(place.changes);
            place
        });
        let places: Vec<CallPosition> = places.collect();
        join_all(
            calls
                .iter()
                .zip(places)
                .map(|(call, place)| self.use_tool(call, place, &done)),
        )
        .await
    }

    /// The id of a tool use, which begins with the name of the tool.
    fn next_call(&mut self, call: &ModelCall) -> String {
        self.spent.calls += 1;
        let name = match call.name.as_str() {
            "" => "tool",
            name => name,
        };
        format!("{name}__{}", self.spent.calls)
    }

    async fn use_tool(
        &self,
        call: &ModelCall,
        place: CallPosition,
        done: &watch::Sender<ChangeProgress>,
    ) -> ToolResult {
        let its_turn = async || {
            // Waiting fails only if `done` was dropped.
            _ = done.subscribe().wait_for(|done| done.count >= place.after).await;
            if place.changes && done.borrow().has_failed {
                return Err(NOT_RUN.to_owned());
            }
            Ok(())
        };
        // A change can be computed only after the changes before it.
        let outcome = match tools::is_asked_early(&call.name) {
            true => {
                let asked = self.asked_for(call, &place.id).await;
                match (its_turn().await, asked) {
                    (Ok(()), Ok(action)) => self.carry_out(action, &place.id).await,
                    (Err(why), Ok(_)) => {
                        let update = json!({"toolCallId": place.id, "status": "failed", "content": content(&why)});
                        self.client.send_update("tool_call_update", update);
                        Err(why)
                    }
                    (_, Err(why)) => Err(why),
                }
            }
            false => match its_turn().await {
                Ok(()) => match self.asked_for(call, &place.id).await {
                    Ok(action) => self.carry_out(action, &place.id).await,
                    Err(why) => Err(why),
                },
                Err(why) => {
                    self.tell_failed(call, &place.id, &why);
                    Err(why)
                }
            },
        };
        if place.changes {
            let fails = tools::is_edit(&call.name) && outcome.as_ref().is_err_and(|why| why != DENIED);
            done.send_modify(|done| {
                done.count += 1;
                done.has_failed |= fails;
            });
        }
        let ok = outcome.is_ok();
        ToolResult {
            call: call.id.clone(),
            ok,
            text: outcome.unwrap_or_else(|why| why),
        }
    }

    /// Reports a call that fails before permission is requested.
    fn tell_failed(&self, call: &ModelCall, id: &str, why: &str) {
        let input = json!({"arguments": ralph_core::event::clip(&call.arguments, 1000)});
        let update = json!({
            "toolCallId": id, "title": call.name, "kind": "other", "status": "failed", "rawInput": input,
            "content": content(why),
        });
        self.client.send_update("tool_call", update);
    }

    /// Prepares a call and requests permission. Returns its action if it is allowed.
    async fn asked_for(&self, call: &ModelCall, id: &str) -> Result<ToolAction, String> {
        let wanted = match self.servers.prepare(&call.name, &call.arguments) {
            Some(used) => used.map(PreparedUse::served),
            None => tools::prepare(&call.name, &call.arguments, self.project),
        };
        let wanted = wanted.inspect_err(|why| self.tell_failed(call, id, why))?;
        let update = match &wanted.action {
            // The list affects nothing outside of the agent, so it needs no permission.
            ToolAction::Todo(_) => return Ok(wanted.action),
            _ => acp_tool_call(&wanted, id),
        };
        self.client.send_update("tool_call", update.clone());
        match self.client.ask(&update).await {
            PermissionOutcome::Granted => Ok(wanted.action),
            PermissionOutcome::Denied => {
                let update = json!({"toolCallId": id, "status": "failed", "content": content(DENIED)});
                self.client.send_update("tool_call_update", update);
                Err(DENIED.to_owned())
            }
        }
    }

    async fn carry_out(&self, action: ToolAction, id: &str) -> ToolOutcome {
        if let ToolAction::Todo(entries) = action {
            let entry = |entry: &tools::TodoEntry| json!({"content": entry.content, "status": entry.status, "priority": "medium"});
            let entries: Vec<Value> = entries.iter().map(entry).collect();
            self.client.send_update("plan", json!({"entries": entries}));
            return Ok("The list is kept.".to_owned());
        }
        self.client
            .send_update("tool_call_update", json!({"toolCallId": id, "status": "in_progress"}));
        let is_change = matches!(action, ToolAction::Change(_));
        let outcome = match action {
            ToolAction::Served(used) => self.servers.carry_out(used).await,
            action => self.act(action).await,
        };
        let status = if outcome.is_ok() { "completed" } else { "failed" };
        let mut update = json!({"toolCallId": id, "status": status});
        // A completed change is already shown as a diff.
        if !is_change || outcome.is_err() {
            let (Ok(text) | Err(text)) = &outcome;
            update["content"] = content(text);
        }
        self.client.send_update("tool_call_update", update);
        outcome
    }

    async fn act(&self, action: ToolAction) -> ToolOutcome {
        match action {
            ToolAction::Shell(shell) => {
                let key = self.options.endpoint.key.as_ref().map_or(OWN_KEY, |key| key.variable);
                shell.carry_out(self.project, &[OWN_KEY, key]).await
            }
            ToolAction::Change(edit) => edit.carry_out(),
            action => {
                let looking = tokio::task::spawn_blocking(move || tools::carry_out_reading(action)).await;
                looking.unwrap_or_else(|_| Err("it could not be done".to_owned()))
            }
        }
    }

    /// Adds the results to the conversation.
    ///
    /// # Errors
    /// A [`ApiFailure`] if the model repeats the same call endlessly.
    fn take_results(
        &mut self,
        calls: &[ModelCall],
        mut results: Vec<ToolResult>,
        repeats: &mut Repeats,
    ) -> Result<(), ApiFailure> {
        let made: Vec<_> = calls
            .iter()
            .map(|call| (call.name.as_str(), call.arguments.as_str()))
            .collect();
        let given: Vec<_> = results.iter().map(|result| result.text.as_str()).collect();
        let repeated = repeats.take(&made, &given);
        if let (Repeated::Tell { count }, Some(last)) = (repeated, results.last_mut()) {
            last.text.push_str(&format!(
                "\n[the same call has had the same result {count} times in a row; do something else]"
            ));
        }
        self.record(ChatMessage::Results { results });
        match repeated {
            Repeated::Endless { count } => {
                let names: Vec<_> = calls.iter().map(|call| call.name.as_str()).collect();
                let text = format!(
                    "the model made the same call {count} times in a row ({})",
                    names.join(", ")
                );
                Err(ApiFailure::new(FailureClass::Refused, text))
            }
            Repeated::No | Repeated::Tell { .. } => Ok(()),
        }
    }
}

/// The position of a call in an answer.
struct CallPosition {
    /// The id of the use.
    id: String,
    /// The number of preceding changes that it waits for.
    after: usize,
    /// Whether the call may have side effects.
    changes: bool,
}

/// The progress of an answer's changes.
#[derive(Debug, Default)]
struct ChangeProgress {
    count: usize,
    /// Whether a change of a file has failed.
    has_failed: bool,
}

/// A tool use in the form of the protocol, for reports and permission requests.
fn acp_tool_call(wanted: &PreparedUse, id: &str) -> Value {
    let locations: Vec<Value> = wanted.paths.iter().map(|path| json!({"path": path})).collect();
    let mut call = json!({
        "toolCallId": id, "title": wanted.title, "kind": wanted.kind, "status": "pending", "rawInput": wanted.input,
        "locations": locations,
    });
    if let ToolAction::Change(edit) = &wanted.action {
        let diff = json!({"type": "diff", "path": edit.path, "oldText": edit.before, "newText": edit.after});
        call["content"] = json!([diff]);
    }
    call
}

/// Streams an answer to the client.
struct StreamToClient<'a> {
    client: &'a AcpClient,
    /// The number of the answer: a retried request produces another message.
    answers: &'a mut u64,
    retries: u32,
}

impl StreamListener for StreamToClient<'_> {
    fn take_piece(&mut self, piece: AnswerPiece) {
        let (kind, text) = match piece {
            AnswerPiece::Text(text) => ("agent_message_chunk", text),
            AnswerPiece::Thought(text) => ("agent_thought_chunk", text),
        };
        let content = json!({"type": "text", "text": text});
        self.client.send_update(
            kind,
            json!({"messageId": format!("answer-{}", self.answers), "content": content}),
        );
    }

    fn note_retry(&mut self, failure: &ApiFailure, attempt: u32, pause: Duration) {
        *self.answers += 1;
        complain_of_retry(failure, attempt, self.retries, pause);
    }
}

/// Observes the request for a summary, of which the client sees only that it is retried.
struct SummaryListener {
    retries: u32,
}

impl StreamListener for SummaryListener {
    fn take_piece(&mut self, _: AnswerPiece) {}

    fn note_retry(&mut self, failure: &ApiFailure, attempt: u32, pause: Duration) {
        complain_of_retry(failure, attempt, self.retries, pause);
    }
}

fn complain_of_retry(failure: &ApiFailure, attempt: u32, retries: u32, pause: Duration) {
    let seconds = pause.as_secs();
    console::complain(&format!(
        "{}; trying again in {seconds} s ({attempt} of {retries})",
        failure.text
    ));
}

fn content(text: &str) -> Value {
    json!([{"type": "content", "content": {"type": "text", "text": text}}])
}
