//! The real agents, pinned in `tests/agents/` and installed once into the target directory.

use std::{
    env,
    fs::{self, File},
    hash::{DefaultHasher, Hash, Hasher},
    io::{self, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use super::languages;

/// Set to `required`, it turns a missing agent into a failure.
pub const POLICY: &str = "RALPH_TEST_AGENTS";

const PACKAGE: &str = include_str!("../agents/package.json");
const LOCK: &str = include_str!("../agents/package-lock.json");
/// Agents that only the full matrix runs.
const MORE: &str = include_str!("../agents/more/package.json");
/// The agent of the example in `docs/guide/adapters.md`, in a directory of its own.
const EXAMPLE: &str = include_str!("../agents/example/package.json");

/// Packages whose own scripts install the program. No other script runs: those of gemini's optional packages compile
/// C++ and download from outside of the registry.
const SCRIPTED: [&str; 2] = ["@anthropic-ai/claude-code", "opencode-ai"];

/// The installed codex; `None`, with a printed notice, if it cannot be installed.
///
/// # Panics
/// If it cannot be installed and `RALPH_TEST_AGENTS=required` is set.
pub fn codex() -> Option<PathBuf> {
    program("codex")
}

/// The installed agent whose program has this name, as [`codex`].
///
/// # Panics
/// As [`codex`].
pub fn program(name: &str) -> Option<PathBuf> {
    let directory = match name {
        "cline" | "copilot" | "kilo" | "kimi" | "pi" => languages::node_modules(MORE)?,
        name => installed(name)?.to_owned(),
    };
    let programs = match name {
        "cline" => "node_modules/@cline/cli-linux-x64/bin",
        "kilo" => "node_modules/@kilocode/cli-linux-x64/bin",
        _ => "node_modules/.bin",
    };
    Some(directory.join(programs).join(name))
}

/// The agent of the example in `docs/guide/adapters.md`, as [`codex`].
///
/// # Panics
/// As [`codex`].
pub fn example(name: &str) -> Option<PathBuf> {
    Some(installed(name)?.join("example/node_modules/.bin").join(name))
}

/// The directory of all agents. `name` is the wanted one, for messages.
fn installed(name: &str) -> Option<&'static Path> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    match INSTALLED.get_or_init(install) {
        Ok(directory) => Some(directory),
        Err(why) if env::var(POLICY).is_ok_and(|policy| policy == "required") => {
            panic!("{name} is required and cannot be installed: {why}")
        }
        Err(why) => {
            skipped(&format!("a test with the real {name}: {why}"));
            None
        }
    }
}

/// Prints on stderr that a test was skipped.
pub fn skipped(what: &str) {
    // The test harness hides `eprintln!` output of a test that passes.
    let line = format!("SKIPPED: {what}\n");
    _ = io::stderr().write_all(line.as_bytes()); // without stderr the notice is lost
}

/// Whether a program is on `PATH`. Says that the test is skipped if not.
pub fn is_on_path(program: &str) -> bool {
    let found = which::which(program).is_ok();
    if !found {
        skipped(&format!("a test with {program}, which is not installed"));
    }
    found
}

/// Ends a test unless the program that it needs is on `PATH`, and says that it is skipped.
macro_rules! needs {
    ($program:literal) => {
        if !$crate::harness::agents::is_on_path($program) {
            return;
        }
    };
}
pub(crate) use needs;

/// Installs the agents unless they are installed; returns the directory that contains `node_modules`.
///
/// The directory is named by its contents, and gets that name only when it is complete. An interrupted installation
/// starts again, and a changed one replaces the old.
fn install() -> Result<PathBuf, String> {
    let agents = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("agents");
    let directory = agents.join(contents());
    if directory.is_dir() {
        return Ok(directory);
    }
    let failed = |error: io::Error| format!("{}: {error}", agents.display());
    fs::create_dir_all(&agents).map_err(failed)?;
    let lock = File::create(agents.join("lock")).map_err(failed)?;
    lock.lock().map_err(failed)?;
    if directory.is_dir() {
        return Ok(directory);
    }
    for entry in fs::read_dir(&agents).map_err(failed)?.flatten() {
        if entry.path().is_dir() {
            fs::remove_dir_all(entry.path()).map_err(failed)?;
        }
    }
    let unfinished = agents.join("unfinished");
    fs::create_dir(&unfinished).map_err(failed)?;
    fs::write(unfinished.join("package.json"), PACKAGE).map_err(failed)?;
    fs::write(unfinished.join("package-lock.json"), LOCK).map_err(failed)?;
    // Few retries: without network the tests should be skipped soon.
    let install = [
        "ci",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=1",
    ];
    npm(&unfinished, &install)?;
    npm(&unfinished, &["rebuild", SCRIPTED[0], SCRIPTED[1]])?;
    let example = unfinished.join("example");
    fs::create_dir(&example).map_err(failed)?;
    fs::write(example.join("package.json"), EXAMPLE).map_err(failed)?;
    let install = [
        "install",
        "--ignore-scripts",
        "--omit=optional",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        "--fetch-retries=1",
    ];
    npm(&example, &install)?;
    fs::rename(&unfinished, &directory).map_err(failed)?;
    Ok(directory)
}

pub fn npm(directory: &Path, args: &[&str]) -> Result<(), String> {
    let done = Command::new("npm")
        .args(args)
        .arg("--loglevel=error")
        .current_dir(directory)
        .stdin(Stdio::null())
        .output();
    let done = done.map_err(|error| format!("npm: {error}"))?;
    if done.status.success() {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    Err(format!(
        "npm {}: {}: {}",
        args[0],
        done.status,
        stderr.lines().next().unwrap_or_default()
    ))
}

fn contents() -> String {
    let mut hasher = DefaultHasher::new();
    (PACKAGE, LOCK, EXAMPLE).hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
