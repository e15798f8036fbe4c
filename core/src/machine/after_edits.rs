//! Results of goals that are run after edits: which of them are new to the agent, and which the next prompt mentions.

use crate::{
    event::{AgentCall, AgentEvent, ClaimEvent, Event, GateEvent, GoalResult, IterationEvent, Missing},
    run::without_numbers,
};

/// Words of a goal's output by which two failures are compared.
const WORDS: usize = 200;

/// The results of goals that were run after edits, as far as the agent has to be told.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AfterEdits {
    /// The latest results of the failing goals.
    failed: Vec<GoalResult>,
    /// The failures that the agent knows, as name and signature.
    known_failures: Vec<(String, String)>,
    /// The latest failures of goals with the files that an iteration left.
    broken: Vec<GoalResult>,
}

impl AfterEdits {
    /// The failures of the last check that no prompt has mentioned yet.
    pub(super) fn failed(&self) -> Vec<Missing> {
        self.failed.iter().map(missing).collect()
    }

    /// The failure of a goal with the files that an iteration left.
    pub(super) fn broken(&self, goal: &str) -> Option<Missing> {
        let is_told = self.failed.iter().any(|result| result.name == goal);
        let found = self.broken.iter().find(|result| result.name == goal && !is_told);
        found.map(missing)
    }

    /// Returns the names of the goals whose result is new to the agent.
    pub(super) fn news(&self, results: &[GoalResult]) -> Vec<String> {
        let news = results.iter().filter(|result| self.is_news(result));
        news.map(|result| result.name.clone()).collect()
    }

    pub(super) fn apply(&mut self, event: &Event) {
        match event {
            // The prompt has mentioned them.
            Event::Iteration(IterationEvent::Started { role, .. }) if role.is_work() => {
                let failed = std::mem::take(&mut self.failed);
                self.known_failures = failed.iter().map(failure_signature).collect();
            }
            Event::Gate(GateEvent::EditsChecked { results, news, .. }) => {
                for result in results {
                    self.take(result);
                    self.tell(result, news);
                }
            }
            Event::Gate(GateEvent::IterationChecked { results, news, .. }) => {
                for result in results {
                    self.broken.retain(|known| known.name != result.name);
                    if result.passed {
                        self.take(result);
                    } else {
                        self.broken.push(result.clone());
                    }
                    self.tell(result, news);
                }
            }
            // The agent knows these results from running the goals itself.
            Event::Agent(AgentEvent::Called {
                call: AgentCall::GoalsChecked { failed, .. },
                ..
            }) => {
                self.failed
                    .retain(|known| failed.iter().any(|name| *name == known.name));
                self.known_failures
                    .retain(|(known, _)| failed.iter().any(|name| name == known));
            }
            Event::Gate(GateEvent::GoalChecked { result, .. }) => {
                self.broken.retain(|known| known.name != result.name);
                let is_known = self.failed.iter().any(|known| known.name == result.name);
                if is_known {
                    self.take(result);
                }
            }
            // The refusal lists the failures.
            Event::Claim(ClaimEvent::Refused { .. }) => self.failed.clear(),
            _ => {}
        }
    }

    fn take(&mut self, result: &GoalResult) {
        self.failed.retain(|known| known.name != result.name);
        if result.passed {
            self.known_failures.retain(|(name, _)| *name != result.name);
        } else {
            self.failed.push(result.clone());
        }
    }

    /// Records that the agent knows the failure, if it is among the `news`.
    fn tell(&mut self, result: &GoalResult, news: &[String]) {
        if news.contains(&result.name) && !result.passed {
            self.known_failures.retain(|(name, _)| *name != result.name);
            self.known_failures.push(failure_signature(result));
        }
    }

    /// Whether `result` is a failure that the agent does not know, or the end of one that it knows.
    pub(super) fn is_news(&self, result: &GoalResult) -> bool {
        let before = self.known_failures.iter().find(|(name, _)| *name == result.name);
        match before {
            Some(before) => result.passed || *before != failure_signature(result),
            None => !result.passed,
        }
    }
}

fn missing(result: &GoalResult) -> Missing {
    Missing::GoalFailed {
        goal: result.name.clone().into(),
        why: result.why.clone(),
        output_tail: (&*result.tail).into(),
    }
}

/// The name of the goal and a signature of its failure, without numbers that vary.
fn failure_signature(result: &GoalResult) -> (String, String) {
    let words: Vec<&str> = without_numbers(&result.tail).take(WORDS).collect();
    (result.name.clone(), format!("{:?} {}", result.exit, words.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Exit, Role},
        machine::gate_tests::goal,
        testing::iteration_started,
    };

    fn passed(name: &str) -> GoalResult {
        GoalResult {
            name: name.to_owned(),
            ..goal(true, None)
        }
    }

    fn failed(name: &str, output: &str) -> GoalResult {
        GoalResult {
            name: name.to_owned(),
            tail: output.into(),
            ..goal(false, None)
        }
    }

    /// Records the results of a check, and returns the names of those that are news.
    fn check(edits: &mut AfterEdits, results: Vec<GoalResult>) -> Vec<String> {
        let news: Vec<String> = results
            .iter()
            .filter(|result| edits.is_news(result))
            .map(|result| result.name.clone())
            .collect();
        edits.apply(&Event::Gate(GateEvent::EditsChecked {
            iteration: 1,
            results,
            news: news.clone(),
            live: false,
        }));
        news
    }

    /// The goals that the next prompt mentions, with their output.
    fn mentioned(edits: &AfterEdits) -> Vec<(String, String)> {
        let failed = edits.failed().into_iter().map(|failure| match failure {
            Missing::GoalFailed { goal, output_tail, .. } => (goal.to_string(), output_tail.to_string()),
            other => panic!("{other:?}"),
        });
        failed.collect()
    }

    fn both_failed() -> AfterEdits {
        let mut edits = AfterEdits::default();
        assert_eq!(
            check(&mut edits, vec![failed("lint", "unused"), failed("tests", "two")]),
            ["lint", "tests"]
        );
        edits
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, output): &(&str, &str)| ((*name).to_owned(), (*output).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn started(role: Role) -> Event {
        let mut started = iteration_started(2, None, None);
        if let Event::Iteration(IterationEvent::Started { role: of, .. }) = &mut started {
            *of = role;
        }
        started
    }

    #[test]
    fn a_failure_is_news_until_it_is_known_and_so_is_its_end() {
        let mut edits = AfterEdits::default();
        let crashed = GoalResult {
            exit: Some(Exit::Signal { signal: 9 }),
            ..failed("tests", "three failed in 9 s")
        };
        for (result, is_news, why) in [
            (passed("tests"), false, "it never failed"),
            (failed("tests", "two failed in 7 s"), true, "the first failure"),
            (failed("tests", "two failed in 8 s"), false, "only a number differs"),
            (failed("tests", "three failed in 8 s"), true, "another output"),
            (crashed, true, "another exit"),
            (passed("tests"), true, "the end of a known failure"),
            (passed("tests"), false, "it passed before"),
            (failed("tests", "three failed in 8 s"), true, "it fails again"),
        ] {
            assert_eq!(!check(&mut edits, vec![result]).is_empty(), is_news, "{why}");
        }
    }

    #[test]
    fn one_goal_says_nothing_of_another() {
        let mut edits = both_failed();
        assert_eq!(check(&mut edits, vec![failed("lint", "shadowed")]), ["lint"]);
        assert_eq!(check(&mut edits, vec![failed("tests", "two")]), [""; 0]);
        assert_eq!(check(&mut edits, vec![passed("lint")]), ["lint"]);
        assert_eq!(check(&mut edits, vec![failed("tests", "two")]), [""; 0]);
    }

    #[test]
    fn the_next_prompt_mentions_the_latest_failure_of_each_goal() {
        let mut edits = both_failed();
        check(&mut edits, vec![failed("lint", "shadowed")]);
        assert_eq!(mentioned(&edits), pairs(&[("tests", "two"), ("lint", "shadowed")]));
        check(&mut edits, vec![passed("tests")]);
        assert_eq!(mentioned(&edits), pairs(&[("lint", "shadowed")]));
    }

    #[test]
    fn what_the_prompt_of_the_author_mentioned_is_known_and_not_mentioned_again() {
        let mut edits = AfterEdits::default();
        // The failure was recorded, but the agent was not told of it.
        edits.apply(&Event::Gate(GateEvent::EditsChecked {
            iteration: 1,
            results: vec![failed("tests", "two")],
            news: Vec::new(),
            live: false,
        }));
        edits.apply(&started(Role::Review { round: 1 }));
        assert_eq!(
            mentioned(&edits),
            pairs(&[("tests", "two")]),
            "the author has not seen it"
        );
        edits.apply(&started(Role::Work));
        assert_eq!(mentioned(&edits), []);
        assert!(!edits.is_news(&failed("tests", "two")));
    }

    #[test]
    fn goals_that_the_agent_runs_itself_are_known_to_it() {
        let mut edits = both_failed();
        edits.apply(&Event::Agent(AgentEvent::Called {
            iteration: 1,
            call: AgentCall::GoalsChecked {
                passed: 1,
                failed: vec!["tests".into()].into(),
            },
        }));
        assert_eq!(mentioned(&edits), pairs(&[("tests", "two")]));
        assert!(!edits.is_news(&passed("lint")), "the agent has seen that it passes");
        assert!(!edits.is_news(&failed("tests", "two")));
    }

    #[test]
    fn goals_that_are_run_after_the_iteration_replace_what_is_mentioned() {
        let mut edits = both_failed();
        for result in [passed("lint"), failed("tests", "three"), failed("slow tests", "one")] {
            edits.apply(&Event::Gate(GateEvent::GoalChecked { iteration: 1, result }));
        }
        assert_eq!(mentioned(&edits), pairs(&[("tests", "three")]));
        edits.apply(&Event::Claim(ClaimEvent::Refused {
            iteration: 1,
            reasons: Vec::new().into(),
        }));
        assert_eq!(mentioned(&edits), [], "the refusal lists the failures");
    }
}
