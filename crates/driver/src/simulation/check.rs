//! The checks after each life of a run. They hold whatever has happened:
//!
//! - the journal can be read, and still begins with the records that it had before;
//! - a record that was published, and a message that the loop has accepted, is in it;
//! - a session was started only after its record was written;
//! - a run that was cut off is resumed by the next life;
//! - an error of the disk ends the run with a message, and no life ends without one;
//! - failures are counted without a gap, over all lives;
//! - a run is done only if the plan and the work are, and with goals only if they passed;
//! - no session is left.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, atomic::Ordering},
};

use ralph_core::{
    event::{
        CancelReason, Event, IterationEvent, Outcome, Proof, Record, RunEvent, RunId, SteeringEvent, StopReason,
        TimeEvent, Wait,
    },
    machine::LoopState,
};
use ralph_state::store::journal::{self, JournalError};
use ralph_system::paths::ProjectPaths;

use super::{
    life::{Life, LifeEnd},
    world::World,
};

/// Counts of the events in the lives of one run.
#[derive(Debug, Default)]
pub(super) struct Findings {
    lives: u64,
    kills: u64,
    resumed: u64,
    disk_faults: u64,
    failed_lives: u64,
    sessions: u64,
    records: u64,
    done: u64,
    verified: u64,
}

/// The findings of many runs.
#[derive(Debug, Default)]
pub(super) struct Totals {
    runs: u64,
    sum: Findings,
}

impl Totals {
    pub(super) fn add(&mut self, found: &Findings) {
        self.runs += 1;
        for (sum, more) in [
            (&mut self.sum.lives, found.lives),
            (&mut self.sum.kills, found.kills),
            (&mut self.sum.resumed, found.resumed),
            (&mut self.sum.disk_faults, found.disk_faults),
            (&mut self.sum.failed_lives, found.failed_lives),
            (&mut self.sum.sessions, found.sessions),
            (&mut self.sum.records, found.records),
            (&mut self.sum.done, found.done),
            (&mut self.sum.verified, found.verified),
        ] {
            *sum += more;
        }
    }

    /// Whether everything has happened that a simulation is for.
    pub(super) fn is_varied(&self) -> bool {
        let sum = &self.sum;
        let seen = [
            sum.kills,
            sum.resumed,
            sum.disk_faults,
            sum.failed_lives,
            sum.done,
            sum.verified,
        ];
        seen.iter().all(|count| *count > 0)
    }
}

impl fmt::Display for Totals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sum = &self.sum;
        write!(
            f,
            "{} lives, {} kills, {} resumed, {} errors of the disk in {} lives, {} sessions, {} records, {} runs done, {} of \
             them verified",
            sum.lives,
            sum.kills,
            sum.resumed,
            sum.disk_faults,
            sum.failed_lives,
            sum.sessions,
            sum.records,
            sum.done,
            sum.verified
        )
    }
}

pub(super) struct Inspection {
    world: Arc<World>,
    paths: ProjectPaths,
    has_goals: bool,
    /// The records of each run after the life before.
    known: BTreeMap<String, Vec<Record>>,
    /// The run that the next life has to resume.
    unfinished: Option<RunId>,
    pub(super) findings: Findings,
}

impl Inspection {
    pub(super) fn new(world: Arc<World>, paths: ProjectPaths, has_goals: bool) -> Self {
        Inspection {
            world,
            paths,
            has_goals,
            known: BTreeMap::new(),
            unfinished: None,
            findings: Findings::default(),
        }
    }

    /// Looks at what a life has left. Returns whether the run is over.
    ///
    /// # Errors
    /// The fault that was found.
    pub(super) fn look(&mut self, number: u32, life: &Life) -> Result<bool, String> {
        self.look_at(life).map_err(|fault| format!("life {number}: {fault}"))
    }

    fn look_at(&mut self, life: &Life) -> Result<bool, String> {
        self.findings.lives += 1;
        self.findings.disk_faults += u64::from(self.world.faults.swap(0, Ordering::Relaxed));
        let alive = self.world.alive.load(Ordering::Relaxed);
        if alive > 0 {
            return Err(format!("{alive} sessions are left"));
        }
        if let (Some(unfinished), Some((run, resumed))) = (&self.unfinished, &life.run)
            && (run != unfinished || !resumed)
        {
            return Err(format!("{run} began although {unfinished} was cut off"));
        }
        self.findings.resumed += u64::from(life.run.as_ref().is_some_and(|(_, resumed)| *resumed));
        self.look_at_journals()?;
        match &life.end {
            LifeEnd::Failed(text) | LifeEnd::NotOpened(text) => {
                self.findings.failed_lives += 1;
                if text.trim().is_empty() {
                    return Err("an error without a text".to_owned());
                }
            }
            LifeEnd::Killed => self.findings.kills += 1,
            LifeEnd::Stopped(_) if self.world.append_failed.load(Ordering::Relaxed) => {
                return Err("a record could not be written, and nothing was said".to_owned());
            }
            LifeEnd::Stopped(_) => {}
        }
        let Some((run, _)) = &life.run else { return Ok(false) };
        let records = self.known.get(&run.0).map_or(&[][..], Vec::as_slice);
        if life.published > records.len() as u64 {
            return Err(format!(
                "{} records were published, and {} are in the journal",
                life.published,
                records.len()
            ));
        }
        self.look_at_records(run, records)?;
        let mut state = LoopState::default();
        records.iter().for_each(|record| state.apply(record));
        let started = records
            .iter()
            .any(|record| matches!(record.event, Event::Run(RunEvent::Started { .. })));
        self.unfinished = (started && !state.view.is_over()).then(|| run.clone());
        let LifeEnd::Stopped(reason) = &life.end else {
            return Ok(false);
        };
        if state.view.stop_reason() != Some(reason) {
            return Err(format!(
                "ended as {reason:?}, recorded as {:?}",
                state.view.stop_reason()
            ));
        }
        if let StopReason::Done { proof, .. } = reason {
            self.findings.done += 1;
            self.findings.verified += u64::from(*proof >= Proof::ExitCodes);
            self.look_at_work(*proof)?;
        }
        self.findings.records += records.len() as u64;
        self.findings.sessions += self.world.sessions.lock().len() as u64;
        Ok(true)
    }

    fn look_at_journals(&mut self) -> Result<(), String> {
        for run in self.paths.run_ids() {
            let records = match journal::read(&self.paths.run(&run).journal()) {
                Ok((records, _)) => records,
                // Its first record was not written: no run has begun.
                Err(JournalError::Read { .. }) if !self.known.contains_key(&run.0) => continue,
                Err(error) => {
                    return Err(format!(
                        "the journal cannot be read: {}",
                        ralph_text::with_causes(&error)
                    ));
                }
            };
            let before = self.known.get(&run.0).map_or(&[][..], Vec::as_slice);
            if !records.starts_with(before) {
                return Err("records that were in the journal have changed".to_owned());
            }
            self.known.insert(run.0, records);
        }
        Ok(())
    }

    fn look_at_records(&self, run: &RunId, records: &[Record]) -> Result<(), String> {
        let mut iterations = Vec::new();
        let mut messages = Vec::new();
        let mut failures = 0;
        for (number, record) in records.iter().enumerate() {
            if record.seq != number as u64 {
                return Err(format!("record {number} has the number {}", record.seq));
            }
            match &record.event {
                Event::Iteration(IterationEvent::Started { iteration, .. }) => iterations.push(*iteration),
                Event::Steering(SteeringEvent::Queued { text, .. }) => messages.push(text),
                Event::Iteration(IterationEvent::Ended { outcome, .. }) => match outcome {
                    Outcome::Completed => failures = 0,
                    Outcome::Failed { .. }
                    | Outcome::Cancelled {
                        reason: CancelReason::IdleTimeout,
                    } => failures += 1,
                    Outcome::Cancelled { .. } | Outcome::Interrupted => {}
                },
                Event::Run(RunEvent::Reopened { .. }) => failures = 0,
                Event::Time(TimeEvent::WaitStarted {
                    wait: Wait::Backoff | Wait::LimitReset,
                    attempt,
                    ..
                }) if *attempt != failures.max(1) => {
                    return Err(format!(
                        "record {number} waits for attempt {attempt} after {failures} failures in a row"
                    ));
                }
                _ => {}
            }
        }
        let sessions = self.world.sessions.lock();
        let mut sessions = sessions.iter().filter(|(of, _)| of == run);
        if let Some((_, early)) = sessions.find(|(_, session)| !iterations.contains(session)) {
            return Err(format!("session {early} was started without a record"));
        }
        let accepted = self.world.accepted.lock();
        let mut accepted = accepted.iter().filter(|(of, _)| of == run);
        if let Some((_, lost)) = accepted.find(|(_, text)| !messages.contains(&text)) {
            return Err(format!("{lost:?} was accepted and is not in the journal"));
        }
        Ok(())
    }

    fn look_at_work(&self, proof: Proof) -> Result<(), String> {
        let open: Vec<u32> = (1..=self.world.tasks)
            .filter(|task| !self.world.is_ticked(*task))
            .collect();
        if !open.is_empty() {
            return Err(format!("done, and tasks {open:?} are open"));
        }
        if self.has_goals && !self.world.is_done() {
            return Err("done, and the work that the goal tests is not".to_owned());
        }
        if self.has_goals != (proof >= Proof::ExitCodes) {
            return Err(format!("done with the proof {proof:?}"));
        }
        Ok(())
    }
}
