//! Runs the user's hooks, one after the other, with the facts of the run.
//!
//! A hook runs outside of the sandbox, as the user's `notify` command does, and below the guard of ralph's helpers.

use std::{
    os::unix::process::ExitStatusExt,
    path::PathBuf,
    process::ExitStatus,
    time::{Duration, Instant},
};

use ralph_core::{
    event::{BackgroundEnd, BackgroundResult, Exit, Hook, Text},
    machine::Input,
    run::RunView,
};
use ralph_system::{
    diagnostics::inherited,
    proc::{
        Supervisor,
        helper::{HelperError, HelperOutput},
    },
};
use ralph_text::{KeptEscapes, PlainText, with_causes};
use ralph_words::{outcome_word, stop_in_words};
use serde_json::{Map, Value, json};
use tokio::{
    sync::mpsc,
    task::{JoinHandle, spawn_blocking},
};

/// Most bytes kept of what a hook prints; the rest is read and dropped.
const OUTPUT_BYTES: usize = 16 << 10;

/// How the user's hooks are started.
#[derive(Debug, Clone)]
pub struct HookStarter {
    /// Starts programs outside of the sandbox.
    pub supervisor: Supervisor,
    /// Variables with keys of agents, which hooks do not get.
    pub keys: Vec<String>,
}

/// The hooks of a run that are started and have not ended.
#[derive(Debug)]
pub(super) struct HookQueue {
    starter: HookStarter,
    /// The hooks wait here for those before them. `None` before the first one.
    queue: Option<mpsc::UnboundedSender<QueuedHook>>,
    worker: Option<JoinHandle<()>>,
    /// The iteration that is prepared once all hooks have ended.
    pub(super) waiting: Option<u32>,
}

/// A hook with what it is told.
#[derive(Debug)]
pub(super) struct QueuedHook {
    number: u32,
    command: String,
    project: PathBuf,
    variables: Vec<(&'static str, String)>,
    facts: Vec<u8>,
    deadline: Duration,
}

impl QueuedHook {
    /// `None` if the settings have no command for the hook.
    pub(super) fn new(
        view: &RunView,
        number: u32,
        (hook, iteration): (Hook, u32),
        task: Option<&Text>,
        question: Option<&Text>,
    ) -> Option<Self> {
        let facts = facts(view, hook, iteration, task, question);
        Some(Self {
            number,
            command: view.settings.hooks.command(hook)?.clone(),
            project: (*view.project).clone(),
            variables: variables(&facts),
            facts: Value::Object(facts).to_string().into_bytes(),
            deadline: Duration::from_millis(view.settings.hooks.timeout_ms),
        })
    }
}

impl HookQueue {
    pub(super) fn new(starter: HookStarter) -> Self {
        Self {
            starter,
            queue: None,
            worker: None,
            waiting: None,
        }
    }

    pub(super) fn push(&mut self, hook: QueuedHook, results: &mpsc::Sender<Input>) {
        let starter = self.starter.clone();
        let queue = self.queue.get_or_insert_with(|| {
            let (queue, mut queued) = mpsc::unbounded_channel::<QueuedHook>();
            let results = results.clone();
            self.worker = Some(tokio::spawn(async move {
                while let Some(hook) = queued.recv().await {
                    let (number, starter) = (hook.number, starter.clone());
                    let ran = spawn_blocking(inherited(move || run(&hook, &starter))).await;
                    let result = Box::new(ran.unwrap_or_else(|error| {
                        let why = error.to_string().into();
                        result(BackgroundEnd::NotStarted { why }, Instant::now(), "", 0)
                    }));
                    if results.send(Input::HookEnded { number, result }).await.is_err() {
                        return; // the run is over
                    }
                }
            }));
            queue
        });
        _ = queue.send(hook); // the worker ends with the run
    }
}

impl Drop for HookQueue {
    fn drop(&mut self) {
        if let Some(worker) = &self.worker {
            worker.abort();
        }
    }
}

/// The facts that a hook gets as JSON on its stdin.
fn facts(
    view: &RunView,
    hook: Hook,
    iteration: u32,
    task: Option<&Text>,
    question: Option<&Text>,
) -> Map<String, Value> {
    let mut facts = Map::new();
    let mut set = |name: &str, value: Value| {
        if !value.is_null() {
            facts.insert(name.to_owned(), value);
        }
    };
    set("hook", json!(hook.name()));
    set("run", json!(view.run));
    set("project", json!(*view.project));
    set("plan", json!(view.settings.plan));
    set("iteration", json!(iteration));
    set("task", json!(task));
    set("question", json!(question));
    set("tasksDone", json!(view.plan.done()));
    set("tasksOpen", json!(view.plan.open()));
    set("usage", json!(view.usage));
    if let (Hook::AfterIteration, Some(row)) = (hook, view.iterations.numbered(iteration)) {
        set("adapter", json!(row.adapter));
        set("model", json!(row.shown_model()));
        set("outcome", json!(row.outcome.as_ref().map(outcome_word)));
        set("changes", json!(row.changes));
        set("durationMs", json!(row.duration_ms));
    }
    if let Some(reason) = view.stop_reason() {
        set("end", json!(stop_in_words(reason)));
        set("exitCode", json!(reason.exit_code()));
    }
    facts
}

/// The facts that hooks get as variables as well.
fn variables(facts: &Map<String, Value>) -> Vec<(&'static str, String)> {
    const NAMES: [(&str, &str); 10] = [
        ("hook", "RALPH_HOOK"),
        ("run", "RALPH_RUN_ID"),
        ("project", "RALPH_PROJECT"),
        ("plan", "RALPH_PLAN"),
        ("iteration", "RALPH_ITERATION"),
        ("task", "RALPH_TASK"),
        ("question", "RALPH_QUESTION"),
        ("outcome", "RALPH_OUTCOME"),
        ("end", "RALPH_END"),
        ("exitCode", "RALPH_EXIT_CODE"),
    ];
    let values = NAMES.iter().filter_map(|(fact, name)| Some((*name, facts.get(*fact)?)));
    values
        .map(|(name, value)| (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

fn run(hook: &QueuedHook, starter: &HookStarter) -> BackgroundResult {
    let began = Instant::now();
    // Both outputs in the order in which they are written.
    let command = format!("exec 2>&1\n{}", hook.command);
    let shell = starter
        .supervisor
        .users_command(&command, &hook.project, &starter.keys)
        .input(hook.facts.clone())
        .output_cap(OUTPUT_BYTES)
        .deadline(hook.deadline);
    let variables = hook.variables.iter().filter(|(_, value)| !value.contains('\0'));
    let shell = variables.fold(shell, |shell, (name, value)| shell.env(*name, value));
    match shell.run() {
        Ok(HelperOutput { status, stdout, .. }) => {
            let end = BackgroundEnd::Exited { exit: exit_of(status) };
            let mut text = plain(&stdout.bytes);
            if stdout.cut {
                text += "\n(the rest was dropped)";
            }
            result(end, began, &text, stdout.bytes.len())
        }
        Err(HelperError::TimedOut { deadline }) => {
            let after_ms = millis(deadline);
            result(BackgroundEnd::TimedOut { after_ms }, began, "", 0)
        }
        Err(HelperError::GuardLost) => result(BackgroundEnd::Killed, began, "", 0),
        Err(error @ HelperError::Start(_)) => {
            let why = with_causes(&error).into();
            result(BackgroundEnd::NotStarted { why }, began, "", 0)
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn exit_of(status: ExitStatus) -> Exit {
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code { code },
        (None, signal) => Exit::Signal {
            signal: signal.unwrap_or_default(),
        },
    }
}

fn result(end: BackgroundEnd, began: Instant, output: &str, bytes: usize) -> BackgroundResult {
    BackgroundResult {
        end,
        duration_ms: millis(began.elapsed()),
        output_bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
        tail: output.into(),
    }
}

/// The output of a hook, without escape sequences.
fn plain(bytes: &[u8]) -> String {
    let (mut text, mut lines) = (PlainText::new(KeptEscapes::Nothing), Vec::new());
    text.feed(bytes, |line| lines.push(line.to_owned()));
    text.finish(|line| lines.push(line.to_owned()));
    lines.join("\n")
}
