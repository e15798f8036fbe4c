//! What keeps an agent from being run at all.

use thiserror::Error;

use super::{manifest_error::ManifestError, opencode::ServerError};

#[derive(Debug, Error)]
pub enum AgentError {
    #[error("there is no adapter `{id}`")]
    UnknownAdapter {
        id: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("adapter `{id}` cannot be used")]
    Manifest {
        id: String,
        #[source]
        source: Box<ManifestError>,
    },
    #[error("adapter `{id}`: program `{program}` is {}", missing(.program))]
    NotInstalled {
        id: String,
        program: String,
        install: Option<String>,
    },
    #[error("adapter `{id}`")]
    Server {
        id: String,
        #[source]
        source: Box<ServerError>,
    },
}

impl AgentError {
    /// What the user can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            AgentError::UnknownAdapter { suggestion, known, .. } => {
                let did_you_mean = suggestion.iter().map(|name| format!("did you mean `{name}`?"));
                did_you_mean
                    .chain([format!("there are: {}", known.join(", "))])
                    .collect()
            }
            AgentError::Manifest { id, .. } => {
                vec![format!("`ralph adapters show {id}` prints each value and its origin")]
            }
            AgentError::Server { source, .. } => source.hints(),
            AgentError::NotInstalled { id, install, .. } => {
                let config = format!("or set `adapters.{id}.command.program` in the configuration to where it is");
                match install {
                    Some(install) => vec![format!("install it: {install}"), config],
                    None => vec!["install it, and make sure that it is on PATH".to_owned(), config],
                }
            }
        }
    }
}

fn missing(program: &str) -> &'static str {
    if program.contains('/') {
        "not there, or not executable"
    } else {
        "not on PATH"
    }
}
