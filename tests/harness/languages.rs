//! Real language servers, and other packages of npm and pip, installed once below the target directory and by rustup.

use std::{
    env,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use super::agents::{POLICY, npm, skipped};

const PACKAGE: &str = include_str!("../agents/languages/package.json");

/// A program of the packages in `tests/agents/languages`; `None`, with a printed notice, if they cannot be installed.
///
/// # Panics
/// If it cannot be installed and `RALPH_TEST_AGENTS=required` is set.
pub fn program(name: &str) -> Option<PathBuf> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| npm_packages(PACKAGE));
    found(name, installed).map(|directory| directory.join("node_modules/.bin").join(name))
}

/// The directory with `node_modules` of `package`, the text of a `package.json`, as [`program`].
///
/// # Panics
/// As [`program`].
pub fn node_modules(package: &str) -> Option<PathBuf> {
    found("npm package", &npm_packages(package)).cloned()
}

/// As [`node_modules`], without the optional packages: programs for each platform that the tests have already.
///
/// # Panics
/// As [`program`].
pub fn lean_node_modules(package: &str) -> Option<PathBuf> {
    found("npm package", &npm_packages_with(package, &["--omit=optional"])).cloned()
}

/// A directory for `PYTHONPATH` with `requirements`, a line for each package; `None`, with a printed notice, if pip cannot
/// install them.
///
/// # Panics
/// If they cannot be installed and `RALPH_TEST_PYTHON=required` is set.
pub fn python_packages(requirements: &str) -> Option<PathBuf> {
    let made = installed(requirements.split_whitespace(), |directory| {
        let done = Command::new("python3")
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--only-binary",
                ":all:",
                "--target",
                ".",
            ])
            .args(requirements.split_whitespace())
            .current_dir(directory)
            .output()
            .map_err(|error| format!("python3: {error}"))?;
        let said = String::from_utf8_lossy(&done.stderr).trim().to_owned();
        done.status.success().then_some(()).ok_or(said)
    });
    match made {
        Err(why) if !env::var("RALPH_TEST_PYTHON").is_ok_and(|policy| policy == "required") => {
            skipped(&format!("a test with packages of Python: {why}"));
            None
        }
        made => Some(made.unwrap_or_else(|why| panic!("{requirements} is required and cannot be installed: {why}"))),
    }
}

/// rust-analyzer with its cargo and rustc, as [`program`].
///
/// # Panics
/// As [`program`].
pub fn rust_analyzer() -> Option<PathBuf> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let rustup = |args: &[&str]| {
            let done = Command::new("rustup")
                .args(args)
                .output()
                .map_err(|error| format!("rustup: {error}"))?;
            let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            done.status
                .success()
                .then(|| said(&done.stdout))
                .ok_or_else(|| said(&done.stderr))
        };
        let which = || {
            rustup(&["which", "rust-analyzer"])
                .map(PathBuf::from)
                .and_then(|path| match path.exists() {
                    true => Ok(path),
                    false => Err(format!("{} is not there", path.display())),
                })
        };
        which().or_else(|_| rustup(&["component", "add", "rust-analyzer"]).and_then(|_| which()))
    });
    found("rust-analyzer", installed).cloned()
}

fn found<'a>(name: &str, installed: &'a Result<PathBuf, String>) -> Option<&'a PathBuf> {
    match installed {
        Ok(path) => Some(path),
        Err(why) if env::var(POLICY).is_ok_and(|policy| policy == "required") => {
            panic!("{name} is required and cannot be installed: {why}")
        }
        Err(why) => {
            skipped(&format!("a test with the real {name}: {why}"));
            None
        }
    }
}

/// Installs the packages of a `package.json` unless they are installed.
fn npm_packages(package: &str) -> Result<PathBuf, String> {
    npm_packages_with(package, &[])
}

fn npm_packages_with(package: &str, options: &[&str]) -> Result<PathBuf, String> {
    let version = |line: &str| {
        line.split('"')
            .nth(3)
            .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
            .map(str::to_owned)
    };
    installed(package.lines().filter_map(version), |directory| {
        fs::write(directory.join("package.json"), package).map_err(|error| error.to_string())?;
        let install = [
            "install",
            "--ignore-scripts",
            "--no-package-lock",
            "--no-audit",
            "--no-fund",
            "--prefer-offline",
            "--fetch-retries=1",
        ];
        npm(directory, &[&install, options].concat())
    })
}

/// The directory of these versions, filled by `install` unless it is there. It gets its name once it is complete.
fn installed<S: AsRef<str>>(
    versions: impl IntoIterator<Item = S>,
    install: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| error.to_string();
    let versions: Vec<S> = versions.into_iter().collect();
    let name: Vec<&str> = versions.iter().map(AsRef::as_ref).collect();
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("languages");
    let directory = all.join(name.join("-"));
    fs::create_dir_all(&all).map_err(failed)?;
    let lock = File::create(all.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if directory.is_dir() {
        return Ok(directory);
    }
    let unfinished = all.join("unfinished");
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(failed)?;
    }
    fs::create_dir(&unfinished).map_err(failed)?;
    install(&unfinished)?;
    fs::rename(&unfinished, &directory).map_err(failed)?;
    Ok(directory)
}
