//! The agent's calls of ralph's own tools. Like its last message, they are only its word and are judged later.

use crate::event::{
    AgentCall, AgentEvent, Ask, AskEvent, Delivery, Event, Missing, PlanSnapshot, Question, SteeringEvent, Tail,
};

use super::{
    decision::{StepDecision, is_running},
    gate,
    state::LoopState,
};

/// Maximum number of recorded calls per iteration. Further ones are refused.
const CALLS: u32 = 64;
const CALLS_OF_RUN: u32 = 4_096;

/// Records a call by the author of `iteration`. A call that is not recorded is refused.
pub(super) fn called(decision: &mut StepDecision, iteration: u32, call: &AgentCall) {
    if !may_call(&decision.state, iteration) {
        return;
    }
    let call = match call.clone() {
        AgentCall::Claimed { reasons } => AgentCall::Claimed {
            reasons: reasons.into_iter().map(without_output).collect(),
        },
        call => call,
    };
    decision.push(Event::Agent(AgentEvent::Called { iteration, call }));
}

/// Records a question by the author of `iteration`, which counts as a call.
pub(super) fn asked(decision: &mut StepDecision, iteration: u32, question: &Question) {
    if may_call(&decision.state, iteration) {
        let number = decision.state.view.permissions.asked + 1;
        let ask = Box::new(Ask::by_tool(number, iteration, &question.bounded()));
        decision.push(Event::Ask(AskEvent::Asked { ask }));
    }
}

fn may_call(state: &LoopState, iteration: u32) -> bool {
    let calls = &state.view.calls;
    let is_author = state.view.role.is_work();
    is_author && is_running(state, iteration) && calls.count_now < CALLS && calls.count < CALLS_OF_RUN
}

/// Records that the agent of `iteration` fetched the answer to question `ask`, so that no prompt repeats it.
pub(super) fn answer_fetched(decision: &mut StepDecision, iteration: u32, ask: u32) {
    let mut messages = decision.state.view.messages.iter();
    let due = messages.find(|message| message.answers == Some(ask) && message.is_queued());
    if let Some(id) = due.map(|message| message.id)
        && is_running(&decision.state, iteration)
    {
        decision.push(Event::Steering(SteeringEvent::Delivered {
            id,
            iteration,
            how: Delivery::Live,
        }));
    }
}

/// Why the plan contradicts a claim made now. `plan` is the plan on disk, and `vanished` are tasks that an agent
/// removed since the last reading.
pub fn claim_reasons(state: &LoopState, plan: &PlanSnapshot, vanished: &[String]) -> Vec<Missing> {
    let mut missing = state.view.missing.clone();
    plan.take_back(&state.view.plan, &mut missing);
    missing.extend(vanished.iter().cloned());
    let left_out = plan.with_dependents(&state.view.set_aside_by_user);
    gate::plan_reasons(plan, &missing, &left_out).collect()
}

/// Drops the output of the goals, which the agent has already read.
fn without_output(missing: Missing) -> Missing {
    match missing {
        Missing::GoalFailed { goal, why, .. } => Missing::GoalFailed {
            goal,
            why,
            output_tail: Tail::default(),
        },
        missing => missing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        event::{AnswerPlace, AnsweredAsk, Role, Settings, SteeringId, SteeringKind},
        machine::{
            Input,
            testing::{self, Run},
        },
        run::Phase,
    };

    fn running() -> Run {
        let mut run = Run::begun(Settings::default());
        run.prepared(testing::preparation(testing::plan(&[("one", false), ("two", false)])));
        run
    }

    fn noted() -> AgentCall {
        let note = "half of it".into();
        AgentCall::Noted { note }
    }

    fn question() -> Box<Question> {
        Box::new(Question {
            text: "Which colour?".to_owned(),
            free_text: true,
            ..Question::default()
        })
    }

    /// The events of an input after a change of the state.
    fn recorded(change: impl Fn(&mut LoopState), input: &Input) -> Vec<Event> {
        let mut run = running();
        change(&mut run.state);
        run.take(input);
        run.events
    }

    fn called() -> Input {
        let (iteration, call) = (1, noted());
        Input::AgentCalled { iteration, call }
    }

    fn asked() -> Input {
        Input::AgentAsked {
            iteration: 1,
            question: question(),
        }
    }

    #[test]
    fn a_call_is_recorded_if_the_author_makes_it_while_it_works() {
        for input in [called(), asked()] {
            let is_recorded = |change: fn(&mut LoopState)| !recorded(change, &input).is_empty();
            assert!(is_recorded(|_| {}));
            assert!(!is_recorded(|state| state.view.role = Role::Review { round: 1 }));
            assert!(!is_recorded(|state| state.view.phase = Phase::Paused));
        }
        let mut run = running();
        let (iteration, call) = (2, noted());
        run.take(&Input::AgentCalled { iteration, call });
        assert_eq!(run.events, [], "it is another iteration");
    }

    #[test]
    fn so_many_calls_are_recorded_of_an_iteration_and_of_a_run() {
        for input in [called(), asked()] {
            let is_recorded = |change: fn(&mut LoopState)| !recorded(change, &input).is_empty();
            assert!(is_recorded(|state| state.view.calls.count_now = 63));
            assert!(!is_recorded(|state| state.view.calls.count_now = 64));
            assert!(is_recorded(|state| state.view.calls.count = 4_095));
            assert!(!is_recorded(|state| state.view.calls.count = 4_096));
        }
    }

    #[test]
    fn a_question_gets_the_number_after_those_asked_before() {
        let events = recorded(|state| state.view.permissions.asked = 2, &asked());
        let ask = Box::new(Ask::by_tool(3, 1, &question()));
        assert_eq!(events, [Event::Ask(AskEvent::Asked { ask })]);
    }

    #[test]
    fn an_answer_that_the_agent_fetched_is_delivered_once() {
        let mut run = running();
        let queued = |id, ask: Option<u32>| {
            Event::Steering(SteeringEvent::Queued {
                id: SteeringId(id),
                kind: SteeringKind::Next,
                text: "red".to_owned(),
                answers: ask.map(|ask| {
                    Box::new(AnsweredAsk {
                        ask,
                        question: "Which colour?".to_owned(),
                        at: AnswerPlace::Screen,
                    })
                }),
            })
        };
        for queued in [queued(1, None), queued(2, Some(1)), queued(3, Some(2))] {
            run.state.apply_event(run.now_ms, &queued);
        }
        let fetched = |run: &mut Run, iteration, ask| {
            run.take(&Input::AnswerFetched { iteration, ask });
            run.events.clone()
        };
        assert_eq!(fetched(&mut run, 1, 9), [], "there is no such question");
        assert_eq!(fetched(&mut run, 2, 1), [], "it is another iteration");
        let delivered = Event::Steering(SteeringEvent::Delivered {
            id: SteeringId(2),
            iteration: 1,
            how: Delivery::Live,
        });
        assert_eq!(fetched(&mut run, 1, 1), [delivered]);
        assert_eq!(fetched(&mut run, 1, 1), []);
    }

    #[test]
    fn a_claim_is_refused_at_once_for_open_and_removed_tasks() {
        let mut state = running().state;
        let on_disk = testing::plan(&[("one", true), ("two", false)]);
        let open = Missing::TasksOpen {
            open: 1,
            next: "two".into(),
        };
        let vanished = |task: &str| Missing::TaskVanished { task: task.into() };
        assert_eq!(claim_reasons(&state, &on_disk, &[]), std::slice::from_ref(&open));
        assert_eq!(
            claim_reasons(&state, &on_disk, &["three".to_owned()]),
            [open, vanished("three")]
        );
        state.view.set_aside_by_user.push("two".to_owned());
        assert_eq!(claim_reasons(&state, &on_disk, &[]), [], "the run is done without it");
        state.view.missing = ["four", "one"].map(str::to_owned).to_vec();
        state.view.plan = testing::plan(&[("two", false)]).into();
        assert_eq!(
            claim_reasons(&state, &on_disk, &[]),
            [vanished("four")],
            "the other one is back"
        );
    }
}
