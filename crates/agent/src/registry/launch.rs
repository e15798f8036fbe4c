//! How the agent of an entry is started on this machine.
//!
//! A program that is installed is preferred to a package that `npx` or `uvx` would install. ralph downloads nothing
//! itself: an entry with archives alone is run once its user has put the program on `PATH`.

use std::{
    collections::BTreeMap,
    env::consts::{ARCH, OS},
    path::PathBuf,
};

use thiserror::Error;

use super::entry::{Package, RegistryEntry};
use crate::manifest::Manifest;

/// Names that packages of many agents end with, and that say nothing of the program.
const COMMON_NAMES: [&str; 4] = ["acp", "agent", "cli", "code"];

/// A command that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentLaunch {
    pub program: String,
    pub args: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub source: LaunchSource,
}

/// The origin of an agent's program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LaunchSource {
    /// The program is on `PATH`, at this path.
    Installed(PathBuf),
    /// `npx` installs this package at the first start.
    Npm(String),
    /// `uvx` installs this package at the first start.
    Python(String),
}

/// The failure to find anything on this machine that runs the agent.
#[derive(Debug, Error)]
#[error("`{id}` cannot run yet: {}", missing(.looked_for))]
pub struct LaunchError {
    id: String,
    looked_for: Vec<String>,
    /// Advice for the user, one sentence each.
    pub hints: Vec<String>,
}

impl AgentLaunch {
    /// The command that runs `program` without arguments.
    pub fn of_program(program: &str) -> Self {
        command(program.to_owned(), &[], &BTreeMap::new())
    }

    /// The command with the variables that the adapter of the same agent sets, as far as they are the same in every session.
    #[must_use]
    pub fn with_variables_of(mut self, known: Option<&Manifest>) -> Self {
        for (name, value) in known.iter().flat_map(|known| &known.command.env) {
            if let Some(value) = value.fill(|_| None) {
                self.env.entry(name.clone()).or_insert(value);
            }
        }
        self
    }

    /// The command as it would be typed in a shell.
    pub fn command_line(&self) -> String {
        let variables = self.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let words = [&self.program].into_iter().chain(&self.args).map(|word| quoted(word));
        variables.chain(words).collect::<Vec<_>>().join(" ")
    }
}

/// Finds the way to run the agent of `entry`. `find` looks for a program on `PATH`.
///
/// # Errors
/// [`LaunchError`] if neither its program nor what would install it is there.
pub fn launch(entry: &RegistryEntry, find: impl Fn(&str) -> Option<PathBuf>) -> Result<AgentLaunch, LaunchError> {
    let candidates = candidates(entry);
    let installed = candidates.iter().find_map(|candidate| {
        let source = LaunchSource::Installed(find(&candidate.program)?);
        Some(AgentLaunch {
            source,
            ..candidate.clone()
        })
    });
    if let Some(installed) = installed {
        return Ok(installed);
    }
    let distribution = &entry.distribution;
    let installers = [
        ("npx", distribution.npx.as_ref().map(npx)),
        ("uvx", distribution.uvx.as_ref().map(uvx)),
    ];
    let mut looked_for: Vec<String> = candidates.into_iter().map(|candidate| candidate.program).collect();
    for (installer, command) in installers {
        let Some(command) = command else { continue };
        if find(installer).is_some() {
            return Ok(command);
        }
        looked_for.push(installer.to_owned());
    }
    looked_for.dedup();
    Err(LaunchError {
        id: entry.id.clone(),
        looked_for,
        hints: install_hints(entry),
    })
}

/// The command of the program that is on `PATH`, or else of the first that the entry may be installed as; `None` if there is no
/// program for this platform.
pub fn program_of(entry: &RegistryEntry, find: impl Fn(&str) -> Option<PathBuf>) -> Option<AgentLaunch> {
    let mut candidates = candidates(entry);
    let at = candidates
        .iter()
        .position(|candidate| find(&candidate.program).is_some());
    (!candidates.is_empty()).then(|| candidates.swap_remove(at.unwrap_or_default()))
}

/// The names under which the agent may be known on this machine, without what says that it speaks ACP.
pub(super) fn names(entry: &RegistryEntry) -> Vec<String> {
    let programs = candidates(entry).into_iter().map(|candidate| candidate.program);
    let mut names: Vec<String> = Vec::new();
    for name in [entry.id.clone()].into_iter().chain(programs) {
        let name = name.strip_suffix("-acp").map_or(name.clone(), str::to_owned);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Commands that install the agent, or advice, one for each distribution.
pub(super) fn install_hints(entry: &RegistryEntry) -> Vec<String> {
    let distribution = &entry.distribution;
    let npm = distribution
        .npx
        .iter()
        .map(|npx| format!("npm install -g {}", npx.package));
    let python = distribution
        .uvx
        .iter()
        .map(|uvx| format!("uv tool install {}", uvx.package));
    let platform = platform();
    let archive = distribution.binary.get(&platform).map(|archive| {
        let (address, program) = (&archive.archive, archive.program());
        format!("download {address}, and put `{program}` on PATH: ralph downloads no archive")
    });
    let none = || format!("the registry has no archive for {platform}");
    let archive = archive.or_else(|| (!distribution.binary.is_empty()).then(none));
    npm.chain(python).chain(archive).collect()
}

/// The commands of the programs that the agent may be installed as.
fn candidates(entry: &RegistryEntry) -> Vec<AgentLaunch> {
    let distribution = &entry.distribution;
    let of_packages = distribution.npx.iter().chain(&distribution.uvx).flat_map(|package| {
        let named = match &package.cmd {
            Some(cmd) => vec![cmd.as_str()],
            None => vec![package.bare_name(), &entry.id],
        };
        let named = named.into_iter().filter(|name| !COMMON_NAMES.contains(name));
        named
            .map(|name| command(name.to_owned(), &package.args, &package.env))
            .collect::<Vec<_>>()
    });
    let of_archive = distribution.binary.get(&platform());
    let of_archive = of_archive.map(|archive| command(archive.program().to_owned(), &archive.args, &archive.env));
    let mut found: Vec<AgentLaunch> = Vec::new();
    for candidate in of_packages.chain(of_archive) {
        if !found.iter().any(|known| known.program == candidate.program) {
            found.push(candidate);
        }
    }
    found
}

fn command(program: String, args: &[String], env: &BTreeMap<String, String>) -> AgentLaunch {
    AgentLaunch {
        source: LaunchSource::Installed(PathBuf::from(&program)),
        program,
        args: args.to_vec(),
        env: env.clone(),
    }
}

/// `--prefix /`, because npx takes settings, among them the address of its registry, and programs from the project.
fn npx(package: &Package) -> AgentLaunch {
    let named = match &package.cmd {
        Some(cmd) => vec!["--package", &package.package, cmd],
        None => vec![&*package.package],
    };
    AgentLaunch {
        source: LaunchSource::Npm(package.package.clone()),
        ..installing("npx", &["--prefix", "/", "-y"], &named, package)
    }
}

/// uvx ignores what the project says.
fn uvx(package: &Package) -> AgentLaunch {
    let named = match &package.cmd {
        Some(cmd) => vec!["--from", &package.package, cmd],
        None => vec![&*package.package],
    };
    AgentLaunch {
        source: LaunchSource::Python(package.package.clone()),
        ..installing("uvx", &[], &named, package)
    }
}

fn installing(program: &str, options: &[&str], named: &[&str], package: &Package) -> AgentLaunch {
    let own = options.iter().chain(named).map(|arg| (*arg).to_owned());
    let args: Vec<String> = own.chain(package.args.iter().cloned()).collect();
    command(program.to_owned(), &args, &package.env)
}

/// The name of this platform in the registry.
fn platform() -> String {
    let system = if OS == "macos" { "darwin" } else { OS };
    format!("{system}-{ARCH}")
}

fn missing(programs: &[String]) -> String {
    match programs {
        [] => format!("it has no program for {}", platform()),
        [only] => format!("`{only}` is not on PATH"),
        several => format!("none of `{}` is on PATH", several.join("`, `")),
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/@:=+,%".contains(&byte);
    match !word.is_empty() && word.bytes().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(id: &str, distribution: &Value) -> RegistryEntry {
        let entry = json!({ "id": id, "name": "X", "version": "1.0.0", "distribution": distribution });
        serde_json::from_value(entry).expect("an entry")
    }

    /// The command line on a machine with these programs.
    fn started(entry: &RegistryEntry, there: &[&str]) -> Result<String, LaunchError> {
        let find = |name: &str| there.contains(&name).then(|| PathBuf::from("/bin").join(name));
        launch(entry, find).map(|launch| launch.command_line())
    }

    #[test]
    fn a_program_that_is_installed_is_preferred_to_installing_a_package() {
        let npx = json!({ "npx": { "package": "@github/copilot@1.0.80", "args": ["--acp"], "env": { "X_Y": "1" } } });
        let entry = entry("github-copilot-cli", &npx);
        let run = |there: &[&str]| started(&entry, there).expect("a command");
        assert_eq!(run(&["copilot", "npx"]), "X_Y=1 copilot --acp");
        assert_eq!(run(&["npx"]), "X_Y=1 npx --prefix / -y @github/copilot@1.0.80 --acp");
        let error = started(&entry, &["node"]).expect_err("nothing runs it");
        let said = "`github-copilot-cli` cannot run yet: none of `copilot`, `github-copilot-cli`, `npx` is on PATH";
        assert_eq!(error.to_string(), said);
        assert_eq!(error.hints, ["npm install -g @github/copilot@1.0.80"]);
    }

    #[test]
    fn a_package_that_is_called_cli_is_not_looked_for_under_that_name() {
        let entry = entry(
            "kilo",
            &json!({ "npx": { "package": "@kilocode/cli", "args": ["acp"] } }),
        );
        assert_eq!(started(&entry, &["cli", "kilo"]).expect("a command"), "kilo acp");
        assert_eq!(
            started(&entry, &["cli", "npx"]).expect("a command"),
            "npx --prefix / -y @kilocode/cli acp"
        );
    }

    #[test]
    fn a_package_may_name_its_program() {
        let package = json!({ "package": "a-package", "cmd": "a-program", "args": ["it's"] });
        let npm = entry("x", &json!({ "npx": package }));
        let python = entry("x", &json!({ "uvx": package }));
        let run = |entry: &RegistryEntry, there: &[&str]| started(entry, there).expect("a command");
        assert_eq!(
            run(&npm, &["npx"]),
            r"npx --prefix / -y --package a-package a-program 'it'\''s'"
        );
        assert_eq!(run(&python, &["uvx"]), r"uvx --from a-package a-program 'it'\''s'");
        assert_eq!(run(&python, &["a-program", "uvx"]), r"a-program 'it'\''s'");
    }

    #[test]
    fn an_archive_is_named_and_not_downloaded() {
        let target = json!({ "archive": "https://x.test/goose.tar.gz", "cmd": "./dist/goose", "args": ["acp"] });
        let goose = entry("goose", &json!({ "binary": { platform(): target } }));
        assert_eq!(started(&goose, &["goose", "npx"]).expect("a command"), "goose acp");
        let error = started(&goose, &["npx", "uvx"]).expect_err("nothing runs it");
        assert_eq!(error.to_string(), "`goose` cannot run yet: `goose` is not on PATH");
        let hint = "download https://x.test/goose.tar.gz, and put `goose` on PATH: ralph downloads no archive";
        assert_eq!(error.hints, [hint]);
        let elsewhere = entry("goose", &json!({ "binary": { "linux-none": target } }));
        let error = started(&elsewhere, &["goose"]).expect_err("no program for this platform");
        assert!(
            error.hints[0].starts_with("the registry has no archive for "),
            "{error:?}"
        );
    }
}
