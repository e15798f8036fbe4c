//! Goals that are run after edits, while the agent works.
//!
//! Their results decide nothing: at the end of the iteration, the gate uses goals that it runs itself.

use crate::{
    event::{Event, GateEvent, GoalResult, Tail, clip_start},
    run::Phase,
};

use super::{
    decision::{StepDecision, is_running},
    state::LoopState,
};

/// Maximum number of checks per iteration.
const CHECKS: u32 = 256;
const CHECKS_OF_RUN: u32 = 8_192;
/// Maximum size of a failing goal's output that the agent gets, in bytes.
const TAIL_BYTES: usize = 2048;

/// Whether goals are run after edits of the agent that is working now.
pub fn checks_edits(state: &LoopState) -> bool {
    let view = &state.view;
    matches!(view.phase, Phase::Running { .. })
        && view.role.is_work()
        && state.internal.verdict.is_none()
        && view.edit_checks.count_now < CHECKS
        && view.edit_checks.count < CHECKS_OF_RUN
        && view.settings.goals.iter().any(|goal| goal.on_edit)
}

/// Records the results of goals that were run after edits. New results are sent to an agent with live steering.
pub(super) fn checked(decision: &mut StepDecision, iteration: u32, results: &[GoalResult]) {
    if !is_running(&decision.state, iteration) || !checks_edits(&decision.state) {
        return;
    }
    let results: Vec<GoalResult> = results.iter().map(shortened).collect();
    let news = decision.state.internal.after_edits.news(&results);
    let live_steering = takes_messages(&decision.state.view.phase);
    decision.push(Event::Gate(GateEvent::EditsChecked {
        iteration,
        live: live_steering && !news.is_empty(),
        results,
        news,
    }));
}

/// Records the results of goals with the files that an iteration left. A goal that passed before and fails now is in the
/// next prompt, and is told at once to an agent with live steering.
pub(super) fn iteration_checked(decision: &mut StepDecision, iteration: u32, results: &[GoalResult]) {
    let view = &decision.state.view;
    if view.is_over() || iteration > view.iterations.number || view.edit_checks.count >= CHECKS_OF_RUN {
        return;
    }
    let status = |result: &GoalResult| view.goals.iter().find(|goal| goal.name == result.name);
    let is_telling = |result: &&GoalResult| {
        let at_start = view.iterations.at_start.goal(&result.name);
        result.passed || status(result).is_some_and(|status| status.is_broken_by(result, at_start))
    };
    let is_before_break = |result: &&GoalResult| status(result).is_some_and(|status| status.is_before_break(iteration));
    let (earlier, latest): (Vec<&GoalResult>, Vec<&GoalResult>) = results.iter().partition(is_before_break);
    let results: Vec<GoalResult> = latest.into_iter().filter(is_telling).map(shortened).collect();
    for result in earlier {
        decision.push(Event::Gate(GateEvent::BreakSought {
            iteration,
            goal: result.name.clone().into(),
            passed: result.passed,
        }));
    }
    let view = &decision.state.view;
    if results.is_empty() {
        return;
    }
    let news = decision.state.internal.after_edits.news(&results);
    let live = takes_messages(&view.phase)
        && view.role.is_work()
        && decision.state.internal.verdict.is_none()
        && !news.is_empty();
    decision.push(Event::Gate(GateEvent::IterationChecked {
        iteration,
        results,
        news,
        live,
    }));
}

/// Whether an agent works that takes messages meanwhile.
fn takes_messages(phase: &Phase) -> bool {
    matches!(
        phase,
        Phase::Running {
            live_steering: true,
            ..
        }
    )
}

/// Drops the output of a goal that passed, and shortens that of a failed one.
fn shortened(result: &GoalResult) -> GoalResult {
    let tail = match result.passed {
        true => Tail::default(),
        false => clip_start(result.tail.trim(), TAIL_BYTES).into(),
    };
    GoalResult { tail, ..result.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{Goal, Missing, Role, Settings, Suspects},
        machine::{
            Effect, Feedback, Input, Preparation,
            gate_tests::goal,
            testing::{self, Run},
        },
    };

    /// A run with a goal that is checked on edits, whose first iteration is running.
    fn running(live_steering: bool) -> Run {
        let goal = |on_edit| Goal {
            name: "tests".to_owned(),
            on_edit,
            ..Goal::default()
        };
        let mut run = Run::begun(Settings {
            goals: vec![goal(false), goal(true)],
            ..Settings::default()
        });
        run.prepared(Preparation {
            live_steering,
            ..testing::preparation(testing::plan(&[("task", false)]))
        });
        run
    }

    fn result(name: &str, passed: bool, output: &str) -> GoalResult {
        GoalResult {
            name: name.to_owned(),
            tail: output.into(),
            ..goal(passed, None)
        }
    }

    /// Takes the results of a check. Returns which of them are news, and whether the agent is told at once.
    fn check(run: &mut Run, results: Vec<GoalResult>) -> Option<(Vec<String>, bool)> {
        run.take(&Input::EditsChecked { iteration: 1, results });
        match &run.events[..] {
            [] => None,
            [Event::Gate(GateEvent::EditsChecked { news, live, .. })] => Some((news.clone(), *live)),
            events => panic!("{events:?}"),
        }
    }

    #[test]
    fn news_is_told_at_once_to_an_agent_that_accepts_messages_and_to_others_in_the_next_prompt() {
        let failed = result("tests", false, "2 failed");
        let results = || vec![result("lint", true, ""), failed.clone()];
        let news = vec!["tests".to_owned()];
        for live in [true, false] {
            let mut run = running(live);
            assert_eq!(check(&mut run, results()), Some((news.clone(), live)));
            let told = Effect::TellGoals {
                results: vec![failed.clone()],
            };
            assert_eq!(run.effects, if live { vec![told] } else { vec![] });
            let failures = Feedback::FailedAfterEdits {
                failed: vec![Missing::GoalFailed {
                    goal: "tests".into(),
                    why: None,
                    output_tail: "2 failed".into(),
                }],
            };
            assert!(run.state.prompt_feedback().contains(&failures));
            assert_eq!(check(&mut run, results()), Some((vec![], false)), "it is no news");
            assert_eq!(run.effects, []);
        }
    }

    #[test]
    fn of_the_output_only_the_end_of_a_failure_is_kept() {
        let mut run = running(false);
        let long = "x".repeat(3_000) + " the end ";
        check(
            &mut run,
            vec![result("lint", true, &long), result("tests", false, &long)],
        );
        let [Event::Gate(GateEvent::EditsChecked { results, .. })] = &run.events[..] else {
            panic!("{:?}", run.events);
        };
        let tails: Vec<&str> = results.iter().map(|result| result.tail.as_str()).collect();
        assert_eq!(tails[0], "");
        assert!(
            tails[1].len() <= TAIL_BYTES && tails[1].ends_with("x the end"),
            "{}",
            tails[1]
        );
    }

    #[test]
    fn edits_are_checked_while_the_author_works_on_a_run_with_such_goals_and_not_for_ever() {
        type Change = fn(&mut LoopState);
        let checks_after = |change: Change| {
            let mut state = running(false).state;
            change(&mut state);
            checks_edits(&state)
        };
        assert!(checks_after(|_| {}));
        assert!(checks_after(|state| state.view.edit_checks.count_now = CHECKS - 1));
        assert!(checks_after(|state| state.view.edit_checks.count = CHECKS_OF_RUN - 1));
        let changes: [(Change, &str); 6] = [
            (|state| state.view.phase = Phase::Paused, "no agent works"),
            (|state| state.view.role = Role::Review { round: 1 }, "a reviewer works"),
            (|state| state.internal.verdict = Some(true), "the turn is over"),
            (|state| state.view.edit_checks.count_now = CHECKS, "one iteration"),
            (|state| state.view.edit_checks.count = CHECKS_OF_RUN, "the whole run"),
            (|state| state.view.settings.goals.truncate(1), "no such goal"),
        ];
        for (change, why) in changes {
            assert!(!checks_after(change), "{why}");
        }
    }

    /// Takes results with the files of an iteration. Returns which of them are news, and whether the agent is told at once.
    fn look_at(run: &mut Run, iteration: u32, results: Vec<GoalResult>) -> Option<(Vec<String>, bool)> {
        run.take(&Input::IterationChecked { iteration, results });
        match &run.events[..] {
            [] => None,
            [Event::Gate(GateEvent::IterationChecked { news, live, .. })] => Some((news.clone(), *live)),
            events => panic!("{events:?}"),
        }
    }

    #[test]
    fn a_goal_that_passed_and_fails_is_in_each_prompt_until_it_passes() {
        for live in [true, false] {
            let mut run = running(live);
            let failed = || vec![result("tests", false, "2 failed")];
            let passed = || vec![result("tests", true, "")];
            assert_eq!(look_at(&mut run, 1, failed()), None, "its work is still to be done");
            assert_eq!(look_at(&mut run, 2, failed()), None, "no such iteration");
            assert_eq!(look_at(&mut run, 1, passed()), Some((vec![], false)));
            assert_eq!(
                look_at(&mut run, 1, failed()),
                Some((vec!["tests".to_owned()], live)),
                "it is broken"
            );
            assert_eq!(look_at(&mut run, 1, failed()), Some((vec![], false)), "that is no news");
            let broken = Feedback::Broken {
                by: Suspects { first: 1, last: 1 },
                failed: Missing::GoalFailed {
                    goal: "tests".into(),
                    why: None,
                    output_tail: "2 failed".into(),
                },
            };
            assert!(run.state.prompt_feedback().contains(&broken));
            assert_eq!(look_at(&mut run, 1, passed()), Some((vec!["tests".to_owned()], live)));
            assert!(!run.state.prompt_feedback().contains(&broken));
        }
    }

    #[test]
    fn of_a_goal_that_failed_at_the_start_only_other_tests_can_break() {
        let named = |names: &[&str]| GoalResult {
            failed_tests: names.iter().map(|name| (*name).into()).collect(),
            ..result("tests", false, "failed")
        };
        let mut run = running(false);
        run.state.view.iterations.at_start.goals = vec![named(&["adds"])];
        assert_eq!(look_at(&mut run, 1, vec![named(&["adds"])]), None);
        let news = vec!["tests".to_owned()];
        assert_eq!(
            look_at(&mut run, 1, vec![named(&["adds", "subtracts"])]),
            Some((news, false))
        );
    }

    #[test]
    fn results_that_come_too_late_are_dropped() {
        let failed = || vec![result("tests", false, "2 failed")];
        let mut run = running(true);
        run.take(&Input::EditsChecked {
            iteration: 2,
            results: failed(),
        });
        assert_eq!((&run.events[..], &run.effects[..]), (&[][..], &[][..]));
        let [turn_ended, _] = testing::agent_end();
        run.signal(turn_ended);
        assert_eq!(check(&mut run, failed()), None);
    }
}
