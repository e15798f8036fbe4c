//! Errors that prevent an agent from being run at all.

use ralph_policy::settings::CatalogError;
use thiserror::Error;

use super::{
    manifest_error::ManifestError,
    opencode::ServerError,
    registry::{self, UnknownEntry},
};

#[derive(Debug, Error)]
pub enum AgentError {
    #[error(transparent)]
    Catalog(#[from] CatalogError<ManifestError>),
    #[error(transparent)]
    Registry(#[from] UnknownEntry),
    #[error("adapter `{id}`: program `{program}` is {}", missing(.program))]
    NotInstalled {
        id: String,
        program: String,
        install: Option<String>,
    },
    #[error("adapter `{id}` has no option for {} (`{value}`)", with_article(.what))]
    NoPlaceFor {
        id: String,
        /// `model` or `agent`, like the flag and the placeholder.
        what: &'static str,
        value: String,
    },
    #[error("adapter `{id}` needs the model as `provider/name`, got `{model}`")]
    ProviderMissing { id: String, model: String },
    #[error("adapter `{id}`")]
    Server { id: String, source: Box<ServerError> },
}

impl AgentError {
    /// Advice for the user, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            AgentError::Catalog(error) => error.hints(),
            AgentError::Registry(error) => error.hints(),
            AgentError::Server { source, .. } => source.hints(),
            AgentError::NoPlaceFor { id, what, .. } => vec![
                format!("leave `--{what}` out, or name an adapter that takes one with `--adapter ID`"),
                format!("or give `{id}` a `command.{what}`, with `{{{what}}}` in its `command.args`"),
            ],
            AgentError::ProviderMissing { model, .. } => vec![format!("type `--model PROVIDER/{}`", bare(model))],
            AgentError::NotInstalled { id, install, .. } if id.starts_with(registry::PREFIX) => {
                let entry = &id[registry::PREFIX.len()..];
                let add = format!("`ralph adapters add {entry}` shows what would run it");
                install.iter().cloned().chain([add]).collect()
            }
            AgentError::NotInstalled { id, install, .. } => {
                let config = format!("or set `adapters.{id}.command.program` to its path");
                match install {
                    Some(install) => vec![format!("install it: {install}"), config],
                    None => vec!["install it, and make sure that it is on PATH".to_owned(), config],
                }
            }
        }
    }
}

fn with_article(what: &str) -> String {
    match what.starts_with('a') {
        true => format!("an {what}"),
        false => format!("a {what}"),
    }
}

fn bare(model: &str) -> &str {
    match model.trim_matches('/') {
        "" => "NAME",
        name => name,
    }
}

fn missing(program: &str) -> &'static str {
    if program.contains('/') {
        "not there, or not executable"
    } else {
        "not on PATH"
    }
}
