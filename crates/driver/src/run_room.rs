//! The room that a run has, or why its goals run in the project's directory.

use std::{path::PathBuf, sync::Arc};

use parking_lot::Mutex;
use ralph_core::event::{Checkpoint, GoalResult, Notice, RoomUse, RunId, TestCounts};
use ralph_git::Repository;
use ralph_system::paths::ProjectPaths;

use super::room::{FilledRoom, Room};

/// The room of a run, if it has one.
#[derive(Debug)]
pub(super) struct RunRoom {
    wanted: RoomUse,
    state: Mutex<RoomState>,
}

#[derive(Debug, Clone)]
enum RoomState {
    NotMade,
    Made(Arc<Room>),
    /// Goals run in the project's directory, for this reason.
    GivenUp(String),
}

impl RunRoom {
    /// Finds the room that an earlier process has made for this run.
    pub(super) fn resuming(
        wanted: RoomUse,
        paths: &ProjectPaths,
        run: &RunId,
        repository: Option<&Arc<Repository>>,
    ) -> RunRoom {
        let repository = repository.filter(|_| wanted != RoomUse::Off);
        let room = repository.and_then(|repository| Room::of_run(paths, run, repository));
        let state = room.map_or(RoomState::NotMade, |room| RoomState::Made(Arc::new(room)));
        RunRoom {
            wanted,
            state: Mutex::new(state),
        }
    }

    /// Gives the room up, and returns a notice of that.
    fn give_up(&self, state: &mut RoomState, why: &str) -> Notice {
        let why = match self.wanted {
            RoomUse::Off => "`room` is \"off\"",
            RoomUse::Auto | RoomUse::Required => why,
        };
        *state = RoomState::GivenUp(why.to_owned());
        in_place(why)
    }

    /// Checks that goals have the room that the settings require.
    ///
    /// # Errors
    /// Why they do not have it.
    pub(super) fn check(&self) -> Result<(), String> {
        match &*self.state.lock() {
            RoomState::GivenUp(why) if self.wanted == RoomUse::Required => Err(why.clone()),
            RoomState::NotMade | RoomState::Made(_) | RoomState::GivenUp(_) => Ok(()),
        }
    }

    /// Makes the room before the first agent works. Returns a notice if that is not possible.
    pub(super) fn make(&self, make: impl FnOnce() -> Result<Room, String>) -> Option<Notice> {
        let mut state = self.state.lock();
        if !matches!(*state, RoomState::NotMade) {
            return None;
        }
        if self.wanted == RoomUse::Off {
            return Some(self.give_up(&mut state, ""));
        }
        match make() {
            Ok(room) => {
                let text = "goals read caches as agents leave them, since this system has no layers over directories (overlayfs)";
                let told = (!room.hides_caches()).then(|| Notice::warning("caches-open", text));
                *state = RoomState::Made(Arc::new(room));
                told
            }
            Err(why) => Some(self.give_up(&mut state, &why)),
        }
    }

    /// Gives the room up if it was not made before the first agent, and returns a notice of that.
    pub(super) fn miss(&self) -> Option<Notice> {
        let mut state = self.state.lock();
        matches!(*state, RoomState::NotMade)
            .then(|| self.give_up(&mut state, "the run has no copy from before its first agent"))
    }

    /// Returns the room with the files of a checkpoint; `None` if there is no room. Without a checkpoint it has to be new, as
    /// no agent has worked.
    ///
    /// # Errors
    /// A notice if the room does not have the files.
    pub(super) fn filled(&self, checkpoint: Option<Checkpoint>, is_new: bool) -> Result<Option<FilledRoom>, Notice> {
        let RoomState::Made(room) = self.state.lock().clone() else {
            return Ok(None);
        };
        match room.filled(checkpoint, is_new) {
            Ok(filled) => Ok(Some(filled)),
            Err(why) => Err(in_place(&why)),
        }
    }

    /// Returns the first packages of the room that the project's directory does not have.
    pub(super) fn missing_packages(&self) -> Vec<PathBuf> {
        match &*self.state.lock() {
            RoomState::Made(room) => room.missing_packages(),
            RoomState::NotMade | RoomState::GivenUp(_) => Vec::new(),
        }
    }

    /// Compares results of goals in the room and in the project's directory, before an agent has worked. Gives the room up
    /// if it lacks something that they need, and returns a notice of that.
    pub(super) fn compare(&self, inside: &[GoalResult], outside: &[GoalResult]) -> Option<Notice> {
        let ran = |result: &GoalResult| result.tests.as_ref().map(TestCounts::ran);
        let mut pairs = inside.iter().zip(outside);
        let (worse, _) = pairs.find(|(inside, outside)| {
            outside.passed && !inside.passed || outside.passed == inside.passed && ran(outside) > ran(inside)
        })?;
        let why = format!("`{}` does not find all that it needs in a copy", worse.name);
        Some(self.give_up(&mut self.state.lock(), &why))
    }
}

fn in_place(why: &str) -> Notice {
    let text = format!("goals run in the project's directory, where agents work: {why}");
    Notice::warning("goals-in-place", text)
}
