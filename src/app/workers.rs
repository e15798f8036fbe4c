//! The agents that single tasks, `escalate` and `review` ask for, in addition to those of the run. Each is checked
//! before any process starts.

use std::{collections::BTreeMap, path::Path};

use ralph_core::event::{Escalation, Notice, ReviewSettings, TaskSettings, Worker};
use ralph_plan::ParsedPlan;
use ralph_words::worker_with_model;

use super::agents::{AgentChooser, Agents};
use crate::error::{Failure, FailureKind};

/// Iterations without success on a task before the next model of `escalate` takes over.
const ESCALATE_AFTER: u32 = 2;
/// How often the findings of a reviewer send the author back to the same work.
const REVIEW_ROUNDS: u32 = 2;

/// Adds the agents that open tasks of the plan ask for, under the same permissions and in the same sandbox.
///
/// # Errors
/// A [`Failure`] with the position in the plan, if an agent is unknown, broken or not installed, or does not accept its
/// model.
pub(super) fn add_asked_for(
    chooser: &AgentChooser<'_>,
    agents: &mut Agents,
    plan: (&Path, &ParsedPlan),
    notices: &mut Vec<Notice>,
) -> Result<(), Failure> {
    let (path, reading) = plan;
    // Many tasks may ask for the same agent, which is checked once.
    let mut asked: BTreeMap<&TaskSettings, (String, u64)> = BTreeMap::new();
    for (task, position) in &reading.places {
        let task = &reading.plan.tasks[*task];
        if !task.done && !task.settings.is_empty() {
            let place = || (format!("{}: {position}", path.display()), 0);
            asked.entry(&task.settings).or_insert_with(place).1 += 1;
        }
    }
    let mut tasks: BTreeMap<&str, u64> = BTreeMap::new();
    for (settings, (place, count)) in asked {
        add(chooser, agents, settings, notices).map_err(|failure| Failure {
            message: format!("{place}: {}", failure.message),
            ..failure
        })?;
        if let Some(adapter) = settings.adapter.as_deref().filter(|adapter| *adapter != agents.id) {
            *tasks.entry(adapter).or_default() += count;
        }
    }
    notices.extend(tasks.into_iter().map(|(adapter, tasks)| {
        let text = match tasks {
            1 => format!("1 task of the plan asks for {adapter}"),
            tasks => format!("{tasks} tasks of the plan ask for {adapter}"),
        };
        Notice::info("tasks-ask-for", text)
    }));
    Ok(())
}

/// Adds the agents that take over tasks, and returns them.
///
/// # Errors
/// As [`add_asked_for`].
pub(super) fn add_escalation(
    chooser: &AgentChooser<'_>,
    agents: &mut Agents,
    notices: &mut Vec<Notice>,
) -> Result<Escalation, Failure> {
    let mut steps = Vec::new();
    for entry in &chooser.config.escalate {
        // The part before a slash is an adapter if one has that name, otherwise the provider of the model.
        let named = entry.split_once('/').filter(|(id, _)| chooser.catalog.has(id));
        let wanted = TaskSettings {
            adapter: named.map(|(id, _)| id.to_owned()),
            model: Some(named.map_or(entry.as_str(), |(_, model)| model).to_owned()),
            ..TaskSettings::default()
        };
        add(chooser, agents, &wanted, notices).map_err(|failure| Failure {
            message: format!("`escalate`, \"{entry}\": {}", failure.message),
            ..failure
        })?;
        steps.push(Worker {
            adapter: wanted.adapter.unwrap_or_else(|| agents.id.clone()),
            model: wanted.model,
        });
    }
    Ok(Escalation {
        steps,
        after: ESCALATE_AFTER,
    })
}

/// Adds the agent that reviews the work of others, and returns its settings; `None` if there are no reviews.
///
/// # Errors
/// As [`add_asked_for`].
pub(super) fn add_reviewer(
    chooser: &AgentChooser<'_>,
    agents: &mut Agents,
    notices: &mut Vec<Notice>,
) -> Result<Option<ReviewSettings>, Failure> {
    let review = &chooser.config.review;
    let wanted = TaskSettings {
        adapter: review.adapter.clone(),
        model: review.model.clone(),
        ..TaskSettings::default()
    };
    if wanted.is_empty() {
        return Ok(None);
    }
    add(chooser, agents, &wanted, notices).map_err(|failure| Failure {
        message: format!("`review`: {}", failure.message),
        ..failure
    })?;
    let by = Worker {
        adapter: wanted.adapter.unwrap_or_else(|| agents.id.clone()),
        model: wanted.model,
    };
    if by.adapter == agents.id && by.model == chooser.config.model {
        let author = worker_with_model(&by.adapter, by.model.as_deref());
        notices.push(Notice::info(
            "reviewer-is-author",
            format!("the reviewer is the author itself ({author}): set `review.adapter` or `review.model`"),
        ));
    }
    let (when, rounds) = (review.when, REVIEW_ROUNDS);
    Ok(Some(ReviewSettings { by, when, rounds }))
}

/// Adds the agent that `wanted` names, unless `agents` has it already.
fn add(
    chooser: &AgentChooser<'_>,
    agents: &mut Agents,
    wanted: &TaskSettings,
    notices: &mut Vec<Notice>,
) -> Result<(), Failure> {
    let id = wanted.adapter.as_ref().unwrap_or(&agents.id).clone();
    let manifest = chooser.catalog.manifest(&id)?;
    manifest.can_be_given(wanted.model.as_deref(), None).map_err(|error| {
        Failure::of(FailureKind::Configuration, &error)
            .hint("remove the model from the task, or choose an adapter that supports it")
            .hint(format!(
                "`ralph adapters show {id}` shows how the adapter sets its model"
            ))
    })?;
    let run = || chooser.config.model.clone().filter(|_| id == agents.id);
    agents.workers.push(Worker {
        model: wanted.model.clone().or_else(run),
        adapter: id.clone(),
    });
    if agents.agents.iter().any(|agent| agent.adapter.id() == id) {
        return Ok(());
    }
    let agent = chooser.agent(&id, &mut agents.channels, notices)?;
    agents.agents.push(agent);
    if let Some(hint) = manifest.credentials.hint {
        agents.logins.insert(id, hint);
    }
    Ok(())
}
