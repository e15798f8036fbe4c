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
    proc::{Stop, Supervisor},
};

use super::{
    super::{
        job::Job,
        worker::{Before, Site, said},
    },
    commands::{Commands, Failed, Subject, Told},
    files::{JobFiles, Remembered, Script},
    judge::{Seen, Shown, Verdict, judge},
    manifest::{Manifest, Meaning},
    running::{News, Running},
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
enum Wanted {
    End,
    Leave,
}

/// A job that an engine has, or is about to get.
pub(super) struct Handle(Sender<Wanted>);

impl Running for Handle {
    fn stop(&self, how: Stop) {
        // Sending fails once the job has ended. An immediate stop does not wait for the engine, which was
        // asked already.
        _ = self.0.send(match how {
            Stop::Graceful => Wanted::End,
            Stop::Immediate => Wanted::Leave,
        });
    }

    fn leave(&self) {
        _ = self.0.send(Wanted::Leave); // fails once the job has ended
    }
}

/// The receiver of news about a job.
pub(super) type Tell = Box<dyn Fn(News) + Send>;

/// Follows a plan's existing job, or submits a new one.
///
/// # Errors
/// If no thread can be started.
pub(super) fn start(
    manifest: &Manifest,
    supervisor: &Supervisor,
    site: &Arc<Site>,
    (batch, plan): (&Batch, &BatchPlan),
    (job, before): (&Job<'_>, Before),
    news: Tell,
) -> Result<Handle, String> {
    let (sender, orders) = mpsc::channel();
    let follower = Follower {
        commands: Commands {
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
        program: std::env::current_exe().map_err(|error| format!("ralph does not find itself: {error}"))?,
        args: job.args.clone(),
        before,
        orders,
        news,
        complaint: None,
    };
    let known = plan.job.clone();
    thread::Builder::new()
        .name("job".to_owned())
        .spawn(move || follower.run(known))
        .map_err(|error| error.to_string())?;
    Ok(Handle(sender))
}

/// Cancels a job that no process is following.
///
/// # Errors
/// The reason why it may continue.
pub(super) fn cancel(
    manifest: &Manifest,
    supervisor: &Supervisor,
    site: &Site,
    plan: &BatchPlan,
    job: &EngineJob,
) -> Result<(), Failed> {
    let commands = Commands {
        manifest: manifest.clone(),
        supervisor: supervisor.clone(),
    };
    let files = JobFiles::new(&site.paths.jobs(), job.name.clone());
    let mut subject = Subject {
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

struct Follower {
    commands: Commands,
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
    before: Before,
    orders: Receiver<Wanted>,
    news: Tell,
    /// The last reported complaint about the engine; `None` once it has answered.
    complaint: Option<Failed>,
}

/// A job that the engine may have.
struct Submitted {
    files: JobFiles,
    subject: Subject,
    log_bytes: u64,
    began: bool,
}

impl Follower {
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

    fn end(&self, end: EngineEnd) -> News {
        let engine = self.commands.manifest.id.clone();
        self.ended(JobEnd::Engine { engine, end })
    }

    fn ended(&self, end: JobEnd) -> News {
        News::Ended(self.site.ended(&self.plan, &self.before, end))
    }

    /// Reports a problem with the engine, once until the engine answers or the problem changes.
    fn complain(&mut self, why: Failed) {
        if self.complaint.as_ref() != Some(&why) {
            (self.news)(News::Heard(JobNews::Silent { why: why.clone() }));
            self.complaint = Some(why);
        }
    }

    fn files(&self, number: u32) -> JobFiles {
        JobFiles::new(&self.dir, format!("{}-{number}", self.prefix))
    }

    fn submitted(&mut self, files: JobFiles, id: Option<String>, began: bool) -> Submitted {
        let remembered = files.remembered();
        let log_bytes = remembered.as_ref().map_or(0, |remembered| remembered.log_bytes);
        if let Some(remembered) = remembered {
            self.before = remembered.before;
        }
        Submitted {
            subject: self.subject(&files, id),
            files,
            log_bytes,
            began,
        }
    }

    fn subject(&self, files: &JobFiles, id: Option<String>) -> Subject {
        Subject {
            name: files.name().to_owned(),
            id,
            script: files.script(),
            log: self.log.clone(),
            tree: self.tree.clone(),
        }
    }

    /// Submits the job, unless the engine has it already from a batch that was killed.
    fn hand_over(&mut self) -> Result<Submitted, News> {
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
            self.complain(why);
            match self.orders.recv_timeout(self.commands.manifest.every) {
                Ok(Wanted::End) => return Err(self.end(EngineEnd::Withdrawn)),
                Ok(Wanted::Leave) => return Err(News::Left),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
        }
        unreachable!("the last attempt returns")
    }

    /// Returns the job of `files` if the engine has it or its script has begun. Otherwise withdraws it, so
    /// that it will never run.
    fn resolved(&mut self, files: JobFiles, id: Option<String>) -> Option<Submitted> {
        let is_there = id.is_some() && !files.is_withdrawn();
        (is_there || !files.withdraw()).then(|| self.taken(files, id))
    }

    fn taken(&mut self, files: JobFiles, id: Option<String>) -> Submitted {
        let name = files.name().to_owned();
        (self.news)(News::Heard(JobNews::Submitted { name, id: id.clone() }));
        self.submitted(files, id, false)
    }

    fn write(&self, files: &JobFiles) -> Result<(), Failed> {
        let manifest = &self.commands.manifest;
        let script = Script {
            about: self.about.clone(),
            setup: &manifest.setup,
            env: &manifest.env,
            tree: &self.tree,
            log: &self.log,
            program: self.program.clone(),
            args: self.args.clone(),
        };
        let remembered = Remembered {
            before: self.before.clone(),
            log_bytes: fs::metadata(&self.log).map_or(0, |log| log.len()),
        };
        let unwritten = |error| format!("cannot be given {}: {error}", files.script().display());
        files.write(&script, &remembered).map_err(unwritten)
    }

    fn follow(&mut self, mut job: Submitted) -> News {
        let (every, patience) = (self.commands.manifest.every, self.commands.manifest.patience);
        let mut seen = Seen {
            told: Told::Nothing,
            began: job.began,
            run: Shown::Silent,
        };
        let mut since = Instant::now();
        let mut asked: Option<Instant> = None;
        let mut cancelled: Option<Instant> = None;
        loop {
            let mut now = Seen {
                began: job.files.has_begun(),
                ..seen.clone()
            };
            if now.began {
                now.run = self.site.shown(&self.plan, &self.before);
                if !job.began {
                    job.began = true;
                    (self.news)(News::Heard(JobNews::Began));
                }
            }
            let interval = match now.run {
                Shown::Working => every * RARELY,
                Shown::Over(_) | Shown::Silent => every,
            };
            let is_news = now.run != seen.run;
            if is_news || asked.is_none_or(|at| at.elapsed() >= interval) {
                now.told = self.ask(&job.subject);
                asked = Some(Instant::now());
            }
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            let is_read = seen.began && seen.run != Shown::Working;
            let progress = is_read && self.site.has_progress(&self.plan, &self.before);
            match judge(&seen, since.elapsed(), patience, cancelled.is_some(), progress) {
                Verdict::Wait => {}
                Verdict::WaitFor { word } => {
                    let what = match &seen.run {
                        Shown::Working => "and the run of its job goes on",
                        Shown::Over(_) | Shown::Silent => "and the script of its job has not begun",
                    };
                    self.complain(format!("says {word}, {what}"));
                }
                Verdict::Over(reason) => return self.ended(JobEnd::Over { reason }),
                Verdict::Ended(end) => {
                    _ = self.commands.cancel(&job.subject); // the job is over, so an error does not matter
                    return self.end(end);
                }
                Verdict::Withdraw(end) => {
                    if job.files.withdraw() {
                        _ = self.commands.cancel(&job.subject); // as above
                        return self.end(end);
                    }
                }
                Verdict::Died => return self.ended(self.died(&job)),
            }
            if cancelled.is_some_and(|at| at.elapsed() >= patience) {
                cancelled = Some(Instant::now());
                self.cancel(&mut job, &seen);
            }
            match self.orders.recv_timeout(LOOK.min(every)) {
                Ok(Wanted::End) if !seen.began && job.files.withdraw() => {
                    self.cancel(&mut job, &seen);
                    return self.end(EngineEnd::Withdrawn);
                }
                Ok(Wanted::End) => {
                    cancelled = Some(Instant::now());
                    self.cancel(&mut job, &seen);
                }
                Ok(Wanted::Leave) => return News::Left,
                Err(RecvTimeoutError::Timeout) => {}
                // The batch has ended.
                Err(RecvTimeoutError::Disconnected) => return News::Left,
            }
        }
    }

    fn ask(&mut self, subject: &Subject) -> Told {
        if subject.id.is_none() {
            return Told::Nothing;
        }
        match self.commands.state(subject) {
            Ok(told) => {
                self.complaint = None;
                told
            }
            Err(why) => {
                self.complain(why);
                Told::Nothing
            }
        }
    }

    /// Has the engine end the job. If the engine does not know the job any more, the run itself is asked.
    fn cancel(&mut self, job: &mut Submitted, seen: &Seen) {
        if job.subject.id.is_none() {
            job.subject.id = self.commands.find(&job.subject).unwrap_or_default();
        }
        if let Err(why) = self.commands.cancel(&job.subject) {
            self.complain(why);
        }
        let is_gone = match &seen.told {
            Told::Unknown => true,
            Told::Nothing => job.subject.id.is_none(),
            Told::Word { meaning, .. } => matches!(meaning, Meaning::Ended | Meaning::CutOff | Meaning::Cancelled),
        };
        if is_gone && seen.run == Shown::Working {
            self.site.stop_run(&self.plan);
        }
    }

    /// Returns the end of a run that recorded no end.
    fn died(&self, job: &Submitted) -> JobEnd {
        let tail = files::read_end(&self.log, job.log_bytes, TAIL_BYTES).unwrap_or_default();
        let tail = String::from_utf8_lossy(&tail).into_owned();
        let tail = match tail.trim().is_empty() {
            true => self.commands.log(&job.subject).unwrap_or_default(),
            false => tail,
        };
        match self.site.has_records(&self.plan, &self.before) || tail.trim().is_empty() {
            true => JobEnd::Crashed,
            false => JobEnd::Refused {
                code: None,
                said: said(&tail),
            },
        }
    }
}
