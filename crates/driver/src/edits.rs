//! When to check whether an agent has changed files, and the known state of the tree.
//!
//! No stream reports every changed file: a command may change any. The end of a tool therefore only says when to look,
//! and the tree decides whether there is something to check. If the agent's stream has no tools, looks are periodic.

use std::time::Duration;

use ralph_core::event::{AgentSignal, GoalResult};
use tokio::time::{Instant, sleep_until};

use super::goals::GoalRun;

/// Time after the end of the last tool until the tree is looked at, and the longest that further tools may delay it.
pub(super) const QUIET: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(10);
/// Interval between two looks if the agent's stream has no tools.
const ROUND: Duration = Duration::from_secs(15);

/// The known state of the tree while an agent works. Dropping it ends the running look.
#[derive(Debug, Default)]
pub(super) struct EditWatch {
    /// The tree at the last look; `None` if there is nothing to compare with.
    pub(super) tree: Option<u64>,
    /// The time of the next look.
    due: Option<LookTimes>,
    /// The running look, with the goals that are run for it.
    look: Option<GoalRun>,
    /// The number of the latest look; results of earlier ones are ignored.
    looks: u32,
    /// Whether nothing in the stream says when to look.
    is_blind: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LookTimes {
    at: Instant,
    latest: Instant,
    /// Whether the agent itself has reported a changed file.
    is_edit: bool,
}

/// The result of a look at the tree.
#[derive(Debug)]
pub(super) struct EditLookResult {
    pub(super) look: u32,
    pub(super) iteration: u32,
    /// The tree before and after the goals ran; `None` if there are too many files for a fingerprint.
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
    /// Empty if nothing has changed.
    pub(super) results: Vec<GoalResult>,
}

impl EditWatch {
    /// Schedules a look after a signal that something may have changed.
    pub(super) fn note_signal(&mut self, signal: &AgentSignal, now: Instant) {
        let is_edit = match signal {
            AgentSignal::FileChanged { .. } => true,
            AgentSignal::ToolEnded { .. } => false,
            _ => return,
        };
        let before = self.due;
        let latest = before.map_or(now + PATIENCE, |due| due.latest);
        self.due = Some(LookTimes {
            at: (now + QUIET).min(latest),
            latest,
            is_edit: is_edit || before.is_some_and(|due| due.is_edit),
        });
    }

    /// Waits until a look is due. Cancel safe.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) if self.look.is_none() => sleep_until(due.at).await,
            Some(_) | None => std::future::pending().await,
        }
    }

    pub(super) fn put_off(&mut self, now: Instant, by: Duration) {
        let due = self.due.get_or_insert(LookTimes {
            at: now,
            latest: now,
            is_edit: false,
        });
        (due.at, due.latest) = (now + by, now + by.max(PATIENCE));
    }

    /// Ends a running look so that the goals can be run for another purpose; the look is repeated later.
    pub(super) fn yield_goals(&mut self) {
        if self.look.take().is_some() {
            self.put_off(Instant::now(), QUIET);
        }
    }

    /// Begins to watch an agent that starts with this `tree`, and whose stream reports tools unless it `is_blind`.
    pub(super) fn begin(&mut self, tree: Option<u64>, is_blind: bool) {
        self.end();
        (self.tree, self.is_blind) = (tree, is_blind);
        if is_blind {
            self.put_off(Instant::now(), ROUND);
        }
    }

    /// Begins a look. Returns its number, and whether the agent itself has reported a changed file.
    pub(super) fn next_look(&mut self) -> (u32, bool) {
        self.looks += 1;
        (self.looks, self.due.take().is_some_and(|due| due.is_edit))
    }

    /// Stores the running look.
    pub(super) fn set_look(&mut self, look: GoalRun) {
        self.look = Some(look);
    }

    /// Ends the watch and a running look.
    pub(super) fn end(&mut self) {
        (self.tree, self.due, self.look, self.is_blind) = (None, None, None, false);
    }

    /// Handles the result of a look. Returns false if it is not that of the current look.
    pub(super) fn take(&mut self, seen: &EditLookResult, now: Instant) -> bool {
        if seen.look != self.looks || self.look.take().is_none() {
            return false;
        }
        // Changes by a tool during the look cannot be told from files that the goals have written, so the next look
        // compares with the tree before it.
        let is_dirty = self.due.is_some();
        self.tree = if is_dirty { seen.before } else { seen.after };
        if self.is_blind && !is_dirty {
            self.put_off(now, ROUND);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool() -> AgentSignal {
        AgentSignal::ToolEnded {
            call: String::new(),
            tool: "Bash".to_owned(),
            ok: true,
            output: String::new(),
            duration_ms: None,
        }
    }

    fn at(watch: &EditWatch, start: Instant) -> Option<Duration> {
        watch.due.map(|due| due.at - start)
    }

    #[test]
    fn a_look_waits_until_no_tool_has_ended_for_a_while_and_not_for_ever() {
        let (mut watch, start) = (EditWatch::default(), Instant::now());
        let text = "hm".to_owned();
        watch.note_signal(&AgentSignal::Said { text }, start);
        assert_eq!(at(&watch, start), None);
        for tenths in 0..200 {
            let now = start + Duration::from_millis(100) * tenths;
            watch.note_signal(&tool(), now);
            let expected = (now + QUIET - start).min(PATIENCE);
            assert_eq!(at(&watch, start), Some(expected));
        }
    }

    #[tokio::test]
    async fn a_tool_that_ends_while_goals_run_leads_to_one_more_look() {
        let (mut watch, start) = (EditWatch::default(), Instant::now());
        let seen = |look| EditLookResult {
            look,
            iteration: 1,
            before: Some(1),
            after: Some(2),
            results: Vec::new(),
        };
        let runs = || GoalRun::spawn(std::future::pending());
        watch.next_look();
        watch.set_look(runs());
        assert!(watch.take(&seen(1), start) && watch.due.is_none());
        assert_eq!(watch.tree, Some(2), "what the goals have written is no edit");
        watch.next_look();
        watch.set_look(runs());
        for _ in 0..3 {
            watch.note_signal(&tool(), start);
        }
        assert!(!watch.take(&seen(1), start), "an earlier look");
        assert!(watch.take(&seen(2), start) && watch.due.is_some());
        assert_eq!(watch.tree, Some(1), "compared with the tree that was checked");
        watch.end();
        assert!(!watch.take(&seen(2), start), "the turn is over");
    }
}
