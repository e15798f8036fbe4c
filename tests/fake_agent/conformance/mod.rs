//! Tests the program of an adapter against the obligations of `docs/spec/agent.md`, in the directory in which this runs.
//!
//! ```text
//! fake-agent conformance ADAPTER RALPH ADAPTERS GRACE_MS
//! ```
//! RALPH is ralph's path, ADAPTERS a directory with adapter files, and GRACE_MS how long the program may take to end, 0 for what
//! its file says. Prints a line for each obligation: its number, `met`, `unmet` or `open`, and what was seen. The program
//! is started, read and stopped by the code that does so in a run.

mod judge;
mod observed_turn;
mod task;

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use ralph_agent::{
    catalog::{AdapterSources, Catalog},
    check::{CheckReport, Comparison, InstalledVersion},
    dialect::DialectTrait,
    manifest::Manifest,
};
use ralph_core::event::SessionId;
use ralph_policy::settings::{Node, SettingOrigin};
use ralph_system::proc::{StopSignal, Supervisor};
use serde_json::{Value, json};

use crate::Outcome;
use judge::{AdapterPromises, Fulfilment, Judgement, not_shown};
use observed_turn::{ObservedEnd, ObservedTurn, TurnRequest};
use task::{ConformanceTask, WRITTEN};

/// The numbers of the obligations.
const ALL: std::ops::RangeInclusive<u8> = 1..=23;
/// A session that no agent has.
const NO_SESSION: &str = "00000000-0000-4000-8000-000000000000";

pub fn run(args: &[String]) -> Outcome<()> {
    let [id, ralph, adapters, grace_ms] = args else {
        return Err("conformance ADAPTER RALPH ADAPTERS GRACE_MS".to_owned());
    };
    let supervisor = Supervisor::default();
    supervisor.become_subreaper();
    let run = ConformanceRun {
        id,
        ralph: Path::new(ralph),
        adapters: PathBuf::from(adapters),
        grace_ms: grace_ms.parse().map_err(|_| "GRACE_MS is no number")?,
        project: env::current_dir().map_err(|error| error.to_string())?,
        supervisor,
    };
    let mut results = run.run()?;
    for number in ALL {
        if !results.iter().any(|(of, _)| *of == number) {
            results.push((number, not_shown("the first turn did not end well")));
        }
    }
    // An obligation that was looked at twice is unmet if it was unmet once.
    results.sort_by_key(|(number, (fulfilment, _))| (*number, *fulfilment != Fulfilment::Unmet));
    results.dedup_by_key(|(number, _)| *number);
    for (number, (fulfilment, seen)) in results {
        writeln!(
            io::stdout(),
            "{number} {} {}",
            fulfilment.word(),
            seen.replace('\n', " ")
        )
        .map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Judgements with the numbers of their obligations.
type Results = Vec<(u8, Judgement)>;

struct ConformanceRun<'a> {
    id: &'a str,
    ralph: &'a Path,
    adapters: PathBuf,
    grace_ms: u64,
    project: PathBuf,
    supervisor: Supervisor,
}

impl ConformanceRun<'_> {
    /// The known adapters, with the settings `more` for the tested one.
    fn catalog(&self, mut more: Value) -> Catalog {
        if self.grace_ms > 0 {
            more["stop"]["grace_ms"] = self.grace_ms.into();
        }
        // ralph's own agent is in ralph, and not in this program.
        if self.id == "native" {
            more["command"] = json!({ "program": self.ralph });
        }
        // Usage is judged as the program reports it.
        let more = Node::from_value(json!({ self.id: more }), &SettingOrigin::Default);
        Catalog::load(&AdapterSources {
            directories: vec![self.adapters.clone()],
            config: vec![more],
            ..AdapterSources::default()
        })
    }

    fn manifest(&self, more: Value) -> Outcome<Manifest> {
        self.catalog(more).manifest(self.id).map_err(|error| error.to_string())
    }

    fn turn(&self, settings: Value, request: &TurnRequest<'_>) -> Outcome<ObservedTurn> {
        let turn = || -> io::Result<ObservedTurn> {
            let left = observed_turn::LeftBehind::default();
            let manifest = self.catalog(settings).manifest(self.id).map_err(io::Error::other)?;
            let supervisor = left.told_by(&self.supervisor).guarded_by(self.ralph.to_owned());
            let adapter = ralph_agent::subprocess::SubprocessAdapter::new(manifest, &supervisor);
            observed_turn::observe(&adapter, &self.project, request, &left)
        };
        turn().map_err(|error| error.to_string())
    }

    /// Tries all obligations, one turn after the other.
    fn run(&self) -> Outcome<Results> {
        let report = self
            .catalog(json!({}))
            .check(self.id, &self.project, |_| self.supervisor.clone());
        let report = report.map_err(|error| error.to_string())?;
        let mut results = vec![(1, starts(&report))];
        if report.path.is_none() {
            return Ok(results);
        }
        results.extend([(2, version(&report)), (3, verified(&report))]);
        let mut words = FreshWords::default();
        let as_reported = || json!({ "usage": { "counts": "turn" } });
        let turn = |task: ConformanceTask, word: &str, resume: Option<SessionId>| {
            self.turn(as_reported(), &TurnRequest { task, word, resume })
        };
        let manifest = self.manifest(json!({}))?;
        let promises = promises(&manifest);

        let word = words.next();
        let first = turn(ConformanceTask::Write, &word, None)?;
        if let (None, Some(problem)) = (first.exit, first.problem()) {
            let seen = problem.text.as_str().to_owned();
            return Ok(vec![(1, (Fulfilment::Unmet, seen))]);
        }
        let written = self.project.join(WRITTEN);
        let text = fs::read_to_string(&written).ok();
        results.extend(judge::first_turn(&first, &word, text.as_deref(), promises));
        if first.verdict() != Some(true) || first.end != ObservedEnd::Itself {
            return Ok(results);
        }

        // The continued session has to answer from its memory.
        _ = fs::remove_file(&written); // missing if the agent did not write it
        let known = first.session().filter(|_| manifest.capabilities.resume).cloned();
        let continued = known
            .clone()
            .map(|session| turn(ConformanceTask::Recall, &word, Some(session)));
        let continued = continued.transpose()?;
        let lost = known.map(|_| {
            let session = SessionId(NO_SESSION.to_owned());
            turn(ConformanceTask::Reply, &words.next(), Some(session))
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
        let trial = turn(ConformanceTask::LongPrompt, &word, None)?;
        results.push((12, judge::answers(&trial, &word)));
        let word = words.next();
        let trial = turn(ConformanceTask::Reply, &word, None)?;
        results.push((13, judge::answers(&trial, &word)));
        let trial = turn(ConformanceTask::LongOutput, &words.next(), None)?;
        results.push((14, judge::slow_reader(&first, &trial)));
        let trial = turn(ConformanceTask::Refused, &words.next(), None)?;
        results.extend(judge::refusal(&trial, promises));

        let mut stopped = |first: &str| {
            let mut settings = as_reported();
            settings["stop"] = json!({ "first": first });
            let word = words.next();
            let (task, resume) = (ConformanceTask::Wait, None);
            self.turn(
                settings,
                &TurnRequest {
                    task,
                    word: &word,
                    resume,
                },
            )
        };
        let interrupted = match manifest.stop.first {
            StopSignal::Interrupt => Some(stopped("interrupt")?),
            StopSignal::Terminate => None,
        };
        let terminated = stopped("terminate")?;
        results.extend(judge::stops(interrupted.as_ref(), &terminated, promises));
        Ok(results)
    }
}

fn promises(manifest: &Manifest) -> AdapterPromises {
    AdapterPromises {
        is_structured: manifest
            .dialect
            .is_none_or(|dialect| dialect.has(DialectTrait::Structured)),
        exits_by_turn: manifest.dialect.is_some(),
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
        (other, _) => (Fulfilment::Unmet, format!("{other:?}")),
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

/// Words that no agent can know.
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
