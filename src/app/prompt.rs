//! The prompt of a run, as its user wrote it.

use std::path::Path;

use crate::{
    config::Config,
    error::{Failure, FailureKind},
    files::{self, PROMPT_CAP_BYTES},
    prompt::Template,
    text::with_causes,
};

use super::Place;

/// The prompt that was asked for, the project's own, or the built-in one.
pub(super) fn template(place: &Place, config: &Config) -> Result<Template, Failure> {
    let own = place.project.join(".ralph").join("prompt.md");
    let (text, source) = match (&config.prompt, &config.prompt_file) {
        (Some(text), _) => (text.clone(), "the prompt".to_owned()),
        (None, Some(path)) => {
            let path = place.project.join(path);
            (read_prompt(&path)?, path.display().to_string())
        }
        (None, None) if own.exists() => (read_prompt(&own)?, own.display().to_string()),
        (None, None) => return Ok(Template::built_in()),
    };
    Template::parse(&text)
        .map_err(|error| Failure::new(FailureKind::Configuration, format!("{source}: {error}")).hints(error.hints()))
}

fn read_prompt(path: &Path) -> Result<String, Failure> {
    files::read_text(path, PROMPT_CAP_BYTES).map_err(|error| {
        let why = format!("{}: the prompt cannot be read: {}", path.display(), with_causes(&error));
        Failure::new(FailureKind::Configuration, why)
            .hint("name a file of text with `--prompt-file FILE`, or leave it out for the built-in instructions")
    })
}
