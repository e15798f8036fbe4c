//! Test helpers shared by both packages.

pub mod acp;
pub mod json_schema;

use std::{env, fs, path::Path};

use crate::{
    event::{
        Answered, Ask, AskEvent, AskId, AskVerdict, Checkpoint, Choice, Decider, Event, Exit, GateEvent, GoalFailure,
        GoalResult, IterationEvent, Offer, Outcome, PermissionRequest, Question, Record, Role, ToolKind,
    },
    run::RunView,
};

/// Compares a committed file with its generated text, and rewrites the file if `RALPH_TEST_WRITE` is set. `filter` is
/// the test filter named in the failure message.
#[track_caller]
pub fn assert_committed(path: &str, text: &str, filter: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if env::var_os("RALPH_TEST_WRITE").is_some() {
        fs::write(&file, text).expect("a file of the repository");
    }
    assert!(
        fs::read_to_string(&file).unwrap_or_default() == text,
        "{path} is not what the code says: RALPH_TEST_WRITE=1 cargo test --lib {filter} writes it"
    );
}

/// Compares a part of a committed file with its generated text, as [`assert_committed`]: the lines between
/// `<!-- PART -->` and the next `<!-- end -->`.
#[track_caller]
pub fn assert_committed_part(path: &str, part: &str, text: &str, filter: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let committed = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"));
    let begin = format!("<!-- {part} -->\n");
    let (head, rest) = committed.split_once(&begin).expect("the beginning of the part");
    let (_, tail) = rest.split_once("<!-- end -->").expect("the end of the part");
    assert_committed(path, &format!("{head}{begin}{text}<!-- end -->{tail}"), filter);
}

/// A reproducible pseudo-random number generator (xorshift).
pub struct Dice(u64);

impl Dice {
    /// Creates a generator. `seed` must not be 0, as the generator would then only return 0.
    pub fn new(seed: u64) -> Self {
        assert_ne!(seed, 0, "a seed");
        Self(seed)
    }

    /// Returns a number below `sides`.
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    /// Returns an index into a list of `length`.
    pub fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.roll(length as u64)).expect("it is below a usize")
    }
}

/// Number of random rounds: `usual`, or `RALPH_TEST_ROUNDS` if that is larger.
pub fn rounds(usual: usize) -> usize {
    let wanted = env::var("RALPH_TEST_ROUNDS")
        .ok()
        .and_then(|wanted| wanted.parse().ok());
    wanted.map_or(usual, |wanted: usize| wanted.max(usual))
}

/// The view after a round trip through JSON.
pub fn through_json(view: &RunView) -> RunView {
    serde_json::from_str(&serde_json::to_string(view).expect("JSON")).expect("a view")
}

/// Folds `records` with a JSON round trip before each one.
pub fn through_snapshots(records: &[Record]) -> RunView {
    let mut view = RunView::default();
    for record in records {
        view = through_json(&view);
        view.apply(record);
    }
    through_json(&view)
}

/// The start of an iteration of `codex`.
pub fn iteration_started(iteration: u32, task: Option<&str>, checkpoint: Option<Checkpoint>) -> Event {
    Event::Iteration(IterationEvent::Started {
        iteration,
        adapter: "codex".to_owned(),
        model: None,
        task: task.map(str::to_owned),
        resume: None,
        live_steering: false,
        checkpoint,
        prompt_bytes: 1_000,
        overhead_bytes: 900,
        messages: Vec::new(),
        role: Role::default(),
    })
}

/// A completed iteration.
pub fn iteration_ended(iteration: u32) -> Event {
    Event::Iteration(IterationEvent::Ended {
        iteration,
        outcome: Outcome::Completed,
        exit: None,
        duration_ms: 1,
        output_bytes: 1,
    })
}

/// A decision of iteration 3 on a `git push`; `ask` is the number of the question, if it was asked.
pub fn permission_decided(ask: Option<u32>, allowed: bool, by: Decider, message: Option<&str>) -> Event {
    Event::Ask(AskEvent::Answered {
        answered: Box::new(Answered {
            iteration: 3,
            ask,
            id: AskId(ask.map_or_else(|| "request".to_owned(), |ask| format!("request-{ask}"))),
            tool: "Bash".to_owned(),
            title: "git push".to_owned(),
            verdict: if allowed {
                AskVerdict::Allowed
            } else {
                AskVerdict::Denied
            },
            by,
            message: message.map(str::to_owned),
            waited_ms: 1,
            denials: (!allowed).into(),
            at_ms: 0,
        }),
    })
}

/// An answer to a question about a colour. Without `answers`, the question stays without one.
pub fn question_answered(ask: u32, answers: &[&str], by: Decider, waited_ms: u64) -> Event {
    let answers = answers.iter().map(|answer| vec![(*answer).to_owned()]);
    Event::Ask(AskEvent::Answered {
        answered: Box::new(Answered {
            iteration: 3,
            ask: Some(ask),
            id: AskId(format!("request-{ask}")),
            tool: "AskUserQuestion".to_owned(),
            title: "Which colour?".to_owned(),
            verdict: AskVerdict::Words {
                questions: vec!["Which colour?".to_owned()],
                answers: answers.collect(),
            },
            by,
            message: None,
            waited_ms,
            denials: 0,
            at_ms: 0,
        }),
    })
}

/// The end of a question that the agent withdrew.
pub fn question_withdrawn(ask: u32) -> Event {
    let mut event = permission_decided(Some(ask), true, Decider::Agent, None);
    if let Event::Ask(AskEvent::Answered { answered }) = &mut event {
        answered.verdict = AskVerdict::Withdrawn;
    }
    event
}

/// A goal that took one second and exited with `code`, with output `tail`.
pub fn goal_checked(iteration: u32, name: &str, code: i32, tail: &str) -> Event {
    let exit = Exit::Code { code };
    Event::Gate(GateEvent::GoalChecked {
        iteration,
        result: GoalResult {
            name: name.to_owned(),
            passed: code == 0,
            exit: None,
            score: None,
            target: None,
            duration_ms: 1_000,
            why: (code != 0).then_some(GoalFailure::Exited { exit }),
            tail: tail.into(),
            tests: None,
            doubt: None,
            failed_tests: Vec::new().into(),
            flaky: None,
            newly_skipped: Default::default(),
            sealed_output: None,
        },
    })
}

/// A question for a colour, and one for sizes if `several`.
pub fn question_asked(number: u32, several: bool) -> Event {
    let choice = |label: &str, description: &str| Choice {
        label: label.to_owned(),
        description: description.to_owned(),
    };
    let colour = Question {
        header: "Colour".to_owned(),
        text: "Which colour shall the button have?".to_owned(),
        choices: vec![choice("red", "like fire"), choice("blue", "like the sea")],
        free_text: true,
        ..Question::default()
    };
    let sizes = Question {
        text: "Which sizes?".to_owned(),
        choices: vec![choice("S", ""), choice("L", "")],
        multiple: true,
        ..colour.clone()
    };
    let Event::Ask(AskEvent::Asked { ask }) = permission_asked(number) else {
        unreachable!("it asks")
    };
    let request = PermissionRequest {
        tool: "AskUserQuestion".to_owned(),
        command: None,
        reason: None,
        title: colour.text.clone(),
        questions: if several { vec![colour, sizes] } else { vec![colour] },
        ..ask.request
    };
    Event::Ask(AskEvent::Asked {
        ask: Box::new(Ask {
            until_ms: ask.until_ms,
            ..Ask::requested(number, 3, request)
        }),
    })
}

/// A request to use a tool of an MCP server.
pub fn server_tool_asked(tool: &str) -> PermissionRequest {
    PermissionRequest::new(AskId("1".to_owned()), tool, ToolKind::Mcp, String::new())
}

/// A request to run `git push` that the user is asked about.
pub fn permission_asked(number: u32) -> Event {
    let request = PermissionRequest {
        title: "git push origin main --force-with-lease".to_owned(),
        reason: Some("Publish the branch so that the reviewers can look at it.".to_owned()),
        command: Some(
            "git add --all && git commit -m 'Keep keys in one place' \\\n  && git push origin main --force-with-lease"
                .to_owned(),
        ),
        ..PermissionRequest::for_shell(AskId(format!("request-{number}")), "")
    };
    Event::Ask(AskEvent::Asked {
        ask: Box::new(Ask {
            until_ms: Some(u64::MAX / 2),
            offer: Offer {
                rules: ["Bash(git add *)", "Bash(git commit *)", "Bash(git push *)"]
                    .map(str::to_owned)
                    .into(),
                asked_by: vec!["Bash(git push *)".to_owned()],
            },
            ..Ask::requested(number, 3, request)
        }),
    })
}
