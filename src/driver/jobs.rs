//! The work around an iteration that touches disk and git: blocking, done off the loop, its result an input.

use std::{
    fs, io,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use crate::{
    event::{Changes, Checkpoint, Claim, Level, PlanSnapshot, RunId, SteeringId, SteeringKind},
    host::{
        git::{Moment, Repository},
        paths::{ProjectPaths, RunPaths},
    },
    machine::{LoopState, Notice, Preparation, Refusal, Settlement},
    plan::{self, PlanKind, PromptInput, Template},
    text::with_causes,
};

use super::clock::random_share;

/// An editor or an agent may be caught between emptying the plan and writing it.
const PLAN_READS: u32 = 4;
const PLAN_READ_PAUSE: Duration = Duration::from_millis(50);

/// What all jobs of a run share.
#[derive(Debug)]
pub(super) struct Workshop {
    pub(super) run: RunId,
    pub(super) paths: ProjectPaths,
    pub(super) files: RunPaths,
    pub(super) plan: PathBuf,
    pub(super) template: Template,
    pub(super) repository: Option<Repository>,
    /// Claims are looked for in the last line of output, not in a message: the agent has none.
    pub(super) last_line_claims: bool,
}

/// What a preparation needs of the state.
#[derive(Debug)]
pub(super) struct Prepare {
    pub(super) iteration: u32,
    /// The tree as it was left by the iteration before, if nothing can have happened since.
    pub(super) untouched: Option<Checkpoint>,
    pub(super) promise: String,
    pub(super) steering: Vec<(SteeringId, SteeringKind, String)>,
    pub(super) feedback: Vec<String>,
    pub(super) live_steering: bool,
}

/// What a settlement needs of the state.
#[derive(Debug)]
pub(super) struct Settle {
    pub(super) iteration: u32,
    pub(super) before: Option<Checkpoint>,
    pub(super) baseline: Option<Checkpoint>,
    pub(super) promise: String,
    pub(super) final_message: Option<String>,
}

impl Prepare {
    pub(super) fn of(state: &LoopState, iteration: u32, untouched: Option<Checkpoint>, live_steering: bool) -> Self {
        let due = state.steering.iter().filter(|steering| steering.is_due());
        Self {
            iteration,
            untouched,
            promise: state.promise.clone(),
            steering: due
                .map(|steering| (steering.id, steering.kind, steering.text.clone()))
                .collect(),
            feedback: state.feedback.clone(),
            live_steering,
        }
    }
}

impl Settle {
    pub(super) fn of(state: &LoopState, iteration: u32, final_message: Option<String>) -> Self {
        Self {
            iteration,
            before: state.latest.clone(),
            baseline: state.baseline.clone(),
            promise: state.promise.clone(),
            final_message,
        }
    }
}

impl Workshop {
    pub(super) fn prepare(&self, job: &Prepare) -> Result<Preparation, Refusal> {
        let mut notices = Vec::new();
        if self.take_done_file(&mut notices) {
            notices.push(warning(
                "`.ralph-done` was there before the iteration began: it is removed and claims nothing",
            ));
        }
        let plan = self.read_plan().map_err(|why| Refusal::Plan { why })?;
        let checkpoint = self.checkpoint_before(job, &mut notices);
        let prompt = self.render(job, &plan);
        let path = self.files.prompt(job.iteration);
        write_private(&path, prompt.text.as_bytes()).map_err(|error| Refusal::State {
            why: format!("{}: cannot be written: {error}", path.display()),
        })?;
        Ok(Preparation {
            plan,
            checkpoint,
            prompt_bytes: prompt.text.len() as u64,
            overhead_bytes: prompt.overhead_bytes as u64,
            delivered: job.steering.iter().map(|(id, _, _)| *id).collect(),
            live_steering: job.live_steering,
            notices,
        })
    }

    pub(super) fn settle(&self, job: &Settle) -> Settlement {
        let mut notices = Vec::new();
        let mut claims = Vec::new();
        // Before the checkpoint: the file is a message to ralph, not a part of the work.
        if self.take_done_file(&mut notices) {
            claims.push(Claim::DoneFile);
        }
        if job
            .final_message
            .as_deref()
            .is_some_and(|message| self.promises(message, &job.promise))
        {
            claims.push(Claim::Promise);
        }
        let (checkpoint, changes, totals) = self.checkpoint_after(job, &mut notices);
        Settlement {
            plan: self.read_plan(),
            checkpoint,
            changes,
            totals,
            claims,
            notices,
            random: random_share(),
        }
    }

    fn promises(&self, message: &str, promise: &str) -> bool {
        if self.last_line_claims {
            plan::last_line_promise(message, promise)
        } else {
            plan::final_promise(message, promise)
        }
    }

    fn render(&self, job: &Prepare, plan: &PlanSnapshot) -> plan::Prompt {
        let shown = self.plan.strip_prefix(self.paths.project()).unwrap_or(&self.plan);
        let texts = |wanted: &[SteeringKind]| -> Vec<String> {
            let wanted = job.steering.iter().filter(|(_, kind, _)| wanted.contains(kind));
            wanted.map(|(_, _, text)| text.clone()).collect()
        };
        let current = plan.current();
        self.template.render(&PromptInput {
            plan: &shown.to_string_lossy(),
            kind: PlanKind::of(&self.plan),
            task: current.map(|task| task.text.as_str()),
            iteration: job.iteration,
            done: plan.done(),
            total: plan.tasks.len(),
            promise: &job.promise,
            standing: &texts(&[SteeringKind::Standing]),
            once: &texts(&[SteeringKind::Next, SteeringKind::Now]),
            notices: &job.feedback,
        })
    }

    fn read_plan(&self) -> Result<PlanSnapshot, String> {
        let mut reads = 1;
        loop {
            match read_plan(&self.plan) {
                Err(_) if reads < PLAN_READS => {
                    reads += 1;
                    thread::sleep(PLAN_READ_PAUSE);
                }
                result => return result.map_err(|(why, _)| why),
            }
        }
    }

    /// Removes `.ralph-done` and tells whether it was there.
    ///
    /// One that cannot be removed claims nothing: nobody could say which iteration it is from.
    fn take_done_file(&self, notices: &mut Vec<Notice>) -> bool {
        let path = self.paths.done_file();
        if path.symlink_metadata().is_err() {
            return false;
        }
        match fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) => {
                notices.push(warning(format!(
                    "{}: cannot be removed, so it claims nothing: {error}",
                    path.display()
                )));
                false
            }
        }
    }

    fn checkpoint_before(&self, job: &Prepare, notices: &mut Vec<Notice>) -> Option<Checkpoint> {
        let repository = self.repository.as_ref()?;
        if let Some(untouched) = &job.untouched {
            repository.repeat(untouched, &self.run, job.iteration, Moment::Before);
            return Some(untouched.clone());
        }
        self.checkpoint_since(job.iteration, Moment::Before, &[], notices)
            .map(|(checkpoint, _)| checkpoint)
    }

    /// Makes the checkpoint and counts the changes of the iteration and of the run.
    fn checkpoint_after(
        &self,
        job: &Settle,
        notices: &mut Vec<Notice>,
    ) -> (Option<Checkpoint>, Option<Changes>, Option<Changes>) {
        let mut since: Vec<&Checkpoint> = job.before.iter().chain(&job.baseline).collect();
        since.dedup();
        let Some((checkpoint, counted)) = self.checkpoint_since(job.iteration, Moment::After, &since, notices) else {
            return (None, None, None);
        };
        let changes = |from: &Option<Checkpoint>| {
            let index = since.iter().position(|since| from.as_ref() == Some(since))?;
            counted.get(index).copied()
        };
        let (changes, totals) = (changes(&job.before), changes(&job.baseline));
        (Some(checkpoint), changes, totals)
    }

    /// Makes a checkpoint and counts the changes since earlier ones; there are none where they cannot be counted.
    fn checkpoint_since(
        &self,
        iteration: u32,
        moment: Moment,
        since: &[&Checkpoint],
        notices: &mut Vec<Notice>,
    ) -> Option<(Checkpoint, Vec<Changes>)> {
        let repository = self.repository.as_ref()?;
        match repository.checkpoint_since(&self.run, iteration, moment, since) {
            Ok((taken, counted)) => {
                notices.extend(taken.notices.into_iter().map(warning));
                let counted = counted.unwrap_or_else(|error| {
                    let why = with_causes(&error);
                    notices.push(warning(format!("the changes cannot be counted: {why}")));
                    Vec::new()
                });
                Some((taken.checkpoint, counted))
            }
            Err(error) => {
                let why = with_causes(&error);
                notices.push(warning(format!("no checkpoint {moment} iteration {iteration}: {why}")));
                None
            }
        }
    }
}

/// Reads and parses the plan at `path`.
///
/// # Errors
/// What is wrong with it, with its path and the place in it, and what the user can do.
pub fn read_plan(path: &Path) -> Result<PlanSnapshot, (String, String)> {
    let bytes = fs::read(path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "write one with tasks as `- [ ] …`, or name another with `--plan FILE`",
            io::ErrorKind::IsADirectory => "name the file in it with `--plan FILE`",
            _ => "make it readable, or name another with `--plan FILE`",
        };
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such plan".to_owned(),
            io::ErrorKind::IsADirectory => "the plan is a directory".to_owned(),
            _ => format!("the plan cannot be read: {error}"),
        };
        (format!("{}: {why}", path.display()), hint.to_owned())
    })?;
    plan::parse_bytes(PlanKind::of(path), &bytes).map_err(|error| {
        (
            format!("{}: {}", path.display(), with_causes(&error)),
            error.hint().to_owned(),
        )
    })
}

fn warning(text: impl Into<String>) -> Notice {
    Notice {
        level: Level::Warning,
        text: text.into(),
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)?
        .write_all(bytes)
}

/// The workshop is used from blocking threads.
pub(super) type SharedWorkshop = Arc<Workshop>;
