//! Behaviour of every agent with a live channel: rules, keys, answers from elsewhere, and messages while it writes.

use ralph_core::event::{AnswerPlace, AskEvent, AskVerdict, Decider, Delivery, Event, SteeringEvent};
use serde_json::{Value, json};

use super::{answer, asked, decided_by_now, decisions, wait_for_question, with_permissions};
use crate::{
    agents_loop::{in_order, plan_one_task, ralph, work_on},
    harness::{
        SOON, Sandbox,
        agent::{Agent, each_live_agent},
        events,
        wait::wait_until,
    },
    stand_in::{Gate, StandIn, Step, answer as model_answer, log::ModelRequest, say, shell},
    tui::Terminal,
};

const FILES: [&str; 3] = ["precious.txt", "asked.txt", "granted.txt"];

const RULES: &str = r#"{
    "deny": ["Bash(rm precious.txt)"],
    "ask": ["Bash(rm asked.txt)", "Bash(rm granted.txt)", "Bash(cat *.key)"]
}"#;

/// A question of codex, asked with a tool that exists only if the user has enabled it.
fn question() -> Step {
    let choices = [("red", "like fire"), ("blue", "like the sea")];
    let choices = choices.map(|(label, description)| json!({ "label": label, "description": description }));
    let question = json!({ "id": "colour", "header": "Colour", "question": "Which colour?", "options": choices });
    let asked = model_answer().call("request_user_input", json!({ "questions": [question] }));
    asked.into()
}

/// A run on a screen, whose agent first tries to remove files of the user, then writes, then works.
struct WatchedAgent {
    agent: Agent,
    model: StandIn,
    sandbox: Sandbox,
    screen: Terminal,
    /// Open it to let the agent write the rest of its text.
    gate: Gate,
}

impl WatchedAgent {
    fn start(agent: Agent) -> Option<WatchedAgent> {
        let gate = Gate::default();
        let mut steps: Vec<Step> = FILES.map(|file| shell(&format!("rm {file}")).into()).to_vec();
        // claude makes changes one after the other, but reads several files at once.
        let both = model_answer().shell("cat first.key").shell("cat second.key");
        steps.push(both.into());
        if agent == Agent::Codex {
            steps.push(question());
        }
        let nearly = say("Nearly there, only the work is left.").held(&gate);
        steps.push(match agent.is_native() {
            // The native agent accepts messages until its turn is over. ralph's consent to the last tool call follows
            // the message on the same channel, so the turn cannot end before it.
            true => nearly.shell("true").into(),
            false => nearly.into(),
        });
        steps.extend(work_on("hello"));
        let model = StandIn::start(in_order([&steps]));
        let sandbox = agent.sandbox(&model, 0)?;
        if agent == Agent::Codex {
            sandbox.add_to_codex("[features]\ndefault_mode_request_user_input = true\n");
        }
        plan_one_task(&sandbox);
        for file in FILES {
            sandbox.write(file, "years of work\n");
        }
        sandbox.write("first.key", "one secret\n");
        sandbox.write("second.key", "another secret\n");
        sandbox.write(".ralph/config.json", &format!("{{ \"permissions\": {RULES} }}"));
        let program = sandbox.ralph(["--adapter", agent.adapter(), "--plan", "PLAN.md"]);
        let screen = Terminal::start(&program, 100, 30);
        Some(WatchedAgent {
            agent,
            model,
            sandbox,
            screen,
            gate,
        })
    }

    /// Whether messages wait for the next prompt: a message would end gemini's turn.
    fn waits(&self) -> bool {
        matches!(self.agent, Agent::Gemini | Agent::Kimi)
    }

    /// Number of open questions in the journal.
    fn waiting(&self) -> usize {
        let journal = self.sandbox.journal();
        let decided = events(&journal)
            .filter(|event| matches!(event, Event::Ask(AskEvent::Answered { answered }) if answered.ask.is_some()));
        asked(&journal) - decided.count()
    }

    /// Waits until `count` questions are open, and returns them.
    fn pending(&self, count: usize) -> Vec<Value> {
        wait_until(SOON, "questions", || (self.waiting() == count).then_some(()));
        let asks = self.sandbox.ralph(["asks", "--json"]).run(SOON).stdout;
        let pending: Vec<Value> = serde_json::from_str(&asks).expect("a list");
        assert_eq!(pending.len(), count, "{asks}");
        pending
    }

    /// Waits until `count` questions are open, and returns the number of the one about `command`.
    fn question(&self, count: usize, command: &str) -> String {
        let pending = self.pending(count);
        let about = |ask: &&Value| {
            ask["request"]["command"]
                .as_str()
                .is_some_and(|asked| asked.contains(command))
        };
        let found = pending
            .iter()
            .find(about)
            .unwrap_or_else(|| panic!("{command}: {pending:?}"));
        found["number"].to_string()
    }

    fn answers(&self, number: &str, answer_words: &[&str]) -> String {
        let (code, said) = answer(&self.sandbox, &[&[number], answer_words].concat());
        assert_eq!(code, Some(0), "{said}");
        said
    }

    /// Presses a key until its effect is seen: for its first moments a box accepts no key.
    fn presses(&mut self, key: &str, what: &str, seen: impl Fn(&WatchedAgent) -> bool) {
        wait_until(SOON, what, || {
            self.screen.press(key);
            seen(self).then_some(())
        });
    }

    /// The index of the first request that contains `text`.
    fn first_with(&self, text: &str) -> Option<usize> {
        let requests = self.model.main_requests();
        let has_it = |request: &ModelRequest| request.body.to_string().contains(text);
        requests.iter().position(has_it)
    }

    /// Denies one request with a message and allows another, each by a key.
    fn keys_answer(&mut self) {
        self.screen.sees("matches your rule Bash(rm asked.txt)");
        self.presses("N", "a line for the words", |run| {
            run.screen.text().contains("deny, and tell the agent:")
        });
        // Repeated key presses may have ended up in the line, so it is cleared first.
        self.screen.press("\x15move it to attic/\r");
        self.screen.sees("matches your rule Bash(rm granted.txt)");
        self.presses("y", "an answer", |run| decided_by_now(&run.sandbox, 2));
        // A repeated key press may have opened the choice of what to copy, so it is closed.
        self.screen.press("\x1b[27u");
        let (code, said) = answer(&self.sandbox, &["2", "no"]);
        assert!(
            code == Some(1) && said.contains("question 2 was allowed by you"),
            "{said}"
        );
    }

    /// Answers two requests of one model reply from another terminal; if both are open, the second one first. Returns
    /// the allowed command and the denied one.
    fn two_at_once(&self) -> (&'static str, &'static str) {
        let one_by_one = match self.agent {
            Agent::Claude | Agent::Codex | Agent::Native | Agent::NativeResponses | Agent::NativeMessages => false,
            Agent::Gemini | Agent::Opencode | Agent::OpencodeServer | Agent::Kilo | Agent::Kimi => true,
            agent @ (Agent::Copilot | Agent::Pi | Agent::Cline) => unreachable!("{agent:?} is not among these"),
        };
        let deny = |number: &str| {
            let said = self.answers(number, &["no", "leave", "this", "one"]);
            assert_eq!(said.contains("goes into the next prompt"), self.waits(), "{said}");
        };
        let count = if one_by_one { 1 } else { 2 };
        // kilo asks about either command first. The denial comes last, since it ends kilo's other requests as well.
        let (allowed, denied) = if one_by_one && self.pending(1)[0]["request"]["command"] == "cat second.key" {
            ("cat second.key", "cat first.key")
        } else {
            ("cat first.key", "cat second.key")
        };
        let first = self.question(count, allowed);
        let status = self.sandbox.ralph(["status"]).run(SOON).stdout;
        assert!(status.contains("waits for an answer"), "{status}");
        assert_eq!(
            answer(&self.sandbox, &["7", "yes"]).0,
            Some(1),
            "there is no such question"
        );
        if !one_by_one {
            deny(&self.question(count, denied));
        }
        self.answers(&first, &["yes"]);
        if one_by_one {
            deny(&self.question(count, denied));
        }
        (allowed, denied)
    }

    /// Answers a question of codex with the number of a choice.
    fn codex_has_a_question(&mut self) {
        if self.agent == Agent::Codex {
            self.screen.sees("Which colour?");
            self.presses("2", "an answer", |run| {
                events(&run.sandbox.journal()).any(|event| {
                    let Event::Ask(AskEvent::Answered { answered }) = event else {
                        return false;
                    };
                    matches!(answered.verdict, AskVerdict::Words { .. })
                })
            });
        }
    }

    /// Checks that text is shown while it is written, and sends a message meanwhile.
    fn message_while_it_writes(&mut self) {
        // A repeated key press may have switched to the log, so this switches back.
        self.screen.press("1");
        self.screen.sees("Nearly");
        let now: &[&str] = if self.waits() { &[] } else { &["--now"] };
        let steered = self
            .sandbox
            .ralph(["steer"])
            .args(now)
            .arg("Use British spelling.")
            .run(SOON);
        assert_eq!(steered.code(), Some(0), "{}", steered.stderr);
        self.gate.open();
    }

    fn ends(&mut self) {
        self.screen.sees(" · 1 task · ");
        self.screen.press("q");
        assert_eq!(self.screen.ends(), 0);
        self.sandbox.assert_nothing_runs();
    }
}

fn rules_keys_and_answers_from_elsewhere_decide_and_the_agent_goes_on(agent: Agent) {
    let Some(mut run) = WatchedAgent::start(agent) else {
        return;
    };
    run.keys_answer();
    let (read, unread) = run.two_at_once();
    run.codex_has_a_question();
    run.message_while_it_writes();
    run.ends();

    let left = FILES.map(|file| run.sandbox.read(file).is_some());
    assert_eq!(left, [true, true, false]);
    let journal = run.sandbox.journal();
    let decided = decisions(&journal);
    let about = |command: &str| {
        let found = decided.iter().find(|(title, ..)| title.contains(command));
        let (_, allowed, by) = found.unwrap_or_else(|| panic!("{command}: {decided:?}"));
        (*allowed, by.clone())
    };
    assert!(matches!(about("rm precious.txt"), (false, Decider::Rule { rule, .. }) if rule == "Bash(rm precious.txt)"));
    let (screen, command_line) = (AnswerPlace::Screen, AnswerPlace::CommandLine);
    for (command, allowed, at) in [
        ("rm asked.txt", false, screen),
        ("rm granted.txt", true, screen),
        (read, true, command_line),
        (unread, false, command_line),
    ] {
        assert_eq!(about(command), (allowed, Decider::User { at }), "{command}");
    }
    assert!(
        decided
            .iter()
            .any(|(_, allowed, by)| *allowed && matches!(by, Decider::Mode { .. }))
    );

    // The message of a denial is in the next request, or in the next prompt for an agent whose messages wait.
    let waits = run.waits();
    let prompt = if agent == Agent::Codex { 6 } else { 5 };
    if !waits {
        assert_eq!(
            run.first_with("The rule `Bash(rm precious.txt)`"),
            Some(1),
            "why, and what not"
        );
    }
    assert_eq!(
        run.first_with("move it to attic/"),
        Some(if waits { prompt } else { 2 })
    );
    assert_eq!(run.first_with("leave this one"), Some(if waits { prompt } else { 4 }));
    let secret_of = |command: &str| match command {
        "cat first.key" => "one secret",
        _ => "another secret",
    };
    assert_eq!(run.first_with(secret_of(read)), Some(4));
    assert_eq!(run.first_with(secret_of(unread)), None);
    let requests = run.model.main_requests();
    if agent == Agent::Codex {
        let told = requests[5].tool_results.last().map(String::as_str);
        assert!(told.is_some_and(|told| told.contains("blue")), "{told:?}");
    }
    assert_eq!(
        run.first_with("Use British spelling."),
        Some(prompt),
        "after what it was writing"
    );
    let with_it = requests[prompt].body.to_string();
    assert_eq!(with_it.matches("Use British spelling.").count(), 1);
    let delivered = events(&journal).filter_map(|event| match event {
        Event::Steering(SteeringEvent::Delivered { how, .. }) => Some(*how),
        _ => None,
    });
    let how = if waits { Delivery::Prompt } else { Delivery::Live };
    assert_eq!(delivered.last(), Some(how));
    let report = run.sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("denied 1 time by `Bash(rm precious.txt)`"), "{report}");
}

each_live_agent!(
    rules_keys_and_answers_from_elsewhere_decide_and_the_agent_goes_on: claude Claude, native Native;
    codex Codex, gemini Gemini, opencode Opencode, native_responses NativeResponses, native_messages NativeMessages,
    kilo Kilo, kimi Kimi
);

/// An unanswered request is never allowed, even if it times out or the run is killed, resumed and stopped.
fn what_nobody_answers_is_not_allowed_and_leaves_nothing_behind(agent: Agent) {
    let model = StandIn::start(in_order([&[
        shell("rm unanswered.txt").into(),
        shell("rm precious.txt").into(),
    ]]));
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    plan_one_task(&sandbox);
    sandbox.write("precious.txt", "years of work\n");
    sandbox.write("unanswered.txt", "years of work\n");
    // The mode `ask` asks for everything.
    let running = with_permissions(agent, &sandbox, r#"{ "mode": "ask", "timeout": "1s" }"#).start();
    wait_for_question(&running, 2);
    running.kill();
    running.wait(SOON);
    let decided = decisions(&sandbox.journal());
    assert!(decided[0].0.contains("rm unanswered.txt"), "{decided:?}");
    assert_eq!((decided[0].1, &decided[0].2), (false, &Decider::Deadline));
    let report = sandbox.ralph(["report"]).run(SOON).stdout;
    assert!(report.contains("by the time limit"), "{report}");

    sandbox.write(
        ".ralph/config.json",
        &json!({ "permissions": { "mode": "ask" } }).to_string(),
    );
    let running = ralph(agent, &sandbox).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let stopped = sandbox.ralph(["stop"]).run(SOON);
    assert_eq!(stopped.code(), Some(0), "{}", stopped.stderr);
    running.wait(SOON);
    for file in ["precious.txt", "unanswered.txt"] {
        assert!(sandbox.read(file).is_some(), "{file}");
    }
    sandbox.assert_nothing_runs();
}

each_live_agent!(what_nobody_answers_is_not_allowed_and_leaves_nothing_behind);
