//! The obligations of `docs/spec/agent.md`: the example agents meet every one, each planted fault is found by the obligation
//! that it breaks, and the agents that ralph has an adapter for are tested by the same turns (`fake_agent/conformance`).

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
    thread,
    time::Duration,
};

use parking_lot::{Mutex, MutexGuard};
use ralph_system::proc::{ConfinementLevel, Supervisor};

use crate::{
    harness::{
        Sandbox,
        agent::{Agent, each_agent},
        running::Finished,
        skipped,
    },
    stand_in::{Scenario, StandIn, Step, decide, http, log::ModelRequest, say, shell},
};

/// Ten turns of an agent, on a machine that has other work.
const PATIENCE: Duration = Duration::from_secs(300);
/// How many agents are tested at once.
const AT_ONCE: usize = 4;

/// The example agents with the program that runs each.
const EXAMPLES: [(&str, &str, &str); 3] = [
    ("python-agent", "py", "python3"),
    ("bash-agent", "sh", "bash"),
    ("javascript-agent", "js", "node"),
];

/// A fault of an example agent: a text of its program and what is in its place.
struct Fault {
    what: &'static str,
    agent: &'static str,
    from: &'static str,
    to: &'static str,
    /// The obligations that are not met then.
    unmet: &'static [u8],
}

const fn python(what: &'static str, from: &'static str, to: &'static str, unmet: &'static [u8]) -> Fault {
    Fault {
        what,
        agent: "python-agent",
        from,
        to,
        unmet,
    }
}

const fn javascript(what: &'static str, from: &'static str, to: &'static str, unmet: &'static [u8]) -> Fault {
    Fault {
        agent: "javascript-agent",
        ..python(what, from, to, unmet)
    }
}

const fn bash(what: &'static str, from: &'static str, to: &'static str, unmet: &'static [u8]) -> Fault {
    Fault {
        agent: "bash-agent",
        ..python(what, from, to, unmet)
    }
}

const FAULTS: &[Fault] = &[
    python(
        "has no interpreter",
        "#!/usr/bin/env python3",
        "#!/usr/bin/no-such-python",
        &[1],
    ),
    python("tells no version number", "python-agent 1.0.0", "python-agent", &[2, 3]),
    python("is another version", "python-agent 1.0.0", "python-agent 2.0.0", &[3]),
    python(
        "does not read its prompt",
        "prompt = sys.stdin.read()",
        "prompt = 'Reply with `nothing`.'",
        &[4, 5, 12, 13, 14, 22],
    ),
    python(
        "works in another directory",
        "prompt = sys.stdin.read()",
        "prompt = sys.stdin.read(); home.mkdir(exist_ok=True); os.chdir(home)",
        &[5],
    ),
    python(
        "writes half a line",
        "if step := think",
        "print('{\"type\":\"said\",\"te', flush=True)\nif step := think",
        &[6],
    ),
    python(
        "writes prose between lines",
        "if step := think",
        "print('Thinking ...', flush=True)\nif step := think",
        &[6],
    ),
    python(
        "ends a tool that never started",
        "tell(\"tool-started\", call=\"1\"",
        "tell(\"tool-started\", call=\"0\"",
        &[7],
    ),
    python(
        "tells usage below zero",
        "\"outputTokens\": 9",
        "\"outputTokens\": -9",
        &[8],
    ),
    python("tells no usage", "tell(\"usage\", usage=", "str(", &[8]),
    javascript(
        "counts usage anew",
        "memory.used += 9",
        "memory.used = step ? 9 : 4",
        &[8],
    ),
    python(
        "tells no end",
        "tell(\"turn-ended\", ok=True, message=answer)",
        "print()",
        &[9],
    ),
    python(
        "goes on after its end",
        "tell(\"turn-ended\", ok=True, message=answer)",
        "tell(\"turn-ended\", ok=True, message=answer); tell(\"said\", text=\"more\")",
        &[9],
    ),
    javascript(
        "does not exit",
        "tell(\"turn-ended\", { ok: true",
        "setInterval(() => {}, 1000);\n  tell(\"turn-ended\", { ok: true",
        &[10],
    ),
    python(
        "leaves a child",
        "tell(\"turn-ended\", ok=True, message=answer)",
        "subprocess.Popen(['sleep', '300'], start_new_session=True)\ntell(\"turn-ended\", ok=True, message=answer)",
        &[11],
    ),
    python(
        "loses the prompt beyond 64 kB",
        "sys.stdin.read()",
        "sys.stdin.read(65536)",
        &[12],
    ),
    javascript(
        "loses the file beyond 64 kB",
        "readFileSync(promptFile, \"utf8\")",
        "readFileSync(promptFile, \"utf8\").slice(0, 65536)",
        &[12],
    ),
    python(
        "refuses variables of a later version",
        "prompt = sys.stdin.read()",
        "prompt = sys.stdin.read() if 'RALPH_OF_A_LATER_VERSION' not in os.environ else fail('usage', 'what is this?')",
        &[13],
    ),
    python(
        "writes without waiting",
        "signal.signal",
        "os.set_blocking(1, False)\nsignal.signal",
        &[14],
    ),
    python(
        "passes a refusal for success",
        "tell(\"turn-ended\", ok=False, message=None)\n    sys.exit(1)",
        "tell(\"turn-ended\", ok=kind == 'auth', message=None)\n    sys.exit(1)",
        &[15],
    ),
    python("exits with 0 after a refusal", "sys.exit(1)", "sys.exit(0)", &[16]),
    bash(
        "ignores an interrupt",
        "trap 'exit 143' TERM",
        "trap '' INT; trap 'exit 143' TERM",
        &[17],
    ),
    python("ignores SIGTERM", "lambda *_: sys.exit(143)", "signal.SIG_IGN", &[18]),
    python(
        "tells success when it is stopped",
        "lambda *_: sys.exit(143)",
        "lambda *_: (tell('turn-ended', ok=True, message='stopped'), sys.exit(0))",
        &[19],
    ),
    python(
        "leaves its tool when it is stopped",
        "subprocess.run(target,",
        "subprocess.run(\"trap '' TERM; \" + target,",
        &[20],
    ),
    python(
        "begins a new session in silence",
        "session = resumed or uuid.uuid4().hex",
        "session = uuid.uuid4().hex; memory = None; resumed = None",
        &[21, 22, 23],
    ),
    python(
        "continues under another id",
        "tell(\"opened\", session=session",
        "tell(\"opened\", session=session if not resumed else 'another'",
        &[21],
    ),
    python(
        "forgets the turn before",
        "known = json.loads(memory.read_text()) if resumed else []",
        "known = []",
        &[22],
    ),
    python(
        "begins anew if the session is lost",
        "    fail(\"session-lost\", f\"there is no session {resumed}\")",
        "    resumed = None",
        &[23],
    ),
];

/// A sandbox with an example agent in the same place as in the repository.
fn with_example(agent: &str, ending: &str, change: impl Fn(String) -> String) -> Sandbox {
    let sandbox = Sandbox::new();
    let source = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/agents").join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let manifest = format!("{agent}.toml");
    sandbox.install_adapter(agent, &source(&manifest));
    let program = format!("examples/agents/{agent}.{ending}");
    sandbox.write(&program, &change(source(&format!("{agent}.{ending}"))));
    fs::set_permissions(sandbox.project().join(program), Permissions::from_mode(0o755)).expect("the agent's program");
    sandbox
}

/// The output of a conformance run.
struct Tried {
    finished: Finished,
}

impl Tried {
    /// The numbers of the obligations with this result.
    fn with(&self, result: &str) -> Vec<u8> {
        let rows = self.finished.stdout.lines().filter_map(|line| {
            let mut words = line.split(' ');
            Some((words.next()?.parse().ok()?, words.next()?))
        });
        let rows: Vec<(u8, &str)> = rows.collect();
        assert!(rows.iter().map(|(number, _)| *number).eq(1..=23), "{:?}", self.finished);
        let found = rows.into_iter().filter(|(_, found)| *found == result);
        found.map(|(number, _)| number).collect()
    }
}

/// Tries the obligations on the program of an installed adapter, in the sandbox of a run. With `grace_ms` it has so long to end.
fn tried(sandbox: &Sandbox, adapter: &str, grace_ms: u64) -> Tried {
    let (ralph, fake) = (env!("CARGO_BIN_EXE_ralph"), env!("CARGO_BIN_EXE_fake-agent"));
    let adapters = sandbox.config().join("ralph/adapters").display().to_string();
    let grace = grace_ms.to_string();
    let program = [fake, "conformance", adapter, ralph, &adapters, &grace];
    let run = match Supervisor::confinement_level() {
        ConfinementLevel::Landlock { .. } => sandbox.ralph(["--adapter", adapter, "sandbox", "run"]).args(program),
        ConfinementLevel::None => sandbox.program(fake).args(&program[1..]),
    };
    let finished = run.run(PATIENCE);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    Tried { finished }
}

fn is_installed(interpreter: &str) -> bool {
    let is_there = which::which(interpreter).is_ok();
    if !is_there {
        skipped(&format!("the example agent: {interpreter} is not installed"));
    }
    is_there
}

#[test]
fn the_example_agents_meet_every_obligation() {
    for (agent, ending, interpreter) in EXAMPLES {
        if !is_installed(interpreter) {
            continue;
        }
        let sandbox = with_example(agent, ending, |text| text);
        let tried = tried(&sandbox, agent, 0);
        assert_eq!(tried.with("unmet"), [0; 0], "{:?}", tried.finished);
        assert_eq!(tried.with("met").len(), 22, "{:?}", tried.finished);
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn the_example_agents_work_off_a_plan() {
    for (agent, ending, interpreter) in EXAMPLES {
        if !is_installed(interpreter) {
            continue;
        }
        let sandbox = with_example(agent, ending, |text| text);
        sandbox.write("PLAN.md", "- [ ] Tick this task\n");
        let prompt = "Run the command `sed -i 's/- .*]/- [x]/' PLAN.md`.";
        let finished = sandbox
            .ralph([
                "--adapter",
                agent,
                "--headless",
                "--max-iterations",
                "1",
                "--prompt",
                prompt,
            ])
            .run(PATIENCE);
        assert_eq!(finished.code(), Some(0), "{finished:?}");
        sandbox.assert_nothing_runs();
    }
}

#[test]
fn each_planted_fault_is_found_by_the_obligation_that_it_breaks() {
    let _alone = alone();
    let faults: Vec<&Fault> = FAULTS
        .iter()
        .filter(|fault| {
            let (_, _, interpreter) = example(fault.agent);
            is_installed(interpreter)
        })
        .collect();
    let mut wrong = String::new();
    for some in faults.chunks(AT_ONCE) {
        thread::scope(|scope| {
            let tests: Vec<_> = some.iter().map(|fault| scope.spawn(|| test_with(fault))).collect();
            for (test, fault) in tests.into_iter().zip(some) {
                let tried = test.join().expect("a test that ended");
                let found = tried.with("unmet");
                if found != fault.unmet {
                    let (what, expected, finished) = (fault.what, fault.unmet, tried.finished);
                    wrong += &format!("an agent that {what} breaks {expected:?}, found {found:?}: {finished:?}\n");
                }
            }
        });
    }
    assert!(wrong.is_empty(), "{wrong}");
}

fn example(agent: &str) -> (&'static str, &'static str, &'static str) {
    let example = EXAMPLES.into_iter().find(|(known, ..)| *known == agent);
    example.expect("an example")
}

fn test_with(fault: &Fault) -> Tried {
    let (agent, ending, _) = example(fault.agent);
    let sandbox = with_example(agent, ending, |text| {
        let changed = text.replace(fault.from, fault.to);
        assert_ne!(changed, text, "{}", fault.what);
        changed
    });
    let tried = tried(&sandbox, agent, 0);
    sandbox.assert_nothing_runs();
    tried
}

#[test]
fn the_specification_has_the_obligations_that_are_tried() {
    let text = include_str!("../docs/spec/agent.md");
    let numbers = text
        .lines()
        .filter_map(|line| line.split_once(". **")?.0.parse::<u8>().ok());
    assert!(numbers.eq(1..=23));
}

/// A model that does what the tasks say.
fn obedient() -> Scenario {
    let choose = |request: &ModelRequest| -> Step {
        let prompt = request.prompt();
        let after = |words: &str| {
            let (_, rest) = prompt.rsplit_once(words)?;
            Some(rest.split('`').next().unwrap_or_default().to_owned())
        };
        let word = after("eply with `");
        if prompt.contains("refuses the key") {
            return http(401).into();
        }
        if prompt.contains("in the turn before") {
            let written = request
                .user_texts
                .iter()
                .find_map(|text| text.split("Write the text `").nth(1));
            return say(written
                .and_then(|rest| rest.split('`').next())
                .unwrap_or("I do not know."))
            .into();
        }
        let command = after("Run the command `");
        let text = after("Write the text `");
        match (command, text, word) {
            (Some(command), _, _) if request.tool_results.is_empty() => shell(&command).into(),
            (None, Some(text), _) if request.tool_results.is_empty() => {
                shell(&format!("printf %s '{text}' > conformance.txt")).into()
            }
            (Some(_), _, None) => say("200000").into(),
            (_, _, word) => say(&word.unwrap_or_default()).into(),
        }
    };
    Scenario::from(decide(choose)).side(say("A title"))
}

each_agent!(
    a_real_agent_is_tested: native Native;
    codex Codex, claude Claude, gemini Gemini, opencode Opencode, copilot Copilot, kilo Kilo, kimi Kimi, pi Pi,
    cline Cline
);

/// Keeps tests that start many agents apart: beside each other, one of them may not get to print its version in time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock()
}

fn a_real_agent_is_tested(agent: Agent) {
    let _alone = alone();
    let model = StandIn::start(obedient());
    let Some(sandbox) = agent.sandbox(&model, 0) else {
        return;
    };
    // An agent on a busy machine takes longer to end than the adapter's grace. The next signal would hide whether it ends.
    let tried = tried(&sandbox, agent.adapter(), 30_000);
    // Whether a stopped agent's tools end with it depends on the moment, and so does whether cline's daemon is there when it
    // exits, and whether gemini loses the rest of a long line when it exits before all of it was read.
    let mut found = tried.with("unmet");
    found.retain(|number| *number != 20 && !matches!((agent, *number), (Agent::Cline, 11) | (Agent::Gemini, 14)));
    assert_eq!(found, known_of(agent), "{:?}", tried.finished);
    sandbox.assert_nothing_runs();
}

/// The obligations that an agent is known not to meet.
fn known_of(agent: Agent) -> &'static [u8] {
    match agent {
        // It warns of a model that it does not know.
        Agent::Codex => &[6],
        Agent::Pi => &[16],
        // It ends its turn after SIGTERM, and tells of success.
        Agent::Cline => &[19],
        Agent::Claude
        | Agent::Copilot
        | Agent::Gemini
        | Agent::Opencode
        | Agent::OpencodeServer
        | Agent::Kilo
        | Agent::Kimi
        | Agent::Native
        | Agent::NativeMessages
        | Agent::NativeResponses => &[],
    }
}
