//! The agents of a run: the one that is named or found, and those that stand in for it.

use super::*;

/// The adapters that are looked for when none is named, in this order; those of the user's own count as well.
const DEFAULT_ADAPTERS: [&str; 3] = ["claude", "codex", "gemini"];

pub(super) fn default_adapter(catalog: &Catalog, project: &Path, notices: &mut Vec<String>) -> Result<String, Failure> {
    let listed = catalog.list(project);
    let installed = |id: &&&str| {
        listed
            .iter()
            .any(|adapter| adapter.id == ***id && adapter.installed.is_some())
    };
    let Some(id) = DEFAULT_ADAPTERS.iter().find(installed) else {
        return Err(Failure::new(
            FailureKind::AgentUnavailable,
            "no adapter is named and no agent is installed",
        )
        .hint("`ralph adapters list` shows the adapters there are, `--adapter ID` names one")
        .hint("`ralph demo` shows the loop without any"));
    };
    notices.push(format!("no adapter is named: using `{id}`, which is installed"));
    Ok((*id).to_owned())
}

/// The agent of adapter `id`, which can be started as far as can be told.
pub(super) fn agent(catalog: &Catalog, id: &str, project: &Path) -> Result<Agent, Failure> {
    let manifest = catalog.manifest(id)?;
    let last_line_claims = manifest.dialect == DialectKind::Terminal;
    let adapter = SubprocessAdapter::new(manifest);
    adapter.check(project)?;
    Ok(Agent {
        adapter: Arc::new(adapter),
        last_line_claims,
    })
}

/// The agents that stand in for `first`; one that is not installed is left out with a notice.
pub(super) fn fallback(
    catalog: &Catalog,
    first: &str,
    ids: &[String],
    project: &Path,
    notices: &mut Vec<String>,
) -> Result<Vec<Agent>, Failure> {
    let mut agents = Vec::new();
    for id in ids.iter().filter(|id| *id != first) {
        match agent(catalog, id, project) {
            Ok(agent) => agents.push(agent),
            Err(failure) if failure.kind == FailureKind::AgentUnavailable => {
                notices.push(format!("`{id}` of `fallback` is not installed and is left out"));
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(agents)
}

/// What becomes of a model that is named with its provider where the agent has only one.
pub(super) fn stripped_model(manifest: &Manifest, model: Option<&str>) -> Option<String> {
    let named = manifest.model_form.of(model?).ok()?;
    let provider = named.stripped?;
    Some(format!(
        "`{}` is given the model `{}`: it takes names without the provider `{provider}`",
        manifest.id, named.name
    ))
}
