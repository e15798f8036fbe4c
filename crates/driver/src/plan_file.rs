//! Reads the plan from disk, where an agent may have replaced it by anything.

use std::{
    collections::{BTreeSet, HashMap},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::Mutex;
use ralph_core::event::{Goal, GoalResult, Notice, PlanSnapshot, Settings, TaskSettings};
use ralph_plan::{ParsedPlan, PlanError, PlanKind, TaskMistake};
use ralph_system::files::{self, PLAN_CAP_BYTES, ReadError};
use ralph_text::{Position, with_causes};

use super::config::AvailableAgent;

/// Most mistakes that are reported for one reading of the plan.
const MISTAKES_TOLD: usize = 8;

/// Whether a plan without tasks is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taskless {
    /// Allowed, as a description; goals, or two claims of the agent, say when it is carried out.
    Allowed,
    Refused,
}

impl Taskless {
    /// A plan without tasks is allowed if there are goals as evidence, if the user has chosen the promise and so relies
    /// on the agent's word, or if its name says that it is a description. Otherwise it is probably a mistake, and a run
    /// over it could only end unverified.
    pub fn with(plan: &Path, goals: &[Goal], promise: Option<&str>) -> Self {
        if goals.is_empty() && promise.is_none() && !ralph_plan::is_description(plan) {
            Taskless::Refused
        } else {
            Taskless::Allowed
        }
    }
}

/// Reads and parses the plan at `path`, or only its `section` if one is named.
///
/// # Errors
/// The problem, with the path and the position in it, and a hint for the user.
pub fn read_plan(path: &Path, section: Option<&str>, taskless: Taskless) -> Result<ParsedPlan, (String, String)> {
    read(path, section).or_else(|unreadable| {
        let error = match unreadable {
            Unreadable::File { why, hint } => return Err((format!("{}: {why}", path.display()), hint.to_owned())),
            Unreadable::Plan(error) => error,
        };
        let hint = match (&error, taskless) {
            (PlanError::NoTasks { .. }, Taskless::Allowed) => return Ok(ParsedPlan::default()),
            (PlanError::NoTasks { .. }, Taskless::Refused) => format!(
                "{}; or name what tells that the work is done: `--goal tests=\"cargo test\"`, or `--promise DONE` to take the \
                 agent's word for it",
                error.hint()
            ),
            _ => error.hint().to_owned(),
        };
        Err((format!("{}: {}", path.display(), with_causes(&error)), hint))
    })
}

/// Why a plan cannot be read.
enum Unreadable {
    File { why: String, hint: &'static str },
    Plan(PlanError),
}

fn read(path: &Path, section: Option<&str>) -> Result<ParsedPlan, Unreadable> {
    let bytes = files::read_bytes(path, PLAN_CAP_BYTES).map_err(|error| {
        let (why, hint) = match &error {
            error if error.is_missing() => (
                "there is no such plan".to_owned(),
                "write one with tasks as `- [ ] …`, or name another with `--plan FILE`",
            ),
            ReadError::NotAFile { .. } => (
                format!("the plan cannot be read: {error}"),
                "name a file of tasks with `--plan FILE`",
            ),
            ReadError::TooLarge { .. } => (
                format!("the plan cannot be read: {error}"),
                "split it, or name a shorter one with `--plan FILE`",
            ),
            ReadError::NotUtf8 { .. } | ReadError::System(_) => (
                format!("the plan cannot be read: {error}"),
                "make it readable, or name another with `--plan FILE`",
            ),
        };
        Unreadable::File { why, hint }
    })?;
    let kind = PlanKind::from_path(path);
    let reading = ralph_plan::read_bytes(kind, &bytes).and_then(|reading| match section {
        Some(section) => ralph_plan::only_section(kind, &bytes, reading, section),
        None => Ok(reading),
    });
    reading.map_err(Unreadable::Plan)
}

/// The file to which the plan led when the run began.
#[derive(Debug)]
pub(super) struct PlanTarget {
    /// Resolved, as is the project; `None` if there was no such file.
    target: Option<PathBuf>,
    project: Option<PathBuf>,
}

impl PlanTarget {
    pub(super) fn new(plan: &Path, project: &Path) -> Self {
        Self {
            target: plan.canonicalize().ok(),
            project: project.canonicalize().ok(),
        }
    }

    /// As [`read_plan`], for a run that knows the tasks: a plan without any is one from which they were removed. A plan
    /// that has become a link out of the project is not read: an agent could have made one to a file that it may not read
    /// itself.
    pub(super) fn read(&self, plan: &Path, section: Option<&str>) -> Result<ParsedPlan, String> {
        let target = plan.canonicalize().ok();
        let is_inside = |target: &Path| self.project.as_ref().is_some_and(|project| target.starts_with(project));
        match target {
            Some(target) if self.target.as_ref() != Some(&target) && !is_inside(&target) => Err(format!(
                "{}: the plan has become a link to {}, outside of the project; it is not read",
                plan.display(),
                target.display()
            )),
            _ => read(plan, section).or_else(|unreadable| match unreadable {
                Unreadable::Plan(PlanError::NoTasks { unread, .. }) => Ok(ParsedPlan {
                    unread,
                    ..ParsedPlan::default()
                }),
                Unreadable::Plan(PlanError::NoTaskYet | PlanError::Empty { .. } | PlanError::NoSection { .. }) => {
                    Ok(ParsedPlan::default())
                }
                Unreadable::Plan(error) => Err(format!("{}: {}", plan.display(), with_causes(&error))),
                Unreadable::File { why, .. } => Err(format!("{}: {why}", plan.display())),
            }),
        }
    }
}

/// The settings that tasks may have in this run, and the mistakes already reported.
pub(super) struct TaskRules {
    /// The run's own agent first.
    agents: Vec<AvailableAgent>,
    /// Those of the run: its goals include the checks that its tasks had when it began.
    settings: Arc<Settings>,
    reported_mistakes: Mutex<BTreeSet<String>>,
}

impl TaskRules {
    pub(super) fn new(agents: &[AvailableAgent], settings: &Arc<Settings>) -> Self {
        Self {
            agents: agents.to_vec(),
            settings: Arc::clone(settings),
            reported_mistakes: Mutex::default(),
        }
    }

    /// Returns the plan without task settings that cannot be followed: a user who edits the plan during the run may
    /// make mistakes, or name an agent that this run was not started with.
    ///
    /// Each mistake is reported once, if `notices` is given.
    pub(super) fn followed(&self, reading: ParsedPlan, notices: Option<&mut Vec<Notice>>) -> PlanSnapshot {
        let ParsedPlan {
            mut plan,
            mut mistakes,
            remarks,
            places,
            ..
        } = reading;
        for &(task, position) in &places {
            let Some(settings) = plan.tasks.get(task).map(|task| &task.settings) else {
                continue;
            };
            let refused = self.refusal(settings);
            let what = refused.map(|what| TaskMistake { task, position, what });
            mistakes.extend(what);
        }
        let others = self.other_checks(&plan, &places, &mistakes);
        for mistake in &mistakes {
            if let Some(task) = plan.tasks.get_mut(mistake.task) {
                task.settings = TaskSettings::default();
            }
        }
        // A task that is done asks for no agent any more, and a continued run starts with those of its open tasks.
        mistakes.retain(|mistake| plan.tasks.get(mistake.task).is_none_or(|task| !task.done));
        mistakes.extend(others);
        for task in plan.tasks.iter_mut().filter(|task| task.settings.optional) {
            // An agent may have written it; the task may have gained a note.
            task.settings.optional = self.settings.optional_tasks.iter().any(|known| {
                let note = task.text.strip_prefix(known.as_str());
                note.is_some_and(|note| !note.starts_with(char::is_alphanumeric))
            });
        }
        if let Some(notices) = notices {
            let ignored = |mut mistake: TaskMistake| {
                mistake.what += "; using the settings of the run";
                mistake
            };
            let mistakes: Vec<_> = mistakes.into_iter().map(ignored).chain(remarks).collect();
            self.report_mistakes(&plan, &mistakes, notices);
        }
        plan
    }

    /// Applies what the run knows to a plan: done tasks that were removed stay done, and ticks without a passed check do
    /// not count, nor those of tasks that are `held`. Returns the names of the checks that have to be run.
    pub(super) fn hold(
        &self,
        plan: &mut PlanSnapshot,
        before: &PlanSnapshot,
        results: &[GoalResult],
        held: &BTreeSet<String>,
    ) -> Vec<String> {
        ralph_plan::hold_out_of_scope(plan, &self.settings.scopes, held);
        ralph_plan::keep_done(before, plan);
        ralph_plan::hold_unchecked(plan, &self.settings.goals, before, results)
    }

    /// Returns the tasks whose check or scope is not that of the run. The run keeps those with which it began, whoever changed
    /// the plan.
    fn other_checks(
        &self,
        plan: &PlanSnapshot,
        places: &[(usize, Position)],
        mistakes: &[TaskMistake],
    ) -> Vec<TaskMistake> {
        let checks = self.settings.goals.iter();
        let checks: HashMap<&str, &str> = checks
            .filter_map(|goal| Some((goal.task.as_deref()?, goal.command.as_str())))
            .collect();
        let tasks = plan.tasks.iter().enumerate();
        let tasks = tasks.filter(|(task, _)| !mistakes.iter().any(|mistake| mistake.task == *task));
        let others = tasks.filter_map(|(task, found)| {
            let (own, written) = (
                checks.get(found.text.as_str()).copied(),
                found.settings.check.as_deref(),
            );
            let scope = self.settings.scopes.iter().find(|scoped| scoped.task == found.text);
            let scope = scope.filter(|scoped| scoped.only != found.settings.only);
            let what = match (own, written) {
                (own, written) if own == written => {
                    format!(
                        "the scope with which the run began still counts: {}",
                        scope?.only.join(",")
                    )
                }
                // The task has gained a note.
                (None, Some(written)) if checks.values().any(|own| *own == written) => return None,
                (Some(own), _) => format!("the check with which the run began still counts: {own}"),
                (None, _) => {
                    "a check that was added after the start is not run; it counts from the next start on".to_owned()
                }
            };
            let place = places.iter().find(|(known, _)| *known == task);
            let position = place.map_or(
                Position {
                    line: found.line,
                    column: 1,
                },
                |(_, position)| *position,
            );
            Some(TaskMistake { task, position, what })
        });
        others.collect()
    }

    /// Why the run cannot follow a task's settings; `None` if it can.
    fn refusal(&self, settings: &TaskSettings) -> Option<String> {
        let agent = match &settings.adapter {
            None => self.agents.first()?,
            Some(id) => match self.agents.iter().find(|agent| agent.adapter.id() == id) {
                Some(agent) => agent,
                None => {
                    return Some(format!(
                        "the run was started without adapter `{}`",
                        ralph_plan::shortened(id)
                    ));
                }
            },
        };
        let model = settings.model.as_deref()?;
        agent.adapter.takes_model(model).err().map(|error| with_causes(&error))
    }

    fn report_mistakes(&self, plan: &PlanSnapshot, mistakes: &[TaskMistake], notices: &mut Vec<Notice>) {
        let mut reported = self.reported_mistakes.lock();
        let news = mistakes.iter().filter(|mistake| {
            let task = plan.tasks.get(mistake.task).map_or("", |task| &task.text);
            // Keyed by text: tasks move, but the mistake stays the same.
            reported.insert(format!("{}\n{task}", mistake.what))
        });
        notices.extend(news.take(MISTAKES_TOLD).map(|TaskMistake { position, what, .. }| {
            let text = format!("the plan, line {}, column {}: {what}", position.line, position.column);
            Notice::warning("task-settings-ignored", text)
        }));
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn why(path: &Path) -> String {
        read_plan(path, None, Taskless::Refused).unwrap_err().0
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(
            why(&pipe).ends_with("it is a named pipe, not a regular file"),
            "{}",
            why(&pipe)
        );
        let endless = dir.path().join("endless");
        symlink("/dev/zero", &endless).unwrap();
        assert!(why(&endless).ends_with("it is a device, not a regular file"));
        assert!(why(dir.path()).ends_with("it is a directory, not a regular file"));
        assert!(why(&dir.path().join("none")).ends_with("there is no such plan"));
    }

    #[test]
    fn a_plan_that_becomes_a_link_out_of_the_project_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let (project, outside) = (dir.path().join("project"), dir.path().join("outside.md"));
        fs::create_dir(&project).unwrap();
        fs::write(&outside, "- [ ] secret\n").unwrap();
        let (plan, inside) = (project.join("PLAN.md"), project.join("other.md"));
        for file in [&plan, &inside] {
            fs::write(file, "- [ ] one\n").unwrap();
        }
        let target = PlanTarget::new(&plan, &project);
        let read = || target.read(&plan, None).map(|reading| reading.plan.open());
        let link_to = |target: &Path| {
            fs::remove_file(&plan).unwrap();
            symlink(target, &plan).unwrap();
        };
        link_to(&inside);
        assert_eq!(read(), Ok(1));
        link_to(&outside);
        assert!(read().unwrap_err().contains("has become a link"));
        // A plan that was a link before is the user's own.
        let target = PlanTarget::new(&plan, &project);
        assert_eq!(target.read(&plan, None).unwrap().plan.open(), 1);
    }

    #[test]
    fn a_plan_is_read_through_a_link_and_up_to_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().join("plan.md");
        fs::write(&plan, "- [ ] one\n").unwrap();
        let link = dir.path().join("link.md");
        symlink(&plan, &link).unwrap();
        assert_eq!(read_plan(&link, None, Taskless::Refused).unwrap().plan.open(), 1);
        fs::write(&plan, vec![b'x'; 5 << 20]).unwrap();
        assert!(why(&link).ends_with("it is larger than 4 MiB"), "{}", why(&link));
    }
}
