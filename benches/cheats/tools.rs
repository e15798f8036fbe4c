//! Tools that rows need: pytest, and npm's `expect` and jest, which are downloaded once; go, if it is installed.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::tasks::{Language, Setting};

/// The major versions are fixed, because cheats depend on their behaviour.
const NPM_PACKAGES: [&str; 2] = ["expect@29", "jest@29"];

/// The tools that this machine has.
#[derive(Debug)]
pub struct Tools {
    pytest: bool,
    /// The directory of the Python with pytest, if it is not the usual one.
    pytest_at: Option<PathBuf>,
    modules: Option<PathBuf>,
    go: bool,
}

impl Tools {
    /// Finds the tools for these languages, and downloads missing ones.
    pub fn ready(languages: &[Language]) -> Tools {
        let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cheats");
        let (mut pytest, mut pytest_at) = (false, None);
        if languages.contains(&Language::Python) {
            pytest = runs(Command::new("python3").args(["-m", "pytest", "--version"]));
            let venv = kept.join("python");
            if !pytest && fetch_pytest(&venv) {
                pytest = true;
                pytest_at = Some(venv.join("bin"));
            }
        }
        let modules = languages
            .contains(&Language::JavaScript)
            .then(|| fetch_modules(&kept.join("npm")))
            .flatten();
        Tools {
            pytest,
            pytest_at,
            modules,
            go: languages.contains(&Language::Go) && runs(Command::new("go").arg("version")),
        }
    }

    /// Whether the tests of a language can run in a setting.
    pub fn allow(&self, language: Language, setting: Setting) -> bool {
        match (language, setting) {
            (Language::Python, Setting::Pytest) => self.pytest,
            (Language::Python | Language::Rust, _) => true,
            (Language::JavaScript, _) => self.modules.is_some(),
            (Language::Go, _) => self.go,
        }
    }

    /// Returns notes about missing tools.
    pub fn missing(&self, languages: &[Language]) -> Vec<&'static str> {
        let mut missing = Vec::new();
        if languages.contains(&Language::Python) && !self.pytest {
            missing.push("pytest cannot be installed: its rows are left out");
        }
        if languages.contains(&Language::JavaScript) && self.modules.is_none() {
            missing.push("npm cannot install jest: JavaScript is left out");
        }
        if languages.contains(&Language::Go) && !self.go {
            missing.push("go is not installed: Go is left out");
        }
        missing
    }

    /// Returns the `PATH` of a setting. Only pytest's may have another Python, which does not see packages in the
    /// home directory.
    pub fn path(&self, setting: Setting) -> OsString {
        let path = env::var_os("PATH").unwrap_or_default();
        match (&self.pytest_at, setting) {
            (Some(directory), Setting::Pytest) => before(directory, &path),
            _ => path,
        }
    }

    pub fn modules(&self) -> Option<&Path> {
        self.modules.as_deref()
    }
}

fn fetch_pytest(venv: &Path) -> bool {
    let pytest = |venv: &Path| runs(Command::new(venv.join("bin/python3")).args(["-m", "pytest", "--version"]));
    pytest(venv)
        || (runs(Command::new("python3").args(["-m", "venv"]).arg(venv))
            && runs(Command::new(venv.join("bin/python3")).args(["-m", "pip", "install", "--quiet", "pytest"]))
            && pytest(venv))
}

fn fetch_modules(directory: &Path) -> Option<PathBuf> {
    let modules = directory.join("node_modules");
    if !modules.join(".bin/jest").exists() {
        fs::create_dir_all(directory).ok()?;
        fs::write(directory.join("package.json"), "{\"private\": true}\n").ok()?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--silent"])
            .args(NPM_PACKAGES);
        runs(npm.current_dir(directory)).then_some(())?;
    }
    Some(modules)
}

fn runs(command: &mut Command) -> bool {
    let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn before(directory: &Path, path: &OsString) -> OsString {
    let paths = std::iter::once(directory.to_owned()).chain(env::split_paths(path));
    env::join_paths(paths).unwrap_or_default()
}
