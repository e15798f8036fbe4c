//! A built-in agent without a model, which works through a plan for demonstration.
//!
//! The agent runs like any other (own process, own terminal, prompt on standard input), and knows only what the prompt
//! and the environment tell every agent. Its files, commands and commits are real; its words come from a script.

mod recipes;
mod stage;
mod worker;

use std::{
    env,
    io::{self, Read},
    path::PathBuf,
};

use stage::DemoStage;

/// Multiplies every pause; 0 means no pauses.
const SPEED_VAR: &str = "RALPH_DEMO_SPEED";
/// The variable in which ralph tells every agent the path of the plan.
const PLAN_VAR: &str = "RALPH_PLAN";
const DEFAULT_PLAN: &str = "PLAN.md";

const PROMPT_CAP_BYTES: u64 = 1024 * 1024;
const MAX_SPEED: f64 = 20.0;
const DEFAULT_COLUMNS: usize = 80;

/// Returns a plan that the demo agent can carry out: four tasks of a few seconds each, and a fifth session to fix a
/// mistake.
pub(crate) fn scratch_plan() -> &'static str {
    recipes::PLAN
}

/// Returns the goal of that plan in the syntax of `--goal`. It refuses the agent's claim after the fourth task.
pub(crate) fn scratch_goal() -> &'static str {
    recipes::GOAL
}

/// Works on one task of the plan, as one session of an agent does. Returns the exit code.
pub(crate) fn run() -> u8 {
    let speed = env::var(SPEED_VAR)
        .ok()
        .and_then(|speed| speed.parse().ok())
        .unwrap_or(1.0);
    let mut stage = DemoStage::new(io::stdout(), f64::clamp(speed, 0.0, MAX_SPEED), columns());
    let plan = env::var_os(PLAN_VAR).map_or_else(|| PathBuf::from(DEFAULT_PLAN), PathBuf::from);
    match read_prompt().and_then(|prompt| worker::work(&mut stage, &prompt, &plan, &env::current_dir()?)) {
        Ok(()) => 0,
        Err(error) => {
            // A further error cannot be reported anywhere.
            _ = stage.failure(&error.to_string());
            1
        }
    }
}

/// Width of the terminal at the start of the agent.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout());
    let columns = size.map_or(0, |size| usize::from(size.ws_col));
    if columns == 0 { DEFAULT_COLUMNS } else { columns }
}

fn read_prompt() -> io::Result<String> {
    let mut bytes = Vec::new();
    io::stdin().lock().take(PROMPT_CAP_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
