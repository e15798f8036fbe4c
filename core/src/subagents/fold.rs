//! The subagents of an iteration, as reported so far.

use serde::{Deserialize, Serialize};

use super::SubagentReport;
use crate::{event::Usage, run::Shared};

/// Most subagents that are listed. Of more, those that ended first are only counted.
const LISTED: usize = 256;

/// The subagents of an iteration.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subagents {
    /// Number of subagents that were started.
    pub started: u32,
    /// The largest number of subagents between one and the agent, itself included.
    pub depth: u32,
    /// In the order in which they started.
    #[schemars(with = "Vec<Subagent>")]
    pub list: Shared<Vec<Subagent>>,
}

/// A subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subagent {
    pub id: String,
    /// The subagent that started it; `None` for the agent itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    pub title: String,
    /// 1 if the agent itself started it.
    pub depth: u32,
    pub running: bool,
    /// Without that of subagents which it started.
    pub usage: Usage,
}

impl Subagents {
    pub fn is_empty(&self) -> bool {
        self.started == 0
    }

    /// Number of those that are running.
    pub fn running(&self) -> u32 {
        let running = self.list.iter().filter(|subagent| subagent.running).count();
        u32::try_from(running).unwrap_or(u32::MAX)
    }

    pub fn find(&self, id: &str) -> Option<&Subagent> {
        self.list.iter().find(|subagent| subagent.id == id)
    }

    pub(crate) fn apply(&mut self, report: &SubagentReport) {
        let SubagentReport {
            id,
            parent,
            title,
            running,
            usage,
        } = report.clone();
        let is_known = self.find(&id).is_some();
        let depth = match &parent {
            None => 1,
            // A parent that is not listed is a subagent all the same.
            Some(parent) => self.find(parent).map_or(1, |parent| parent.depth).saturating_add(1),
        };
        if !is_known {
            self.started = self.started.saturating_add(1);
            self.make_room();
            self.list.push(Subagent {
                id: id.clone(),
                parent: None,
                title: String::new(),
                depth: 0,
                running,
                usage,
            });
        }
        self.depth = self.depth.max(depth);
        // A circle would be shown nowhere, since nothing leads to it.
        let is_circle = parent.as_deref().is_some_and(|parent| self.is_below(parent, &id));
        if let Some(found) = self.list.iter_mut().find(|subagent| subagent.id == id) {
            *found = Subagent {
                id,
                parent: if is_circle { found.parent.take() } else { parent },
                title: if title.is_empty() { found.title.clone() } else { title },
                depth,
                running,
                usage,
            };
        }
    }

    /// Whether `id` is `top` or one of those below it. No circle is ever listed.
    fn is_below(&self, id: &str, top: &str) -> bool {
        let parent = |id: &&str| self.find(id)?.parent.as_deref();
        std::iter::successors(Some(id), parent).any(|one| one == top)
    }

    /// Marks all as ended: no subagent outlives its agent.
    pub(crate) fn end(&mut self) {
        self.list.iter_mut().for_each(|subagent| subagent.running = false);
    }

    fn make_room(&mut self) {
        if self.list.len() == LISTED {
            let ended = self.list.iter().position(|subagent| !subagent.running);
            self.list.remove(ended.unwrap_or(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(id: &str, parent: Option<&str>, running: bool) -> SubagentReport {
        SubagentReport {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            title: format!("task {id}"),
            running,
            usage: Usage::default(),
        }
    }

    #[test]
    fn a_subagent_is_counted_once_however_often_it_is_reported_and_knows_how_deep_it_is() {
        let mut all = Subagents::default();
        for (id, parent, running) in [
            ("a", None, true),
            ("a", None, true),
            ("b", Some("a"), true),
            ("c", Some("b"), true),
            ("a", None, false),
            ("d", Some("not listed"), true),
            // A parent that names its own descendant as its parent does not loop.
            ("b", Some("c"), true),
        ] {
            all.apply(&report(id, parent, running));
        }
        assert_eq!((all.started, all.running(), all.depth), (4, 3, 4));
        let depths: Vec<(&str, u32)> = all.list.iter().map(|one| (one.id.as_str(), one.depth)).collect();
        assert_eq!(depths, [("a", 1), ("b", 4), ("c", 3), ("d", 2)]);
        let parents = all.list.iter().map(|one| one.parent.as_deref());
        assert_eq!(
            parents.collect::<Vec<_>>(),
            [None, Some("a"), Some("b"), Some("not listed")]
        );
        all.end();
        assert_eq!((all.started, all.running()), (4, 0));
    }

    #[test]
    fn subagents_that_are_each_others_parents_are_below_one_of_them() {
        let mut all = Subagents::default();
        for (id, parent) in [("a", "b"), ("b", "a"), ("c", "c"), ("a", "b")] {
            all.apply(&report(id, Some(parent), true));
        }
        let parents = all.list.iter().map(|one| (one.id.as_str(), one.parent.as_deref()));
        assert_eq!(
            parents.collect::<Vec<_>>(),
            [("a", Some("b")), ("b", None), ("c", None)]
        );
    }

    #[test]
    fn of_many_subagents_those_that_ended_leave_the_list_first_and_stay_counted() {
        let mut all = Subagents::default();
        all.apply(&report("first", None, true));
        all.apply(&report("second", None, true));
        all.apply(&report("second", None, false));
        for number in 0..LISTED {
            all.apply(&report(&number.to_string(), None, true));
            all.apply(&report(&number.to_string(), None, number == 0));
        }
        assert_eq!((all.list.len(), all.started), (LISTED, LISTED as u32 + 2));
        assert!(all.find("first").is_some() && all.find("second").is_none() && all.find("0").is_some());
        assert_eq!(all.running(), 2);
    }
}
