//! Tests the program of an adapter against the obligations of an agent, in a temporary project.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use ralph_agent::{
    conformance::{ConformanceReport, ConformanceRun, ConformanceTask},
    manifest::Transport,
};
use ralph_system::{
    files::{MANIFEST_CAP_BYTES, TomlFile, read_text},
    proc::Supervisor,
};
use ralph_text::console::complain;
use ralph_words::notice_in_words;

use super::{
    ProjectPlace,
    agents::{unconfined, withheld_from_agent},
    check_context::CheckContext,
    sandbox::starting,
};
use crate::{
    config::Config,
    error::{Failure, FailureKind},
};

/// An adapter as a user names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum NamedAdapter {
    Id(String),
    File(PathBuf),
}

/// The results of a test, with the name of the agent.
pub(crate) struct TestedAdapter {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) report: ConformanceReport,
}

impl NamedAdapter {
    /// Reads an id, or a path: something with a slash or the ending of an adapter file.
    pub(crate) fn read(written: &str) -> NamedAdapter {
        let path = Path::new(written);
        match written.contains('/') || path.extension().is_some_and(|extension| extension == "toml") {
            true => NamedAdapter::File(path.to_owned()),
            false => NamedAdapter::Id(written.to_owned()),
        }
    }
}

/// Tests the program of an adapter. Calls `each` before each turn. A relative path of the program leads from the project.
///
/// # Errors
/// A [`Failure`] if there is no such adapter, if it cannot be tested, or if the sandbox cannot be set up.
pub(crate) fn test_adapter(
    place: &ProjectPlace,
    config: &Config,
    named: &NamedAdapter,
    supervisor: &Supervisor,
    each: impl FnMut(ConformanceTask),
) -> Result<TestedAdapter, Failure> {
    let temporary = tempfile::Builder::new()
        .prefix("ralph-conformance-")
        .tempdir()
        .map_err(|error| no_directory(&error))?;
    let project = temporary.path().join("project");
    fs::create_dir(&project).map_err(|error| no_directory(&error))?;
    let project = project.canonicalize().map_err(|error| no_directory(&error))?;
    let mut own = place.own.clone();
    let id = match named {
        NamedAdapter::Id(id) => id.clone(),
        NamedAdapter::File(path) => {
            let text = read_text(path, MANIFEST_CAP_BYTES);
            own.adapters.files.push(TomlFile {
                text,
                path: path.clone(),
            });
            path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
        }
    };
    let state = temporary.path().join("state");
    let trial_place = ProjectPlace {
        own,
        ..ProjectPlace::for_project(project.clone(), Some(&state))?
    };
    let context = CheckContext::new(&trial_place, config, supervisor)?;
    let mut manifest = context.catalog.manifest(&id)?;
    if manifest.transport == Transport::Http {
        let what = format!("adapter `{id}` is a server, which has no program for each turn to test");
        return Err(Failure::new(FailureKind::Usage, what));
    }
    manifest
        .command
        .env_remove
        .extend(withheld_from_agent(&context.catalog, &manifest, config));
    if let Some(confiner) = &context.confiner
        && let Some(notice) = unconfined(confiner, &manifest, config)?
    {
        complain(&notice_in_words(&notice));
    }
    let run = ConformanceRun {
        base: &place.project,
        project: &project,
        scratch: &context.scratch.temporary(),
        supervisor: &starting(context.confiner.as_ref(), &context.supervisor, Some(&manifest))?,
        keys: &context.catalog.keys(),
        manifest: &manifest,
    };
    let report = run.run(each).map_err(|error| no_directory(&error))?;
    Ok(TestedAdapter {
        id,
        title: manifest.title.clone(),
        report,
    })
}

fn no_directory(error: &io::Error) -> Failure {
    Failure::new(
        FailureKind::Failed,
        format!("no temporary directory for the test: {error}"),
    )
}
