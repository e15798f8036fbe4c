//! Asks once which agent to use, if several are installed and logged in and no setting names one.

use ralph_state::store::chosen;
use ralph_system::proc::is_below_a_run;
use ralph_text::console::{self, complain};

use crate::{
    app::{self, AgentCandidate, ProjectPlace},
    config::{self, SettingSources},
    error::{Failure, FailureKind},
};

use super::confirm::answer;

/// Asks if the choice is still open and a user is there to answer. Remembers the answer.
///
/// # Errors
/// A [`Failure`] if the answer cannot be read or stored.
pub(super) fn ask_once(sources: &SettingSources, place: &ProjectPlace) -> Result<(), Failure> {
    if !console::is_answered() || is_below_a_run() {
        return Ok(());
    }
    // With a mistake in the configuration no run would start, so there is nothing to ask.
    let Ok(loaded) = config::load(sources) else {
        return Ok(());
    };
    let catalog = app::catalog(place, &loaded.config);
    let candidates = app::open_choice(&catalog, &loaded, &place.project);
    let Some(first) = candidates.first() else {
        return Ok(());
    };
    complain("Several agents are installed and logged in:");
    for (at, candidate) in candidates.iter().enumerate() {
        complain(&format!("  {}  {:<16} {}", at + 1, candidate.id, candidate.title));
    }
    let mut question = format!("Default agent? [1 to {}; Enter takes {}] ", candidates.len(), first.id);
    loop {
        let answer = answer(&question)?;
        if answer.is_empty() {
            return Ok(());
        }
        if let Some(candidate) = chosen_by(answer.trim(), &candidates) {
            return remember(place, &candidate.id);
        }
        question = format!(
            "enter a number from 1 to {}, or a name from the list: ",
            candidates.len()
        );
    }
}

/// Stores the answer for all of the user's projects.
///
/// # Errors
/// A [`Failure`] if the answer cannot be stored.
pub(super) fn remember(place: &ProjectPlace, id: &str) -> Result<(), Failure> {
    let file = chosen::file(&place.paths);
    chosen::remember(&place.paths, id)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", file.display())))?;
    complain(&format!(
        "default agent: `{id}`; `ralph adapters use ID` changes it, `--adapter ID` sets another for one run"
    ));
    Ok(())
}

fn chosen_by<'c>(answer: &str, candidates: &'c [AgentCandidate]) -> Option<&'c AgentCandidate> {
    match answer.parse::<usize>() {
        _ if answer.is_empty() => candidates.first(),
        Ok(number) => candidates.get(number.checked_sub(1)?),
        Err(_) => candidates.iter().find(|candidate| candidate.id == answer),
    }
}
