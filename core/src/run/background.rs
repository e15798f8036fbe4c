//! The background tasks of a run.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::event::{BackgroundEvent, BackgroundProgress, BackgroundResult, Event, IterationEvent, Requester, RunEvent};

/// Maximum number of stored background tasks. Running ones are always stored.
const KEPT: usize = 50;

/// The background tasks of a run, in the order in which they were started.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Background {
    /// Number of started tasks, including those no longer stored.
    pub started: u32,
    /// Number of tasks started by agents.
    pub by_agents: u32,
    /// Number of tasks started by the agent of the latest iteration.
    pub by_agents_now: u32,
    /// The latest tasks, and all that are running.
    pub tasks: Vec<BackgroundTask>,
}

/// A command that may outlive the iteration in which it was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackgroundTask {
    pub number: u32,
    /// Whether the user or an agent started it.
    pub by: Requester,
    /// The shell command.
    pub command: String,
    pub cwd: PathBuf,
    pub started_ms: u64,
    /// Whether the user or an agent cancelled it.
    pub cancelled_by: Option<Requester>,
    /// Whether it is ending because the run ended.
    pub ends_with_run: bool,
    /// The last recorded progress; `None` before the first output and after the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<BackgroundProgress>,
    /// `None` while it is running.
    pub result: Option<BackgroundResult>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BackgroundState {
    Running,
    /// The task was asked to end.
    Ending,
    Ended,
}

impl BackgroundTask {
    pub fn state(&self) -> BackgroundState {
        match (&self.result, self.cancelled_by, self.ends_with_run) {
            (Some(_), ..) => BackgroundState::Ended,
            (None, None, false) => BackgroundState::Running,
            (None, Some(_), _) | (None, None, true) => BackgroundState::Ending,
        }
    }

    /// How long the task has run.
    pub fn age_ms(&self, now_ms: u64) -> u64 {
        let so_far = || now_ms.saturating_sub(self.started_ms);
        self.result.as_ref().map_or_else(so_far, |result| result.duration_ms)
    }
}

impl Background {
    pub fn task(&self, number: u32) -> Option<&BackgroundTask> {
        self.tasks.iter().find(|task| task.number == number)
    }

    /// The tasks that are not known to have ended.
    pub fn alive(&self) -> impl Iterator<Item = &BackgroundTask> {
        self.tasks.iter().filter(|task| task.result.is_none())
    }

    pub(super) fn apply(&mut self, at_ms: u64, event: &Event) {
        match event {
            Event::Iteration(IterationEvent::Started { .. }) => self.by_agents_now = 0,
            Event::Background(BackgroundEvent::Started {
                number,
                by,
                command,
                cwd,
            }) => self.start(BackgroundTask {
                number: *number,
                by: *by,
                command: command.clone(),
                cwd: cwd.clone(),
                started_ms: at_ms,
                cancelled_by: None,
                ends_with_run: false,
                progress: None,
                result: None,
            }),
            Event::Background(BackgroundEvent::Cancelled { number, by }) => {
                if let Some(task) = self.task_mut(*number) {
                    task.cancelled_by = Some(*by);
                }
            }
            Event::Background(BackgroundEvent::Progressed { number, progress }) => {
                if let Some(task) = self.task_mut(*number) {
                    task.progress = Some(progress.clone());
                }
            }
            Event::Background(BackgroundEvent::Ended { number, result }) => {
                if let Some(task) = self.task_mut(*number) {
                    task.progress = None;
                    task.result = Some(result.clone());
                }
            }
            Event::Run(RunEvent::Stopped { .. }) => {
                let alive = self.tasks.iter_mut().filter(|task| task.result.is_none());
                alive.for_each(|task| task.ends_with_run = true);
            }
            _ => {}
        }
    }

    fn start(&mut self, task: BackgroundTask) {
        self.started = self.started.max(task.number);
        if task.by == Requester::Agent {
            self.by_agents += 1;
            self.by_agents_now += 1;
        }
        if self.tasks.len() >= KEPT
            && let Some(oldest) = self.tasks.iter().position(|task| task.result.is_some())
        {
            self.tasks.remove(oldest);
        }
        self.tasks.push(task);
    }

    fn task_mut(&mut self, number: u32) -> Option<&mut BackgroundTask> {
        self.tasks.iter_mut().find(|task| task.number == number)
    }

    /// Excludes time that did not pass for the loop.
    pub(super) fn skip(&mut self, gap_ms: i64) {
        for task in self.tasks.iter_mut().filter(|task| task.result.is_none()) {
            task.started_ms = task.started_ms.saturating_add_signed(gap_ms);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{BackgroundEnd, Exit},
        testing::iteration_started,
    };

    fn started(number: u32) -> Event {
        Event::Background(BackgroundEvent::Started {
            number,
            by: Requester::User,
            command: format!("make {number}"),
            cwd: "/project".into(),
        })
    }

    fn ended(number: u32) -> Event {
        Event::Background(BackgroundEvent::Ended {
            number,
            result: BackgroundResult {
                end: BackgroundEnd::Exited {
                    exit: Exit::Code { code: 0 },
                },
                duration_ms: 5,
                output_bytes: 0,
                tail: "".into(),
            },
        })
    }

    #[test]
    fn a_task_that_runs_is_kept_however_many_end_beside_it() {
        let mut background = Background::default();
        background.apply(1, &started(1));
        for number in 2..=200 {
            background.apply(2, &started(number));
            background.apply(3, &ended(number));
        }
        assert_eq!((background.started, background.tasks.len()), (200, KEPT));
        let alive: Vec<u32> = background.alive().map(|task| task.number).collect();
        assert_eq!(alive, [1]);
        assert!(background.task(200).is_some() && background.task(2).is_none());
    }

    #[test]
    fn the_age_of_a_task_is_that_of_its_processes() {
        let mut background = Background::default();
        background.apply(1_000, &started(1));
        background.skip(500);
        assert_eq!(background.task(1).unwrap().age_ms(2_000), 500);
        background.apply(3_000, &ended(1));
        assert_eq!(background.task(1).unwrap().age_ms(9_000), 5);
    }

    #[test]
    fn the_tasks_of_agents_are_counted_for_their_iteration_and_for_the_run() {
        let by_agent = |number| {
            let mut event = started(number);
            if let Event::Background(BackgroundEvent::Started { by, .. }) = &mut event {
                *by = Requester::Agent;
            }
            event
        };
        let mut background = Background::default();
        for (event, expected) in [
            (by_agent(1), (1, 1, 1)),
            (started(2), (2, 1, 1)),
            (by_agent(3), (3, 2, 2)),
            (iteration_started(2, None, None), (3, 2, 0)),
            (by_agent(4), (4, 3, 1)),
        ] {
            background.apply(1, &event);
            let counts = (background.started, background.by_agents, background.by_agents_now);
            assert_eq!(counts, expected, "{event:?}");
        }
    }
}
