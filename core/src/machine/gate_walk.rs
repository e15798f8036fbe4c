//! Walks through all outcomes of claims with counted tests, trials, mutants, and tests that agents change on purpose.
//! Separate from the other enumeration, which does not cover tests.

use std::collections::{BTreeSet, HashSet, VecDeque};

use crate::{
    event::{
        AgentCall, AgentSignal, Answer, AnswerPlace, ConfirmedBy, Event, Exit, GateEvent, Limits, MutantOutcome,
        MutantTarget, Proof, RequestedBy, Settings, StopReason, StopRequest, TestCounts, TestsChange, Trial,
        TriedMutant, UserCommand,
    },
    run::Phase,
};

use super::{
    FoundTests, Input, LoopState, Settlement, Statement, Step, Verification,
    gate_tests::{change, counts, found, goal, plan, settings, trial, tried},
    step, testing,
};

const STEP_MS: u64 = 1_000;
/// Maximum number of questions per run in the walk.
const ASKS: u32 = 2;

fn started() -> LoopState {
    let limits = Limits {
        max_iterations: Some(2),
        ..Limits::default()
    };
    let settings = Settings { limits, ..settings() };
    step(
        LoopState::default(),
        STEP_MS,
        &Input::Start(Box::new(testing::start(settings))),
    )
    .state
}

fn command(command: UserCommand) -> Input {
    Input::Command {
        command,
        by: RequestedBy::User,
    }
}

/// All outcomes of a verification.
fn verifications() -> Vec<Verification> {
    let mut all = Vec::new();
    let missed = |target| vec![tried(target, MutantOutcome::Missed); 3];
    for (passed, ran) in [
        (true, Some(3)),
        (true, Some(2)),
        (true, Some(0)),
        (true, None),
        (false, Some(3)),
        (false, None),
    ] {
        let result = goal(passed, ran.and_then(|ran| counts(ran, 0)));
        let unmade = trial(result.clone()).map(|trial| Trial {
            problem: Some("in the way".into()),
            ..trial
        });
        for trial in [
            None,
            trial(goal(true, counts(3, 0))),
            trial(goal(false, counts(3, 0))),
            unmade,
        ] {
            for mutants in [
                Vec::new(),
                missed(MutantTarget::Test),
                missed(MutantTarget::WorkTest),
                vec![tried(MutantTarget::Comment, MutantOutcome::Noticed)],
                missed(MutantTarget::Work),
                vec![tried(MutantTarget::Test, MutantOutcome::Noticed)],
            ] {
                // Failed goals are not tried further.
                if passed || (trial.is_none() && mutants.is_empty()) {
                    let trial = trial.clone();
                    all.push(Verification {
                        trial,
                        mutants,
                        ..found(result.clone(), true)
                    });
                }
            }
        }
    }
    all
}

/// All inputs that may arrive in `state` and concern tests.
fn alphabet(state: &LoopState) -> Vec<Input> {
    let iteration = match state.view.phase {
        Phase::Preparing { iteration }
        | Phase::Running { iteration, .. }
        | Phase::Cancelling { iteration, .. }
        | Phase::Settling { iteration, .. }
        | Phase::Verifying { iteration, .. } => iteration,
        Phase::Idle | Phase::Waiting { .. } | Phase::Paused | Phase::Stopped { .. } => state.view.iterations.number,
    };
    let mut inputs = vec![
        command(UserCommand::Stop {
            stop: StopRequest::Graceful,
        }),
        Input::Recover {
            pid: 2,
            settings: Box::new((*state.view.settings).clone()),
            pause_file: false,
            day: None,
        },
        Input::AgentCalled {
            iteration,
            call: AgentCall::TestsChanged { why: "asked".into() },
        },
        Input::Agent {
            iteration,
            signal: AgentSignal::TurnEnded {
                ok: true,
                message: None,
            },
        },
        Input::Agent {
            iteration,
            signal: AgentSignal::Ended {
                exit: Some(Exit::Code { code: 0 }),
                output_bytes: 1,
            },
        },
    ];
    for ask in 1..=ASKS {
        for answer in [Answer::Allow { remember: None }, Answer::Deny { message: None }] {
            let at = AnswerPlace::Page;
            inputs.push(command(UserCommand::Answer { ask, answer, at }));
        }
    }
    for done in [false, true] {
        inputs.push(Input::Prepared {
            iteration,
            result: Ok(testing::preparation(plan(done))),
        });
        let change = TestsChange {
            changes: vec![change()].into(),
            ..TestsChange::default()
        };
        for allowed in [None, Some(false), Some(true)] {
            let tests = allowed.map(|allowed| {
                let change = change.clone();
                Box::new(FoundTests { change, allowed })
            });
            let settlement = Box::new(Settlement {
                tests,
                ..Settlement::from_plan(Ok(plan(done)), 0.5)
            });
            inputs.push(Input::Settled { iteration, settlement });
        }
    }
    for tests_changed in [None, Some("why".to_owned())] {
        let statement = Statement {
            tests_changed,
            ..Statement::default()
        };
        inputs.push(Input::AgentStated { iteration, statement });
    }
    if matches!(state.view.phase, Phase::Verifying { .. }) {
        inputs.extend(verifications().into_iter().map(|verification| Input::Verified {
            iteration,
            verification: Box::new(verification),
        }));
    }
    inputs
}

fn proof(state: &LoopState) -> Option<Proof> {
    match state.view.stop_reason() {
        Some(StopReason::Done { proof, .. }) => Some(*proof),
        _ => None,
    }
}

/// Whether the latest results justify a verified end: counted tests, not fewer than before, that pass in their original
/// form.
fn proves(state: &LoopState) -> bool {
    let look = state.view.iterations.latest_assessment();
    let ran = look
        .goals
        .iter()
        .map(|goal| goal.tests.as_ref().map_or(0, |tests| tests.ran()));
    let before = state
        .view
        .goals
        .iter()
        .map(|goal| goal.baseline.as_ref().map_or(0, |tests| tests.ran()));
    let (ran, before): (u32, u32) = (ran.sum(), before.sum());
    let is_tried = look
        .trial
        .as_ref()
        .is_none_or(|trial| trial.problem.is_none() && trial.results.iter().all(|result| result.passed));
    let count = |target, outcome| {
        let mutants = look.mutants.iter();
        let is_one = |tried: &&TriedMutant| tried.outcome == outcome && tried.mutant.target == target;
        mutants.filter(is_one).count()
    };
    let notices = count(MutantTarget::Test, MutantOutcome::Missed) < 3
        && count(MutantTarget::WorkTest, MutantOutcome::Missed) < 2
        && count(MutantTarget::Comment, MutantOutcome::Noticed) == 0;
    let tried = look.trial.iter().flat_map(|trial| &trial.results);
    let originals: u32 = tried.map(|goal| goal.tests.as_ref().map_or(0, TestCounts::ran)).sum();
    let runs_as_many = ran >= before || originals >= before;
    look.goals.iter().all(|goal| goal.passed) && ran > 0 && runs_as_many && is_tried && notices
}

fn check(before: &LoopState, input: &Input, step: &Step) {
    let after = &step.state;
    let context = || format!("in {:?} after {input:?}: {:?}", before.view.phase, step.events);
    let mut folded = before.clone();
    step.events.iter().for_each(|event| folded.apply_event(STEP_MS, event));
    assert!(folded == *after, "the state is not the fold {}", context());
    let confirmed = step.events.iter().find_map(|event| match event {
        Event::Gate(GateEvent::TestsConfirmed { by, .. }) => Some(by),
        _ => None,
    });
    match confirmed {
        Some(ConfirmedBy::User { .. }) => {
            let says_yes = matches!(
                input,
                Input::Command {
                    command: UserCommand::Answer {
                        answer: Answer::Allow { .. },
                        ..
                    },
                    ..
                }
            );
            assert!(says_yes, "confirmed by nobody {}", context());
        }
        Some(ConfirmedBy::Plan { .. }) => {
            let allows = matches!(input, Input::Settled { settlement, .. }
                if settlement.tests.as_ref().is_some_and(|tests| tests.allowed));
            assert!(allows, "confirmed by no plan {}", context());
        }
        None => {}
    }
    match (proof(before), proof(after)) {
        (None, Some(Proof::Tests)) => assert!(proves(after), "verified without proof {}", context()),
        (None, Some(Proof::Unconfirmed)) => {
            assert!(after.view.changed_tests.why.is_some(), "nobody said why {}", context());
        }
        (Some(old), Some(new)) if old != new => {
            let is_confirmed = (old, new) == (Proof::Unconfirmed, Proof::Tests) && confirmed.is_some();
            assert!(is_confirmed, "an end became another {}", context());
        }
        _ => {}
    }
    assert!(
        !(before.internal.confirmed_meanwhile && after.view.is_over() && matches!(input, Input::Verified { .. })),
        "judged by tests that do not count any more {}",
        context()
    );
    let questions = after.view.permissions.unanswered.iter();
    let questions = questions.filter(|ask| ask.is_about_tests()).count();
    assert!(questions <= 1, "asked twice {}", context());
}

/// The parts of a state that determine decisions about tests.
fn essence(state: &LoopState) -> String {
    let view = &state.view;
    let changed = &view.changed_tests;
    let baseline: Vec<_> = view
        .goals
        .iter()
        .map(|goal| goal.baseline.as_ref().map(|tests| tests.passed))
        .collect();
    let due = view.messages.iter().filter(|message| message.is_due()).count();
    let phase = match &view.phase {
        Phase::Settling { outcome, .. } => format!("settling {outcome:?}"),
        Phase::Verifying { outcome, .. } => format!("verifying {outcome:?}"),
        phase => format!("{:?}", std::mem::discriminant(phase)),
    };
    format!(
        "{phase} {} {} {} {} {} {:?} {baseline:?} {due} {:?} {} {:?} {:?}",
        view.iterations.number,
        view.plan.open(),
        changed.why.is_some(),
        changed.confirmed.len().min(2),
        state.internal.confirmed_meanwhile,
        view.permissions.about_tests().map(|ask| ask.number),
        view.stop.map(|stop| stop.request),
        state.internal.looked,
        view.stop_reason(),
        state.internal.verdict,
    )
}

#[test]
fn no_way_through_the_gate_ends_verified_without_counted_tests_that_pass_as_they_count() {
    let mut seen = HashSet::new();
    let (mut steps, mut proofs) = (0, BTreeSet::new());
    let mut queue = VecDeque::from([started()]);
    while let Some(state) = queue.pop_front() {
        for input in alphabet(&state) {
            let step = step(state.clone(), STEP_MS, &input);
            check(&state, &input, &step);
            steps += 1;
            proofs.extend(proof(&step.state));
            if step.state.view.permissions.asked <= ASKS && seen.insert(essence(&step.state)) {
                queue.push_back(step.state);
            }
        }
    }
    assert!(
        seen.len() >= 2_639 && steps >= 61_842,
        "{} states, {steps} steps",
        seen.len()
    );
    for proof in [Proof::ExitCodes, Proof::Tests, Proof::Unconfirmed] {
        assert!(proofs.contains(&proof), "{proof:?} is never reached");
    }
}
