//! Chooses the adapter of a run that names none: the only agent that is installed and logged in; of several, the one
//! that the user has chosen before, else the one of the lowest rank.
//!
//! Logins are looked for but not tried. An agent whose adapter does not say where its login is stored counts as logged
//! in.

use std::path::Path;

use ralph_agent::{
    catalog::{Catalog, ListedAdapter, built_in},
    login::Login,
};
use ralph_core::event::Notice;

use crate::{
    config::{Config, Loaded},
    error::{Failure, FailureKind},
};

/// The adapter used if a server is named.
const SERVER_ADAPTER: &str = "opencode-server";
/// The native agent, which is always present. Used if no other agent is installed, and it has a key or the address of a
/// model.
const LAST: &str = "native";

/// An agent that may be chosen: its program is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AgentCandidate {
    pub(crate) id: String,
    pub(crate) title: String,
    /// Whether a login was found, as far as that can be determined.
    is_ready: bool,
    /// Whether the adapter is the user's own.
    is_own: bool,
}

/// The adapter for a run that names none. The `remembered` one is used if its program is still installed.
///
/// # Errors
/// A [`Failure`] if no usable agent is installed, or if several are and only the user's own adapters remain to choose
/// from.
pub(super) fn adapter(
    catalog: &Catalog,
    config: &Config,
    remembered: Option<&str>,
    project: &Path,
    notices: &mut Vec<Notice>,
) -> Result<String, Failure> {
    if config.server.is_some() {
        notices.push(chosen(SERVER_ADAPTER, ChoiceReason::ServerNamed));
        return Ok(SERVER_ADAPTER.to_owned());
    }
    let candidates = candidates(&catalog.list(project));
    if let Some(id) = remembered
        && candidates.iter().any(|candidate| candidate.id == id)
    {
        return Ok(id.to_owned());
    }
    let (id, why) = choice(&candidates)?;
    notices.push(chosen(id, why));
    Ok(id.to_owned())
}

/// The agents among which the user has yet to choose; empty if there is no need to ask.
pub(crate) fn open_choice(catalog: &Catalog, loaded: &Loaded, project: &Path) -> Vec<AgentCandidate> {
    let config = &loaded.config;
    let is_named = config.adapter.is_some() && !loaded.adapter_is_remembered;
    if is_named || config.server.is_some() {
        return Vec::new();
    }
    let candidates = candidates(&catalog.list(project));
    if candidates
        .iter()
        .any(|candidate| Some(&candidate.id) == config.adapter.as_ref())
    {
        return Vec::new();
    }
    let ready: Vec<_> = candidates.into_iter().filter(|candidate| candidate.is_ready).collect();
    if ready.len() > 1 { ready } else { Vec::new() }
}

/// The installed adapters that may be chosen: the built-in ones that have a rank, then the user's own.
fn candidates(listed: &[ListedAdapter]) -> Vec<AgentCandidate> {
    let of = |adapter: &ListedAdapter, is_own| AgentCandidate {
        id: adapter.id.clone(),
        title: adapter.title.clone(),
        is_ready: !matches!(adapter.login, Login::NotFound { .. }),
        is_own,
    };
    let installed = || listed.iter().filter(|adapter| adapter.installed.is_some());
    let is_built_in = |adapter: &&ListedAdapter| built_in().any(|id| id == adapter.id);
    let (mut ranked, own): (Vec<_>, Vec<_>) = installed().partition(is_built_in);
    ranked.retain(|adapter| adapter.rank.is_some());
    ranked.sort_by_key(|adapter| adapter.rank);
    let mut candidates: Vec<AgentCandidate> = ranked
        .into_iter()
        .map(|adapter| of(adapter, false))
        .chain(own.into_iter().map(|adapter| of(adapter, true)))
        .collect();
    if candidates.is_empty() {
        let last = installed()
            .find(|adapter| adapter.id == LAST)
            .map(|adapter| of(adapter, false));
        candidates.extend(last.filter(|last| last.is_ready));
    }
    candidates
}

/// Why an adapter was chosen without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChoiceReason {
    ServerNamed,
    OnlyOneInstalled,
    /// The only one that appears to be logged in.
    OnlyOneLoggedIn,
    /// The first in ralph's order of several that are logged in.
    FirstLoggedIn,
    /// Installed, but apparently not logged in.
    NoneLoggedIn,
}

fn choice(candidates: &[AgentCandidate]) -> Result<(&str, ChoiceReason), Failure> {
    let ready: Vec<&AgentCandidate> = candidates.iter().filter(|candidate| candidate.is_ready).collect();
    match (&ready[..], candidates) {
        ([], []) => {
            let why = "no adapter is set and no agent is installed";
            let failure = Failure::new(FailureKind::AgentUnavailable, why)
                .hint("`ralph adapters` shows all adapters, `--adapter ID` chooses one");
            let native = "set OPENAI_API_KEY, ANTHROPIC_API_KEY or `native.baseUrl`, the address of a model, to use ralph's own agent";
            let failure = match cfg!(feature = "native") {
                true => failure.hint(native),
                false => failure,
            };
            Err(failure.hint("`ralph demo` shows the loop without an agent"))
        }
        ([], [first, ..]) => Ok((&first.id, ChoiceReason::NoneLoggedIn)),
        ([only], [_]) => Ok((&only.id, ChoiceReason::OnlyOneInstalled)),
        ([only], _) => Ok((&only.id, ChoiceReason::OnlyOneLoggedIn)),
        ([first, ..], _) if first.is_own => {
            let ids: Vec<&str> = ready.iter().map(|candidate| &*candidate.id).collect();
            let why = format!("no adapter is set, and several are installed: {}", ids.join(", "));
            Err(Failure::new(FailureKind::AgentUnavailable, why)
                .hint(format!("name one, such as `--adapter {}`", first.id))
                .hint(format!("`ralph adapters use {}` makes it the default", first.id)))
        }
        ([first, ..], _) => Ok((&first.id, ChoiceReason::FirstLoggedIn)),
    }
}

fn chosen(adapter: &str, why: ChoiceReason) -> Notice {
    let why = match why {
        ChoiceReason::ServerNamed => " because a server is set",
        ChoiceReason::OnlyOneInstalled => " (the only agent installed)",
        ChoiceReason::OnlyOneLoggedIn => " (the only agent logged in)",
        ChoiceReason::FirstLoggedIn => " (first agent logged in); `ralph adapters use ID` changes the default",
        ChoiceReason::NoneLoggedIn => " (installed; no login was found)",
    };
    Notice::warning("adapter-chosen", format!("using `{adapter}`{why}"))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use ralph_policy::settings::SettingOrigin;

    use super::*;

    fn listed(id: &str, is_installed: bool, login: Login) -> ListedAdapter {
        ListedAdapter {
            id: id.to_owned(),
            title: id.to_uppercase(),
            channels: "-",
            asks_before: String::new(),
            rank: ["opencode-server", "claude", "codex", "aider"]
                .into_iter()
                .zip(1..)
                .find_map(|(ranked, rank)| (ranked == id).then_some(rank)),
            origin: SettingOrigin::BuiltIn,
            installed: is_installed.then(|| PathBuf::from("/bin/x")),
            login,
            broken: None,
        }
    }

    fn chosen_of(installed: &[(&str, Login)]) -> Result<(String, ChoiceReason), String> {
        let mut all = vec![
            listed("demo", true, Login::NotAsked),
            listed("gemini", false, Login::NotAsked),
        ];
        all.extend(installed.iter().map(|(id, login)| listed(id, true, login.clone())));
        let candidates = candidates(&all);
        match choice(&candidates) {
            Ok((id, why)) => Ok((id.to_owned(), why)),
            Err(failure) => Err(failure.message),
        }
    }

    #[cfg(feature = "native")]
    #[test]
    fn ralphs_own_agent_is_used_where_there_is_no_other_and_it_has_a_key() {
        let none = || Login::NotFound { hint: None };
        let there = || Login::Variable("KEY".to_owned());
        let chosen = |installed: &[(&str, Login)]| chosen_of(installed).map(|(id, _)| id);
        assert_eq!(chosen(&[("native", there())]), Ok("native".to_owned()));
        assert_eq!(
            chosen(&[("native", there()), ("codex", none())]),
            Ok("codex".to_owned())
        );
        assert!(chosen(&[("native", none())]).is_err());
    }

    #[test]
    fn the_one_that_is_logged_in_is_used_and_of_several_the_first_of_the_order() {
        let none = || Login::NotFound { hint: None };
        let there = || Login::Variable("KEY".to_owned());
        for (installed, id, why) in [
            (&[("codex", none())][..], "codex", ChoiceReason::NoneLoggedIn),
            (&[("codex", there())], "codex", ChoiceReason::OnlyOneInstalled),
            (
                &[("claude", none()), ("codex", there())],
                "codex",
                ChoiceReason::OnlyOneLoggedIn,
            ),
            (
                &[("opencode-server", none()), ("aider", there())],
                "aider",
                ChoiceReason::OnlyOneLoggedIn,
            ),
            (
                &[("aider", there()), ("codex", there()), ("claude", there())],
                "claude",
                ChoiceReason::FirstLoggedIn,
            ),
            (
                &[("codex", none()), ("claude", none())],
                "claude",
                ChoiceReason::NoneLoggedIn,
            ),
            (&[("mine", Login::NotAsked)], "mine", ChoiceReason::OnlyOneInstalled),
            (
                &[("mine", Login::NotAsked), ("codex", there())],
                "codex",
                ChoiceReason::FirstLoggedIn,
            ),
        ] {
            assert_eq!(chosen_of(installed), Ok((id.to_owned(), why)), "{installed:?}");
        }
        let own = chosen_of(&[("one", Login::NotAsked), ("two", Login::NotAsked)]);
        assert_eq!(
            own,
            Err("no adapter is set, and several are installed: one, two".to_owned())
        );
        assert_eq!(
            chosen_of(&[]),
            Err("no adapter is set and no agent is installed".to_owned())
        );
    }
}
