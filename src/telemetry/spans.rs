//! Makes spans and metrics of the records of a run. Pure.

use std::{collections::VecDeque, mem};

use ralph_core::{
    event::{AgentEvent, AgentSignal, Event, GateEvent, GoalResult, IterationEvent, Outcome, Record, RunEvent, RunId},
    run::{Iteration, Phase, RunView},
};
use ralph_words::{outcome_word, stop_in_words};
use serde_json::Value;

use super::otlp::{Attributes, EndedSpan, Measured, cost, span_id, tokens};

/// Most tools of an iteration that have begun and not ended.
const OPEN_TOOLS: usize = 1_000;

/// Spans and metrics of what a record has brought to an end.
#[derive(Debug, Default)]
pub(super) struct EndedSpans {
    pub(super) spans: Vec<Value>,
    pub(super) metrics: Vec<Value>,
}

/// The fold of the records of a run into spans.
#[derive(Debug, Default)]
pub(super) struct SpanFold {
    view: RunView,
    /// The run, or its continuation after an end.
    root: Option<Begun>,
    iteration: Option<Begun>,
    /// The session of the agent, as it names it.
    session: Option<String>,
    tools: VecDeque<OpenTool>,
    /// When the verification of the goals began.
    verified_from_ms: Option<u64>,
}

/// The beginning of a span.
#[derive(Debug, Clone, Copy)]
struct Begun {
    seq: u64,
    at_ms: u64,
}

#[derive(Debug)]
struct OpenTool {
    call: String,
    tool: String,
    begun: Begun,
}

impl SpanFold {
    /// Applies a record, and returns what it has brought to an end.
    pub(super) fn apply(&mut self, record: &Record) -> EndedSpans {
        let before = open_iteration(&self.view.phase);
        self.view.apply(record);
        let mut told = EndedSpans::default();
        let begun = Begun {
            seq: record.seq,
            at_ms: record.at_ms,
        };
        match &record.event {
            Event::Run(RunEvent::JournalOpened { .. }) | Event::Run(RunEvent::Reopened { .. }) => {
                self.root = Some(begun)
            }
            Event::Iteration(IterationEvent::Started { .. }) => {
                self.iteration = Some(begun);
                self.session = None;
                self.tools.clear();
            }
            Event::Agent(AgentEvent::Reported { signal, .. }) => self.reported(begun, signal, &mut told),
            Event::Iteration(IterationEvent::Ended { iteration, outcome, .. }) => {
                for tool in mem::take(&mut self.tools) {
                    told.spans.extend(self.tool_span(tool, record.at_ms, None));
                }
                self.agent_ended(*iteration, outcome, record.at_ms, &mut told);
            }
            Event::Gate(GateEvent::VerificationStarted { .. }) => self.verified_from_ms = Some(record.at_ms),
            Event::Gate(GateEvent::GoalChecked { iteration, result }) => {
                told.spans.extend(self.goal_span(*iteration, result, begun))
            }
            _ => {}
        }
        if let Some(iteration) = before.filter(|_| open_iteration(&self.view.phase).is_none()) {
            told.spans.extend(self.iteration_span(iteration, record.at_ms));
        }
        if matches!(record.event, Event::Run(RunEvent::Stopped { .. })) {
            told.spans.extend(self.run_span(record.at_ms));
        }
        told
    }

    /// Attributes of everything that the run tells.
    pub(super) fn resource(&self) -> Attributes {
        let project = self.view.project.file_name();
        Attributes::default()
            .text("service.name", "ralph".to_owned())
            .text("service.version", env!("CARGO_PKG_VERSION").to_owned())
            .text("service.instance.id", self.view.run.as_ref().map(ToString::to_string))
            .text("ralph.project", project.map(|name| name.to_string_lossy().into_owned()))
    }

    fn reported(&mut self, begun: Begun, signal: &AgentSignal, told: &mut EndedSpans) {
        match signal {
            AgentSignal::Opened { session, .. } => self.session = session.as_ref().map(|session| session.0.clone()),
            AgentSignal::ToolStarted { call, tool, .. } => {
                if self.tools.len() == OPEN_TOOLS {
                    self.tools.pop_front();
                }
                let (call, tool) = (call.clone(), tool.clone());
                self.tools.push_back(OpenTool { call, tool, begun });
            }
            AgentSignal::ToolEnded {
                call,
                tool,
                ok,
                duration_ms,
                ..
            } => {
                let at = self.tools.iter().position(|open| open.call == *call);
                let open = at.and_then(|at| self.tools.remove(at)).unwrap_or_else(|| OpenTool {
                    call: call.clone(),
                    tool: tool.clone(),
                    begun: Begun {
                        at_ms: begun.at_ms.saturating_sub(duration_ms.unwrap_or(0)),
                        ..begun
                    },
                });
                told.spans.extend(self.tool_span(open, begun.at_ms, Some(*ok)));
            }
            _ => {}
        }
    }

    fn run(&self) -> Option<&RunId> {
        self.view.run.as_ref()
    }

    fn root_id(&self) -> Option<String> {
        Some(span_id(self.run()?, "run", self.root?.seq))
    }

    fn run_span(&mut self, end_ms: u64) -> Option<Value> {
        let id = self.root_id()?;
        let begun = self.root.take()?;
        let reason = self.view.stop_reason()?;
        let kind = serde_json::to_value(reason).ok()?["type"].as_str().map(str::to_owned);
        let code = reason.exit_code();
        let totals = self.view.totals();
        let plan = self.view.settings.plan.file_name();
        let span = EndedSpan {
            run: self.run()?,
            id,
            parent: None,
            name: "invoke_workflow ralph".to_owned(),
            start_ms: begun.at_ms,
            end_ms,
            error: kind.filter(|_| code != 0),
            attributes: Attributes::default()
                .text("gen_ai.operation.name", "invoke_workflow".to_owned())
                .text("gen_ai.workflow.name", "ralph".to_owned())
                .text("ralph.run", self.run()?.to_string())
                .text("ralph.plan", plan.map(|plan| plan.to_string_lossy().into_owned()))
                .text("ralph.end", stop_in_words(reason))
                .number("ralph.exit_code", u64::from(code))
                .number("ralph.iterations", u64::from(totals.iterations))
                .number("ralph.tasks.done", u64::from(totals.tasks_done))
                .number("ralph.tasks.open", u64::from(totals.tasks_open))
                .amount("ralph.cost_usd", totals.usage.cost_usd),
        };
        Some(span.encoded())
    }

    fn iteration_id(&self, what: &str) -> Option<String> {
        Some(span_id(self.run()?, what, self.iteration?.seq))
    }

    /// The iteration with what ralph examines after it.
    fn iteration_span(&mut self, number: u32, end_ms: u64) -> Option<Value> {
        let id = self.iteration_id("iteration")?;
        let begun = self.iteration.take()?;
        let row = self.view.iterations.numbered(number)?;
        let span = EndedSpan {
            run: self.run()?,
            id,
            parent: self.root_id(),
            name: format!("iteration {number}"),
            start_ms: begun.at_ms,
            end_ms,
            error: row.outcome.as_ref().and_then(error_type),
            attributes: Attributes::default()
                .number("ralph.iteration", u64::from(number))
                .text("ralph.task", row.task.clone())
                .text(
                    "ralph.outcome",
                    row.outcome.as_ref().map(|outcome| outcome_word(outcome).to_owned()),
                )
                .flag("ralph.progress", row.progress)
                .flag("ralph.claim_refused", row.was_refused())
                .number(
                    "ralph.changed_files",
                    row.changes.map(|changes| u64::from(changes.files)),
                )
                .number("ralph.commits", row.changes.map(|changes| u64::from(changes.commits))),
        };
        Some(span.encoded())
    }

    /// Tells of the agent's session: its span, its tokens and its cost.
    fn agent_ended(&self, number: u32, outcome: &Outcome, end_ms: u64, told: &mut EndedSpans) {
        let (Some(run), Some(begun), Some(id)) = (self.run(), self.iteration, self.iteration_id("agent")) else {
            return;
        };
        let Some(row) = self.view.iterations.numbered(number) else {
            return;
        };
        let about = agent_attributes(row);
        let usage = &row.usage;
        let span = EndedSpan {
            run,
            id,
            parent: self.iteration_id("iteration"),
            name: format!("invoke_agent {}", row.adapter),
            start_ms: begun.at_ms,
            end_ms,
            error: error_type(outcome),
            attributes: about
                .clone()
                .text("gen_ai.agent.name", row.adapter.clone())
                .text("gen_ai.conversation.id", self.session.clone())
                .number("gen_ai.usage.input_tokens", usage.input_tokens)
                .number("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens)
                .number("gen_ai.usage.output_tokens", usage.output_tokens)
                .amount("ralph.cost_usd", usage.cost_usd)
                .flag("ralph.cost_estimated", usage.cost_usd.map(|_| usage.estimated)),
        };
        told.spans.push(span.encoded());
        let measured = Measured {
            from_ms: begun.at_ms,
            until_ms: end_ms,
        };
        let by_type = [("input", usage.input_tokens), ("output", usage.output_tokens)];
        let by_type: Vec<(&str, u64)> = by_type
            .into_iter()
            .filter_map(|(kind, tokens)| Some((kind, tokens?)))
            .collect();
        if !by_type.is_empty() {
            told.metrics.push(tokens(&by_type, &about, measured));
        }
        told.metrics
            .extend(usage.cost_usd.map(|dollars| cost(dollars, &about, measured)));
    }

    fn tool_span(&self, open: OpenTool, end_ms: u64, ok: Option<bool>) -> Option<Value> {
        let span = EndedSpan {
            run: self.run()?,
            id: span_id(self.run()?, "tool", open.begun.seq),
            parent: self.iteration_id("agent"),
            name: format!("execute_tool {}", open.tool),
            start_ms: open.begun.at_ms,
            end_ms,
            error: (ok == Some(false)).then(|| "_OTHER".to_owned()),
            attributes: Attributes::default()
                .text("gen_ai.operation.name", "execute_tool".to_owned())
                .text("gen_ai.tool.name", open.tool)
                .text("gen_ai.tool.call.id", open.call),
        };
        Some(span.encoded())
    }

    /// A goal, which belongs to no iteration before the first one.
    fn goal_span(&self, iteration: u32, result: &GoalResult, begun: Begun) -> Option<Value> {
        let parent = match iteration {
            0 => self.root_id(),
            _ => self.iteration_id("iteration"),
        };
        let start_ms = self.verified_from_ms.unwrap_or(begun.at_ms);
        let tests = result.tests.as_ref();
        let failure = result.why.as_ref().and_then(|why| serde_json::to_value(why).ok());
        let failure = failure.and_then(|why| why["type"].as_str().map(str::to_owned));
        let span = EndedSpan {
            run: self.run()?,
            id: span_id(self.run()?, "goal", begun.seq),
            parent,
            name: format!("goal {}", result.name),
            start_ms,
            end_ms: start_ms.saturating_add(result.duration_ms),
            error: (!result.passed).then(|| failure.unwrap_or_else(|| "_OTHER".to_owned())),
            attributes: Attributes::default()
                .text("ralph.goal", result.name.clone())
                .flag("ralph.goal.passed", result.passed)
                .amount("ralph.goal.score", result.score)
                .number("ralph.goal.tests_passed", tests.map(|tests| u64::from(tests.passed)))
                .number("ralph.goal.tests_failed", tests.map(|tests| u64::from(tests.failed))),
        };
        Some(span.encoded())
    }
}

/// The agent and its model, in the words of the conventions for generative AI.
fn agent_attributes(row: &Iteration) -> Attributes {
    Attributes::default()
        .text("gen_ai.operation.name", "invoke_agent".to_owned())
        .text("gen_ai.provider.name", provider(&row.adapter).to_owned())
        .text("gen_ai.request.model", row.model.clone())
        .text("gen_ai.response.model", row.model_named.clone())
}

/// The provider of an agent, as far as the conventions name it; otherwise the adapter.
fn provider(adapter: &str) -> &str {
    match adapter {
        "claude" => "anthropic",
        "codex" => "openai",
        "gemini" => "gcp.gemini",
        adapter => adapter,
    }
}

/// The kind of a failure; a cancelled iteration failed as little as a completed one.
fn error_type(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Completed | Outcome::Cancelled { .. } => None,
        Outcome::Interrupted => Some("interrupted".to_owned()),
        Outcome::Failed { problem } => {
            let kind = serde_json::to_value(problem.kind).ok();
            let kind = kind.and_then(|kind| kind["kind"].as_str().map(str::to_owned));
            Some(kind.unwrap_or_else(|| "_OTHER".to_owned()))
        }
    }
}

/// The iteration that is not over. The verification before the first iteration belongs to none.
fn open_iteration(phase: &Phase) -> Option<u32> {
    match phase {
        Phase::Running { iteration, .. }
        | Phase::Cancelling { iteration, .. }
        | Phase::Settling { iteration, .. }
        | Phase::Verifying { iteration, .. } => Some(*iteration).filter(|iteration| *iteration > 0),
        _ => None,
    }
}
