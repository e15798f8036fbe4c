//! `claude -p --output-format stream-json --verbose`: an event for each block of a message, and `result` at the end.
//!
//! An error of the model's API is a `result` of subtype `success`: only `is_error` tells. The same error also arrives
//! as a message of the assistant with an `error` field that names its kind.

use std::collections::VecDeque;

use ralph_core::event::{
    AgentSignal, Exit, FileChange, Problem, ProblemKind, SessionId, Usage, UsageWindow, WindowKind, clip_start,
};
use serde_json::Value;

use super::{
    DialectRow,
    DialectTrait::{CountsSubagents, StreamsText, Structured, Subagents, UsageInTurn},
    Finish, JsonDialect, JsonTurn, TEXT_CAP_BYTES,
    calls::short_input,
    classify::{classify, from_name, from_status, one_line, repeated, with_time},
    claude_subagents::ClaudeSubagents,
    clock::ZonedClock,
    fields::{array, number, percent, text},
    reset::{epoch_ms, in_ms, until_in_text},
    turn::{TurnSoFar, thought},
    verdict,
};
use crate::usage::EarlierTurns;

pub(super) const ROW: DialectRow = DialectRow {
    name: "claude-stream-json",
    traits: &[Structured, StreamsText, UsageInTurn, Subagents, CountsSubagents],
    parser: || Box::<JsonDialect<ClaudeTurn>>::default(),
};

/// Most messages, of an agent and its sub-agents, whose parts may arrive interleaved.
const MESSAGES_AT_ONCE: usize = 32;

/// The first version whose results sum up all turns of a resumed session: 2.1.276 reports each turn for itself.
const FIRST_WITH_SUMS: [u64; 3] = [2, 1, 277];

/// One turn, built from its events.
#[derive(Debug, Default)]
pub(crate) struct ClaudeTurn {
    /// Its last message is one of the agent itself, not of one of its sub-agents.
    turn: TurnSoFar,
    opened: bool,
    /// The name of the API's error.
    error: Option<String>,
    /// The end of the limit because of which a request was refused.
    resets_ms: Option<u64>,
    /// The usage of single requests reported so far; the result has the sum of all.
    told: Usage,
    /// The latest messages whose usage was counted: each part of a message repeats it.
    counted: VecDeque<String>,
    session: Option<SessionId>,
    /// Whether the models' tokens and the cost of a result are those of the whole session.
    sums_up: bool,
    earlier: Option<EarlierTurns>,
    subagents: ClaudeSubagents,
    /// The latest `result`, while a further turn is due.
    held: Option<Value>,
    ended: bool,
}

impl JsonTurn for ClaudeTurn {
    fn follow(&mut self, earlier: EarlierTurns) {
        self.earlier = Some(earlier);
    }

    fn take(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match text(event, "/type") {
            "system" => self.system(event, clock, out),
            "assistant" => self.assistant(event, clock, out),
            "user" => self.user(event, clock, out),
            "rate_limit_event" => self.limit(event, out),
            "result" => self.result(event, clock, out),
            "command_lifecycle" => {}
            // Pieces of text that arrive as a whole later; they are requested as a sign of life.
            "stream_event" => delta(event, out),
            other => self.turn.unknown(other, event, out),
        }
    }

    /// Ends the turn if the program ended without a `result`.
    fn finish(&mut self, finish: Finish<'_>, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match self.held.take() {
            _ if self.ended => {}
            // A program that crashed has not continued.
            Some(result) if finish.exit == Some(Exit::Code { code: 0 }) => self.end(&result, clock, out),
            Some(_) | None => self.turn.end(Some(verdict::problem(finish, clock)), out),
        }
    }
}

impl ClaudeTurn {
    /// Ends the turn with a problem that claude does not report itself.
    pub(crate) fn fail_with(&mut self, problem: Problem, out: &mut Vec<AgentSignal>) {
        if !std::mem::replace(&mut self.ended, true) {
            self.turn.end(Some(problem), out);
        }
    }

    /// Keeps the message of a `result` that does not end the turn because messages of the user are queued.
    pub(crate) fn passes(&mut self, result: &Value) {
        let last = result.get("result").and_then(Value::as_str);
        let last = last.filter(|text| !text.is_empty());
        self.turn.message = last
            .map(|text| clip_start(text, TEXT_CAP_BYTES))
            .or(self.turn.message.take());
    }

    fn system(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        match text(event, "/subtype") {
            // claude repeats it for every message of the user.
            "init" if self.opened => {}
            "init" => {
                self.opened = true;
                let known = |field: &str| event.get(field).and_then(Value::as_str).map(str::to_owned);
                self.sums_up = known("claude_code_version").is_some_and(|version| sums_up(&version));
                self.session = known("session_id").map(SessionId);
                out.push(AgentSignal::Opened {
                    session: self.session.clone(),
                    model: known("model"),
                });
            }
            "api_retry" => out.push(retry(event, clock)),
            "task_started" | "task_progress" | "task_notification" => self.subagents.take(event, clock.now_ms, out),
            "status"
            | "thinking_tokens"
            | "task_updated"
            | "background_tasks_changed"
            | "hook_started"
            | "hook_progress"
            | "hook_response"
            | "compact_boundary" => {}
            other => self.turn.unknown(&format!("system/{other}"), event, out),
        }
    }

    fn assistant(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if let Some(error) = event.get("error").and_then(Value::as_str) {
            // The result repeats it.
            self.error = Some(error.to_owned());
            return;
        }
        self.count_request(event, clock, out);
        let own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
        for block in array(event, "/message/content") {
            match text(block, "/type") {
                "text" if own => self.turn.said(text(block, "/text"), out),
                "text" => thought(text(block, "/text"), out),
                "thinking" => thought(text(block, "/thinking"), out),
                "redacted_thinking" => {}
                "tool_use" | "server_tool_use" => {
                    let call = (text(block, "/id"), text(block, "/name"));
                    self.turn.tool_started(call, &block["input"], clock.now_ms, out);
                }
                other => self.turn.unknown(&format!("block/{other}"), event, out),
            }
        }
    }

    /// Reports the usage of the request that produced this message, so that a limit ends the turn in which it is
    /// reached.
    ///
    /// Output tokens beyond the first are not known yet; the result adds them, and the cost. Other programs that speak
    /// this dialect report totals, and their results may sum up a session of several turns: their usage is left to the
    /// result.
    fn count_request(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        let message = event
            .get("message")
            .filter(|message| message.pointer("/usage/total_tokens").is_none());
        let Some(tokens) = message.and_then(tokens_of_turn) else {
            return;
        };
        let id = text(event, "/message/id");
        if tokens.input == 0 || id.is_empty() || self.counted.iter().any(|counted| counted == id) {
            return;
        }
        if self.counted.len() == MESSAGES_AT_ONCE {
            self.counted.pop_front();
        }
        self.counted.push_back(id.to_owned());
        let usage = Usage {
            input_tokens: Some(tokens.input),
            cached_tokens: Some(tokens.cached),
            output_tokens: Some(tokens.output),
            ..Usage::default()
        };
        self.told = self.told.plus(usage);
        out.push(AgentSignal::Usage { usage });
        self.subagents.spent(event, usage, clock.now_ms, out);
    }

    fn user(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        for block in array(event, "/message/content") {
            if text(block, "/type") != "tool_result" {
                continue;
            }
            let id = text(block, "/tool_use_id");
            self.subagents.tool_ended(id, out);
            let ok = block.get("is_error").and_then(Value::as_bool) != Some(true);
            let changed = file_change(event).filter(|_| ok);
            let output = match &changed {
                Some(changed) => changed.diff.clone(),
                None => content(block),
            };
            self.turn.tool_ended(id, (ok, &output), clock.now_ms, out);
            if let Some(ClaudeFileChange { path, change, .. }) = changed {
                out.push(AgentSignal::FileChanged { path, change });
            }
        }
    }

    fn limit(&mut self, event: &Value, out: &mut Vec<AgentSignal>) {
        let status = text(event, "/rate_limit_info/status");
        out.extend(window(event).map(|window| AgentSignal::WindowUsed { window }));
        if matches!(status, "" | "allowed") {
            return;
        }
        let until_ms = number(event, "/rate_limit_info/resetsAt").map(epoch_ms);
        if status == "rejected" {
            self.resets_ms = until_ms;
        }
        let limit = match text(event, "/rate_limit_info/rateLimitType") {
            "" => "a".to_owned(),
            name => format!("the {}", name.replace('_', " ")),
        };
        let state = match status {
            "rejected" => "is reached",
            "allowed_warning" => "is near",
            other => other,
        };
        out.push(AgentSignal::LimitHit {
            kind: ProblemKind::QuotaExhausted { until_ms },
            until_ms,
            text: format!("{limit} limit {state}"),
        });
    }

    fn usage_of_turn(&self, event: &Value) -> Option<Usage> {
        let total = usage(event)?;
        let Some(earlier) = self.earlier.as_ref().filter(|_| self.sums_up) else {
            return Some(total);
        };
        let turn = earlier.subtracted(self.session.as_ref(), total);
        turn.or_else(|| share_of_turn(event, total))
    }

    fn result(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        if self.ended {
            return self.turn.unknown("second-result", event, out);
        }
        if let Some(usage) = self.usage_of_turn(event) {
            let usage = usage.since(self.told);
            out.push(AgentSignal::Usage { usage });
            // A sum over earlier sessions is told as what was added to it.
            self.told = match self.earlier.is_some() && self.sums_up {
                true => Usage::default(),
                false => self.told.plus(usage),
            };
        }
        self.subagents.turn_ended(event);
        let failed = event.get("is_error").and_then(Value::as_bool) != Some(false);
        match self.subagents.another_turn_is_due() && !failed {
            true => self.hold(event),
            false => self.end(event, clock, out),
        }
    }

    /// Keeps a `result` after which claude continues by itself. Its message counts if the later ones have none.
    fn hold(&mut self, result: &Value) {
        self.passes(result);
        self.held = Some(result.clone());
    }

    /// Whether claude is still to continue because of subagents in the background, for which its input has to stay open.
    pub(crate) fn waits_for_subagents(&self) -> bool {
        !self.ended && self.subagents.run_in_background()
    }

    fn end(&mut self, event: &Value, clock: &ZonedClock, out: &mut Vec<AgentSignal>) {
        self.ended = true;
        let failed = event.get("is_error").and_then(Value::as_bool) != Some(false);
        if failed {
            let problem = self.problem(event, clock);
            out.push(AgentSignal::Problem { problem });
        } else if let Some(text) = denials(event) {
            let kind = ProblemKind::PermissionDenied;
            out.push(AgentSignal::Problem {
                problem: Problem::said(kind, text),
            });
        }
        let last = event
            .get("result")
            .and_then(Value::as_str)
            .filter(|text| !failed && !text.is_empty());
        out.push(AgentSignal::TurnEnded {
            ok: !failed,
            message: last
                .map(|text| clip_start(text, TEXT_CAP_BYTES))
                .or(self.turn.message.take()),
        });
    }

    fn problem(&self, event: &Value, clock: &ZonedClock) -> Problem {
        // Other programs that speak claude's dialect use `/error/message`.
        let errors: Vec<_> = array(event, "/errors")
            .filter_map(Value::as_str)
            .chain(Some(text(event, "/error/message")).filter(|text| !text.is_empty()))
            .collect();
        let said = match (text(event, "/result"), errors.is_empty()) {
            ("", _) if text(event, "/terminal_reason").starts_with("aborted") => "the turn was interrupted".to_owned(),
            ("", true) => "the turn failed, and claude does not say why".to_owned(),
            ("", false) => errors.join("; "),
            (result, _) => result.to_owned(),
        };
        let worded = classify(&said, clock);
        let status = number(event, "/api_error_status").and_then(|status| u16::try_from(status).ok());
        let named = self.error.as_deref().and_then(from_name);
        let kind = match (text(event, "/subtype"), named, worded.kind) {
            ("error_max_turns", _, _) => ProblemKind::TurnLimit,
            // claude also names a lost connection `server_error`, and a limit of the plan `rate_limit`.
            (_, Some(ProblemKind::Overloaded), ProblemKind::Network) => ProblemKind::Network,
            (_, Some(ProblemKind::RateLimited { .. }), quota @ ProblemKind::QuotaExhausted { .. }) => quota,
            (_, Some(ProblemKind::RateLimited { .. }), _) if self.resets_ms.is_some() => {
                ProblemKind::QuotaExhausted { until_ms: None }
            }
            (_, Some(named), _) => named,
            (_, None, ProblemKind::Other) => status.and_then(from_status).unwrap_or(ProblemKind::Other),
            (_, None, worded) => worded,
        };
        // The event has the exact time; the wording is rounded.
        let kind = match (kind, self.resets_ms) {
            (ProblemKind::QuotaExhausted { .. }, until_ms @ Some(_)) => ProblemKind::QuotaExhausted { until_ms },
            (kind, _) => with_time(kind, || until_in_text(&said, clock)),
        };
        Problem::said(kind, worded.text)
    }
}

/// Reports a piece of the agent's own text while it is being written.
fn delta(event: &Value, out: &mut Vec<AgentSignal>) {
    let own = event.get("parent_tool_use_id").is_none_or(Value::is_null);
    if !own || text(event, "/event/type") != "content_block_delta" {
        return;
    }
    let piece = |field| text(event, field).to_owned();
    match text(event, "/event/delta/type") {
        "text_delta" => out.push(AgentSignal::TextDelta {
            text: piece("/event/delta/text"),
        }),
        "thinking_delta" => out.push(AgentSignal::ThoughtDelta {
            text: piece("/event/delta/thinking"),
        }),
        _ => {}
    }
}

fn retry(event: &Value, clock: &ZonedClock) -> AgentSignal {
    let count = |field: &str| number(event, field).and_then(|count| u32::try_from(count).ok());
    let status = count("/error_status").and_then(|status| u16::try_from(status).ok());
    let name = text(event, "/error");
    let kind = match (from_name(name), status) {
        (Some(kind), _) => Some(kind),
        (None, Some(status)) => from_status(status),
        // The request got no response.
        (None, None) => Some(ProblemKind::Network),
    };
    let delay = event.get("retry_delay_ms").and_then(Value::as_f64);
    // Rounded for display.
    let wait = delay
        .map(|ms| format!(", again in {:.0} s", ms / 1000.0))
        .unwrap_or_default();
    let name = match (name, status) {
        ("" | "unknown", None) => "no answer".to_owned(),
        (name, _) => name.replace('_', " "),
    };
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    let until = || in_ms(delay?, clock);
    AgentSignal::Retrying {
        attempt: count("/attempt"),
        of: count("/max_retries"),
        why: one_line(&format!("{name}{status}{wait}")),
        kind: kind.and_then(repeated).map(|kind| with_time(kind, until)),
    }
}

/// The window that a `rate_limit_event` is about. claude tells its used share, from 0 to 1, once that is near the limit.
fn window(event: &Value) -> Option<UsageWindow> {
    const HOUR_MS: u64 = 3_600_000;
    let (kind, hours) = match text(event, "/rate_limit_info/rateLimitType") {
        "five_hour" => (WindowKind::FiveHour, 5),
        "seven_day" => (WindowKind::Week, 168),
        // Windows of single models, and credits.
        _ => return None,
    };
    let used = match text(event, "/rate_limit_info/status") {
        "rejected" => 1.0,
        _ => event.pointer("/rate_limit_info/utilization")?.as_f64()?,
    };
    Some(UsageWindow {
        kind,
        used_percent: percent(used * 100.0),
        resets_ms: epoch_ms(number(event, "/rate_limit_info/resetsAt")?),
        length_ms: hours * HOUR_MS,
    })
}

/// The usage of the whole run; `None` if it is zero.
fn usage(event: &Value) -> Option<Usage> {
    let tokens = tokens_of_models(event).or_else(|| tokens_of_turn(event))?;
    let cost_usd = event.get("total_cost_usd").and_then(Value::as_f64);
    let nothing = tokens.input == 0 && tokens.output == 0 && cost_usd.is_none_or(|cost| cost == 0.0);
    (!nothing).then_some(Usage {
        input_tokens: Some(tokens.input),
        cached_tokens: Some(tokens.cached),
        output_tokens: Some(tokens.output),
        cost_usd,
        ..Usage::default()
    })
}

/// Whether this version of claude sums up a resumed session.
fn sums_up(version: &str) -> bool {
    let numbers = version.split(['.', '-']).map_while(|number| number.parse().ok());
    numbers.take(3).collect::<Vec<u64>>() >= FIRST_WITH_SUMS.to_vec()
}

/// The usage of a turn whose session used an unknown amount before: its own tokens, without those of sub-agents, and
/// their share of the cost.
fn share_of_turn(event: &Value, total: Usage) -> Option<Usage> {
    let turn = tokens_of_turn(event)?;
    let all = total
        .input_tokens
        .unwrap_or(0)
        .saturating_add(total.output_tokens.unwrap_or(0));
    #[allow(clippy::cast_precision_loss)] // Such large counts do not occur.
    let share = (turn.input.saturating_add(turn.output) as f64 / all.max(1) as f64).min(1.0);
    Some(Usage {
        input_tokens: Some(turn.input),
        cached_tokens: Some(turn.cached),
        output_tokens: Some(turn.output),
        cost_usd: total.cost_usd.map(|cost| cost * share),
        estimated: total.cost_usd.is_some(),
    })
}

struct TokenCounts {
    input: u64,
    cached: u64,
    output: u64,
}

/// The tokens of all models, including those of sub-agents.
fn tokens_of_models(event: &Value) -> Option<TokenCounts> {
    let models = event.get("modelUsage")?.as_object()?;
    let sum = |fields: &[&str]| -> u64 {
        let counts = models
            .values()
            .flat_map(|model| fields.iter().filter_map(|field| model.get(*field)?.as_u64()));
        counts.fold(0, u64::saturating_add)
    };
    Some(TokenCounts {
        input: sum(&["inputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"]),
        cached: sum(&["cacheReadInputTokens"]),
        output: sum(&["outputTokens"]),
    })
}

/// The tokens of the turn, as reported by programs that speak this dialect and use one model.
fn tokens_of_turn(event: &Value) -> Option<TokenCounts> {
    let usage = event.get("usage")?;
    let count = |field: &str| usage.get(field).and_then(Value::as_u64);
    let (input, output) = (count("input_tokens")?, count("output_tokens")?);
    let cached = count("cache_read_input_tokens").unwrap_or(0);
    let apart = || {
        input
            .saturating_add(cached)
            .saturating_add(count("cache_creation_input_tokens").unwrap_or(0))
    };
    // The total shows whether cached tokens are included in the input or counted separately.
    let input = count("total_tokens").map_or_else(apart, |total| total.saturating_sub(output));
    Some(TokenCounts { input, cached, output })
}

/// The denied tool uses, for the user and the next prompt; `None` if there were none.
fn denials(event: &Value) -> Option<String> {
    let denied: Vec<_> = array(event, "/permission_denials")
        .map(|denial| {
            format!(
                "{} ({})",
                text(denial, "/tool_name"),
                short_input(&denial["tool_input"])
            )
        })
        .collect();
    (!denied.is_empty()).then(|| one_line(&denied.join(", ")))
}

/// The result of a tool as text. It is a string or a list of blocks.
fn content(block: &Value) -> String {
    match block.get("content") {
        Some(Value::String(text)) => {
            let bare = text.strip_prefix("<tool_use_error>");
            let bare = bare.and_then(|text| text.strip_suffix("</tool_use_error>"));
            bare.unwrap_or(text).to_owned()
        }
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Some(_) | None => String::new(),
    }
}

struct ClaudeFileChange {
    path: String,
    change: FileChange,
    diff: String,
}

/// The change to a file that a tool reports beside its result.
fn file_change(event: &Value) -> Option<ClaudeFileChange> {
    let result = event.get("tool_use_result")?;
    let path = result.get("filePath")?.as_str()?.to_owned();
    let hunks = result.get("structuredPatch")?.as_array()?;
    let lines = hunks
        .iter()
        .flat_map(|hunk| array(hunk, "/lines").filter_map(Value::as_str));
    let change = match text(result, "/type") {
        "create" => FileChange::Added,
        _ => FileChange::Updated,
    };
    Some(ClaudeFileChange {
        path,
        change,
        diff: lines.collect::<Vec<_>>().join("\n"),
    })
}

#[cfg(test)]
#[path = "claude_tests.rs"]
mod tests;
