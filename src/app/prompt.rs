//! The prompt of a run, as its user wrote it.

use std::path::Path;

use crate::{
    config::Config,
    error::{Failure, FailureKind},
    files::{self, PROMPT_CAP_BYTES, ReadError},
    plan::Chosen,
    prompt::Template,
    text::with_causes,
};

use super::{Place, own_files::own_prompt};

/// The prompt that was asked for, the project's own, or the built-in one.
pub(super) fn template(place: &Place, config: &Config, chosen: &Chosen) -> Result<Template, Failure> {
    let (text, source) = match (&config.prompt, &config.prompt_file) {
        (Some(text), _) => (text.clone(), "the prompt".to_owned()),
        (None, Some(path)) => {
            let path = place.project.join(path);
            let text = match place.own.prompt(&path) {
                Some(read) => read.clone(),
                // It is the user who names it.
                None => files::read_text(&path, PROMPT_CAP_BYTES),
            };
            (readable(&path, text)?, path.display().to_string())
        }
        (None, None) => {
            let path = own_prompt(&place.project);
            let read = place.own.prompt(&path).cloned();
            match read.filter(|read| !read.as_ref().is_err_and(ReadError::is_missing)) {
                Some(read) => (readable(&path, read)?, path.display().to_string()),
                None => return Ok(Template::of_mode(chosen.mode, chosen.reads.clone())),
            }
        }
    };
    Template::parse(&text)
        .map_err(|error| Failure::new(FailureKind::Configuration, format!("{source}: {error}")).hints(error.hints()))
}

fn readable(path: &Path, text: Result<String, ReadError>) -> Result<String, Failure> {
    text.map_err(|error| {
        let why = format!("{}: the prompt cannot be read: {}", path.display(), with_causes(&error));
        Failure::new(FailureKind::Configuration, why)
            .hint("name a file of text with `--prompt-file FILE`, or leave it out for the built-in instructions")
    })
}
