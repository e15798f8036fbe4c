//! All known engines: built in, the user's and the project's, merged key by key.

use ralph_plan::batch::LOCAL;
use ralph_policy::settings::{Catalog, CatalogError, LayerError, ManifestKind, Merged, Terms};
use thiserror::Error;

use super::{
    manifest::{EngineManifest, EngineManifestError},
    written::{HOSTS, LANGUAGE, OWN_FILE, WrittenEngine},
};

/// The engines by id, except the local one, which has no file.
pub type EngineCatalog = Catalog<EngineFiles>;

#[derive(Debug)]
pub struct EngineFiles;

impl ManifestKind for EngineFiles {
    type Manifest = EngineManifest;
    type Written = WrittenEngine;
    type Error = EngineManifestError;

    const TERMS: &'static Terms = &LANGUAGE;
    const NAME: &'static str = "engine";
    const BUILT_IN: &'static [(&'static str, &'static str)] = &[
        ("slurm", include_str!("../../engines/slurm.toml")),
        ("task-spooler", include_str!("../../engines/task-spooler.toml")),
    ];
    const WITHOUT_FILE: &'static [&'static str] = &[LOCAL];
    const REMOVED: &'static [(&'static str, &'static str)] =
        &[("hyperqueue", OWN_FILE), ("kubernetes", OWN_FILE), ("ssh", HOSTS)];

    fn from_merged(id: &str, merged: &Merged) -> Result<EngineManifest, EngineManifestError> {
        let written: WrittenEngine = merged.read().map_err(LayerError::from_mistakes)?;
        EngineManifest::from_merged(id, merged, written)
    }

    fn hints(error: &EngineManifestError) -> Vec<String> {
        error.hints()
    }
}

/// The reason why an engine cannot be used.
#[derive(Debug, Error)]
pub enum EngineError {
    #[error(transparent)]
    Catalog(#[from] CatalogError<EngineManifestError>),
    #[error("engine `{LOCAL}` has no file: its jobs are processes of the batch itself")]
    Local,
    #[error("engine `{id}`: program `{program}` is not on PATH")]
    NotInstalled {
        id: String,
        program: String,
        install: Option<String>,
    },
}

impl EngineError {
    /// Returns what the user can do about it, one sentence each.
    pub fn hints(&self) -> Vec<String> {
        match self {
            EngineError::Catalog(error) => error.hints(),
            EngineError::Local => vec!["`ralph many --jobs N` sets how many run at a time".to_owned()],
            EngineError::NotInstalled { id, install, .. } => {
                let install = install.iter().map(|install| format!("to install it: {install}"));
                let elsewhere =
                    format!("or run `ralph many` on a machine that submits to `{id}`, such as a login node");
                install.chain([elsewhere]).collect()
            }
        }
    }
}

/// Returns the manifest of an engine whose program is installed.
///
/// # Errors
/// [`EngineError`].
pub fn installed(catalog: &EngineCatalog, id: &str) -> Result<EngineManifest, EngineError> {
    let manifest = catalog.manifest(id)?;
    match manifest.program() {
        Some(program) if which::which(&program).is_err() => Err(EngineError::NotInstalled {
            id: id.to_owned(),
            program,
            install: manifest.install,
        }),
        Some(_) | None => Ok(manifest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::SettingKeys;
    use ralph_system::files::Directory;
    use ralph_text::with_causes;

    fn with(id: &str, text: &str) -> EngineCatalog {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(format!("{id}.toml")), text).unwrap();
        EngineCatalog::load([&Directory::read(dir.path())])
    }

    /// Returns the error of an engine that consists of `text` and the required keys.
    fn error(text: &str) -> String {
        let complete = "[submit]\ncommand = [\"x\"]\njob = '(?<job>.)'\n[cancel]\ncommand = [\"x\"]\n";
        let state = match text.contains("[state") {
            true => "",
            false => "[state]\n",
        };
        let answer = "command = [\"x\"]\nstate = '(?<state>.)'\n";
        let text = match text.strip_prefix("[state.means]") {
            Some(means) => format!("[state]\n{answer}[state.means]{means}\n{complete}"),
            None => format!("{text}\n{state}{answer}{complete}"),
        };
        let error = with("own", &text).manifest("own").map(|_| String::new());
        error.unwrap_or_else(|error| with_causes(&error))
    }

    #[test]
    fn every_built_in_engine_is_complete() {
        let catalog = EngineCatalog::load([]);
        for (id, _) in EngineFiles::BUILT_IN {
            let manifest = catalog
                .manifest(id)
                .unwrap_or_else(|error| panic!("{}", with_causes(&error)));
            assert!(manifest.program().is_some(), "{id}");
        }
        let run = catalog.list();
        let run = run.filter(|(_, _, manifest)| manifest.as_ref().is_ok_and(|manifest| manifest.verified.is_some()));
        assert_eq!(run.map(|(id, _, _)| id).collect::<Vec<_>>(), ["slurm", "task-spooler"]);
    }

    #[test]
    fn a_users_file_changes_one_key_of_a_built_in_engine() {
        let catalog = with("slurm", "[job]\ncores = 8\n[submit]\nargs = [\"--partition=long\"]\n");
        let slurm = catalog.manifest("slurm").unwrap();
        assert_eq!((slurm.cores, slurm.minutes), (8, 1440));
        assert!(catalog.show("slurm").unwrap().contains("job.cores = 8"));
    }

    #[test]
    fn what_is_wrong_with_an_engine_is_said_with_its_place() {
        for (text, said) in [
            ("[job]\ncores = 0", "`job.cores`"),
            ("timeout = 3", "timeout_ms"),
            ("[find]\ncommand = []", "`find.command` is empty"),
            (
                "[find]\ncommand = [\"x\", \"{jbo}\"]",
                "unknown placeholder `{jbo}` in `find.command`",
            ),
            (
                "[find]\ncommand = [\"x\", \"{job}\"]\njob = '(?<job>.)'",
                "unknown placeholder `{job}`",
            ),
            ("[find]\ncommand = [\"x\"]", "`find.job` is missing"),
            (
                "[find]\ncommand = [\"x\"]\njob = '('",
                "`find.job` is not a regular expression",
            ),
            (
                "[find]\ncommand = [\"x\"]\njob = 'x'",
                "`find.job` needs a group named `job`",
            ),
            (
                "[state.means]\nqueued = [\"A\"]\nended = [\"A\"]",
                "has the word \"A\" twice",
            ),
        ] {
            let found = error(text);
            assert!(found.contains(said), "{text}: {found}");
        }
        let unknown = EngineCatalog::load([]).manifest("slrum").unwrap_err();
        assert_eq!(unknown.hints()[0], "did you mean `slurm`?");
    }

    #[test]
    fn engines_of_hosts_that_share_no_files_are_told_what_does_their_work() {
        let removed = EngineCatalog::load([]).manifest("ssh").unwrap_err();
        assert_eq!(removed.to_string(), "engine `ssh` was removed");
        assert_eq!(removed.hints(), [HOSTS]);
        let said = error("[node]\nhosts = [\"build1=4\"]");
        assert!(
            said.contains(&format!("own.toml:1:2: `node` was removed; {HOSTS}")),
            "{said}"
        );
    }

    #[test]
    fn arguments_of_ones_own_need_an_element_of_their_own() {
        let error = with("own", "[submit]\ncommand = [\"x\", \"a{args}\"]")
            .manifest("own")
            .unwrap_err();
        let said = with_causes(&error);
        assert!(said.contains("`{args}` in `submit.command` must be"), "{said}");
    }

    #[test]
    fn the_guide_has_every_key() {
        let guide = include_str!("../../../../docs/guide/engines.md");
        for (key, _) in SettingKeys::for_record::<WrittenEngine>().iter() {
            let row = guide.contains(&format!("| `{key}` |")) || guide.contains(&format!("| `{key}.NAME` |"));
            assert!(row, "{key}");
        }
    }
}
