//! Derives a report from the view of a run, finished or not.

use std::collections::BTreeMap;

use ralph_core::{
    event::{Decider, Level},
    run::{self, AddedRule, AnsweredQuestions, Decided, RunView, Trouble},
};
use ralph_text::one_line;
use ralph_words::{
    answers_in_words, asked_in_words, breaker_cause_in_words, breaker_state_word, counted, decider_in_words, hint_for,
    notice_in_words, scope_in_words, short_duration,
};

use super::{EndReport, IterationReport, MessageReport, RunReport, TaskReport, check};

impl RunReport {
    /// Reports a run that no process works on.
    pub(crate) fn from_view(view: &RunView) -> Self {
        Self::drawn_up(view, None)
    }

    /// Reports a run that a ralph works on at `now_ms`.
    pub(crate) fn from_running(view: &RunView, now_ms: u64) -> Self {
        Self::drawn_up(view, Some(now_ms))
    }

    fn drawn_up(view: &RunView, running_at_ms: Option<u64>) -> Self {
        let warnings = view.incidents.notices.iter();
        let warnings = warnings.filter(|noticed| noticed.notice.level() == Level::Warning);
        let mut report = Self {
            is_running: running_at_ms.is_some(),
            run: view.run.clone(),
            project: view.project.display().to_string(),
            plan: view.settings.plan.display().to_string(),
            adapter: view.settings.adapter.clone(),
            model: view.settings.model.clone(),
            started_ms: view.clock.started_ms,
            last_ms: view.clock.now_ms,
            end: view.end().map(|end| EndReport::from_end(end, view)),
            totals: view.end().map_or_else(|| view.totals(), |end| end.totals.clone()),
            tasks: view.tasks().into_iter().map(TaskReport::from).collect(),
            at_start: view.iterations.at_start.clone(),
            iterations: view.iterations.rows.iter().map(IterationReport::from).collect(),
            goals: view.goals.iter().map(|goal| goal.name.clone()).collect(),
            edit_checks: view.edit_checks,
            steering: view.messages.iter().map(MessageReport::from).collect(),
            waits: view.incidents.waits.iter().cloned().collect(),
            background: view.background.tasks.clone(),
            permissions: permissions_in_words(view),
            confirmed_tests: view.changed_tests.confirmed.iter().cloned().collect(),
            troubles: view.incidents.troubles.iter().map(trouble_in_words).collect(),
            warnings: warnings.map(|noticed| notice_in_words(&noticed.notice)).collect(),
            unverified: Vec::new(),
            needs_person: Vec::new(),
        };
        if let Some(now_ms) = running_at_ms {
            report.run_until(now_ms, view);
        }
        add_costs(&mut report);
        report.unverified = check::unverified(&report);
        report.needs_person = check::needs_person(&report, view);
        report
    }

    /// Extends durations to `now_ms`: an agent that works may emit no record for long.
    fn run_until(&mut self, now_ms: u64, view: &RunView) {
        self.totals.elapsed_ms = view.elapsed_ms(now_ms);
        if let (Some(row), Some(latest)) = (view.iterations.latest(), self.iterations.last_mut())
            && row.outcome.is_none()
        {
            latest.duration_ms = now_ms.saturating_sub(row.started_ms);
        }
    }
}

/// Adds up the reported cost of each task's iterations. A rate-limited iteration was repeated under the same number.
fn add_costs(report: &mut RunReport) {
    let mut costs: BTreeMap<u32, f64> = BTreeMap::new();
    for iteration in &report.iterations {
        if let Some(cost) = iteration.usage.cost_usd {
            *costs.entry(iteration.number).or_default() += cost;
        }
    }
    for task in &mut report.tasks {
        let known = task.iterations.iter().filter_map(|number| costs.get(number).copied());
        task.cost_usd = known.reduce(|one, other| one + other);
    }
}

/// Each decider with the number of times it allowed and denied, and its latest subjects; then rules that answers added.
fn permissions_in_words(view: &RunView) -> Vec<String> {
    const NAMED: usize = 3;
    let is_same = |one: &Decider, other: &Decider| one == other || one.is_user() && other.is_user();
    let mut groups: Vec<(bool, &Decider, Vec<&Decided>)> = Vec::new();
    for decided in &view.permissions.decisions {
        match groups
            .iter_mut()
            // All answers of the user count as one decider, wherever they were given.
            .find(|(allowed, by, _)| *allowed == decided.allowed && is_same(by, &decided.by))
        {
            Some((.., members)) => members.push(decided),
            None => groups.push((decided.allowed, &decided.by, vec![decided])),
        }
    }
    // Denials come first: they matter more.
    groups.sort_by_key(|(allowed, ..)| *allowed);
    let line = |(allowed, by, members): &(bool, &Decider, Vec<&Decided>)| {
        let word = if *allowed { "allowed" } else { "denied" };
        let mut named: Vec<String> = Vec::new();
        for decided in members.iter().rev() {
            let text = asked_in_words(&decided.tool, &decided.title);
            if !named.contains(&text) && named.len() < NAMED {
                named.push(text);
            }
        }
        let waited: u64 = members.iter().map(|decided| decided.waited_ms).sum();
        let waited = match waited {
            0..1_000 => String::new(),
            _ => format!(", {} waiting in total", short_duration(waited)),
        };
        let times = counted(members.len() as u64, "time");
        format!("{word} {times} {}{waited}: {}", decider_in_words(by), named.join(" · "))
    };
    let answered = |asked: &AnsweredQuestions| {
        let word = if asked.answers.is_empty() {
            "not answered"
        } else {
            "answered"
        };
        let what = one_line(&answers_in_words(&asked.questions, &asked.answers));
        format!("{word} {}: {what}", decider_in_words(&asked.by))
    };
    // A rule of the project carries the run's id once the run was resumed.
    let of_run = |added: &&AddedRule| added.run.is_none() || added.run == view.run;
    let added = view.permissions.rules.iter().filter(of_run).map(|added| {
        let scope = scope_in_words(added.scope);
        format!("now allowed {scope}: {} (question {})", added.rule, added.ask)
    });
    let answered = view.permissions.answers.iter().map(answered);
    groups.iter().map(line).chain(answered).chain(added).collect()
}

fn trouble_in_words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::BreakerMoved { iteration, to, why } => {
            let to = breaker_state_word(*to);
            format!(
                "after iteration {iteration}: stuck detector {to}: {}",
                breaker_cause_in_words(why)
            )
        }
        Trouble::AdapterLimited {
            iteration,
            adapter,
            at_ms,
            until_ms,
        } => {
            let left = short_duration(until_ms.saturating_sub(*at_ms));
            format!("after iteration {iteration}: {adapter} was limited for {left}")
        }
    }
}

impl EndReport {
    fn from_end(end: &run::End, view: &RunView) -> Self {
        Self {
            reason: end.reason.clone(),
            exit_code: end.reason.exit_code(),
            hints: end.hints.iter().map(|hint| hint_for(hint, view)).collect(),
        }
    }
}

impl From<run::Task> for TaskReport {
    fn from(task: run::Task) -> Self {
        Self {
            text: task.text,
            state: task.state,
            depth: task.depth,
            iterations: task.work.iterations,
            duration_ms: task.work.duration_ms,
            cost_usd: None,
            question: task.question,
            limit: task.limit,
        }
    }
}

impl From<&run::Iteration> for IterationReport {
    fn from(iteration: &run::Iteration) -> Self {
        Self {
            number: iteration.number,
            role: iteration.role,
            adapter: iteration.adapter.clone(),
            model: iteration.shown_model().map(str::to_owned),
            task: iteration.task.clone(),
            resumed: iteration.resumed,
            outcome: iteration.outcome.clone(),
            duration_ms: iteration.duration_ms,
            usage: iteration.usage,
            changes: iteration.changes,
            progress: iteration.progress,
            commits: Vec::new(),
            before: iteration.before.clone(),
            after: iteration.after.clone(),
            vanished: iteration.vanished.clone(),
            added: iteration.added.clone(),
            question: iteration.question.clone(),
            look: iteration.look.clone(),
            review: iteration.review.clone(),
            undone: iteration.undone,
        }
    }
}

impl From<&run::Message> for MessageReport {
    fn from(message: &run::Message) -> Self {
        let delivered = message.delivered.iter();
        Self {
            id: message.id,
            kind: message.kind,
            text: message.text.clone(),
            delivered: delivered
                .map(|delivered| (delivered.iteration, delivered.how))
                .collect(),
            withdrawn: message.withdrawn,
        }
    }
}
