//! The agents that single tasks, `escalate` and `review` ask for, beside those of the run: each is found to be in order before anything is started.

use std::{collections::BTreeMap, path::Path};

use ralph_core::event::{Escalation, Notice, ReviewSettings, TaskSettings, Worker};
use ralph_plan::Reading;

use super::agents::{Agents, Chooser};
use crate::error::{Failure, FailureKind};

/// Adds to `agents` those that open tasks of the plan ask for, under the same permissions and in the same sandbox.
///
/// # Errors
/// A [`Failure`] with the place in the plan, if one of them is unknown, broken or not there, or does not take its model.
pub(super) fn add_asked_for(
    chooser: &Chooser<'_>,
    agents: &mut Agents,
    plan: (&Path, &Reading),
    notices: &mut Vec<Notice>,
) -> Result<(), Failure> {
    let (path, reading) = plan;
    // Ten thousand tasks may ask for the same.
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
    notices.extend(tasks.into_iter().map(|(adapter, tasks)| Notice::TasksAskFor {
        adapter: adapter.to_owned(),
        tasks,
    }));
    Ok(())
}

/// Adds to `agents` those that take over tasks, and returns who they are.
///
/// # Errors
/// As [`add_asked_for`].
pub(super) fn add_escalation(
    chooser: &Chooser<'_>,
    agents: &mut Agents,
    notices: &mut Vec<Notice>,
) -> Result<Escalation, Failure> {
    let mut steps = Vec::new();
    for entry in &chooser.config.escalate {
        // A model may have its provider before it; what is no adapter is one.
        let named = entry
            .split_once('/')
            .filter(|(id, _)| chooser.catalog.ids().any(|known| known == *id));
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
        after: chooser.config.escalate_after,
    })
}

/// Adds to `agents` the one that reviews what others do, and returns who it is; none where nobody does.
///
/// # Errors
/// As [`add_asked_for`].
pub(super) fn add_reviewer(
    chooser: &Chooser<'_>,
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
        let Worker { adapter, model } = by.clone();
        notices.push(Notice::ReviewerIsAuthor { adapter, model });
    }
    let (when, rounds) = (review.when, review.rounds);
    Ok(Some(ReviewSettings { by, when, rounds }))
}

/// Adds the agent that `wanted` names, if it is not among `agents` yet.
fn add(
    chooser: &Chooser<'_>,
    agents: &mut Agents,
    wanted: &TaskSettings,
    notices: &mut Vec<Notice>,
) -> Result<(), Failure> {
    let id = wanted.adapter.as_ref().unwrap_or(&agents.id).clone();
    let manifest = chooser.catalog.manifest(&id)?;
    manifest.can_be_given(wanted.model.as_deref(), None).map_err(|error| {
        Failure::of(FailureKind::Configuration, &error)
            .hint("leave the model out of the task, or name an adapter that takes it")
            .hint(format!(
                "`ralph adapters show {id}` shows how the adapter is told its model"
            ))
    })?;
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
