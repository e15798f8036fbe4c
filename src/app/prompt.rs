//! The prompt template of a run.

use std::path::Path;

use ralph_agent::{Channel, manifest::Manifest};
use ralph_driver::Preview;
use ralph_git::Repository;
use ralph_plan::{
    ChosenPlan, PlanKind,
    prompt::{AgentConfinement, PromptTemplate, built_in_text},
};
use ralph_system::{
    files::{self, PROMPT_CAP_BYTES, ReadError},
    proc::Supervisor,
};
use ralph_text::with_causes;

use crate::{
    config::{Config, SandboxMode},
    error::{Failure, FailureKind},
};

use super::{
    Confiner, ProjectPlace,
    agents::{catalog, chosen_adapter},
    own_files::own_prompt,
    plan::chosen_work,
};

/// Returns the requested prompt, the project's own, or the built-in one.
pub(super) fn template(place: &ProjectPlace, config: &Config, chosen: &ChosenPlan) -> Result<PromptTemplate, Failure> {
    let (text, source) = match (&config.prompt, &config.prompt_file) {
        (Some(text), _) => (text.clone(), "the prompt".to_owned()),
        (None, Some(path)) => {
            let path = place.project.join(path);
            let text = match place.own.prompt(&path) {
                Some(read) => read.clone(),
                // The path was named by the user, so it needs no trust.
                None => files::read_text(&path, PROMPT_CAP_BYTES),
            };
            (readable(&path, text)?, path.display().to_string())
        }
        (None, None) => {
            let path = own_prompt(&place.project);
            let read = place.own.prompt(&path).cloned();
            match read.filter(|read| !read.as_ref().is_err_and(ReadError::is_missing)) {
                Some(read) => (readable(&path, read)?, path.display().to_string()),
                None => return Ok(PromptTemplate::for_mode(chosen.mode, chosen.reads.clone())),
            }
        }
    };
    PromptTemplate::parse(&text)
        .map_err(|error| Failure::new(FailureKind::Configuration, format!("{source}: {error}")).hints(error.hints()))
}

/// The prompt that the next iteration would get, as far as it is known now.
///
/// # Errors
/// The [`Failure`] that a run would end with.
pub(crate) fn next_prompt(place: &ProjectPlace, config: &Config, supervisor: &Supervisor) -> Result<String, Failure> {
    let (work, reading) = chosen_work(place, config)?;
    let template = template(place, config, &work)?;
    let catalog = catalog(place, config);
    let agent = chosen_adapter(&catalog, config, false, &place.project, supervisor);
    let agent = agent.ok().and_then(|id| catalog.manifest(&id).ok());
    let confined = match config.sandbox.mode {
        SandboxMode::Off => AgentConfinement::No,
        SandboxMode::Auto | SandboxMode::On | SandboxMode::Strict => {
            Confiner::new(place, config, &catalog, supervisor).confined()
        }
    };
    // Without a repository, changes of the last session are left out.
    let scratch = tempfile::tempdir().ok();
    let repository = scratch.as_ref().and_then(|scratch| {
        let states = place.paths.states();
        Repository::discover(&place.project, scratch.path(), &states, supervisor).ok()
    });
    let preview = Preview {
        paths: &place.paths,
        plan: &work.path,
        section: config.section.as_deref(),
        tasks: &reading.plan,
        story_state: reading.story_state.as_ref(),
        template: &template,
        confined,
        has_tools: config.tools.enabled && agent.is_some_and(|agent| takes_servers(&agent, config)),
        repository: repository.as_ref().map(|(repository, _)| repository),
    };
    Ok(ralph_driver::next_prompt(&preview)?)
}

/// Whether the agent of `manifest` gets MCP servers.
fn takes_servers(manifest: &Manifest, config: &Config) -> bool {
    let live = manifest.live.as_ref().filter(|_| config.channel == Channel::Live);
    manifest.takes_servers(live)
}

/// The built-in instructions for the project's plan, as a template.
///
/// # Errors
/// As [`next_prompt`].
pub(crate) fn built_in_prompt(place: &ProjectPlace, config: &Config) -> Result<String, Failure> {
    let (work, reading) = chosen_work(place, config)?;
    let kind = PlanKind::from_path(&work.path);
    Ok(built_in_text(kind, reading.story_state.as_ref(), work.mode, work.reads))
}

fn readable(path: &Path, text: Result<String, ReadError>) -> Result<String, Failure> {
    text.map_err(|error| {
        let why = format!("{}: the prompt cannot be read: {}", path.display(), with_causes(&error));
        Failure::new(FailureKind::Configuration, why)
            .hint("name a file of text with `--prompt-file FILE`, or leave it out for the built-in instructions")
    })
}
