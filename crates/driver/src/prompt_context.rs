//! The prompt of an iteration: the state of the loop, and what its preparation has found.

use ralph_core::event::{Leftover, Notice, PlanSnapshot, ScopedTask, SteeringKind};
use ralph_git::Repository;
use ralph_plan::{
    PlanKind, StoryState,
    prompt::{self, AgentConfinement, PromptInput, PromptTemplate, RenderedPrompt},
};

use super::job_facts::PrepareJob;

/// The facts that a prompt depends on, besides the state of the loop.
pub(super) struct PromptContext<'a> {
    /// The plan's path as the agent can use it.
    pub(super) plan: &'a str,
    pub(super) kind: PlanKind,
    pub(super) story_state: Option<&'a StoryState>,
    pub(super) template: &'a PromptTemplate,
    pub(super) confined: AgentConfinement,
    pub(super) repository: Option<&'a Repository>,
    /// The scopes of tasks when the run began.
    pub(super) scopes: &'a [ScopedTask],
}

impl PromptContext<'_> {
    /// Returns the prompt; `found` is what its preparation has found.
    pub(super) fn prompt(&self, job: &PrepareJob, plan: &PlanSnapshot, found: &[(Leftover, Notice)]) -> RenderedPrompt {
        let found = found.iter().map(|(_, notice)| ralph_words::prompt::found(&notice.text));
        let notices: Vec<String> = job.feedback.iter().cloned().chain(found).collect();
        let texts = |wanted: &[SteeringKind]| -> Vec<String> {
            let wanted = job.steering.iter().filter(|(_, kind, _)| wanted.contains(kind));
            wanted.map(|(_, _, text)| text.clone()).collect()
        };
        let sent_back = job.sent_back_to.as_deref();
        let sent_back = sent_back.and_then(|text| plan.tasks.iter().find(|task| task.text == text));
        let current = sent_back.or_else(|| plan.current_except(&job.set_aside));
        let position = current.and_then(|current| plan.tasks.iter().position(|task| std::ptr::eq(task, current)));
        let before = job.before.as_ref().map(|before| before.handover(self.repository));
        let standing = texts(&[SteeringKind::Standing]);
        let once = texts(&[SteeringKind::Next, SteeringKind::Now]);
        let scoped = current.and_then(|task| plan.scope_of(self.scopes, &task.text));
        let input = PromptInput {
            plan: self.plan,
            kind: self.kind,
            story_state: self.story_state,
            task: current.map(|task| task.text.as_str()),
            line: current.map_or(0, |task| task.line),
            section: position.and_then(|position| plan.section_of(position)),
            only: scoped.as_ref().map_or(&[], |scoped| &scoped.only),
            steps: current.map_or(&[], |task| &task.steps),
            sent_back: sent_back.is_some_and(|task| task.done),
            iteration: job.iteration,
            done: plan.done(),
            total: plan.tasks.len() + job.missing,
            has_lost_tasks: job.missing > 0,
            promise: &job.promise,
            standing: &standing,
            once: &once,
            notices: &notices,
            background: &job.background,
            before: before.as_ref(),
            confined: self.confined,
            shares_stashes: self.repository.is_some_and(Repository::shares_stashes),
            has_tools: job.has_tools,
        };
        prompt::render(self.template, &input)
    }
}
