//! Runs one turn of an agent against a model server of ralph's own, to see whether the installed version works.
//!
//! The agent gets a home directory of its own and the settings of the adapter's `[check]` in it, so that it neither finds
//! nor changes anything of its user's.

use std::{
    collections::BTreeSet,
    fs, io,
    path::Path,
    time::{Duration, Instant},
};

use ralph_core::event::Exit;
use ralph_system::{
    proc::{Confinement, Network, Supervisor},
    proxy::PROXY_VARIABLES,
};
use ralph_text::one_line;
use ralph_words::{exit_in_words, problem_in_words, short_duration};

use super::{
    check_answers::ANSWER,
    check_model::CheckModel,
    conformance::{ConformanceTask, ObservedEnd, ObservedTurn, TurnRequest, TurnStage},
    login::expanded,
    manifest::{CheckSetup, Manifest},
    template::{AdapterPlaceholder, AdapterTemplate},
};

/// How long the turn may take. Several agents start at once, and some need seconds of the processor.
const DEADLINE: Duration = Duration::from_secs(60);

/// An agent to check.
pub struct TurnCheck<'a> {
    pub manifest: &'a Manifest,
    /// The program, as the check of its version found it.
    pub program: &'a Path,
    /// An empty directory for everything of the turn.
    pub directory: &'a Path,
    /// Starts the agent, confined if there is a sandbox.
    pub supervisor: &'a Supervisor,
    /// Variables with keys of all agents.
    pub keys: &'a [String],
}

/// Whether the installed version of an agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnCheckResult {
    Works { after: Duration },
    Fails { why: String },
}

impl TurnCheck<'_> {
    /// Runs the turn; `None` if the adapter does not say how its agent is led to a model. Takes at most half a minute.
    ///
    /// # Errors
    /// The system's error if a file of the check cannot be written, or no port can be had.
    pub fn run(&self) -> io::Result<Option<TurnCheckResult>> {
        let Some(setup) = &self.manifest.check else {
            return Ok(None);
        };
        let model = CheckModel::start()?;
        let [home, project, scratch] = ["home", "project", "scratch"].map(|name| self.directory.join(name));
        for directory in [&home, &project, &scratch] {
            fs::create_dir_all(directory)?;
        }
        let filled = |text: &str| {
            let text = text.replace("{url}", &model.url());
            text.replace("{home}", &home.to_string_lossy())
        };
        for (path, text) in &setup.files {
            let file = home.join(path);
            fs::create_dir_all(file.parent().unwrap_or(&home))?;
            fs::write(&file, filled(text))?;
        }
        let environment = environment(setup, &home, filled);
        let manifest = self.at_home(&environment);
        let stage = TurnStage {
            supervisor: &self.kept_to(&home, model.port()),
            project: &project,
            scratch: &scratch,
            deadline: DEADLINE,
        };
        let begun = Instant::now();
        let turn = stage.run(
            &manifest,
            &TurnRequest {
                task: ConformanceTask::Reply,
                word: ANSWER,
                resume: None,
                variables: environment,
            },
        )?;
        Ok(Some(judged(&turn, begun.elapsed())))
    }

    /// The manifest without what leads to the user's own settings, state and keys.
    fn at_home(&self, environment: &[(String, String)]) -> Manifest {
        let mut manifest = self.manifest.clone();
        let state = manifest.state.iter().chain(&manifest.state_files);
        let of_state: BTreeSet<String> = state.filter_map(|path| variable_in(path)).collect();
        let command = &mut manifest.command;
        command.env.retain(|(name, _)| !of_state.contains(name));
        let is_set = |name: &String| environment.iter().any(|(set, _)| set == name);
        let proxies = PROXY_VARIABLES.map(str::to_owned);
        let removed = self.keys.iter().chain(&of_state).chain(&proxies).cloned();
        command.env_remove.extend(removed);
        command.env_remove.retain(|name| !is_set(name));
        if let Some(Ok(program)) = self
            .program
            .to_str()
            .filter(|_| !self.manifest.is_ralph())
            .map(|path| AdapterTemplate::parse(path, &[] as &[AdapterPlaceholder]))
        {
            manifest.command.program = program;
        }
        manifest
    }

    /// The supervisor with the turn's home directory, and without a network but for the model.
    fn kept_to(&self, home: &Path, port: u16) -> Supervisor {
        let Some(confinement) = self.supervisor.confinement() else {
            return self.supervisor.clone();
        };
        let mut kept = Confinement::clone(&confinement);
        // The program may be installed there.
        let state = self.manifest.state.iter().chain(&self.manifest.state_files);
        kept.read.extend(state.filter_map(|path| expanded(path)));
        kept.write.push(home.to_owned());
        kept.network = Some(Network {
            proxy_port: Some(port),
            ..Network::default()
        });
        kept.variables
            .retain(|(name, _)| !PROXY_VARIABLES.contains(&name.as_str()));
        self.supervisor.confining(Some(kept))
    }
}

/// The variables of the turn.
fn environment(setup: &CheckSetup, home: &Path, filled: impl Fn(&str) -> String) -> Vec<(String, String)> {
    let at = |name: &str, path: &str| (name.to_owned(), home.join(path).to_string_lossy().into_owned());
    let mut variables = vec![
        at("HOME", ""),
        at("XDG_CONFIG_HOME", ".config"),
        at("XDG_DATA_HOME", ".local/share"),
        at("XDG_STATE_HOME", ".local/state"),
        at("XDG_CACHE_HOME", ".cache"),
        ("NO_PROXY".to_owned(), "127.0.0.1".to_owned()),
    ];
    variables.extend(setup.env.iter().map(|(name, value)| (name.clone(), filled(value))));
    variables
}

/// The variable with which a path begins.
fn variable_in(path: &str) -> Option<String> {
    let name = path.strip_prefix('$')?.split('/').next()?;
    Some(name.to_owned())
}

fn judged(turn: &ObservedTurn, after: Duration) -> TurnCheckResult {
    let why = match (turn.end, turn.verdict(), turn.problem()) {
        (ObservedEnd::TimedOut, ..) => {
            let ms = u64::try_from(DEADLINE.as_millis()).unwrap_or(u64::MAX);
            format!("no answer within {}", short_duration(ms))
        }
        (_, Some(true), _) if turn.says(ANSWER) => return TurnCheckResult::Works { after },
        (_, Some(true), _) => "it succeeded without the answer of the model".to_owned(),
        (_, _, Some(problem)) => problem_in_words(problem),
        (_, _, None) => match turn.exit {
            Some(exit @ (Exit::Code { .. } | Exit::Signal { .. })) => exit_in_words(exit),
            None => "it did not start".to_owned(),
        },
    };
    let last = turn.shown.lines().rev().map(str::trim);
    let mut last = last.filter(|line| !line.is_empty() && !said(line, &why));
    let why = match last.next() {
        Some(words) => format!("{why}, last words: {}", one_line(words)),
        None => why,
    };
    TurnCheckResult::Fails { why }
}

/// Whether one of the two texts has the other in it.
fn said(line: &str, why: &str) -> bool {
    why.contains(line) || line.contains(why)
}
