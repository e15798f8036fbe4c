//! One look at the goals: the place of the run's goals, with the packages that the work names, and what their verdict needs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use ralph_core::event::{Checkpoint, Goal, Notice};
use ralph_gate::guard::{FileContent, YardstickFile, changed_files, package_lists};
use ralph_git::Undelivered;

use super::{
    super::{
        goals::{CheckedGoal, ExecutionContext, all_passed, check_all},
        reruns::check_for_claim,
        room::FilledRoom,
        room_packages::{PackageLists, RoomPackages},
    },
    altered::duration,
    beside::{self, Measure, Start},
    ignored::{self, off_loop},
    in_place::blocking,
    setup::{self, Followed},
    without_work::Work,
};

/// The files of a run, with its changes.
pub(in super::super) trait RunFiles: Send + Sync + 'static {
    /// Returns the changes between two checkpoints.
    fn work(&self, from: Option<&Checkpoint>, to: Option<&Checkpoint>) -> Work;
    /// Returns the files of a checkpoint that HEAD has otherwise, without those that are no work.
    fn undelivered(&self, latest: Option<&Checkpoint>) -> Result<Undelivered, String>;
}

/// Goals that were run, and what their verdict needs.
pub(super) struct RanGoals {
    pub(super) checked: Vec<CheckedGoal>,
    /// The results with the originals and what measures, if they were run at the same time.
    pub(super) beside: Option<(Vec<CheckedGoal>, Measure)>,
    pub(super) took: Duration,
    pub(super) notices: Vec<Notice>,
    /// `None` if it was not needed yet.
    pub(super) work: Option<Work>,
    /// Why packages may be those of the work, with the lists that name them.
    pub(super) altered: Option<(String, Vec<YardstickFile>)>,
}

/// The goals of a look, and their place.
pub(super) struct Looking<Run> {
    pub(super) goals: Vec<Goal>,
    pub(super) parallel: bool,
    pub(super) place: Arc<ExecutionContext>,
    pub(super) run_files: Arc<Run>,
    /// The checkpoint before the first iteration, and the latest one.
    pub(super) first: Option<Checkpoint>,
    pub(super) latest: Option<Checkpoint>,
}

impl<Run: RunFiles> Looking<Run> {
    /// Finds the work, and the lists of packages that it changed.
    pub(super) async fn work(&self) -> (Work, PackageLists) {
        let (run_files, first, latest) = (Arc::clone(&self.run_files), self.first.clone(), self.latest.clone());
        let project = self.place.room.as_ref().map(|filled| filled.room.project());
        let found = blocking(move || {
            let work = run_files.work(first.as_ref(), latest.as_ref());
            let files = project.map(|project| package_lists(&project, &work.before));
            let lists = PackageLists {
                files: files.unwrap_or_default(),
                is_by_work: false,
            };
            Ok((work, lists))
        });
        found.await.unwrap_or_default()
    }

    fn run_for_claim(&self, goals: Vec<Goal>) -> impl Future<Output = Vec<CheckedGoal>> + use<Run> {
        check_for_claim(goals, self.parallel, Arc::clone(&self.place))
    }

    /// Runs the goals, in the room with the packages that the work names, if there is one. With the state at the `start`, they
    /// decide a claim.
    pub(super) async fn run(&self, start: Option<Start<'_>>) -> RanGoals {
        let (mut notices, mut packages, mut work) = (Vec::new(), None, None);
        let mut is_accepted = false;
        if let Some(filled) = &self.place.room {
            let (found, mut lists) = self.work().await;
            work = Some(found);
            let accepts = |start: &Start| lists.paths().all(|path| start.accepted.contains(path));
            is_accepted = start.as_ref().is_some_and(accepts);
            lists.is_by_work =
                is_accepted && !lists.is_empty() || filled.of_packages(|packages| packages.need_work(&lists));
            let mut followed = self.follow(filled, &lists).await;
            if let (Some(false), Some(by_work)) = (followed.is_set_up, lists.by_work()) {
                followed = self.follow(filled, &by_work).await;
                lists = by_work;
            }
            lists.is_by_work &= followed.is_set_up == Some(true);
            notices.extend(followed.told);
            packages = Some((lists, followed.objection));
        }
        let began = Instant::now();
        let both = match (&self.place.room, &start, &work) {
            (Some(filled), Some(start), Some(work)) => {
                beside::passing(&self.goals, self.parallel, &self.place, filled, start, work).await
            }
            _ => None,
        };
        let (mut checked, beside) = match (both, &start) {
            (Some(both), _) => (both.as_left, Some((both.with_originals, both.measure))),
            (None, Some(_)) => (self.run_for_claim(self.goals.clone()).await, None),
            (None, None) => {
                let checked = check_all(self.goals.clone(), self.parallel, Arc::clone(&self.place));
                (checked.await, None)
            }
        };
        let took = match beside {
            Some(_) => duration(&checked, self.parallel),
            None => began.elapsed(),
        };
        let mut altered = None;
        if let (Some(filled), Some((mut lists, objection))) = (&self.place.room, packages) {
            if !all_passed(&checked) {
                let left = {
                    let (room, first) = (Arc::clone(&filled.room), self.first.clone());
                    move || room.left_by_agents(first.as_ref())
                };
                let run = |goals| self.run_for_claim(goals);
                let packages = (lists.clone(), objection);
                let (again, notice) = ignored::with_ignored(checked, filled, left, &self.goals, run, packages).await;
                checked = again;
                if let (false, true, Some(by_work)) = (all_passed(&checked), start.is_some(), lists.by_work())
                    && let Some((passed, told)) = self.with_setup_of_work(filled, &by_work).await
                {
                    (checked, notices, lists) = (passed, told, by_work);
                } else {
                    notices.extend(notice);
                }
            }
            if lists.is_by_work && !is_accepted {
                altered = self.altered(filled, &lists, work.as_ref()).await;
            }
        }
        RanGoals {
            checked,
            beside,
            took,
            notices,
            work,
            altered,
        }
    }

    fn follow(&self, filled: &FilledRoom, lists: &PackageLists) -> impl Future<Output = Followed> {
        setup::follow(filled, &self.place, self.first.clone(), lists)
    }

    /// Runs the goals with packages that a setup on all files of the work installs. Returns the results if they pass, and notices.
    async fn with_setup_of_work(
        &self,
        filled: &FilledRoom,
        lists: &PackageLists,
    ) -> Option<(Vec<CheckedGoal>, Vec<Notice>)> {
        let followed = self.follow(filled, lists).await;
        (followed.is_set_up == Some(true)).then_some(())?;
        let results = self.run_for_claim(self.goals.clone()).await;
        all_passed(&results).then_some((results, followed.told))
    }

    /// Returns why packages of the start may not be as they were after a setup on files of the work, and the lists that name them.
    async fn altered(
        &self,
        filled: &FilledRoom,
        lists: &PackageLists,
        work: Option<&Work>,
    ) -> Option<(String, Vec<YardstickFile>)> {
        let found = {
            let filled = filled.clone();
            off_loop(move || Ok(filled.of_packages(RoomPackages::altered))).await
        };
        let why = match found.transpose()? {
            Ok(path) => format!(
                "code of the work may have changed `{}`, as the packages are installed",
                path.display()
            ),
            Err(why) => why,
        };
        let is_list = |(path, _): &&(String, FileContent)| lists.paths().any(|list| list == path);
        let before = work.into_iter().flat_map(|work| &work.before).filter(is_list);
        let before: Vec<_> = before.cloned().collect();
        Some((why, changed_files(&self.place.files(), &before)))
    }
}
