//! The loop, as the command line asks for it.

use std::path::{Path, PathBuf};

use crate::{
    app::{self, Place, Presentation, ScreenWish},
    config::{self, Flag, Sources},
    error::Failure,
    ui::headless::Format,
};

use super::args::{Args, FormatArg, ShowFlags};

pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let place = place(args)?;
    let loaded = config::load(&sources(args, &place))?;
    app::run(&place, &loaded, presentation(args, &args.show))
}

pub(super) fn presentation(args: &Args, show: &ShowFlags) -> Presentation {
    let presentation = Presentation::of_stdout(match show.format {
        FormatArg::Text => Format::Text,
        FormatArg::Jsonl => Format::Jsonl,
    });
    if show.headless {
        return presentation;
    }
    presentation.on_screen(screen(args))
}

/// How the screen is to be, as far as the command line says.
pub(super) fn screen(args: &Args) -> ScreenWish {
    ScreenWish {
        palette: args.theme.map(Into::into),
        ascii: args.ascii,
        mouse: !args.no_mouse,
    }
}

pub(super) fn place(args: &Args) -> Result<Place, Failure> {
    Place::current(args.state_dir.as_deref())
}

/// All places settings come from, this command line among them.
pub(super) fn sources(args: &Args, place: &Place) -> Sources {
    let mut sources = Sources::of_project(&place.project);
    sources.extra = args.config.as_deref().map(absolute);
    sources.flags = flags(args);
    sources
}

fn flags(args: &Args) -> Vec<Flag> {
    let given = &args.settings;
    let flags = [
        ("--adapter", "adapter", &given.adapter),
        ("--plan", "plan", &given.plan),
        ("--prompt", "prompt", &given.prompt),
        ("--prompt-file", "promptFile", &given.prompt_file),
        ("--model", "model", &given.model),
        ("--agent", "agent", &given.agent),
        ("--server", "server", &given.server),
        ("--server-timeout", "serverTimeout", &given.server_timeout),
        ("--session", "session", &given.session),
        ("--promise", "completion.promise", &given.promise),
        ("--max-iterations", "limits.maxIterations", &given.max_iterations),
        ("--max-time", "limits.maxTime", &given.max_time),
        (
            "--iteration-timeout",
            "limits.iterationTimeout",
            &given.iteration_timeout,
        ),
        ("--idle-timeout", "limits.idleTimeout", &given.idle_timeout),
        ("--calls-per-hour", "limits.callsPerHour", &given.calls_per_hour),
        ("--max-cost-usd", "limits.maxCostUsd", &given.max_cost_usd),
        ("--max-tokens", "limits.maxTokens", &given.max_tokens),
    ];
    let goals = given
        .goal
        .iter()
        .map(|goal| Flag::new("--goal", "goals", goal.as_str()));
    flags
        .into_iter()
        .filter_map(|(name, key, value)| Some(Flag::new(name, key, value.clone()?)))
        .chain(goals)
        .collect()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
