//! Tests of the proof that passing goals provide, depending on the tests that they ran.

use crate::{
    event::{
        AgentSignal, Bite, Changes, Claim, ClaimEvent, Event, Evidence, Exit, GateSettings, Goal, GoalResult,
        GuardedChange, GuardedChangeKind, Hint, KnownFailures, Missing, Mutant, MutantOutcome, MutantTarget, Outcome,
        PlanSnapshot, Proof, RunEvent, Settings, StopReason, TestCounts, Trial, TriedMutant,
    },
    run::{Assessment, Iteration},
};

use super::{
    Effect, Input, LoopState, Settlement, Statement, Verification, gate, goal_reasons, reachable_confidence, step,
    testing,
};

pub(super) fn settings() -> Settings {
    Settings {
        goals: vec![Goal {
            name: "tests".to_owned(),
            command: "cargo test".to_owned(),
            timeout_ms: 1_000,
            ..Goal::default()
        }],
        gate: GateSettings {
            baseline: true,
            bite: Bite::Refuse,
            require: Proof::Nothing,
            known_failures: KnownFailures::Block,
        },
        ..Settings::default()
    }
}

/// Counts of passed and skipped tests.
pub(super) fn counts(passed: u32, skipped: u32) -> Option<TestCounts> {
    Some(TestCounts {
        runner: "cargo".to_owned(),
        passed,
        skipped,
        ..TestCounts::default()
    })
}

pub(super) fn goal(passed: bool, tests: Option<TestCounts>) -> GoalResult {
    GoalResult {
        tail: "the end of the output".into(),
        tests,
        ..testing::goal_result("tests", passed)
    }
}

pub(super) fn found(result: GoalResult, done: bool) -> Verification {
    Verification {
        notices: Vec::new(),
        results: vec![result],
        trial: None,
        broken: None,
        mutants: Vec::new(),
        plan: Ok(plan(done)),
        vanished: Vec::new(),
        added: Vec::new(),
        random: 0.5,
    }
}

pub(super) fn plan(done: bool) -> PlanSnapshot {
    PlanSnapshot {
        tasks: vec![testing::task("add", done)],
    }
}

pub(super) fn change() -> GuardedChange {
    GuardedChange {
        path: "tests/add.rs".into(),
        kind: GuardedChangeKind::Deleted,
        part: None,
    }
}

pub(super) fn trial(result: GoalResult) -> Option<Trial> {
    Some(Trial {
        changes: vec![change()].into(),
        results: vec![result],
        problem: None,
    })
}

pub(super) fn tried(target: MutantTarget, outcome: MutantOutcome) -> TriedMutant {
    let mutant = Mutant {
        path: "tests/add.rs".into(),
        line: 3,
        before: "5".into(),
        after: "6".into(),
        target,
    };
    TriedMutant { mutant, outcome }
}

/// A run whose first iteration ticks the only box.
struct Run {
    state: LoopState,
    events: Vec<Event>,
    effects: Vec<Effect>,
}

impl Run {
    fn take(&mut self, input: &Input) {
        let step = step(std::mem::take(&mut self.state), 1_000, input);
        self.state = step.state;
        self.events.extend(step.events);
        self.effects.extend(step.effects);
    }

    /// Starts a run whose goal had the result `baseline` before the first iteration. `tests_changed` is the agent's
    /// reason for changing tests.
    fn claims(settings: Settings, baseline: Option<GoalResult>, tests_changed: Option<&str>) -> Run {
        let mut run = Run {
            state: LoopState::default(),
            events: Vec::new(),
            effects: Vec::new(),
        };
        run.take(&Input::Start(Box::new(testing::start(settings))));
        let iteration = 1;
        let prepared = || Input::Prepared {
            iteration,
            result: Ok(testing::preparation(plan(false))),
        };
        run.take(&prepared());
        if let Some(result) = baseline {
            let not_a_claim = Effect::Verify {
                iteration: 0,
                is_claim: false,
            };
            assert!(run.effects.contains(&not_a_claim), "{:?}", run.effects);
            run.verified(0, found(result, false));
            run.take(&prepared());
        }
        let statement = Statement {
            tests_changed: tests_changed.map(str::to_owned),
            ..Statement::default()
        };
        run.take(&Input::AgentStated { iteration, statement });
        let (ok, message) = (true, None);
        let (exit, output_bytes) = (Some(Exit::Code { code: 0 }), 1);
        for signal in [
            AgentSignal::TurnEnded { ok, message },
            AgentSignal::Ended { exit, output_bytes },
        ] {
            run.take(&Input::Agent { iteration, signal });
        }
        run.take(&Input::Settled {
            iteration,
            settlement: Box::new(Settlement::from_plan(Ok(plan(true)), 0.0)),
        });
        let claim = Effect::Verify {
            iteration,
            is_claim: true,
        };
        assert!(run.effects.contains(&claim), "{:?}", run.effects);
        run
    }

    fn verified(&mut self, iteration: u32, verification: Verification) {
        self.take(&Input::Verified {
            iteration,
            verification: Box::new(verification),
        });
    }

    /// The proof with which the run ended, or why the claim was refused.
    fn outcome(mut self, verification: Verification) -> Result<Proof, Vec<Missing>> {
        self.verified(1, verification);
        self.events
            .iter()
            .find_map(|event| match event {
                Event::Run(RunEvent::Stopped {
                    reason: StopReason::Done { proof, .. },
                    ..
                }) => Some(Ok(*proof)),
                Event::Claim(ClaimEvent::Refused { reasons, .. }) => Some(Err(reasons.to_vec())),
                _ => None,
            })
            .expect("the claim was judged")
    }
}

/// The end of a run that began with 20 tests.
fn judged(verification: Verification) -> Result<Proof, Vec<Missing>> {
    Run::claims(settings(), Some(goal(false, counts(20, 0))), None).outcome(verification)
}

#[test]
fn goals_prove_as_much_as_they_show() {
    assert_eq!(judged(found(goal(true, counts(20, 0)), true)), Ok(Proof::Tests));
    assert_eq!(judged(found(goal(true, counts(25, 0)), true)), Ok(Proof::Tests));
    let without_tests = Run::claims(settings(), Some(goal(true, None)), None);
    assert_eq!(
        without_tests.outcome(found(goal(true, None), true)),
        Ok(Proof::ExitCodes)
    );
}

#[test]
fn a_goal_that_is_forgiven_its_known_failures_proves_as_much_and_has_to_run_as_many_tests() {
    let forgiven = |passed, failed| {
        let tests = counts(passed, 0).map(|tests| TestCounts { failed, ..tests });
        let exit = Some(Exit::Code { code: 1 });
        found(
            GoalResult {
                exit,
                ..goal(true, tests)
            },
            true,
        )
    };
    assert_eq!(judged(forgiven(18, 2)), Ok(Proof::Tests));
    let reasons = judged(forgiven(17, 2)).unwrap_err();
    assert!(matches!(reasons[..], [Missing::FewerTests { .. }]), "{reasons:?}");
    // An exit code of 0 beside failed tests proves no more than that.
    let tests = counts(18, 0).map(|tests| TestCounts { failed: 2, ..tests });
    assert_eq!(judged(found(goal(true, tests), true)), Ok(Proof::ExitCodes));
}

#[test]
fn tests_that_are_fewer_or_not_measured_refuse_a_claim() {
    for now in [counts(19, 0), counts(20, 1), counts(0, 0), None] {
        let reasons = judged(found(goal(true, now.clone()), true)).unwrap_err();
        let before = counts(20, 0).unwrap();
        let goal = "tests".to_owned();
        assert_eq!(
            reasons,
            [Missing::FewerTests {
                goal: goal.into(),
                before,
                now
            }]
        );
    }
}

#[test]
fn tests_that_are_skipped_or_merged_are_no_loss_if_the_original_ones_alone_run_as_before() {
    let with = |now: GoalResult, alone: GoalResult| Verification {
        trial: Some(Trial {
            changes: Vec::new().into(),
            ..trial(alone).unwrap()
        }),
        ..found(now, true)
    };
    let originals = || goal(true, counts(20, 0));
    let skips = || goal(true, counts(20, 1));
    assert_eq!(judged(with(skips(), originals())), Ok(Proof::Tests));
    // Two tests that were made one.
    assert_eq!(judged(with(goal(true, counts(19, 0)), originals())), Ok(Proof::Tests));
    let named = GoalResult {
        newly_skipped: ["add".into()].into_iter().collect(),
        ..skips()
    };
    for (now, alone) in [
        (skips(), goal(true, counts(19, 1))),
        (skips(), goal(true, counts(20, 1))),
        (skips(), goal(false, counts(20, 0))),
        (goal(true, counts(19, 1)), originals()),
        (named, originals()),
    ] {
        let reasons = judged(with(now, alone)).unwrap_err();
        assert!(matches!(reasons[0], Missing::FewerTests { .. }), "{reasons:?}");
    }
}

#[test]
fn originals_that_were_not_counted_before_the_work_have_to_run_and_may_be_fewer() {
    let mut settings = settings();
    settings.gate.baseline = false;
    for (originals, is_done) in [(counts(15, 2), true), (counts(0, 0), false), (None, false)] {
        let run = Run::claims(settings.clone(), None, None);
        let outcome = run.outcome(Verification {
            trial: trial(goal(true, originals)),
            ..found(goal(true, counts(20, 0)), true)
        });
        assert_eq!(outcome == Ok(Proof::Tests), is_done, "{outcome:?}");
    }
}

#[test]
fn output_that_contradicts_itself_refuses_a_claim_and_is_no_baseline() {
    let doubtful = |tests| GoalResult {
        doubt: Some("20 tests began and 3 ended".into()),
        ..goal(true, tests)
    };
    let reasons = judged(found(doubtful(counts(20, 0)), true)).unwrap_err();
    assert!(matches!(reasons[..], [Missing::DoubtfulTests { .. }]), "{reasons:?}");
    let run = Run::claims(settings(), Some(doubtful(counts(90, 0))), None);
    assert_eq!(run.outcome(found(goal(true, counts(20, 0)), true)), Ok(Proof::Tests));
}

#[test]
fn the_tests_as_they_were_decide_where_they_changed() {
    let with = |result| Verification {
        trial: trial(result),
        ..found(goal(true, counts(20, 0)), true)
    };
    assert_eq!(judged(with(goal(true, counts(20, 0)))), Ok(Proof::Tests));
    for result in [goal(false, counts(20, 0)), goal(true, counts(3, 0)), goal(true, None)] {
        let reasons = judged(with(result)).unwrap_err();
        assert!(
            matches!(&reasons[..], [Missing::OriginalTestsFail { changes, .. }] if changes[..] == [change()]),
            "{reasons:?}"
        );
    }
    let impossible = Verification {
        trial: Some(Trial {
            problem: Some("the disk is full".into()),
            results: Vec::new(),
            changes: vec![change()].into(),
        }),
        ..found(goal(true, counts(20, 0)), true)
    };
    assert!(matches!(judged(impossible).unwrap_err()[..], [Missing::NoTrial { .. }]));
}

#[test]
fn an_agent_that_says_why_tests_changed_leaves_them_to_the_user() {
    let verification = || Verification {
        trial: trial(goal(false, counts(20, 0))),
        ..found(goal(true, counts(18, 0)), true)
    };
    let mut run = Run::claims(
        settings(),
        Some(goal(false, counts(20, 0))),
        Some("the feature is gone"),
    );
    run.verified(1, verification());
    let end = run.state.view.stop_reason().cloned().unwrap();
    assert_eq!(end, StopReason::done(Proof::Unconfirmed));
    assert_eq!(end.exit_code(), 9);
    assert!(end.can_be_continued());
    assert!(run.events.iter().any(
        |event| matches!(event, Event::Run(RunEvent::Stopped { hints, .. }) if hints[..] == [Hint::ConfirmTests])
    ));
    // The agent's reason only excuses changed tests.
    let run = Run::claims(
        settings(),
        Some(goal(false, counts(20, 0))),
        Some("the feature is gone"),
    );
    let failed = Verification {
        trial: None,
        ..found(goal(false, counts(18, 2)), true)
    };
    let reasons = run.outcome(failed).unwrap_err();
    assert!(matches!(reasons[..], [Missing::GoalFailed { .. }]), "{reasons:?}");
}

#[test]
fn tests_that_notice_nothing_refuse_a_claim() {
    use MutantOutcome::{Missed, NoVerdict, Noticed};
    use MutantTarget::{Comment, Test, Whole, Work, WorkTest};
    let outcome = |bite: Bite, mutants: &[(MutantTarget, MutantOutcome)]| {
        let mut settings = settings();
        settings.gate.bite = bite;
        let verification = Verification {
            mutants: mutants
                .iter()
                .map(|(target, outcome)| tried(*target, *outcome))
                .collect(),
            ..found(goal(true, counts(20, 0)), true)
        };
        let run = Run::claims(settings, Some(goal(false, counts(20, 0))), None);
        run.outcome(verification).map_err(|reasons| {
            matches!(
                reasons[..],
                [Missing::TestsNoticeNothing { .. } | Missing::CommentNoticed { .. }]
            )
        })
    };
    let accepted = Ok(Proof::Tests);
    let refused = Err(true);
    let missed = [(Test, Missed), (Test, Missed), (Test, Missed)];
    assert_eq!(outcome(Bite::Refuse, &missed), refused);
    assert_eq!(outcome(Bite::Report, &missed), accepted);
    assert_eq!(outcome(Bite::Refuse, &missed[..2]), accepted);
    assert_eq!(outcome(Bite::Require, &missed[..2]), refused);
    assert_eq!(outcome(Bite::Require, &[]), accepted);
    // A mutant without a verdict proves nothing, and a single detected one is enough.
    assert_eq!(
        outcome(Bite::Refuse, &[missed[0], missed[1], (Test, NoVerdict)]),
        accepted
    );
    assert_eq!(
        outcome(Bite::Refuse, &[missed[0], missed[1], missed[2], (Test, Noticed)]),
        accepted
    );
    // Other tests that notice do not excuse what the tests of the work miss; one missed alone may be chance.
    let of_work = [
        (WorkTest, Missed),
        (Test, Noticed),
        (WorkTest, Noticed),
        (WorkTest, Missed),
    ];
    assert_eq!(outcome(Bite::Refuse, &of_work), refused);
    assert_eq!(outcome(Bite::Refuse, &of_work[..3]), accepted);
    assert_eq!(outcome(Bite::Report, &of_work), accepted);
    // Work that knows its tests by their files.
    assert_eq!(
        outcome(Bite::Refuse, &[(WorkTest, Noticed), (Comment, Noticed)]),
        refused
    );
    // Code that exits the tests early makes mutants of the work detected, but not those of the tests.
    let early_exit = [missed[0], missed[1], missed[2], (Work, Noticed)];
    assert_eq!(outcome(Bite::Refuse, &early_exit), refused);
    let untested = [(Test, Noticed), (Work, Missed), (Work, Missed), (Work, Missed)];
    assert_eq!(outcome(Bite::Refuse, &untested), accepted);
    assert_eq!(outcome(Bite::Require, &untested), refused);
    // A refactoring passes without the work; tests that fail without it do not excuse what they miss otherwise.
    let refactoring = [(Test, Noticed), (Work, Noticed), (Whole, Missed)];
    assert_eq!(outcome(Bite::Refuse, &refactoring), accepted);
    assert_eq!(outcome(Bite::Require, &refactoring), refused);
    assert_eq!(outcome(Bite::Require, &[(Test, Noticed), (Whole, NoVerdict)]), accepted);
    let excused = [missed[0], missed[1], missed[2], (Whole, Noticed)];
    assert_eq!(outcome(Bite::Refuse, &excused), refused);
    let excused = [(Test, Noticed), (Work, Missed), (Whole, Noticed)];
    assert_eq!(outcome(Bite::Require, &excused), refused);
}

#[test]
fn less_proof_than_is_required_is_no_success() {
    let mut settings = settings();
    settings.gate.require = Proof::Tests;
    let mut run = Run::claims(settings, Some(goal(true, None)), None);
    run.verified(1, found(goal(true, None), true));
    let end = run.state.view.stop_reason().cloned().unwrap();
    assert!(end.lacks_proof());
    assert_eq!(end.exit_code(), 9);
    assert_eq!(StopReason::done(Proof::ExitCodes).exit_code(), 0);
}

#[test]
fn a_baseline_without_a_test_is_no_baseline() {
    let run = Run::claims(settings(), Some(goal(true, counts(0, 0))), None);
    assert_eq!(run.outcome(found(goal(true, None), true)), Ok(Proof::ExitCodes));
}

/// A state whose latest iteration made these claims, with the boxes of the plan and the results of the goals after it.
fn claiming(claims: &[Claim], boxes: &[bool], goals: &[bool]) -> LoopState {
    let look = Assessment {
        claims: claims.to_vec(),
        goals: goals.iter().map(|passed| goal(*passed, None)).collect(),
        ..Assessment::default()
    };
    let mut state = LoopState::default();
    if !goals.is_empty() {
        state.view.settings.goals = settings().goals;
    }
    state.view.plan.tasks = boxes.iter().map(|done| testing::task("add", *done)).collect();
    state.view.iterations.rows.push(Iteration {
        look,
        ..Iteration::default()
    });
    state
}

/// The proof of an accepted claim, or why it is refused, with the evidence for it.
fn weighed(state: &LoopState) -> (Result<Proof, Vec<Missing>>, Vec<Evidence>) {
    let evidence = |confidence: gate::Confidence| confidence.parts.into_iter().map(|part| part.evidence).collect();
    match gate::judge(state, &Outcome::Completed) {
        gate::Verdict::Done { proof, confidence } => (Ok(proof), evidence(confidence)),
        gate::Verdict::Refused(refused) => (Err(refused.reasons), evidence(refused.confidence)),
        gate::Verdict::NoClaim => panic!("no claim"),
    }
}

#[test]
fn a_claim_with_all_possible_evidence_has_the_highest_confidence_that_a_setting_can_demand() {
    for (boxes, goals, points) in [
        (&[true][..], &[true][..], 100),
        (&[true], &[], 60),
        (&[], &[true], 50),
        (&[], &[], 50),
    ] {
        let mut state = claiming(&[Claim::Promise], boxes, goals);
        state.internal.claimed_before = true;
        let gate::Verdict::Done { confidence, .. } = gate::judge(&state, &Outcome::Completed) else {
            panic!("{boxes:?} {goals:?}");
        };
        assert_eq!(confidence.points(), points, "{boxes:?} {goals:?}");
        assert_eq!(reachable_confidence(!boxes.is_empty(), !goals.is_empty()), points);
    }
}

#[test]
fn a_word_that_nothing_supports_has_to_be_given_twice() {
    let mut state = claiming(&[Claim::Promise], &[], &[]);
    let refused = Err(vec![Missing::NeedsSecondClaim]);
    assert_eq!(weighed(&state), (refused, vec![Evidence::AgentsWord]));
    state.internal.claimed_before = true;
    let twice = vec![Evidence::AgentsWord, Evidence::AgentsWordAgain];
    assert_eq!(weighed(&state), (Ok(Proof::Nothing), twice));
}

#[test]
fn a_claim_with_too_little_confidence_is_told_what_is_missing() {
    let refused = |claim, boxes: &[bool], goals: &[bool]| {
        let mut state = claiming(&[claim], boxes, goals);
        state.view.settings.completion.min_confidence = 60;
        weighed(&state).0
    };
    assert_eq!(refused(Claim::PlanComplete, &[true], &[]), Err(vec![Missing::NotSaid]));
    let (points, wanted) = (50, 60);
    let short = Missing::Confidence { points, wanted };
    assert_eq!(refused(Claim::Promise, &[], &[true]), Err(vec![short]));
}

#[test]
fn open_and_removed_tasks_and_goals_that_failed_or_were_not_run_are_no_evidence() {
    let word = [Claim::Promise];
    let by_goals = [Evidence::AgentsWord, Evidence::GoalsPassed];
    let by_tasks = [Evidence::AgentsWord, Evidence::TasksTicked];
    let open = claiming(&word, &[false], &[true]);
    let mut removed = claiming(&word, &[true], &[true]);
    removed.view.missing.push("test".to_owned());
    let failed = claiming(&word, &[true], &[true, false]);
    let mut not_run = claiming(&word, &[true], &[]);
    not_run.view.settings.goals = settings().goals;
    for (state, evidence) in [
        (open, by_goals.clone()),
        (removed, by_goals),
        (failed, by_tasks.clone()),
        (not_run, by_tasks),
    ] {
        let (verdict, found) = weighed(&state);
        assert_eq!(found, evidence, "{verdict:?}");
        assert!(verdict.is_err());
    }
}

#[test]
fn goals_that_pass_prove_nothing_if_there_was_no_task_and_nothing_changed() {
    let untouched = Some(Changes::default());
    let changed = Some(Changes {
        files: 1,
        ..Changes::default()
    });
    for (boxes, goals, changes, proof) in [
        (&[][..], &[true][..], untouched, Proof::Nothing),
        (&[], &[true], changed, Proof::ExitCodes),
        (&[], &[true], None, Proof::ExitCodes),
        (&[true], &[true], untouched, Proof::ExitCodes),
        (&[true], &[], changed, Proof::Nothing),
    ] {
        let mut state = claiming(&[Claim::Promise], boxes, goals);
        state.view.changes = changes;
        assert_eq!(weighed(&state).0, Ok(proof), "{boxes:?} {goals:?} {changes:?}");
    }
}

#[test]
fn the_output_of_a_failed_goal_is_cut_at_its_start_between_two_characters() {
    let failed = GoalResult {
        tail: ("ü".repeat(1_500) + "x").into(),
        ..goal(false, None)
    };
    let reasons: Vec<Missing> = goal_reasons([&failed]).collect();
    let [Missing::GoalFailed { output_tail, .. }] = &reasons[..] else {
        panic!("{reasons:?}");
    };
    assert_eq!(output_tail.as_str(), "ü".repeat(1_023) + "x");
}
