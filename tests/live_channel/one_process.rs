//! Many turns in one process of an agent that takes seconds to start. The protocol speaks to it turn by turn, as in a
//! run.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use ralph_agent::{
    dialect::ZonedClock,
    protocol::{Exchange, LiveKind, Protocol, SessionCommand, SessionOpening, Steering},
};
use ralph_core::event::{AgentSignal, SteeringId};

use super::{bodies, most_often, text_of};
use crate::{
    harness::{
        SOON, Sandbox,
        agent::Agent,
        agents,
        connect::{COLLECT_GARBAGE, OPTIMIZE},
    },
    stand_in::{Scenario, StandIn, Step, say},
};

/// A running `opencode acp`. Dropping it ends the process.
struct AcpProcess {
    child: Child,
    input: ChildStdin,
    lines: Receiver<Vec<u8>>,
    cwd: String,
}

impl AcpProcess {
    fn start(sandbox: &Sandbox) -> Option<AcpProcess> {
        let program = sandbox.program(agents::program("opencode")?).args(["acp"]);
        let mut command = Command::new(program.command().get_program());
        command.args(program.command().get_args()).env_clear();
        for (name, value) in program.command().get_envs() {
            command.env(name, value.expect("set, not removed"));
        }
        let mut child = command
            .current_dir(sandbox.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("opencode");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                _ = sender.send([&line[..], b"\n"].concat()); // the test is over
            }
        });
        Some(AcpProcess {
            input: child.stdin.take().expect("a pipe"),
            child,
            lines,
            cwd: sandbox.project().display().to_string(),
        })
    }

    /// Plays one turn with messages from `first` up to `last`, each sent at about the end of the turn. Returns the sent
    /// messages, each with whether it was taken.
    fn turn(&mut self, first: u32, last: u32, model: &StandIn) -> Vec<(u32, bool)> {
        let mut protocol = LiveKind::Acp.protocol();
        let opening = SessionOpening {
            prompt: format!("Turn {first}."),
            cwd: self.cwd.clone(),
            seed: first.to_string(),
            steering: Steering::Prompt,
            ..SessionOpening::default()
        };
        let (mut answers, mut next) = (Vec::new(), first);
        let mut exchange = Exchange::default();
        let mut requests = model.main_request_count();
        protocol.start(opening, &mut exchange);
        let mut over = self.carry_out(exchange, &mut answers);
        let deadline = Instant::now() + SOON;
        while !over {
            assert!(Instant::now() < deadline, "the turn of message {first} has no end");
            let seen = model.main_request_count();
            if seen > requests && next <= last {
                requests = seen;
                let (id, text) = (SteeringId(next), text_of(next));
                next += 1;
                let mut exchange = Exchange::default();
                protocol.command(SessionCommand::Steer { id, text }, &mut exchange);
                over |= self.carry_out(exchange, &mut answers);
            }
            over |= self.listen(&mut *protocol, &mut answers);
        }
        answers.sort_unstable();
        let answered: Vec<u32> = answers.iter().map(|(number, _)| *number).collect();
        let sent: Vec<u32> = (first..next).collect();
        assert_eq!(answered, sent, "what became of each is said once");
        answers
    }

    /// Handles the next line if it arrives soon. Returns whether the turn is over.
    fn listen(&mut self, protocol: &mut dyn Protocol, answers: &mut Vec<(u32, bool)>) -> bool {
        match self.lines.recv_timeout(Duration::from_millis(2)) {
            Ok(line) => {
                let mut exchange = Exchange::default();
                protocol.feed(&line, &clock(), &mut exchange);
                self.carry_out(exchange, answers)
            }
            Err(RecvTimeoutError::Timeout) => false,
            Err(RecvTimeoutError::Disconnected) => panic!("opencode is gone"),
        }
    }

    /// Writes the exchange's input to the agent. Returns whether the turn is over.
    fn carry_out(&mut self, exchange: Exchange, answers: &mut Vec<(u32, bool)>) -> bool {
        self.input.write_all(&exchange.input).expect("an agent that listens");
        self.input.flush().expect("an agent that listens");
        answers.extend(exchange.signals.iter().filter_map(|signal| match signal {
            AgentSignal::MessageAnswered { id, taken, .. } => Some((id.0, *taken)),
            _ => None,
        }));
        exchange.close
    }
}

impl Drop for AcpProcess {
    fn drop(&mut self) {
        _ = self.child.kill(); // it may have ended
        _ = self.child.wait();
    }
}

fn clock() -> ZonedClock {
    ZonedClock {
        now_ms: 0,
        zone: jiff::tz::TimeZone::UTC,
        named: |_| None,
    }
}

#[test]
#[ignore = "part of the full matrix"]
fn fifty_messages_at_the_very_end_of_a_turn_of_opencode_are_neither_lost_nor_doubled() {
    const MESSAGES: u32 = 50;
    let ends =
        (0..1000_u64).map(|turn| Step::from(say("So far, so good.")).after(Duration::from_millis(turn % 10 * 5)));
    let model = StandIn::start(ends.fold(Scenario::new(), Scenario::then));
    let Some(sandbox) = Agent::Opencode.sandbox(&model, 0) else {
        return;
    };
    // One process plays all turns: it would keep gigabytes, and its code runs often enough for the optimizing compiler
    // to pay.
    sandbox.set_variable(COLLECT_GARBAGE, "1");
    sandbox.set_variable(OPTIMIZE, "1");
    let Some(mut served) = AcpProcess::start(&sandbox) else {
        return;
    };
    let mut answers = Vec::new();
    let mut first = 1;
    while first <= MESSAGES {
        // Starting a session takes most of the time, so each one gets several messages.
        let last = MESSAGES.min(first + 9);
        let turn = served.turn(first, last, &model);
        first += u32::try_from(turn.len()).expect("a few");
        answers.extend(turn);
    }
    drop(served);
    let bodies = bodies(&model);
    for (number, taken) in &answers {
        // A message that was not taken goes into a run's next prompt, so the model must not have seen it yet.
        let text = text_of(*number);
        let most = most_often(&text, &bodies);
        assert_eq!(most, usize::from(*taken), "{text}, taken: {taken}");
    }
    let taken: Vec<bool> = answers.iter().map(|(_, taken)| *taken).collect();
    assert!(taken.contains(&true), "some reach the turn: {taken:?}");
}
