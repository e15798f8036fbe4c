//! All known engines: built in, the user's and the project's, merged key by key.

use std::path::PathBuf;

use ralph_plan::batch::LOCAL;
use ralph_policy::settings::{LayeredCatalog, SettingOrigin, closest};
use ralph_system::files::Directory;
use thiserror::Error;

use super::{
    manifest::{EngineManifest, EngineManifestError},
    written::{LANGUAGE, WrittenEngine},
};

/// The built-in engines: file name without `.toml`, and text.
const BUILT_IN: [(&str, &str); 4] = [
    ("hyperqueue", include_str!("../../../engines/hyperqueue.toml")),
    ("kubernetes", include_str!("../../../engines/kubernetes.toml")),
    ("slurm", include_str!("../../../engines/slurm.toml")),
    ("task-spooler", include_str!("../../../engines/task-spooler.toml")),
];

/// The reason why an engine cannot be used.
#[derive(Debug, Error)]
pub(crate) enum EngineError {
    #[error("there is no engine `{id}`")]
    Unknown {
        id: String,
        suggestion: Option<String>,
        known: Vec<String>,
    },
    #[error("engine `{id}` cannot be used")]
    Manifest {
        id: String,
        #[source]
        source: Box<EngineManifestError>,
    },
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
    pub(crate) fn hints(&self) -> Vec<String> {
        match self {
            EngineError::Unknown { suggestion, known, .. } => {
                let did_you_mean = suggestion.iter().map(|name| format!("did you mean `{name}`?"));
                did_you_mean
                    .chain([format!("known engines: {}", known.join(", "))])
                    .collect()
            }
            EngineError::Manifest { id, source } => {
                let show = format!("`ralph engines show {id}` prints each value and its origin");
                source.hints().into_iter().chain([show]).collect()
            }
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

/// An engine in a list.
#[derive(Debug)]
pub(crate) struct ListedEngine {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) verified: Option<String>,
    /// The layer with the highest precedence that defines it.
    pub(crate) origin: SettingOrigin,
    /// Path of the program that submits jobs; `None` if it is not installed.
    pub(crate) program: Option<PathBuf>,
    /// The reason why its manifest is invalid.
    pub(crate) broken: Option<String>,
}

/// The engines by id, except the local one, which has no file.
#[derive(Debug)]
pub(crate) struct EngineCatalog(LayeredCatalog);

impl EngineCatalog {
    /// Reads all layers, the weakest first. Errors in an engine are reported when it is asked for.
    pub(crate) fn load(user: Option<PathBuf>, project: &Directory) -> EngineCatalog {
        let mut layered = LayeredCatalog::new(&LANGUAGE, "an engine");
        for (id, text) in BUILT_IN {
            layered.add_built_in::<WrittenEngine>(id, text);
        }
        if let Some(user) = user {
            layered.add_directory::<WrittenEngine>(&Directory::read(&user));
        }
        layered.add_directory::<WrittenEngine>(project);
        EngineCatalog(layered)
    }

    /// Returns notices for the user that are not errors, one sentence each.
    pub(crate) fn notices(&self) -> &[String] {
        self.0.notices()
    }

    /// Returns the manifest of an engine.
    ///
    /// # Errors
    /// [`EngineError`] with the first error in it.
    pub(crate) fn manifest(&self, id: &str) -> Result<EngineManifest, EngineError> {
        let entry = self.entry(id)?;
        let wrong = |source: EngineManifestError| EngineError::Manifest {
            id: id.to_owned(),
            source: Box::new(source),
        };
        match &entry.broken {
            Some(broken) => Err(wrong(broken.clone().into())),
            None => EngineManifest::from_layers(id, &entry.merged).map_err(wrong),
        }
    }

    /// Returns the manifest of an engine whose program is installed.
    ///
    /// # Errors
    /// As for [`EngineCatalog::manifest`], and if its program is not installed.
    pub(crate) fn installed(&self, id: &str) -> Result<EngineManifest, EngineError> {
        let manifest = self.manifest(id)?;
        match manifest.program() {
            Some(program) if which::which(&program).is_err() => Err(EngineError::NotInstalled {
                id: id.to_owned(),
                program,
                install: manifest.install,
            }),
            Some(_) | None => Ok(manifest),
        }
    }

    /// Lists all engines, and whether each can be used here.
    pub(crate) fn list(&self) -> Vec<ListedEngine> {
        let listed = self.0.entries().iter().map(|(id, entry)| {
            let manifest = self.manifest(id);
            let program = manifest.as_ref().ok().and_then(EngineManifest::program);
            ListedEngine {
                id: id.clone(),
                title: manifest
                    .as_ref()
                    .map_or_else(|_| id.clone(), |manifest| manifest.title.clone()),
                verified: manifest.as_ref().ok().and_then(|manifest| manifest.verified.clone()),
                origin: entry.origin.clone(),
                program: program.and_then(|program| which::which(program).ok()),
                broken: manifest.err().map(|error| why(&error)),
            }
        });
        listed.collect()
    }

    /// Renders each value of an engine with its origin, as TOML, and an error in it as a comment.
    ///
    /// # Errors
    /// [`EngineError`] if there is no such engine.
    pub(crate) fn show(&self, id: &str) -> Result<String, EngineError> {
        let mut shown = self.entry(id)?.show::<WrittenEngine>(|_| false);
        if let Err(error) = self.manifest(id) {
            shown.push_str(&format!("# broken: {}\n", why(&error)));
        }
        Ok(shown)
    }

    fn entry(&self, id: &str) -> Result<&ralph_policy::settings::CatalogEntry, EngineError> {
        if id == LOCAL {
            return Err(EngineError::Local);
        }
        self.0.get(id).ok_or_else(|| {
            let known = || [LOCAL].into_iter().chain(self.0.ids());
            EngineError::Unknown {
                id: id.to_owned(),
                suggestion: closest(id, known()).map(str::to_owned),
                known: known().map(str::to_owned).collect(),
            }
        })
    }
}

/// Returns the error without the name of the engine.
fn why(error: &EngineError) -> String {
    match error {
        EngineError::Manifest { source, .. } => ralph_text::with_causes(&**source),
        error => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_policy::settings::SettingKeys;

    fn with(id: &str, text: &str) -> EngineCatalog {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(format!("{id}.toml")), text).unwrap();
        EngineCatalog::load(Some(dir.path().to_owned()), &Directory::default())
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
        error.unwrap_or_else(|error| why(&error))
    }

    #[test]
    fn every_built_in_engine_is_complete() {
        let catalog = EngineCatalog::load(None, &Directory::default());
        for (id, _) in BUILT_IN {
            let manifest = catalog.manifest(id).unwrap_or_else(|error| panic!("{}", why(&error)));
            assert_eq!(manifest.id, id);
            assert!(manifest.program().is_some(), "{id}");
        }
        let run: Vec<_> = catalog
            .list()
            .into_iter()
            .filter(|listed| listed.verified.is_some())
            .collect();
        assert_eq!(
            run.iter().map(|listed| listed.id.as_str()).collect::<Vec<_>>(),
            ["slurm", "task-spooler"]
        );
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
                "[find]\ncommand = [\"x\"]\njob_pointer = 'x'",
                "`find.job_pointer` is not a JSON pointer",
            ),
            (
                "[find]\ncommand = [\"x\"]\njob_pointer = '/x'\njob = '(?<job>.)'",
                "exclude each other",
            ),
            (
                "[state.means]\nqueued = [\"A\"]\nended = [\"A\"]",
                "has the word \"A\" twice",
            ),
        ] {
            let found = error(text);
            assert!(found.contains(said), "{text}: {found}");
        }
        let unknown = EngineCatalog::load(None, &Directory::default())
            .manifest("slrum")
            .unwrap_err();
        assert_eq!(unknown.hints()[0], "did you mean `slurm`?");
    }

    #[test]
    fn the_guide_has_every_key() {
        let guide = include_str!("../../../docs/guide/engines.md");
        for (key, _) in SettingKeys::for_record::<WrittenEngine>().iter() {
            let row = guide.contains(&format!("| `{key}` |")) || guide.contains(&format!("| `{key}.NAME` |"));
            assert!(row, "{key}");
        }
    }
}
