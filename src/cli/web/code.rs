//! `ralph token --web --code`: an address that logs one browser in to the running `ralph web`.

use std::{fs, path::PathBuf};

use ralph_state::{
    control::{ControlClient, ControlError, UserOnlyAction},
    store::tokens::TokenFile,
};
use ralph_system::paths::States;
use ralph_text::{
    console::{complain, print},
    with_causes,
};
use reqwest::{
    Method,
    header::{AUTHORIZATION, HOST},
};
use serde::Deserialize;

use crate::error::{Failure, FailureKind};

use super::super::{args::Args, run::place, trust::refuse_agent};

/// The host name that the server takes on its socket.
const OWN_HOST: &str = "localhost";

#[derive(Deserialize)]
struct NewCode {
    pages: Vec<String>,
}

/// Prints an address that logs one browser in.
pub(super) fn run(args: &Args) -> Result<u8, Failure> {
    let NewCode { pages } = new_code(args)?;
    print(&pages.into_iter().map(|page| page + "\n").collect::<String>());
    complain("it works once, within two minutes, and gives full control of your runs");
    Ok(0)
}

/// Asks the running `ralph web`, which alone knows its codes.
fn new_code(args: &Args) -> Result<NewCode, Failure> {
    let place = place(args)?;
    refuse_agent(&place.paths, UserOnlyAction::Token)?;
    let states = place.paths.states();
    let token = TokenFile::new(states.tokens()).read_or_make()?.full;
    let failed = |error: String| Failure::new(FailureKind::Failed, error);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    for socket in web_sockets(&states) {
        let client = ControlClient::for_socket(&socket)?;
        let request = client
            .request(Method::POST, "/codes")
            .header(HOST, OWN_HOST)
            .header(AUTHORIZATION, format!("Bearer {}", token.secret()));
        let response = match runtime.block_on(client.send(request)) {
            Ok(response) => response,
            // A server that was killed has left its socket.
            Err(ControlError::NotRunning) => continue,
            Err(error) => return Err(error.into()),
        };
        let is_good = response.status().is_success();
        let body = runtime.block_on(response.bytes());
        let body = body.map_err(|error| failed(with_causes(&error)))?;
        if is_good {
            return serde_json::from_slice(&body)
                .map_err(|error| failed(format!("unexpected answer of `ralph web`: {error}")));
        }
        let problem: serde_json::Value = serde_json::from_slice(&body).unwrap_or_default();
        let why = problem["detail"].as_str().unwrap_or("`ralph web` refused");
        return Err(failed(why.to_owned()));
    }
    Err(failed("no `ralph web` is running".to_owned()).hint("`ralph web` starts one and prints an address"))
}

fn web_sockets(states: &States) -> Vec<PathBuf> {
    let entries = fs::read_dir(states.root()).into_iter().flatten().flatten();
    let is_web = |name: &str| name.starts_with("web-") && name.ends_with(".sock");
    let sockets = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_web));
    let mut sockets: Vec<_> = sockets.map(|entry| entry.path()).collect();
    sockets.sort();
    sockets
}
