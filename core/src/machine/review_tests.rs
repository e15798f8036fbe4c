//! Tests of reviews: when they are made, what follows their answers, and what follows if there is none.

use crate::{
    event::{
        CommentAuthor, CommentPlace, Event, Finding, Findings, Goal, Limits, Problem, ProblemKind, ReviewAnswer,
        ReviewEvent, ReviewResult, ReviewSettings, ReviewWhen, Role, Settings, SteeringKind, StopRequest, TaskLimits,
        UserCommand, Worker, WorkerEvent,
    },
    run::Phase,
};

use super::{
    Feedback, Settlement, Statement,
    scripted_run_tests::{ScriptedRun, files, notices},
};

fn settings(when: ReviewWhen) -> Settings {
    Settings {
        adapter: "author".to_owned(),
        review: Some(ReviewSettings {
            by: Worker {
                adapter: "critic".to_owned(),
                model: None,
            },
            when,
            rounds: 1,
        }),
        ..Settings::default()
    }
}

fn with_goal(when: ReviewWhen) -> Settings {
    Settings {
        goals: vec![Goal {
            name: "tests".to_owned(),
            command: "true".to_owned(),
            timeout_ms: 1_000,
            ..Goal::default()
        }],
        ..settings(when)
    }
}

fn a_stub() -> ReviewAnswer {
    let findings = Findings::new(vec!["a stub".to_owned()]);
    ReviewAnswer::Findings { findings }
}

fn no_live_channel() -> Problem {
    Problem {
        finding: Some(Finding::NoLiveChannel),
        ..Problem::said(ProblemKind::Usage, "unexpected argument")
    }
}

fn limited(until_ms: Option<u64>) -> Problem {
    Problem::said(ProblemKind::RateLimited { until_ms }, "429")
}

impl ScriptedRun {
    fn is_reviewing(&self) -> bool {
        !self.state.view.role.is_work()
    }

    /// An iteration of the author that ticks `task`.
    fn finish(&mut self, task: &str) -> Vec<Event> {
        self.prepare();
        self.complete();
        self.tick(task);
        self.settle()
    }

    /// A review that is prepared, completes with this answer and is settled. Returns the events of the settlement.
    fn review(&mut self, review: Option<ReviewAnswer>) -> Vec<Event> {
        self.begin_review();
        self.tell(Statement {
            review,
            ..Statement::default()
        });
        self.complete();
        self.settle()
    }

    #[track_caller]
    fn begin_review(&mut self) {
        assert!(self.is_reviewing(), "{:?}", self.state.view.phase);
        self.prepare();
        assert!(matches!(self.state.view.phase, Phase::Running { .. }));
    }

    /// A review that ends without an answer in this way.
    fn fail_review(&mut self, problem: Problem) -> Vec<Event> {
        self.begin_review();
        self.fail(problem);
        self.settle()
    }

    fn message(&mut self, text: &str) -> Vec<Event> {
        let (kind, text) = (SteeringKind::Next, text.to_owned());
        self.command(UserCommand::Steer { kind, text })
    }
}

/// The result of the review that concluded in these events.
fn concluded(events: &[Event]) -> Option<&ReviewResult> {
    events.iter().find_map(|event| match event {
        Event::Review(ReviewEvent::Concluded { result, .. }) => Some(result),
        _ => None,
    })
}

fn requested(events: &[Event]) -> Option<(Option<&str>, bool)> {
    events.iter().find_map(|event| match event {
        Event::Review(ReviewEvent::Requested { task, claims_done, .. }) => Some((task.as_deref(), *claims_done)),
        _ => None,
    })
}

fn crash() -> Problem {
    Problem::said(ProblemKind::Other, "it crashed")
}

#[test]
fn a_finished_task_is_reviewed_at_once_if_the_settings_say_so() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    assert_eq!(requested(&script.iterate()), None, "the task is still open");
    assert_eq!(requested(&script.finish("one")), Some((Some("one"), false)));
    assert!(script.is_reviewing());

    let mut script = ScriptedRun::start(settings(ReviewWhen::End), &["one", "two"]);
    assert_eq!(requested(&script.finish("one")), None);
    assert_eq!(requested(&script.finish("two")), Some((Some("two"), true)));
}

#[test]
fn a_task_that_a_failed_iteration_ticked_is_not_reviewed() {
    let mut script = ScriptedRun::running(settings(ReviewWhen::Task), &["one", "two"]);
    script.fail(Problem::said(ProblemKind::TurnLimit, "too many turns"));
    script.tick("one");
    assert_eq!(requested(&script.settle()), None);
    assert!(script.prepares(2) && !script.is_reviewing());
}

#[test]
fn the_review_of_a_whole_plan_names_no_task_that_was_left_unfinished() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::End), &["needed", "extra"]);
    script.plan.tasks[1].settings.optional = true;
    script.finish("needed");
    script.prepare();
    script.complete();
    let settlement = script.settlement();
    let events = script.settle_as(Settlement {
        blocked: Some("which colour?".to_owned()),
        ..settlement
    });
    assert_eq!(
        requested(&events),
        Some((None, true)),
        "the run is done without `extra`"
    );
}

#[test]
fn a_reviewer_that_is_limited_is_left_out_and_asked_again_when_its_limit_ends() {
    for (left_ms, reviewed) in [(-1, true), (0, true), (1, false)] {
        let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
        let until_ms = script.now_ms.saturating_add_signed(left_ms);
        script.state.view.limited.insert("critic".to_owned(), until_ms);
        let events = script.finish("one");
        assert_eq!(
            (requested(&events).is_some(), script.is_reviewing()),
            (reviewed, reviewed)
        );
        let omitted = "no review: critic is limited".to_owned();
        assert_eq!(notices(&events).contains(&omitted), !reviewed, "{events:?}");
    }
}

#[test]
fn a_due_review_is_withdrawn_if_an_obstacle_turns_up() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.finish("one");
    let until_ms = script.now_ms + 1;
    script.state.view.limited.insert("critic".to_owned(), until_ms);
    let events = script.prepare();
    assert!(events.contains(&Event::Review(ReviewEvent::Withdrawn)), "{events:?}");
    assert!(!script.is_reviewing());
    script.now_ms = until_ms;
    script.iterate();
    assert!(!script.is_reviewing(), "the work is not reviewed later");
}

#[test]
fn an_approved_task_is_followed_by_the_next_one_and_nothing_is_verified_for_it() {
    let mut script = ScriptedRun::start(with_goal(ReviewWhen::Task), &["one", "two"]);
    script.files = files("a", "0");
    script.finish("one");
    script.files = files("b", "0");
    let events = script.review(Some(ReviewAnswer::Approved));
    assert_eq!(concluded(&events), Some(&ReviewResult::Approved));
    assert!(script.prepares(3) && !script.is_reviewing(), "{events:?}");
}

#[test]
fn findings_send_the_author_back_as_often_as_there_are_rounds() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.finish("one");
    assert_eq!(script.state.view.role, Role::Review { round: 1 });
    let findings = Findings::new(vec!["a stub".to_owned()]);
    let result = |sent_back| ReviewResult::Findings {
        findings: findings.clone(),
        sent_back,
    };
    assert_eq!(concluded(&script.review(Some(a_stub()))), Some(&result(true)));
    let told = Feedback::Reviewed {
        task: Some("one".to_owned()),
        findings: findings.clone(),
    };
    assert!(script.state.prompt_feedback().contains(&told));
    let events = script.iterate();
    assert_eq!(
        requested(&events),
        Some((None, false)),
        "the task was finished before, and is reviewed again"
    );
    assert_eq!(script.state.view.role, Role::Review { round: 2 });
    assert_eq!(concluded(&script.review(Some(a_stub()))), Some(&result(false)));
    assert!(!script.state.prompt_feedback().contains(&told));
    script.prepare();
    let latest = script.state.view.iterations.latest().expect("an iteration");
    assert_eq!(latest.task.as_deref(), Some("two"));
}

#[test]
fn a_task_at_its_limit_is_not_sent_back() {
    for (max_iterations, sent_back) in [(1, false), (2, true)] {
        let per_task = TaskLimits {
            max_iterations: Some(max_iterations),
            ..TaskLimits::default()
        };
        let limits = Limits {
            per_task,
            ..Limits::default()
        };
        let settings = Settings {
            limits,
            ..settings(ReviewWhen::Task)
        };
        let mut script = ScriptedRun::start(settings, &["one", "two"]);
        script.finish("one");
        let events = script.review(Some(a_stub()));
        let is_sent_back = matches!(concluded(&events), Some(ReviewResult::Findings { sent_back: true, .. }));
        assert_eq!(is_sent_back, sent_back, "{max_iterations}");
    }
}

#[test]
fn a_message_comes_before_a_due_review_and_brings_no_findings() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.finish("one");
    script.message("use tabs");
    script.prepare();
    assert!(
        script.prepares(2) && !script.is_reviewing(),
        "the prepared review is dropped"
    );
    script.prepare();
    assert_eq!(script.state.internal.prompted.len(), 1);
    assert_eq!(script.state.prompt_feedback(), []);
    assert_eq!(script.state.sent_back_to(), None);
    script.complete();
    script.settle();
    assert!(script.is_reviewing(), "it is made up for");
}

#[test]
fn a_message_that_outlasts_the_work_is_named_and_one_more_iteration_follows() {
    let settings = Settings {
        review: None,
        ..settings(ReviewWhen::Task)
    };
    let mut script = ScriptedRun::running(settings, &["one"]);
    script.message("use tabs");
    script.complete();
    script.tick("one");
    let said = notices(&script.settle());
    assert!(
        said.contains(&"the work is done, but message 1 has not reached the agent: one more iteration".to_owned()),
        "{said:?}"
    );
    assert!(script.prepares(2));
}

#[test]
fn findings_at_a_place_become_comments_if_the_review_completed() {
    let place = CommentPlace {
        file: "src/a.rs".into(),
        line: 7,
        quote: vec!["let x = 1;".into()].into(),
        ..CommentPlace::default()
    };
    for completes in [true, false] {
        let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
        script.finish("one");
        script.begin_review();
        if completes {
            script.complete();
        } else {
            script.fail(crash());
        }
        let settlement = script.settlement();
        script.settle_as(Settlement {
            findings: vec![(place.clone(), "a stub".to_owned())],
            ..settlement
        });
        let comments = &script.state.view.comments.list;
        let authors: Vec<CommentAuthor> = comments.iter().map(|comment| comment.by).collect();
        let expected = if completes {
            vec![CommentAuthor::Reviewer { iteration: 2 }]
        } else {
            vec![]
        };
        assert_eq!(authors, expected);
    }
}

#[test]
fn a_reviewer_without_an_answer_has_failed_and_three_failures_running_end_all_reviews() {
    let tasks = ["one", "two", "three", "four", "five", "six"];
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &tasks);
    let given_up = |events: &[Event]| -> Vec<String> {
        let is_given_up = |text: &String| text.contains("reviews are off");
        notices(events).into_iter().filter(is_given_up).collect()
    };
    script.finish("one");
    let events = script.review(None);
    assert_eq!(concluded(&events), Some(&ReviewResult::NoAnswer));
    assert!(given_up(&events).is_empty());
    script.finish("two");
    assert_eq!(
        concluded(&script.review(Some(ReviewAnswer::Approved))),
        Some(&ReviewResult::Approved)
    );
    for task in ["three", "four"] {
        script.finish(task);
        let events = script.fail_review(crash());
        assert_eq!(concluded(&events), Some(&ReviewResult::Failed));
        assert!(given_up(&events).is_empty(), "an answer came between");
    }
    script.finish("five");
    let expected = "3 reviews by critic failed in a row; reviews are off for the rest of this run";
    assert_eq!(given_up(&script.review(None)), [expected]);
    assert_eq!(requested(&script.finish("six")), None);
    assert!(script.is_done(), "{:?}", script.state.view.phase);
}

#[test]
fn a_review_that_the_user_skips_is_neither_repeated_nor_a_failure() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.finish("one");
    script.begin_review();
    script.command(UserCommand::Skip);
    script.end();
    assert_eq!(concluded(&script.settle()), Some(&ReviewResult::Skipped));
    assert_eq!(script.state.internal.reviews.failures, 0);
    assert!(!script.is_reviewing());
}

#[test]
fn a_review_that_the_death_of_ralph_interrupts_is_repeated_twice() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    // Interruptions of the author do not count.
    for _ in 0..4 {
        script.prepare();
        script.recover();
        script.settle();
    }
    script.finish("one");
    for _ in 0..2 {
        script.begin_review();
        script.recover();
        assert_eq!(concluded(&script.settle()), None);
    }
    script.begin_review();
    script.recover();
    assert_eq!(concluded(&script.settle()), Some(&ReviewResult::Failed));
    assert!(!script.is_reviewing());
}

#[test]
fn a_reviewer_without_a_live_channel_is_asked_again_on_the_other_one() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.finish("one");
    let events = script.fail_review(no_live_channel());
    let given_up = Event::Worker(WorkerEvent::LiveChannelGivenUp {
        adapter: "critic".to_owned(),
        why: "unexpected argument".into(),
    });
    assert!(events.contains(&given_up), "{events:?}");
    assert_eq!(concluded(&events), None);
    assert!(script.is_reviewing());

    let live_only = Settings {
        live_only: true,
        ..settings(ReviewWhen::Task)
    };
    let mut script = ScriptedRun::start(live_only, &["one", "two"]);
    script.finish("one");
    let events = script.fail_review(no_live_channel());
    assert!(!events.contains(&given_up), "{events:?}");
    assert_eq!(concluded(&events), Some(&ReviewResult::Failed));
}

#[test]
fn a_review_that_a_limit_with_a_known_end_prevents_is_no_failure_of_the_reviewer() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    let now_ms = script.now_ms;
    for (until_ms, is_known) in [
        (Some(now_ms + 1), true),
        (Some(now_ms), false),
        (Some(now_ms - 1), false),
        (None, false),
    ] {
        script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
        script.finish("one");
        let events = script.fail_review(limited(until_ms));
        assert_eq!(
            events.contains(&Event::Review(ReviewEvent::Withdrawn)),
            is_known,
            "{until_ms:?}"
        );
        assert_eq!(concluded(&events).is_none(), is_known, "{until_ms:?}");
        assert_eq!(
            script.state.view.limited.contains_key("critic"),
            is_known,
            "{until_ms:?}"
        );
        assert!(!script.is_reviewing(), "{until_ms:?}");
    }
    script.prepare();
    let latest = script.state.view.iterations.latest().expect("an iteration");
    assert_eq!(latest.task.as_deref(), Some("two"));
}

#[test]
fn a_limit_of_a_reviewer_does_not_count_for_the_adapter_of_an_author() {
    for (own, fallback) in [("critic", &[][..]), ("author", &["critic"])] {
        let settings = Settings {
            adapter: own.to_owned(),
            fallback: fallback.iter().map(|&adapter| adapter.to_owned()).collect(),
            ..settings(ReviewWhen::Task)
        };
        let mut script = ScriptedRun::start(settings, &["one", "two"]);
        script.finish("one");
        let until_ms = script.now_ms + 60_000;
        let events = script.fail_review(limited(Some(until_ms)));
        assert_eq!(concluded(&events), Some(&ReviewResult::Failed), "{own} {fallback:?}");
        assert!(script.state.view.limited.is_empty(), "{own} {fallback:?}");
    }
}

#[test]
fn an_approved_plan_is_done_if_the_goals_were_run_on_the_same_files() {
    for (left, before, after, undone, is_done) in [
        ("a", "a", "a", false, true),
        ("a", "a", "b", true, true),
        ("a", "a", "b", false, false),
        ("a", "b", "b", false, false),
        ("a", "b", "b", true, false),
    ] {
        let mut script = ScriptedRun::running(with_goal(ReviewWhen::End), &["one"]);
        script.complete();
        script.tick("one");
        script.files = files(left, "0");
        script.settle();
        assert_eq!(requested(&script.verify(true)), Some((Some("one"), true)));
        script.files = files(before, "0");
        script.begin_review();
        script.tell(Statement {
            review: Some(ReviewAnswer::Approved),
            ..Statement::default()
        });
        script.complete();
        script.files = files(after, "0");
        let settlement = script.settlement();
        script.settle_as(Settlement { undone, ..settlement });
        assert_eq!(script.is_done(), is_done, "{left} {before} {after} {undone}");
        if !is_done {
            assert_eq!(requested(&script.verify(true)), None, "it was reviewed");
            assert!(script.is_done(), "{:?}", script.state.view.phase);
        }
    }
}

#[test]
fn without_goals_an_approved_plan_is_done_whatever_became_of_the_files() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::End), &["one"]);
    script.finish("one");
    script.review(Some(ReviewAnswer::Approved));
    assert!(script.is_done(), "{:?}", script.state.view.phase);
}

#[test]
fn without_checkpoints_the_goals_are_run_again_after_a_review() {
    let mut script = ScriptedRun::start(with_goal(ReviewWhen::End), &["one"]);
    script.finish("one");
    script.verify(true);
    script.review(Some(ReviewAnswer::Approved));
    assert!(matches!(script.state.view.phase, Phase::Verifying { iteration: 1, .. }));
}

#[test]
fn a_run_that_is_to_stop_is_done_without_a_review() {
    let mut script = ScriptedRun::start(with_goal(ReviewWhen::End), &["one"]);
    script.finish("one");
    script.stop(StopRequest::AfterIteration);
    script.verify(true);
    assert!(script.is_done(), "{:?}", script.state.view.phase);
}

#[test]
fn the_next_review_compares_with_the_files_of_the_last_one_that_was_answered() {
    let since = |script: &ScriptedRun| script.state.unreviewed_since().map(|found| found.tree.clone());
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two", "three", "four"]);
    assert_eq!(since(&script), None);
    script.files = files("a", "0");
    script.prepare();
    assert_eq!(
        since(&script).as_deref(),
        Some("a"),
        "it is the tree before the first iteration"
    );
    for (task, tree, answer, expected) in [
        ("one", "b", Some(ReviewAnswer::Approved), "b"),
        ("two", "c", None, "b"),
        ("three", "d", Some(ReviewAnswer::Approved), "d"),
    ] {
        if script.prepares(script.iteration()) {
            script.prepare();
        }
        script.complete();
        script.tick(task);
        script.files = files(tree, "0");
        script.settle();
        script.review(answer);
        assert_eq!(since(&script).as_deref(), Some(expected), "{task}");
    }
}

#[test]
fn how_a_review_ended_is_no_feedback_for_the_author_and_no_end_of_its_work() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::Task), &["one", "two"]);
    script.prepare();
    script.say("I am ready");
    script.complete();
    script.tick("one");
    script.settle();
    script.begin_review();
    script.say("I look at it");
    script.fail(Problem::said(ProblemKind::TurnLimit, "too many turns"));
    let streak = script.state.internal.complete_streak;
    script.settle();
    assert_eq!(script.state.prompt_feedback(), []);
    let last = script.state.internal.last_message.as_ref().expect("a message");
    assert_eq!((last.iteration, last.text.as_str()), (1, "I am ready"));
    assert_eq!(script.state.internal.complete_streak, streak);
}

#[test]
fn a_review_of_a_done_plan_is_no_further_iteration_with_all_boxes_ticked() {
    let mut script = ScriptedRun::start(settings(ReviewWhen::End), &["one"]);
    script.finish("one");
    assert_eq!(script.state.internal.complete_streak, 1);
    script.begin_review();
    script.complete();
    script.files = files("a", "0");
    let settlement = script.settlement();
    script.settle_as(Settlement {
        undone: true,
        ..settlement
    });
    assert_eq!(script.state.internal.complete_streak, 1);
    assert_eq!(script.state.internal.latest, None, "its changes were undone");
}

#[test]
fn the_author_that_stands_in_for_a_limited_one_is_not_announced_again_after_a_review() {
    let settings = Settings {
        fallback: vec!["other".to_owned()],
        ..settings(ReviewWhen::Task)
    };
    let mut script = ScriptedRun::running(settings, &["one", "two", "three"]);
    let switched = "continuing with other".to_owned();
    let until_ms = script.now_ms + 60_000;
    script.fail(limited(Some(until_ms)));
    assert!(notices(&script.settle()).contains(&switched));
    script.finish("one");
    let events = script.review(Some(ReviewAnswer::Approved));
    assert_eq!(script.state.view.adapter, "other");
    assert!(!notices(&events).contains(&switched), "{events:?}");
}
