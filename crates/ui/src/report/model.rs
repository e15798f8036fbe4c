//! Derives a report from the view of a run, finished or not.

use std::collections::{BTreeMap, vec_deque};

use ralph_core::{
    event::{Answered, AskVerdict, Decider, Level},
    run::{self, AddedRule, Iteration, RunView, Trouble},
};
use ralph_text::one_line;
use ralph_words::{
    answers_in_words, asked_in_words, breaker_cause_in_words, breaker_state_word, counted, decider_in_words, hint_for,
    scope_in_words, short_duration,
};

use super::{
    ChangedFiles, EndReport, RunReport, check,
    first::{first_lines, public_lines},
    sections,
};

impl RunReport {
    /// Reports a run that no process works on.
    pub fn from_view(view: RunView) -> Self {
        Self::new(view, None)
    }

    /// Reports a run that a ralph works on at `now_ms`. An agent that works may emit no record for long.
    pub fn from_running(view: RunView, now_ms: u64) -> Self {
        Self::new(view, Some(now_ms))
    }

    fn new(view: RunView, running_at_ms: Option<u64>) -> Self {
        let warnings = view.incidents.notices.iter();
        let warnings = warnings.filter(|noticed| noticed.notice.level == Level::Warning);
        let mut report = Self {
            is_running: running_at_ms.is_some(),
            now_ms: running_at_ms.unwrap_or(view.clock.now_ms),
            end: view.end().map(|end| EndReport::from_end(end, &view)),
            first: Vec::new(),
            files: None,
            totals: view.end().map_or_else(|| view.totals(), |end| end.totals.clone()),
            tasks: view.tasks(),
            commits: Vec::new(),
            said: BTreeMap::new(),
            permissions: permissions_in_words(&view),
            troubles: view.incidents.troubles.iter().map(trouble_in_words).collect(),
            warnings: warnings.map(|noticed| noticed.notice.text.to_string()).collect(),
            unverified: Vec::new(),
            evidence: Vec::new(),
            needs_person: Vec::new(),
            view,
        };
        if let Some(now_ms) = running_at_ms {
            report.totals.elapsed_ms = report.view.elapsed_ms(now_ms);
        }
        report.unverified = check::unverified(&report);
        report.evidence = sections::evidence(&report);
        report.needs_person = check::needs_person(&report);
        report.first = first_lines(&report);
        report
    }

    /// Adds the files that the run changed; `None` if they are unknown.
    #[must_use]
    pub fn with_files(self, files: Option<ChangedFiles>) -> Self {
        let mut report = Self { files, ..self };
        report.first = first_lines(&report);
        report
    }

    /// The lines to read first that are about the work alone.
    pub fn public_lines(&self) -> Vec<String> {
        public_lines(self)
    }

    /// The latest iterations, oldest first.
    pub fn iterations(&self) -> vec_deque::Iter<'_, Iteration> {
        self.view.iterations.rows.iter()
    }

    /// Duration of an iteration, up to now if it runs.
    pub(super) fn duration_ms(&self, iteration: &Iteration) -> u64 {
        let latest = self.view.iterations.latest();
        let runs = self.is_running && iteration.outcome.is_none() && latest == Some(iteration);
        match runs {
            true => self.now_ms.saturating_sub(iteration.started_ms),
            false => iteration.duration_ms,
        }
    }
}

/// Each decider with the number of times it allowed and denied, and its latest subjects; then rules that answers added.
fn permissions_in_words(view: &RunView) -> Vec<String> {
    const NAMED: usize = 3;
    let is_same = |one: &Decider, other: &Decider| one == other || one.is_user() && other.is_user();
    let mut groups: Vec<(bool, &Decider, Vec<&Answered>)> = Vec::new();
    let decisions = view.permissions.answered.iter();
    let decisions = decisions.filter_map(|answered| Some((answered.allowed()?, answered)));
    for (was_allowed, decided) in decisions {
        match groups
            .iter_mut()
            // All answers of the user count as one decider, wherever they were given.
            .find(|(allowed, by, _)| *allowed == was_allowed && is_same(by, &decided.by))
        {
            Some((.., members)) => members.push(decided),
            None => groups.push((was_allowed, &decided.by, vec![decided])),
        }
    }
    // Denials come first: they matter more.
    groups.sort_by_key(|(allowed, ..)| *allowed);
    let line = |(allowed, by, members): &(bool, &Decider, Vec<&Answered>)| {
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
    let answered = |answered: &Answered| {
        let AskVerdict::Words { questions, answers } = &answered.verdict else {
            return None;
        };
        let word = if answers.is_empty() { "not answered" } else { "answered" };
        let what = one_line(&answers_in_words(questions, answers));
        Some(format!("{word} {}: {what}", decider_in_words(&answered.by)))
    };
    // A rule of the project carries the run's id once the run was resumed.
    let of_run = |added: &&AddedRule| added.run.is_none() || added.run == view.run;
    let added = view.permissions.rules.iter().filter(of_run).map(|added| {
        let scope = scope_in_words(added.scope);
        format!("now allowed {scope}: {} (question {})", added.rule, added.ask)
    });
    let answered = view.permissions.answered.iter().filter_map(answered);
    groups.iter().map(line).chain(answered).chain(added).collect()
}

fn trouble_in_words(trouble: &Trouble) -> String {
    match trouble {
        Trouble::BreakerMoved { iteration, to, why } => {
            let to = breaker_state_word(*to);
            format!("after iteration {iteration}: {to}: {}", breaker_cause_in_words(why))
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
