//! Follows one job of an engine from its submission to its end, on a thread of its own.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::{Duration, Instant},
};

use ralph_plan::batch::{Batch, BatchPlan, EngineEnd, EngineJob, JobEnd, JobNews, PlanName};
use ralph_system::{
    files,
    proc::{StopSpeed, Supervisor},
};

use super::{
    super::{
        job::BatchJob,
        worker::{RunsBeforeJob, Site, reported_error},
    },
    commands::{CommandFailure, EngineAnswer, EngineCommands, JobReference},
    decision::{JobDecision, JobObservation, RunState, decide},
    files::{JobBaseline, JobFiles, JobScript},
    manifest::{EngineManifest, StateMeaning},
    running::{JobUpdate, RunningJob},
};

/// Submissions of a job before its plan is left as it is.
const ATTEMPTS: u32 = 3;
/// Longest interval between looks at the files of a job.
const LOOK: Duration = Duration::from_millis(500);
/// Factor by which an engine is asked less often about a run that is working.
const RARELY: u32 = 6;
/// Bytes from the end of a log that are searched for an error.
const TAIL_BYTES: u64 = 16 << 10;

/// An order to the thread that follows a job.
enum JobOrder {
    End,
    Leave,
}

/// A job that an engine has, or is about to get.
pub(super) struct JobHandle(Sender<JobOrder>);

impl RunningJob for JobHandle {
    fn stop(&self, how: StopSpeed) {
        // Sending fails once the job has ended. An immediate stop does not wait for the engine, which was
        // asked already.
        _ = self.0.send(match how {
            StopSpeed::Graceful => JobOrder::End,
            StopSpeed::Immediate => JobOrder::Leave,
        });
    }

    fn leave(&self) {
        _ = self.0.send(JobOrder::Leave); // fails once the job has ended
    }
}

/// The receiver of news about a job.
type NewsSender = Box<dyn Fn(JobUpdate) + Send>;

/// Follows a plan's existing job, or submits a new one.
///
/// # Errors
/// If no thread can be started.
pub(super) fn start(
    manifest: &EngineManifest,
    supervisor: &Supervisor,
    site: &Arc<Site>,
    (batch, plan): (&Batch, &BatchPlan),
    (job, before): (&BatchJob<'_>, RunsBeforeJob),
    news: NewsSender,
) -> Result<JobHandle, String> {
    let (sender, orders) = mpsc::channel();
    let follower = JobFollower {
        commands: EngineCommands {
            manifest: manifest.clone(),
            supervisor: supervisor.clone(),
        },
        site: Arc::clone(site),
        plan: plan.name.clone(),
        about: format!("The run of plan {} of batch {}", plan.name, batch.id),
        dir: site.paths.jobs(),
        prefix: format!("{}-{}", nameable(&site.job_id(&plan.name)), plan.jobs),
        tree: job.cwd.to_owned(),
        log: job.log.to_owned(),
        program: std::env::current_exe()
            .map_err(|error| format!("the path of the ralph program is unknown: {error}"))?,
        args: job.args.clone(),
        before,
        orders,
        news,
        reported_problem: None,
    };
    let known = plan.job.clone();
    thread::Builder::new()
        .name("job".to_owned())
        .spawn(move || follower.run(known))
        .map_err(|error| error.to_string())?;
    Ok(JobHandle(sender))
}

/// Cancels a job that no process is following.
///
/// # Errors
/// The reason why it may continue.
pub(crate) fn cancel(
    manifest: &EngineManifest,
    supervisor: &Supervisor,
    site: &Site,
    plan: &BatchPlan,
    job: &EngineJob,
) -> Result<(), CommandFailure> {
    let commands = EngineCommands {
        manifest: manifest.clone(),
        supervisor: supervisor.clone(),
    };
    let files = JobFiles::new(&site.paths.jobs(), job.name.clone());
    let mut subject = JobReference {
        name: job.name.clone(),
        id: job.id.clone(),
        script: files.script(),
        log: site.paths.log(&plan.name),
        tree: site.branches.project_in(&site.paths.tree(&plan.name)),
    };
    if subject.id.is_none() {
        subject.id = commands.find(&subject)?;
    }
    let cancelled = commands.cancel(&subject);
    match files.withdraw() {
        true => Ok(()),
        false => cancelled,
    }
}

/// Replaces characters that have a meaning to an engine or in a regular expression.
fn nameable(name: &str) -> String {
    let letter = |letter: char| match letter.is_ascii_alphanumeric() || letter == '-' {
        true => letter,
        false => '-',
    };
    name.chars().map(letter).collect()
}

struct JobFollower {
    commands: EngineCommands,
    site: Arc<Site>,
    plan: PlanName,
    about: String,
    /// Directory of the files of all jobs.
    dir: PathBuf,
    /// Common prefix of the names of this job's submissions.
    prefix: String,
    tree: PathBuf,
    log: PathBuf,
    program: PathBuf,
    args: Vec<std::ffi::OsString>,
    /// The state before the job.
    before: RunsBeforeJob,
    orders: Receiver<JobOrder>,
    news: NewsSender,
    /// The last reported complaint about the engine; `None` once it has answered.
    reported_problem: Option<CommandFailure>,
}

/// A job that the engine may have.
struct SubmittedJob {
    files: JobFiles,
    subject: JobReference,
    log_bytes: u64,
    began: bool,
}

impl JobFollower {
    fn run(mut self, known: Option<EngineJob>) {
        let last = match known {
            Some(job) => {
                let began = job.began;
                let submitted = self.submitted(JobFiles::new(&self.dir, job.name), job.id, began);
                self.follow(submitted)
            }
            None => match self.hand_over() {
                Ok(submitted) => self.follow(submitted),
                Err(last) => last,
            },
        };
        (self.news)(last);
    }

    fn end(&self, end: EngineEnd) -> JobUpdate {
        let engine = self.commands.manifest.id.clone();
        self.ended(JobEnd::Engine { engine, end })
    }

    fn ended(&self, end: JobEnd) -> JobUpdate {
        JobUpdate::Ended(self.site.task_result(&self.plan, &self.before, end))
    }

    /// Reports a problem with the engine, once until the engine answers or the problem changes.
    fn report_problem(&mut self, why: CommandFailure) {
        if self.reported_problem.as_ref() != Some(&why) {
            (self.news)(JobUpdate::Progress(JobNews::Silent { why: why.clone() }));
            self.reported_problem = Some(why);
        }
    }

    fn files(&self, number: u32) -> JobFiles {
        JobFiles::new(&self.dir, format!("{}-{number}", self.prefix))
    }

    fn submitted(&mut self, files: JobFiles, id: Option<String>, began: bool) -> SubmittedJob {
        let baseline = files.baseline();
        let log_bytes = baseline.as_ref().map_or(0, |baseline| baseline.log_bytes);
        if let Some(baseline) = baseline {
            self.before = baseline.before;
        }
        SubmittedJob {
            subject: self.subject(&files, id),
            files,
            log_bytes,
            began,
        }
    }

    fn subject(&self, files: &JobFiles, id: Option<String>) -> JobReference {
        JobReference {
            name: files.name().to_owned(),
            id,
            script: files.script(),
            log: self.log.clone(),
            tree: self.tree.clone(),
        }
    }

    /// Submits the job, unless the engine has it already from a batch that was killed.
    fn hand_over(&mut self) -> Result<SubmittedJob, JobUpdate> {
        let mut number = (1..)
            .take_while(|number| self.files(*number).script().exists())
            .last()
            .unwrap_or(0);
        if number > 0 {
            let files = self.files(number);
            let found = self.commands.find(&self.subject(&files, None));
            if let Some(submitted) = self.resolved(files, found.unwrap_or_default()) {
                return Ok(submitted);
            }
        }
        for attempt in 1..=ATTEMPTS {
            number += 1;
            let files = self.files(number);
            let why = match self.write(&files) {
                Err(why) => why,
                Ok(()) => match self.commands.submit(&self.subject(&files, None)) {
                    Ok(id) => return Ok(self.taken(files, Some(id))),
                    Err(why) => {
                        // The engine may have accepted it nevertheless.
                        let found = self.commands.find(&self.subject(&files, None)).unwrap_or_default();
                        if let Some(submitted) = self.resolved(files, found) {
                            return Ok(submitted);
                        }
                        why
                    }
                },
            };
            if attempt == ATTEMPTS {
                return Err(self.end(EngineEnd::NotSubmitted { why }));
            }
            self.report_problem(why);
            match self.orders.recv_timeout(self.commands.manifest.every) {
                Ok(JobOrder::End) => return Err(self.end(EngineEnd::Withdrawn)),
                Ok(JobOrder::Leave) => return Err(JobUpdate::Detached),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Returns the job of `files` if the engine has it or its script has begun. Otherwise withdraws it, so
    /// that it will never run.
    fn resolved(&mut self, files: JobFiles, id: Option<String>) -> Option<SubmittedJob> {
        let is_there = id.is_some() && !files.is_withdrawn();
        (is_there || !files.withdraw()).then(|| self.taken(files, id))
    }

    fn taken(&mut self, files: JobFiles, id: Option<String>) -> SubmittedJob {
        let name = files.name().to_owned();
        (self.news)(JobUpdate::Progress(JobNews::Submitted { name, id: id.clone() }));
        self.submitted(files, id, false)
    }

    fn write(&self, files: &JobFiles) -> Result<(), CommandFailure> {
        let manifest = &self.commands.manifest;
        let script = JobScript {
            about: self.about.clone(),
            setup: &manifest.setup,
            env: &manifest.env,
            tree: &self.tree,
            log: &self.log,
            program: self.program.clone(),
            args: self.args.clone(),
        };
        let baseline = JobBaseline {
            before: self.before.clone(),
            log_bytes: fs::metadata(&self.log).map_or(0, |log| log.len()),
        };
        let unwritten = |error| format!("cannot be given {}: {error}", files.script().display());
        files.write(&script, &baseline).map_err(unwritten)
    }

    fn follow(&mut self, mut job: SubmittedJob) -> JobUpdate {
        let (every, patience) = (self.commands.manifest.every, self.commands.manifest.patience);
        let mut observed = JobObservation {
            answer: EngineAnswer::Nothing,
            began: job.began,
            run: RunState::Silent,
        };
        let mut since = Instant::now();
        let mut asked: Option<Instant> = None;
        let mut cancelled: Option<Instant> = None;
        loop {
            let mut now = JobObservation {
                began: job.files.has_begun(),
                ..observed.clone()
            };
            if now.began {
                now.run = self.site.run_state(&self.plan, &self.before);
                if !job.began {
                    job.began = true;
                    (self.news)(JobUpdate::Progress(JobNews::Began));
                }
            }
            let interval = match now.run {
                RunState::Working => every * RARELY,
                RunState::Over(_) | RunState::Silent => every,
            };
            let is_news = now.run != observed.run;
            if is_news || asked.is_none_or(|at| at.elapsed() >= interval) {
                now.answer = self.ask(&job.subject);
                asked = Some(Instant::now());
            }
            if now != observed {
                (observed, since) = (now, Instant::now());
            }
            let is_read = observed.began && observed.run != RunState::Working;
            let progress = is_read && self.site.has_progress(&self.plan, &self.before);
            match decide(&observed, since.elapsed(), patience, cancelled.is_some(), progress) {
                JobDecision::Wait => {}
                JobDecision::WaitFor { word } => {
                    let what = match &observed.run {
                        RunState::Working => "but the job's run is still active",
                        RunState::Over(_) | RunState::Silent => "but its script has not begun",
                    };
                    self.report_problem(format!("reports {word}, {what}"));
                }
                JobDecision::Over(reason) => return self.ended(JobEnd::Over { reason }),
                JobDecision::Ended(end) => {
                    _ = self.commands.cancel(&job.subject); // the job is over, so an error does not matter
                    return self.end(end);
                }
                JobDecision::Withdraw(end) => {
                    if job.files.withdraw() {
                        _ = self.commands.cancel(&job.subject); // as above
                        return self.end(end);
                    }
                }
                JobDecision::Died => return self.ended(self.died(&job)),
            }
            if cancelled.is_some_and(|at| at.elapsed() >= patience) {
                cancelled = Some(Instant::now());
                self.cancel(&mut job, &observed);
            }
            match self.orders.recv_timeout(LOOK.min(every)) {
                Ok(JobOrder::End) if !observed.began && job.files.withdraw() => {
                    self.cancel(&mut job, &observed);
                    return self.end(EngineEnd::Withdrawn);
                }
                Ok(JobOrder::End) => {
                    cancelled = Some(Instant::now());
                    self.cancel(&mut job, &observed);
                }
                Ok(JobOrder::Leave) => return JobUpdate::Detached,
                Err(RecvTimeoutError::Timeout) => {}
                // The batch has ended.
                Err(RecvTimeoutError::Disconnected) => return JobUpdate::Detached,
            }
        }
    }

    fn ask(&mut self, subject: &JobReference) -> EngineAnswer {
        if subject.id.is_none() {
            return EngineAnswer::Nothing;
        }
        match self.commands.state(subject) {
            Ok(answer) => {
                self.reported_problem = None;
                answer
            }
            Err(why) => {
                self.report_problem(why);
                EngineAnswer::Nothing
            }
        }
    }

    /// Has the engine end the job. If the engine does not know the job any more, the run itself is asked.
    fn cancel(&mut self, job: &mut SubmittedJob, observed: &JobObservation) {
        if job.subject.id.is_none() {
            job.subject.id = self.commands.find(&job.subject).unwrap_or_default();
        }
        if let Err(why) = self.commands.cancel(&job.subject) {
            self.report_problem(why);
        }
        let is_gone = match &observed.answer {
            EngineAnswer::Unknown => true,
            EngineAnswer::Nothing => job.subject.id.is_none(),
            EngineAnswer::Word { meaning, .. } => matches!(
                meaning,
                StateMeaning::Ended | StateMeaning::CutOff | StateMeaning::Cancelled
            ),
        };
        if is_gone && observed.run == RunState::Working {
            self.site.stop_run(&self.plan);
        }
    }

    /// Returns the end of a run that recorded no end.
    fn died(&self, job: &SubmittedJob) -> JobEnd {
        let tail = files::read_end(&self.log, job.log_bytes, TAIL_BYTES).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail).into_owned();
        match self.site.has_records(&self.plan, &self.before) || tail.trim().is_empty() {
            true => JobEnd::Crashed,
            false => JobEnd::Refused {
                code: None,
                said: reported_error(&tail),
            },
        }
    }
}
