//! ralph's own tools, for the agent of the running iteration. Results that take time come back to the loop.
//!
//! The agent claims and asks with them; whether that counts is decided as always when the iteration is judged.

use std::sync::Arc;

use ralph_core::{
    event::{
        AgentCall, AgentEvent, AskEvent, Choice, CommentAnswer, Event, Goal, GoalResult, Missing, PlanSnapshot,
        Question, Text,
    },
    machine::{Input, claim_reasons, goal_reasons},
    run::{Phase, RunView},
};
use ralph_state::control::{ClientRole, ControlRequest, TEXT_CAP_BYTES, ToolAnswer, ToolCall, ToolRequest};
use ralph_system::diagnostics::inherited;
use ralph_words::{ToolRefusal, prompt::plan_in_prompt, tool_refusal_in_words, tools as words};
use tokio::{task::spawn_blocking, time::Instant};

use super::{
    goals::GoalRun,
    languages::language_server_notice,
    perform::millis,
    run::{Driver, DriverError},
    test_gate::Look,
    tools::{AgentGoalCheck, GoalCheckPurpose, OffLoopResult, PlanReadPurpose, ReplySender, answer, refuse},
};

/// Most choices of a question.
const CHOICES: usize = 16;

impl Driver {
    /// Executes a tool for the agent and replies at once, or, if it `waits`, when the result is known.
    pub(super) fn call_tool(
        &mut self,
        called: ToolRequest,
        waits: bool,
        role: ClientRole,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        if role == ClientRole::Reader {
            let forbidden = self.answer(ControlRequest::Tool { called, waits }, role)?;
            _ = reply.send(forbidden); // the client may have gone
            return Ok(());
        }
        if called.run != self.jobs.run {
            refuse(reply, ToolRefusal::OtherRun);
            return Ok(());
        }
        let Phase::Running { iteration, .. } = self.state().view.phase else {
            refuse(reply, ToolRefusal::NoSession);
            return Ok(());
        };
        if !self.state().view.role.is_work() && !only_reads(&called.call) {
            refuse(reply, ToolRefusal::Reviewing);
            return Ok(());
        }
        match called.call {
            ToolCall::Plan {} => self.look_at_plan(iteration, PlanReadPurpose::Tasks, reply),
            ToolCall::ClaimDone { ticket } => {
                self.look_at_plan(iteration, PlanReadPurpose::Claim { ticket, waits }, reply);
            }
            ToolCall::GoalsCheck { ticket } => {
                self.check_goals_for(GoalCheckPurpose::Check, ticket, waits, iteration, reply)?
            }
            ToolCall::Question {
                question: None,
                ticket: Some(ticket),
                ..
            } => self.fetch_answer(iteration, ticket, reply)?,
            ToolCall::Question { question, choices, .. } => self.put_question(iteration, question, choices, reply)?,
            ToolCall::Blocked { reason } => {
                let answer = checked_text("reason", reason).map(|reason| AgentCall::Blocked { reason: reason.into() });
                self.record_text(iteration, answer, words::blocked_recorded(), reply)?;
            }
            ToolCall::Progress { note } => {
                let answer = checked_text("note", note).map(|note| AgentCall::Noted { note: note.into() });
                self.record_text(iteration, answer, words::progress_recorded(), reply)?;
            }
            ToolCall::TestsChanged { reason } => {
                let answer = checked_text("reason", reason).map(|why| AgentCall::TestsChanged { why: why.into() });
                self.record_text(iteration, answer, words::tests_changed_recorded(), reply)?;
            }
            ToolCall::CommentAnswer { comment, reason } => self.answer_comment(iteration, comment, reason, reply)?,
            ToolCall::TaskAdd { task } => {
                let answer = checked_text("task", task).map(|task| AgentCall::Proposed { task: task.into() });
                self.record_text(iteration, answer, words::proposal_recorded(), reply)?;
            }
            ToolCall::BackgroundStart { command } => self.start_for_agent(command, reply)?,
            ToolCall::BackgroundStatus { number } => self.reply_with_tasks(number, reply),
            ToolCall::BackgroundOutput { number, from } => self.reply_with_output(number, from, reply),
            ToolCall::BackgroundCancel { number } => self.cancel_for_agent(number, reply)?,
            ToolCall::LspDefinition { .. }
            | ToolCall::LspReferences { .. }
            | ToolCall::LspHover { .. }
            | ToolCall::LspSymbols { .. }
            | ToolCall::LspDiagnostics { .. }
            | ToolCall::LspRename { .. }
            | ToolCall::AstSearch { .. }
            | ToolCall::AstReplace { .. } => self.ask_language_server(called.call, waits, reply),
        }
        Ok(())
    }

    /// Records why the agent leaves the lines of a comment as they are.
    fn answer_comment(
        &mut self,
        iteration: u32,
        comment: u32,
        reason: String,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        let known = self.state().view.comments.numbered(comment);
        if known.is_none_or(|known| known.message.is_none()) {
            refuse(reply, ToolRefusal::NoSuchComment { comment });
            return Ok(());
        }
        let call = checked_text("reason", reason).map(|reason| AgentCall::CommentAnswered {
            answer: CommentAnswer {
                comment,
                reason: reason.into(),
            },
        });
        self.record_text(iteration, call, words::comment_answer_recorded(), reply)
    }

    /// Handles a result that was found off the loop, and replies to the caller.
    pub(super) fn take_result(&mut self, result: OffLoopResult) -> Result<(), DriverError> {
        match result {
            OffLoopResult::Plan {
                iteration,
                plan,
                vanished,
                asked,
                reply,
            } => {
                let plan = match plan {
                    Ok(plan) if self.is_at_work(iteration) => plan,
                    Ok(_) => {
                        refuse(reply, ToolRefusal::Ended);
                        return Ok(());
                    }
                    Err(why) => {
                        answer(reply, ToolAnswer::refused(why));
                        return Ok(());
                    }
                };
                match asked {
                    PlanReadPurpose::Tasks => {
                        let text = plan_in_words(&self.state().view, &plan, &vanished);
                        answer(reply, ToolAnswer::done(text));
                        Ok(())
                    }
                    PlanReadPurpose::Claim { ticket, waits } => {
                        self.claim(iteration, (&plan, &vanished), ticket, waits, reply)
                    }
                }
            }
            OffLoopResult::Goals { ticket, results } => self.goals_checked(ticket, results),
            OffLoopResult::Edits(seen) => self.edits_seen(seen),
            OffLoopResult::Iteration { iteration, results } => self.iteration_checked(iteration, results),
            OffLoopResult::Lines(found) => self.lines_found(found),
            OffLoopResult::Boxes(seen) => self.boxes_seen(seen),
            OffLoopResult::Language(news) => self.note(language_server_notice(news)),
        }
    }

    /// Refuses a claim if the plan contradicts it, otherwise runs the goals.
    fn claim(
        &mut self,
        iteration: u32,
        (plan, vanished): (&PlanSnapshot, &[String]),
        ticket: Option<u32>,
        waits: bool,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        let reasons = claim_reasons(self.state(), plan, vanished);
        if !reasons.is_empty() {
            let text = words::claim_refused(&reasons, &self.state().view.settings.goals);
            let reasons = Missing::listed(reasons);
            let taken = self.record_call(iteration, AgentCall::Claimed { reasons })?;
            answer(
                reply,
                ToolAnswer::refused(taken.map_or_else(tool_refusal_in_words, |_| text)),
            );
            return Ok(());
        }
        if self.goals_for_agents(GoalCheckPurpose::Claim).is_empty() {
            return self.judge_claim(iteration, &[], reply);
        }
        self.check_goals_for(GoalCheckPurpose::Claim, ticket, waits, iteration, reply)
    }

    /// Records a claim that now depends only on the results of the goals.
    fn judge_claim(&mut self, iteration: u32, results: &[GoalResult], reply: ReplySender) -> Result<(), DriverError> {
        let reasons: Vec<Missing> = goal_reasons(results).collect();
        let result = match reasons.is_empty() {
            true => ToolAnswer::done(words::claim_recorded(results.len())),
            false => ToolAnswer::refused(words::claim_refused(&reasons, &self.state().view.settings.goals)),
        };
        let reasons = Missing::listed(reasons);
        match self.record_call(iteration, AgentCall::Claimed { reasons })? {
            Ok(_) => answer(reply, result),
            Err(why) => refuse(reply, why),
        }
        Ok(())
    }

    /// Returns the goals that an agent may run while it works. Sealed ones are left out: their score would guide the
    /// agent. While tasks are open, the only check among them is that of the current task.
    fn goals_for_agents(&self, purpose: GoalCheckPurpose) -> Vec<Goal> {
        let view = &self.state().view;
        let current = view.iterations.latest().and_then(|latest| latest.task.as_ref());
        let is_due = |goal: &&Goal| match purpose {
            GoalCheckPurpose::Claim => true,
            GoalCheckPurpose::Check => goal.task.is_none() || goal.task.as_ref() == current,
        };
        let goals = view.settings.goals.iter().filter(|goal| goal.sealed.is_none());
        goals.filter(is_due).cloned().collect()
    }

    /// Starts the goals for the agent, joins a running check, or answers with the results of the last one.
    fn check_goals_for(
        &mut self,
        purpose: GoalCheckPurpose,
        ticket: Option<u32>,
        waits: bool,
        iteration: u32,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        let goals = self.goals_for_agents(purpose);
        if goals.is_empty() {
            refuse(reply, ToolRefusal::NoGoals);
            return Ok(());
        }
        let latest = self.tools.calls.ticket;
        if let Some(ticket) = ticket.filter(|ticket| *ticket != latest) {
            refuse(reply, ToolRefusal::NoSuchTicket { ticket });
            return Ok(());
        }
        if let Some(check) = &mut self.tools.calls.check {
            match waits {
                true => check.waiting.push((purpose, reply)),
                false => {
                    let text = words::goals_still_running(purpose.tool(), latest, millis(check.since.elapsed()));
                    answer(reply, ToolAnswer::done(text));
                }
            }
            return Ok(());
        }
        let is_known = !self.tools.calls.checked.is_empty();
        match (ticket, is_known) {
            (Some(_), true) => {
                let results = self.tools.calls.checked.clone();
                self.reply_with_goals(purpose, iteration, &results, reply)?;
            }
            // The goals ended while the agent asked.
            (None, true) if !waits => {
                let results = self.tools.calls.checked.clone();
                self.reply_with_goals(purpose, iteration, &results, reply)?;
            }
            (Some(ticket), false) => refuse(reply, ToolRefusal::NoSuchTicket { ticket }),
            (None, _) => self.begin_check(goals, (purpose, reply)),
        }
        Ok(())
    }

    fn begin_check(&mut self, goals: Vec<Goal>, first: (GoalCheckPurpose, ReplySender)) {
        self.checks.edits.yield_goals();
        self.checks.early.yield_goals();
        self.tools.calls.ticket += 1;
        self.tools.calls.checked.clear();
        let ticket = self.tools.calls.ticket;
        let run = GoalRun::check(
            goals,
            self.checks.parallel,
            self.execution_context(),
            move |results| OffLoopResult::Goals { ticket, results },
            self.tools.calls.found_in.clone(),
        );
        self.tools.calls.check = Some(AgentGoalCheck {
            _run: run,
            since: Instant::now(),
            waiting: vec![first],
        });
    }

    fn goals_checked(&mut self, ticket: u32, results: Vec<GoalResult>) -> Result<(), DriverError> {
        if ticket != self.tools.calls.ticket {
            return Ok(());
        }
        let Some(check) = self.tools.calls.check.take() else {
            return Ok(());
        };
        let Phase::Running { iteration, .. } = self.state().view.phase else {
            return Ok(());
        };
        self.tools.calls.checked.clone_from(&results);
        let failed: Vec<Text> = results
            .iter()
            .filter(|result| !result.passed)
            .map(|result| Text::from(&result.name))
            .collect();
        let passed = u32::try_from(results.len() - failed.len()).unwrap_or(u32::MAX);
        // Fails after too many calls; the user is then not told of each check.
        _ = self.record_call(
            iteration,
            AgentCall::GoalsChecked {
                passed,
                failed: failed.into(),
            },
        )?;
        for (purpose, reply) in check.waiting {
            self.reply_with_goals(purpose, iteration, &results, reply)?;
        }
        Ok(())
    }

    fn reply_with_goals(
        &mut self,
        purpose: GoalCheckPurpose,
        iteration: u32,
        results: &[GoalResult],
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        // The agent gave up waiting: its claim is made when it asks again.
        if reply.is_closed() {
            return Ok(());
        }
        match purpose {
            GoalCheckPurpose::Check => answer(reply, ToolAnswer::done(words::goals_for_agent(results))),
            GoalCheckPurpose::Claim => self.judge_claim(iteration, results, reply)?,
        }
        Ok(())
    }

    /// Reads the plan off the loop, for the purpose in `asked`.
    fn look_at_plan(&self, iteration: u32, asked: PlanReadPurpose, reply: ReplySender) {
        let (jobs, found) = (Arc::clone(&self.jobs), self.tools.calls.found_in.clone());
        let before = self.state().view.plan.clone();
        let held = self.state().internal.scopes.held();
        tokio::spawn(async move {
            let is_claim = matches!(asked, PlanReadPurpose::Claim { .. });
            let look = inherited(move || match is_claim {
                true => jobs.look_at_claim(&before),
                false => jobs.look_again(&before, &held, Look::default()),
            });
            let Ok(seen) = spawn_blocking(look).await else { return };
            let seen = OffLoopResult::Plan {
                iteration,
                plan: seen.plan,
                vanished: seen.vanished,
                asked,
                reply,
            };
            _ = found.send(seen).await; // the run is over
        });
    }

    fn put_question(
        &mut self,
        iteration: u32,
        question: Option<String>,
        choices: Vec<String>,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        let asked = checked_text("question", question.unwrap_or_default()).and_then(|text| {
            let choices = choices
                .into_iter()
                .take(CHOICES)
                .map(|choice| checked_text("choices", choice));
            Ok((text, choices.collect::<Result<Vec<_>, _>>()?))
        });
        let (text, choices) = match asked {
            Ok(asked) => asked,
            Err(why) => {
                answer(reply, ToolAnswer::refused(why));
                return Ok(());
            }
        };
        let choice = |label| Choice {
            label,
            description: String::new(),
        };
        let question = Box::new(Question {
            text,
            choices: choices.into_iter().map(choice).collect(),
            free_text: true,
            ..Question::default()
        });
        let is_live = self.is_steerable();
        let events = self.advance(&Input::AgentAsked { iteration, question })?;
        let number = events.iter().find_map(|event| {
            let Event::Ask(AskEvent::Asked { ask }) = event else {
                return None;
            };
            Some(ask.number)
        });
        match number {
            Some(number) => answer(reply, ToolAnswer::done(words::question_recorded(number, is_live))),
            None => refuse(reply, ToolRefusal::TooMany),
        }
        Ok(())
    }

    fn fetch_answer(&mut self, iteration: u32, ticket: u32, reply: ReplySender) -> Result<(), DriverError> {
        let view = &self.state().view;
        let answered = view.messages.iter().find(|message| message.answers == Some(ticket));
        let text = answered.map(|message| message.text.clone());
        let is_open = view.permissions.unanswered.iter().any(|ask| ask.number == ticket);
        match text {
            Some(text) => {
                self.advance(&Input::AnswerFetched { iteration, ask: ticket })?;
                answer(reply, ToolAnswer::done(words::question_answered(&text)));
            }
            None if is_open => answer(reply, ToolAnswer::done(words::question_open(ticket))),
            None => refuse(reply, ToolRefusal::NoSuchTicket { ticket }),
        }
        Ok(())
    }

    /// Records a message of the agent, unless it is empty or too long.
    fn record_text(
        &mut self,
        iteration: u32,
        call: Result<AgentCall, String>,
        taken: &str,
        reply: ReplySender,
    ) -> Result<(), DriverError> {
        match call {
            Err(why) => answer(reply, ToolAnswer::refused(why)),
            Ok(call) => match self.record_call(iteration, call)? {
                Ok(_) => answer(reply, ToolAnswer::done(taken)),
                Err(why) => refuse(reply, why),
            },
        }
        Ok(())
    }

    /// Records a call. Returns it as recorded.
    fn record_call(&mut self, iteration: u32, call: AgentCall) -> Result<Result<AgentCall, ToolRefusal>, DriverError> {
        let events = self.advance(&Input::AgentCalled { iteration, call })?;
        Ok(recorded(events).ok_or(ToolRefusal::TooMany))
    }

    fn is_at_work(&self, iteration: u32) -> bool {
        matches!(self.state().view.phase, Phase::Running { iteration: current, .. } if current == iteration)
    }

    fn is_steerable(&self) -> bool {
        matches!(self.state().view.phase, Phase::Running { live_steering, .. } if live_steering)
    }
}

/// Whether a call only reads, so that a reviewer may make it, too.
fn only_reads(call: &ToolCall) -> bool {
    match call {
        ToolCall::Plan {}
        | ToolCall::BackgroundStatus { .. }
        | ToolCall::BackgroundOutput { .. }
        | ToolCall::LspDefinition { .. }
        | ToolCall::LspReferences { .. }
        | ToolCall::LspHover { .. }
        | ToolCall::LspSymbols { .. }
        | ToolCall::LspDiagnostics { .. }
        | ToolCall::LspRename { apply: false, .. }
        | ToolCall::AstSearch { .. }
        | ToolCall::AstReplace { apply: false, .. } => true,
        ToolCall::GoalsCheck { .. }
        | ToolCall::ClaimDone { .. }
        | ToolCall::Blocked { .. }
        | ToolCall::Question { .. }
        | ToolCall::TestsChanged { .. }
        | ToolCall::CommentAnswer { .. }
        | ToolCall::Progress { .. }
        | ToolCall::TaskAdd { .. }
        | ToolCall::BackgroundStart { .. }
        | ToolCall::BackgroundCancel { .. }
        | ToolCall::LspRename { apply: true, .. }
        | ToolCall::AstReplace { apply: true, .. } => false,
    }
}

/// Returns the call from the events that it has led to.
fn recorded(events: Vec<Event>) -> Option<AgentCall> {
    events.into_iter().find_map(|event| match event {
        Event::Agent(AgentEvent::Called { call, .. }) => Some(call),
        _ => None,
    })
}

/// Formats the plan with the run's knowledge of its tasks.
fn plan_in_words(view: &RunView, plan: &PlanSnapshot, vanished: &[String]) -> String {
    let path = view.settings.plan.strip_prefix(view.project.as_path());
    let path = path.unwrap_or(&view.settings.plan).to_string_lossy();
    let left_out = plan.with_dependents(&view.set_aside_by_user).into_iter();
    let blocks = view.blocks.iter();
    let blocks = blocks.filter_map(|block| Some((block.task.clone()?, Some(block.question.clone()))));
    let aside: Vec<(String, Option<String>)> = left_out.map(|task| (task, None)).chain(blocks).collect();
    let mut missing = view.missing.clone();
    plan.take_back(&view.plan, &mut missing);
    missing.extend(vanished.iter().cloned());
    let path = plan_in_prompt(&path, view.settings.section.as_deref());
    words::plan_for_agent(&path, plan, &missing, &aside)
}

/// Returns the trimmed text of an agent, or an error if it is empty or too long.
fn checked_text(name: &str, text: String) -> Result<String, String> {
    let text = text.trim();
    match text.len() {
        bytes if (1..=TEXT_CAP_BYTES).contains(&bytes) => Ok(text.to_owned()),
        bytes => Err(words::invalid_argument(name, TEXT_CAP_BYTES, bytes)),
    }
}
