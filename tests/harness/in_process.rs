//! The loop in process: the real driver, machine, journal and plan, agents that are functions, and paused time, which
//! advances when nothing else is left to do (`#[tokio::test(start_paused = true)]`).
//!
//! Output of an agent goes through a dialect, as a program's output does. There are no signals, terminals and sockets,
//! no processes but those of goals, and the project is in no repository.

use std::{
    collections::BTreeSet,
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use jiff::tz::TimeZone;
use parking_lot::Mutex;
use ralph::config::Config;
use ralph_agent::{
    Activity, AgentAdapter, AgentError, Capabilities, Display, NotLive, Prices, Session, SessionCommand,
    SessionRequest,
    dialect::{self, Dialect, DialectKind, DialectTrait, Finish},
};
use ralph_core::{
    event::{
        AgentSignal, Backoff, Event, Exit, Record, RequestedBy, RunId, SessionId, Settings, SteeringKind, StopReason,
        StopRequest, UserCommand,
    },
    run::RunView,
};
use ralph_driver::{
    self as driver, ClockReading, Driver, DriverError, LoopHandle, OpenRun, RunClock, RunConfig, hub::Hub,
};
use ralph_plan::prompt::{AgentConfinement, PromptTemplate};
use ralph_state::{
    control::{ClientRole, ControlReply, ControlRequest, RunStatus, ToolAnswer, ToolCall, ToolRequest},
    store::{
        accounts::AccountFile,
        journal::{self, JournalReader},
    },
};
use ralph_system::{
    paths::States,
    proc::{LeftProcesses, Size, StopSpeed, Supervisor},
};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, watch},
    task::{AbortHandle, JoinHandle},
    time::Instant,
};

use super::{
    sandbox::Sandbox,
    wait::{SOON, wait_until},
};

const SIZE: Size = Size { cols: 80, rows: 24 };
const RECORDING_CAP_BYTES: u64 = 1 << 20;
/// First pause between two looks at the journal: short, since time passes meanwhile. Each pause is longer, since hours
/// may pass.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LONGEST_LOOK: Duration = Duration::from_secs(1);
/// Most looks: at the longest pause they take some hours.
const LOOKS: u32 = 20_000;

/// A project outside of any repository, and the clocks of the loops in it.
pub struct LoopProject {
    sandbox: Sandbox,
    gates: Arc<watch::Sender<BTreeSet<String>>>,
    clocks: Clocks,
}

/// The clocks at the start of a test; from then on they follow the runtime's time.
#[derive(Clone, Copy)]
struct Clocks {
    began: Instant,
    began_ms: u64,
}

impl Clocks {
    fn start() -> Clocks {
        Clocks {
            began: Instant::now(),
            began_ms: ralph_system::os::now_ms(),
        }
    }

    fn read(self) -> ClockReading {
        let monotonic = self.began.elapsed();
        let elapsed_ms = u64::try_from(monotonic.as_millis()).expect("no such long time");
        ClockReading {
            wall_ms: self.began_ms + elapsed_ms,
            monotonic,
        }
    }

    fn dialect_clock(self) -> dialect::ZonedClock {
        dialect::ZonedClock {
            now_ms: self.read().wall_ms,
            zone: TimeZone::UTC,
            named: |_| None,
        }
    }
}

impl Deref for LoopProject {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl LoopProject {
    /// Makes a project with two open tasks in `PLAN.md`.
    pub fn new() -> LoopProject {
        LoopProject {
            sandbox: Sandbox::without_git(),
            gates: Arc::default(),
            clocks: Clocks::start(),
        }
    }

    /// Writes a plan with `tasks` open tasks.
    pub fn plan(&self, tasks: usize) {
        let tasks: String = (1..=tasks).map(|n| format!("- [ ] Task {n}\n")).collect();
        self.write("PLAN.md", &tasks);
    }

    /// Releases agents that wait with [`AgentTurn::wait_for`].
    pub fn release(&self, gate: &str) {
        self.gates.send_modify(|gates| _ = gates.insert(gate.to_owned()));
    }

    /// The wall clock of the loops, in milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clocks.read().wall_ms
    }

    /// A loop over `PLAN.md` with `agent`, and short waits after failures.
    pub fn looping(&self, agent: &FunctionAgent) -> Looping<'_> {
        let config = Config::default();
        let settings = Settings {
            adapter: agent.id.to_owned(),
            plan: self.project().join("PLAN.md"),
            session: config.session,
            limits: config.limits,
            backoff: Backoff {
                base_ms: 10,
                max_ms: 40,
                ..config.backoff
            },
            breaker: config.breaker,
            ..Settings::default()
        };
        Looping {
            project: self,
            settings,
            promise: None,
            agents: vec![agent.clone()],
            machine: self.paths().states(),
        }
    }
}

/// A loop that is being configured.
pub struct Looping<'a> {
    project: &'a LoopProject,
    settings: Settings,
    promise: Option<String>,
    agents: Vec<FunctionAgent>,
    /// The states that hold the reports of accounts.
    machine: States,
}

impl Looping<'_> {
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    #[must_use]
    pub fn max_iterations(self, most: u32) -> Self {
        self.with(|settings| settings.limits.max_iterations = Some(most))
    }

    /// Sets the words of the promise, as the user can.
    #[must_use]
    pub fn promise(mut self, words: &str) -> Self {
        self.promise = Some(words.to_owned());
        self
    }

    /// Adds `agent` as a stand-in while those before it are limited.
    #[must_use]
    pub fn standing_in(mut self, agent: &FunctionAgent) -> Self {
        self.settings.fallback.push(agent.id.to_owned());
        self.agents.push(agent.clone());
        self
    }

    /// Shares the accounts of the agents with the runs of another project, as on one machine.
    #[must_use]
    pub fn beside(mut self, other: &LoopProject) -> Self {
        self.machine = other.paths().states();
        self
    }

    /// Makes `agent` available to tasks that ask for it.
    #[must_use]
    pub fn with_agent(mut self, agent: &FunctionAgent) -> Self {
        self.agents.push(agent.clone());
        self
    }

    pub async fn run(self) -> FinishedLoop {
        self.start().wait().await
    }

    pub fn start(self) -> RunningLoop {
        let Looping {
            project,
            settings,
            promise,
            agents,
            machine,
        } = self;
        let supervisor = Supervisor::default().guarded_by(env!("CARGO_BIN_EXE_ralph").into());
        let open = OpenRun::open(project.paths(), &settings.plan, &supervisor).expect("a state directory of one's own");
        let from = if open.recovered { open.next_seq } else { 0 };
        let journal = open.files.journal();
        let run = open.run.clone();
        let adapter = |agent| driver::AvailableAgent {
            last_line_claims: agent_is_terminal(&agent),
            account: Some(AccountFile::new(&machine, agent.id)),
            can_ask_always: false,
            adapter: Arc::new(InProcessAdapter {
                agent,
                gates: Arc::clone(&project.gates),
                clocks: project.clocks,
            }),
        };
        let config = RunConfig {
            settings,
            template: PromptTemplate::built_in(),
            promise,
            agents: agents.into_iter().map(adapter).collect(),
            workers: Vec::new(),
            prices: Prices::default(),
            goals_parallel: false,
            room: Default::default(),
            setup: Vec::new(),
            withheld: Vec::new(),
            size: SIZE,
            recording_cap_bytes: RECORDING_CAP_BYTES,
            repository: None,
            commits: false,
            heard: None,
            denial_scanner: None,
            confined: AgentConfinement::No,
            keep_awake: false,
            hooks: driver::HookStarter {
                supervisor: supervisor.clone(),
                keys: Vec::new(),
            },
            clock: RunClock::read_by({
                let clocks = project.clocks;
                move || clocks.read()
            }),
            disks: Vec::new(),
            supervisor,
            left: LeftProcesses::default(),
            agent_tools: true,
            languages: Vec::new(),
            language_memory_bytes: None,
            watched: false,
            permission_policy: None,
            runners: Box::leak(Box::default()),
            sealed: None,
            guard: None,
            test_files: ralph_gate::guard::FileGuard::default(),
        };
        let hub = Hub::new(&journal, open.next_seq);
        let mut driver = Driver::new(open, config, hub);
        RunningLoop {
            handle: driver.handle(),
            journal: journal.clone(),
            run,
            reader: Mutex::new((JournalReader::open(&journal).expect("a journal"), Vec::new())),
            from,
            task: tokio::spawn(async move { driver.run().await }),
        }
    }
}

fn agent_is_terminal(agent: &FunctionAgent) -> bool {
    !agent.dialect.has(DialectTrait::Structured)
}

/// Waits for a condition that other processes bring about. Time advances by `passes` and then stands still: paused time
/// would otherwise run into their limits as soon as this process is idle.
pub async fn while_time_stands<T: Send + 'static>(
    passes: Duration,
    what: &'static str,
    condition: impl FnMut() -> Option<T> + Send + 'static,
) -> T {
    let waiting = tokio::task::spawn_blocking(move || wait_until(SOON, what, condition));
    tokio::time::advance(passes).await;
    waiting.await.expect("what is waited for")
}

/// A running loop.
pub struct RunningLoop {
    handle: LoopHandle,
    journal: PathBuf,
    run: RunId,
    /// The journal reader, and the records of the run read so far.
    reader: Mutex<(JournalReader, Vec<Record>)>,
    /// The sequence number of this loop's first record: the loop may have resumed a run.
    from: u64,
    task: JoinHandle<Result<StopReason, DriverError>>,
}

impl RunningLoop {
    /// Waits for a record; those already written count.
    ///
    /// # Panics
    /// If none comes.
    pub async fn wait_for_record(&self, wanted: impl Fn(&Event) -> bool) -> Record {
        let mut pause = FIRST_LOOK;
        for _ in 0..LOOKS {
            let over = self.task.is_finished();
            let records = self.records();
            if let Some(record) = records.into_iter().find(|record| wanted(&record.event)) {
                return record;
            }
            assert!(
                !over,
                "the loop is over, and the record was not seen: {:#?}",
                self.records()
            );
            tokio::time::sleep(pause).await;
            pause = (pause * 3 / 2).min(LONGEST_LOOK);
        }
        panic!("the record does not come: {:#?}", self.records())
    }

    /// Waits for records that depend on other processes, as [`while_time_stands`].
    pub async fn wait_for_processes(&self, passes: Duration, wanted: impl Fn(&[Record]) -> bool + Send + 'static) {
        let journal = self.journal.clone();
        let look = move || wanted(&journal::read(&journal).ok()?.0).then_some(());
        while_time_stands(passes, "such a record", look).await;
    }

    /// The records of this loop so far.
    pub fn records(&self) -> Vec<Record> {
        let mut reader = self.reader.lock();
        let (reader, records) = &mut *reader;
        while let Some(record) = reader.next_record().expect("a journal that can be read") {
            records.push(record);
        }
        records
            .iter()
            .filter(|record| record.seq >= self.from)
            .cloned()
            .collect()
    }

    /// Waits for the end of the loop.
    pub async fn wait(mut self) -> FinishedLoop {
        let reason = (&mut self.task).await.expect("a loop that does not panic");
        FinishedLoop {
            reason: reason.expect("a journal that can be kept"),
            records: self.records(),
        }
    }

    /// Ends the loop as if its process were killed: nothing more is written.
    pub async fn kill(mut self) {
        self.task.abort();
        _ = (&mut self.task).await; // it was cancelled
    }

    /// Gives a command as another terminal does. Returns the reply: done, or refused.
    pub async fn command(&self, command: UserCommand) -> Result<String, String> {
        match self
            .handle
            .ask(ControlRequest::Command { command }, ClientRole::User)
            .await
        {
            ControlReply::Done { text, .. } => Ok(text),
            ControlReply::Refused { why } | ControlReply::Forbidden { why } => Err(why),
            ControlReply::Started { .. } | ControlReply::Status { .. } | ControlReply::Tool { .. } => {
                panic!("a status nobody asked for")
            }
        }
    }

    /// Calls a tool of ralph, as the agent does.
    pub async fn tool(&self, call: ToolCall) -> ToolAnswer {
        self.tool_for_run(&self.run, call).await
    }

    /// As [`RunningLoop::tool`], with a tool that was given to the agent of `run`.
    pub async fn tool_for_run(&self, run: &RunId, call: ToolCall) -> ToolAnswer {
        let run = run.clone();
        let called = ToolRequest { run, call };
        match self
            .handle
            .ask(ControlRequest::Tool { called, waits: true }, ClientRole::Agent)
            .await
        {
            ControlReply::Tool { answer } => answer,
            ControlReply::Refused { why } | ControlReply::Forbidden { why } => ToolAnswer::refused(why),
            other => panic!("no answer of a tool: {other:?}"),
        }
    }

    /// Queues a message, and returns the reply.
    pub async fn steer(&self, kind: SteeringKind, text: &str) -> String {
        let text = text.to_owned();
        let answer = self.command(UserCommand::Steer { kind, text }).await;
        answer.expect("a message that is taken")
    }

    /// The view of the records so far.
    pub fn view(&self) -> RunView {
        RunView::of(&self.records())
    }

    pub async fn status(&self) -> RunStatus {
        match self.handle.ask(ControlRequest::Status, ClientRole::User).await {
            ControlReply::Status { status } => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Stops the loop as Ctrl-C does.
    pub async fn interrupt(&self) {
        let command = UserCommand::Stop {
            stop: StopRequest::Graceful,
        };
        self.handle.command_soon(command, RequestedBy::Interrupt).await;
    }

    /// Tells the loop that the plan file was written.
    pub fn plan_written(&self) {
        self.handle.plan_written();
    }

    /// Tells the loop that the pause file has appeared or disappeared.
    pub async fn pause_file(&self, present: bool) {
        let handle = self.handle.clone();
        let told = tokio::task::spawn_blocking(move || handle.pause_file(present));
        told.await.expect("the loop is told");
    }
}

/// A loop that has ended.
#[derive(Debug)]
pub struct FinishedLoop {
    reason: StopReason,
    records: Vec<Record>,
}

impl FinishedLoop {
    /// The exit code of ralph for this end.
    pub fn code(&self) -> Option<i32> {
        Some(self.reason.exit_code().into())
    }

    pub fn records(&self) -> Vec<Record> {
        self.records.clone()
    }
}

type AgentFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// An agent that is a function, which plays one session.
#[derive(Clone)]
pub struct FunctionAgent {
    id: &'static str,
    dialect: DialectKind,
    is_live: bool,
    play: Arc<dyn Fn(AgentTurn) -> AgentFuture + Send + Sync>,
}

impl FunctionAgent {
    /// An agent that speaks `ralph-jsonl`.
    pub fn jsonl<F: Future<Output = ()> + Send + 'static>(
        play: impl Fn(AgentTurn) -> F + Send + Sync + 'static,
    ) -> FunctionAgent {
        FunctionAgent {
            id: "script",
            dialect: DialectKind::RalphJsonl,
            is_live: false,
            play: Arc::new(move |turn| Box::pin(play(turn))),
        }
    }

    /// An agent that is known only by its terminal output.
    pub fn terminal<F: Future<Output = ()> + Send + 'static>(
        play: impl Fn(AgentTurn) -> F + Send + Sync + 'static,
    ) -> FunctionAgent {
        FunctionAgent {
            dialect: DialectKind::Terminal,
            ..FunctionAgent::jsonl(play)
        }
    }

    /// An agent that finishes one task in each iteration.
    pub fn worker() -> FunctionAgent {
        FunctionAgent::jsonl(|turn| async move {
            turn.said("working");
            turn.work();
            turn.over("One task less.");
        })
    }

    /// Makes the agent accept messages while it works.
    #[must_use]
    pub fn live(self) -> FunctionAgent {
        FunctionAgent { is_live: true, ..self }
    }

    #[must_use]
    pub fn called(self, id: &'static str) -> FunctionAgent {
        FunctionAgent { id, ..self }
    }
}

/// One session of an agent.
#[derive(Clone)]
pub struct AgentTurn {
    /// The number of the iteration.
    pub n: u32,
    pub prompt: String,
    /// The session to resume.
    pub resume: Option<String>,
    /// The requested model.
    pub model: Option<String>,
    project: PathBuf,
    plan: PathBuf,
    gates: watch::Receiver<BTreeSet<String>>,
    messages: watch::Receiver<Vec<String>>,
    clocks: Clocks,
    output: Arc<Mutex<SessionOutput>>,
}

/// The output side of a session.
struct SessionOutput {
    dialect: Box<dyn Dialect>,
    display: Box<dyn Display>,
    is_structured: bool,
    out: mpsc::Sender<AgentSignal>,
    activity: Activity,
    exit: Exit,
}

impl AgentTurn {
    /// Prints text unchanged, to the terminal or as lines of the dialect.
    pub fn print(&self, text: &str) {
        let mut output = self.output.lock();
        let output = &mut *output;
        output.activity.output_bytes += text.len() as u64;
        if !output.is_structured {
            output.display.show(text.as_bytes());
        }
        let mut signals = Vec::new();
        output
            .dialect
            .feed(text.as_bytes(), &self.clocks.dialect_clock(), &mut signals);
        for signal in signals {
            output.out.try_send(signal).expect("a loop that listens");
        }
    }

    /// Prints one signal.
    pub fn signal(&self, signal: &Value) {
        self.print(&format!("{signal}\n"));
    }

    pub fn said(&self, text: &str) {
        self.signal(&json!({"type": "said", "text": text}));
    }

    /// Ends the turn with a last message.
    pub fn over(&self, message: &str) {
        self.signal(&json!({"type": "turn-ended", "ok": true, "message": message}));
    }

    /// Ends the turn with a problem of this kind.
    pub fn failed(&self, kind: &Value, text: &str) {
        self.signal(&json!({"type": "problem", "problem": {"kind": kind, "text": text}}));
        self.signal(&json!({"type": "turn-ended", "ok": false, "message": null}));
    }

    /// Reports that a session with this name was opened.
    pub fn opened(&self, session: &str) {
        self.signal(&json!({"type": "opened", "session": session, "model": "m"}));
    }

    /// Ticks the first open box, and leaves a file of this iteration.
    pub fn work(&self) {
        let n = self.n;
        self.write(&format!("work-{n}.txt"), &format!("work of iteration {n}\n"));
        self.edit_plan(|plan| plan.replacen("- [ ]", "- [x]", 1));
    }

    pub fn edit_plan(&self, edit: impl FnOnce(String) -> String) {
        let plan = fs::read_to_string(&self.plan).expect("a plan");
        fs::write(&self.plan, edit(plan)).expect("a plan that can be written");
    }

    /// Writes a file of the project.
    pub fn write(&self, path: &str, text: &str) {
        fs::write(self.project.join(path), text).expect("a file of the project");
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    /// The wall clock of the loop, in milliseconds.
    pub fn now_ms(&self) -> u64 {
        self.clocks.read().wall_ms
    }

    /// The line from the prompt that claims the end.
    pub fn promise(&self) -> String {
        let (_, after) = self.prompt.split_once("<promise>").expect("a promise in the prompt");
        let (token, _) = after.split_once("</promise>").expect("the end of the promise");
        format!("<promise>{token}</promise>")
    }

    /// Sets the program's exit at the end of the script; the default is code 0.
    pub fn exits(&self, exit: Exit) {
        self.output.lock().exit = exit;
    }

    /// Uses the CPU for `time`.
    pub async fn compute(&self, time: Duration) {
        const SLICE: Duration = Duration::from_millis(100);
        let mut left = time;
        while !left.is_zero() {
            let slice = left.min(SLICE);
            tokio::time::sleep(slice).await;
            self.output.lock().activity.cpu += slice;
            left -= slice;
        }
    }

    /// Waits until the test calls [`LoopProject::release`] for this gate.
    pub async fn wait_for(&self, gate: &str) {
        let mut gates = self.gates.clone();
        let opened = gates.wait_for(|gates| gates.contains(gate)).await;
        drop(opened.expect("the project is there"));
    }

    /// Waits until `count` messages have arrived, and returns the last of them.
    pub async fn wait_for_messages(&self, count: usize) -> String {
        let mut messages = self.messages.clone();
        let messages = messages.wait_for(|received| received.len() >= count).await;
        messages.expect("a session")[count - 1].clone()
    }

    /// Does nothing until the session is ended.
    pub async fn hang(&self) {
        std::future::pending().await
    }

    /// Reports the dialect's last signals and then the end.
    fn end(&self, exit: Option<Exit>) {
        let mut output = self.output.lock();
        let output = &mut *output;
        let exit = exit.unwrap_or(output.exit);
        let mut signals = Vec::new();
        let finish = Finish {
            exit: Some(exit),
            stderr: "",
        };
        output
            .dialect
            .finish(finish, &self.clocks.dialect_clock(), &mut signals);
        signals.push(AgentSignal::Ended {
            exit: Some(exit),
            output_bytes: output.activity.output_bytes,
        });
        for signal in signals {
            _ = output.out.try_send(signal); // the loop was killed
        }
    }
}

/// Runs sessions of a [`FunctionAgent`].
struct InProcessAdapter {
    agent: FunctionAgent,
    gates: Arc<watch::Sender<BTreeSet<String>>>,
    clocks: Clocks,
}

impl AgentAdapter for InProcessAdapter {
    fn id(&self) -> &str {
        self.agent.id
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            resume: true,
            usage: true,
            cost: true,
            usage_in_turn: true,
            live_steering: self.agent.is_live,
            ..Capabilities::default()
        }
    }

    fn check(&self, _cwd: &Path) -> Result<(), AgentError> {
        Ok(())
    }

    fn start(&self, request: SessionRequest, out: mpsc::Sender<AgentSignal>) -> Box<dyn Session> {
        let plan = request.env.iter().find(|(name, _)| name == "RALPH_PLAN");
        let output = Arc::new(Mutex::new(SessionOutput {
            dialect: self.agent.dialect.parser(),
            display: request.display,
            is_structured: self.agent.dialect.has(DialectTrait::Structured),
            out,
            activity: Activity::default(),
            exit: Exit::Code { code: 0 },
        }));
        let (sender, messages) = watch::channel(Vec::new());
        let turn = AgentTurn {
            messages,
            n: request.iteration,
            prompt: fs::read_to_string(&request.prompt).expect("a prompt"),
            resume: request.resume.map(|SessionId(id)| id),
            model: request.model,
            project: request.cwd,
            plan: plan.expect("the plan is named").1.clone().into(),
            gates: self.gates.subscribe(),
            clocks: self.clocks,
            output: Arc::clone(&output),
        };
        let (stop, mut stopped) = watch::channel(false);
        let play = Arc::clone(&self.agent.play);
        let playing = tokio::spawn(async move {
            let ended = turn.clone();
            let exit = tokio::select! {
                () = play(turn) => None,
                Ok(_) = stopped.wait_for(|stopped| *stopped) => Some(Exit::Signal { signal: 15 }),
            };
            ended.end(exit);
        });
        Box::new(InProcessSession {
            stop,
            output,
            messages: self.agent.is_live.then_some(sender),
            playing: playing.abort_handle(),
        })
    }
}

struct InProcessSession {
    stop: watch::Sender<bool>,
    output: Arc<Mutex<SessionOutput>>,
    /// `None` for an agent that accepts no messages.
    messages: Option<watch::Sender<Vec<String>>>,
    playing: AbortHandle,
}

impl Session for InProcessSession {
    fn stop(&self, _stop: StopSpeed) {
        self.stop.send_replace(true);
    }

    fn resize(&self, _size: Size) {}

    fn type_bytes(&self, _bytes: &[u8]) {}

    fn send(&self, command: SessionCommand) -> Result<(), NotLive> {
        let (Some(messages), SessionCommand::Steer { id, text }) = (&self.messages, command) else {
            return Err(NotLive);
        };
        messages.send_modify(|sent| sent.push(text.clone()));
        let output = self.output.lock();
        let answered = AgentSignal::MessageAnswered {
            id,
            taken: true,
            text: Some(text),
        };
        output.out.try_send(answered).map_err(|_| NotLive)
    }

    fn activity(&self) -> Activity {
        self.output.lock().activity
    }
}

impl Drop for InProcessSession {
    fn drop(&mut self) {
        self.playing.abort();
    }
}
