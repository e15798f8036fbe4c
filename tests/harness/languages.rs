//! Real language servers and the toolchains that they need, installed once below the target directory and by rustup.

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
    found(name, INSTALLED.get_or_init(install)).map(|directory| directory.join("node_modules/.bin").join(name))
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

/// Installs the packages unless they are installed. The directory is named by their versions, and gets that name once
/// it is complete.
fn install() -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| error.to_string();
    let version = |line: &str| {
        line.split('"')
            .nth(3)
            .filter(|word| word.starts_with(|first: char| first.is_ascii_digit()))
            .map(str::to_owned)
    };
    let versions: Vec<String> = PACKAGE.lines().filter_map(version).collect();
    let all = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("languages");
    let directory = all.join(versions.join("-"));
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
    fs::write(unfinished.join("package.json"), PACKAGE).map_err(failed)?;
    let install = [
        "install",
        "--ignore-scripts",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=1",
    ];
    npm(&unfinished, &install)?;
    fs::rename(&unfinished, &directory).map_err(failed)?;
    Ok(directory)
}
