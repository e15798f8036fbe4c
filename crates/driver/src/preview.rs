//! The prompt that the next iteration would get, without a loop.

use std::path::Path;

use ralph_core::{event::PlanSnapshot, machine::LoopState, run::is_message_left};
use ralph_git::Repository;
use ralph_plan::{
    PlanKind, StoryState,
    prompt::{AgentConfinement, PromptTemplate},
};
use ralph_state::store::journal::{self, JournalError};
use ralph_system::paths::ProjectPaths;
use ralph_words::prompt::plan_in_prompt;

use super::{
    clock::new_promise, handover::LastSession, job_facts::PrepareJob, open::is_for, prompt_context::PromptContext,
};

/// The facts that the prompt depends on.
pub struct Preview<'a> {
    pub paths: &'a ProjectPaths,
    /// The plan's path; its tasks are in `tasks`.
    pub plan: &'a Path,
    pub section: Option<&'a str>,
    pub tasks: &'a PlanSnapshot,
    pub story_state: Option<&'a StoryState>,
    pub template: &'a PromptTemplate,
    pub confined: AgentConfinement,
    pub has_tools: bool,
    pub repository: Option<&'a Repository>,
}

/// Renders the prompt of the next iteration: of the run that would be resumed, or else of a new one.
///
/// # Errors
/// As [`journal::for_each`].
pub fn next_prompt(preview: &Preview<'_>) -> Result<String, JournalError> {
    let mut state = LoopState::default();
    if let Some(run) = preview.paths.latest_run() {
        journal::for_each(&preview.paths.run(&run).journal(), |record| state.apply(&record))?;
    }
    let is_same = is_for(&state.view.settings, (preview.plan, preview.section));
    let goes_on = (!state.view.is_over() || is_message_left(&state.view.messages)) && is_same;
    if !goes_on {
        state = LoopState::default();
    }
    if state.internal.promise.is_empty() {
        state.internal.promise = new_promise();
    }
    let job = PrepareJob {
        before: LastSession::find(&state, |_| true),
        has_tools: preview.has_tools,
        ..PrepareJob::for_iteration(&state, state.view.iterations.number + 1, None, false)
    };
    let project = preview.paths.project();
    let plan = preview.plan.strip_prefix(project).unwrap_or(preview.plan);
    let context = PromptContext {
        scopes: &[],
        plan: &plan_in_prompt(&plan.to_string_lossy(), preview.section),
        kind: PlanKind::from_path(preview.plan),
        story_state: preview.story_state,
        template: preview.template,
        confined: preview.confined,
        repository: preview.repository,
    };
    Ok(context.prompt(&job, preview.tasks, &[]).text)
}
