//! Has a program carry out the tasks of a conformance run, and collects the results.

use std::{fs, io, path::Path, time::Duration};

use ralph_core::event::SessionId;
use ralph_system::{
    files::read_text,
    proc::{Ladder, StopSignal, Supervisor},
};

use crate::{
    check::{self, CheckReport, Comparison, InstalledVersion},
    dialect::DialectKind,
    manifest::Manifest,
    template::{AdapterPlaceholder, AdapterTemplate},
};

use super::{
    judge::{self, AdapterPromises, Fulfilment, Judgement, ObligationResult, not_shown, result},
    obligation::{OBLIGATIONS, START, VERIFIED, VERSION},
    observed_turn::{ObservedEnd, ObservedTurn, TurnRequest, TurnStage},
    task::{ConformanceTask, UNKNOWN_VAR, WRITTEN},
};

/// A session that no agent has.
const NO_SESSION: &str = "00000000-0000-4000-8000-000000000000";
/// How long a turn may take.
const TURN_DEADLINE: Duration = Duration::from_secs(120);
/// Most bytes of the written file that are read.
const WRITTEN_CAP_BYTES: u64 = 64 * 1024;

/// A program to test.
pub struct ConformanceRun<'a> {
    pub manifest: &'a Manifest,
    /// The directory from which a relative path of the program leads.
    pub base: &'a Path,
    /// An empty directory in which the program works.
    pub project: &'a Path,
    /// A directory only the user can read, for short-lived files.
    pub scratch: &'a Path,
    /// Starts the program, confined as in a run.
    pub supervisor: &'a Supervisor,
    /// Variables that the program does not need to print its version.
    pub keys: &'a [String],
}

/// How a program stands to all obligations, in the order of their numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConformanceReport {
    pub results: Vec<ObligationResult>,
}

impl ConformanceReport {
    fn new(mut results: Vec<ObligationResult>) -> Self {
        for obligation in OBLIGATIONS {
            if !results.iter().any(|result| result.obligation == obligation) {
                results.push(result(
                    obligation,
                    not_shown("not tried, since the first turn did not end well"),
                ));
            }
        }
        // An obligation that was looked at twice is unmet if it was unmet once.
        results.sort_by_key(|result| (result.obligation.number, result.fulfilment != Fulfilment::Unmet));
        results.dedup_by_key(|result| result.obligation.number);
        Self { results }
    }
}

impl ConformanceRun<'_> {
    /// Tries all obligations, one turn after the other. Calls `each` before each turn.
    ///
    /// # Errors
    /// The system's error if a file of the run cannot be written.
    pub fn run(&self, mut each: impl FnMut(ConformanceTask)) -> io::Result<ConformanceReport> {
        let report = check::check(self.manifest, self.base, self.keys, |_| self.supervisor.clone());
        let mut results = vec![result(START, starts(&report))];
        let Some(manifest) = self.resolved(&report) else {
            return Ok(ConformanceReport::new(results));
        };
        results.push(result(VERSION, version(&report)));
        results.push(result(VERIFIED, verified(&report)));

        let stage = TurnStage {
            supervisor: self.supervisor,
            project: self.project,
            scratch: self.scratch,
            deadline: TURN_DEADLINE,
        };
        let mut words = FreshWords::default();
        let mut turn = |manifest: &Manifest, task: ConformanceTask, word: &str, resume: Option<SessionId>| {
            each(task);
            let unknown =
                (task == ConformanceTask::Reply).then(|| (UNKNOWN_VAR.0.to_owned(), UNKNOWN_VAR.1.to_owned()));
            let request = TurnRequest {
                task,
                word,
                resume,
                variables: unknown.into_iter().collect(),
            };
            stage.run(manifest, &request)
        };
        let promises = promises(self.manifest);

        let word = words.next();
        let first = turn(&manifest, ConformanceTask::Write, &word, None)?;
        if let (None, Some(problem)) = (first.exit, first.problem()) {
            let seen = problem.text.as_str().to_owned();
            return Ok(ConformanceReport::new(vec![result(START, (Fulfilment::Unmet, seen))]));
        }
        let written = self.project.join(WRITTEN);
        let text = read_text(&written, WRITTEN_CAP_BYTES).ok();
        results.extend(judge::first_turn(&first, &word, text.as_deref(), promises));
        if first.verdict() != Some(true) || first.end != ObservedEnd::Itself {
            return Ok(ConformanceReport::new(results));
        }

        // The continued session has to answer from its memory.
        _ = fs::remove_file(&written); // missing if the agent did not write it
        let known = first.session().filter(|_| manifest.capabilities.resume).cloned();
        let continued = known
            .clone()
            .map(|session| turn(&manifest, ConformanceTask::Recall, &word, Some(session)));
        let continued = continued.transpose()?;
        let lost = known.map(|_| {
            let word = words.next();
            let session = SessionId(NO_SESSION.to_owned());
            turn(&manifest, ConformanceTask::Reply, &word, Some(session))
        });
        let lost = lost.transpose()?;
        results.extend(judge::sessions(
            &first,
            continued.as_ref(),
            lost.as_ref(),
            &word,
            promises,
        ));

        let word = words.next();
        let trial = turn(&manifest, ConformanceTask::LongPrompt, &word, None)?;
        results.push(judge::long_prompt(&trial, &word));
        let word = words.next();
        let trial = turn(&manifest, ConformanceTask::Reply, &word, None)?;
        results.push(judge::variables(&trial, &word));
        let trial = turn(&manifest, ConformanceTask::LongOutput, &words.next(), None)?;
        results.push(judge::slow_reader(&first, &trial));
        let trial = turn(&manifest, ConformanceTask::Refused, &words.next(), None)?;
        results.extend(judge::refusal(&trial, promises));

        let mut stopped = |first: StopSignal| -> io::Result<ObservedTurn> {
            let ladder = Ladder { first, ..manifest.stop };
            let manifest = Manifest {
                stop: ladder,
                ..manifest.clone()
            };
            turn(&manifest, ConformanceTask::Wait, &words.next(), None)
        };
        let interrupted = match manifest.stop.first {
            StopSignal::Interrupt => Some(stopped(StopSignal::Interrupt)?),
            StopSignal::Terminate => None,
        };
        let terminated = stopped(StopSignal::Terminate)?;
        results.extend(judge::stops(interrupted.as_ref(), &terminated, promises));
        Ok(ConformanceReport::new(results))
    }

    /// The manifest with the path of the program in place of its name, since turns take place in another directory, and
    /// with usage as the program reports it. `None` if the program is missing.
    fn resolved(&self, report: &CheckReport) -> Option<Manifest> {
        let mut manifest = self.manifest.clone();
        let path = report.path.as_ref()?;
        if !manifest.is_ralph()
            && let Some(Ok(program)) = path
                .to_str()
                .map(|path| AdapterTemplate::parse(path, &[] as &[AdapterPlaceholder]))
        {
            manifest.command.program = program;
        }
        manifest.sums_usage = false;
        Some(manifest)
    }
}

fn promises(manifest: &Manifest) -> AdapterPromises {
    let is_own = |dialect| matches!(dialect, DialectKind::RalphJsonl | DialectKind::Terminal);
    AdapterPromises {
        is_structured: manifest.dialect.is_none_or(DialectKind::is_structured),
        exits_by_turn: manifest.dialect.is_some(),
        is_own_dialect: manifest.dialect.is_some_and(is_own),
        tells_usage: manifest.capabilities.usage,
        tells_cost: manifest.capabilities.cost,
        sums_usage: manifest.sums_usage,
        grace: manifest.stop.grace,
    }
}

fn starts(report: &CheckReport) -> Judgement {
    match &report.path {
        Some(path) => (Fulfilment::Met, path.display().to_string()),
        None => (Fulfilment::Unmet, format!("`{}` is not on PATH", report.program)),
    }
}

fn version(report: &CheckReport) -> Judgement {
    match (&report.version, report.version_number()) {
        (InstalledVersion::NotAsked, _) => not_shown("the adapter file has no `probe.args`"),
        (InstalledVersion::Said(_), Some(number)) => (Fulfilment::Met, number.to_owned()),
        (InstalledVersion::Said(line), None) => (Fulfilment::Unmet, format!("no number in: {line}")),
        (InstalledVersion::Failed { why }, _) => (Fulfilment::Unmet, why.clone()),
        (InstalledVersion::TimedOut { after }, _) => (
            Fulfilment::Unmet,
            format!("no answer within {} seconds", after.as_secs()),
        ),
    }
}

fn verified(report: &CheckReport) -> Judgement {
    match (&report.verified, report.comparison()) {
        (None, _) => not_shown("the adapter file has no `verified`"),
        (Some(verified), Comparison::Same) => (Fulfilment::Met, verified.clone()),
        (Some(verified), Comparison::Other | Comparison::Unknown) => {
            (Fulfilment::Unmet, format!("`verified` is {verified}"))
        }
    }
}

/// FreshWords that no agent can know.
#[derive(Debug, Default)]
struct FreshWords {
    count: u32,
}

impl FreshWords {
    fn next(&mut self) -> String {
        use std::hash::{BuildHasher, RandomState};
        self.count += 1;
        format!("word-{:08x}", RandomState::new().hash_one(self.count) >> 32)
    }
}
