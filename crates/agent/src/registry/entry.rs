//! An entry of the ACP registry, and what may be in one.
//!
//! An entry is written by others, and names what a user's machine installs and runs. It is checked as a whole when it is
//! read: a name that is a path, a package that is an address, a variable that changes other programs, or a character
//! that a terminal obeys makes it unusable.

use std::collections::BTreeMap;

use ralph_text::{escape_name, is_invisible};
use serde::Deserialize;
use thiserror::Error;

/// Most characters of a text in an entry.
const LONGEST: usize = 200;
/// Most arguments and most variables of one command.
const MOST_ARGS: usize = 32;
/// Most characters of an id or a program's name.
const LONGEST_NAME: usize = 40;
/// Programs that run whatever their arguments say, and are no agents.
const RUN_ANYTHING: &[&str] = &[
    "bash", "bun", "bunx", "curl", "dash", "deno", "doas", "docker", "env", "eval", "exec", "fish", "ksh", "lua",
    "node", "nohup", "npm", "npx", "perl", "php", "pip", "pipx", "pnpm", "podman", "python", "python2", "python3",
    "rm", "ruby", "setsid", "sh", "ssh", "sudo", "tclsh", "uv", "uvx", "wget", "xargs", "yarn", "zsh",
];
/// Beginnings of variables that change what other programs load or may do.
const FOREIGN_VARIABLES: &[&str] = &[
    "BASH_", "BUN_", "CARGO_", "DENO_", "DOCKER_", "DYLD_", "GIT_", "JAVA_", "LC_", "LD_", "LUA_", "MALLOC_", "NODE_",
    "NPM_", "PERL", "PHP_", "PIP_", "PYTHON", "RALPH_", "RUBY", "SSH_", "SSL_", "UV_", "XDG_", "ZSH_",
];
/// Ends of variables that say where an agent connects to, with which key, or which files and programs it uses.
const LEADING_VARIABLES: &[&str] = &[
    "_ADDRESS",
    "_BASE",
    "_CA",
    "_CERT",
    "_CERTS",
    "_CMD",
    "_COMMAND",
    "_CONFIG",
    "_DIR",
    "_ENDPOINT",
    "_EXECUTABLE",
    "_FILE",
    "_HOME",
    "_HOST",
    "_KEY",
    "_OPTIONS",
    "_PASSWORD",
    "_PATH",
    "_PROGRAM",
    "_PROXY",
    "_SECRET",
    "_SERVER",
    "_SHELL",
    "_TOKEN",
    "_URI",
    "_URL",
];

/// An agent of the registry: what it is, and how it is installed and run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RegistryEntry {
    pub id: String,
    pub name: String,
    pub version: String,
    /// The licence, as the entry says it.
    pub license: Option<String>,
    /// The address of the sources.
    pub repository: Option<String>,
    pub(super) distribution: Distribution,
}

/// The ways in which an agent is distributed. Others than these are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Distribution {
    /// A package that `npx` installs and runs.
    pub(super) npx: Option<Package>,
    /// A package that `uvx` installs and runs.
    pub(super) uvx: Option<Package>,
    /// An archive for each platform.
    #[serde(default)]
    pub(super) binary: BTreeMap<String, ReleaseArchive>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Package {
    /// The package's name, with or without a version.
    pub(super) package: String,
    /// The program of the package, if it is not called like the package.
    pub(super) cmd: Option<String>,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct ReleaseArchive {
    /// The archive's address.
    pub(super) archive: String,
    /// The path of the program in the archive.
    pub(super) cmd: String,
    #[serde(default)]
    pub(super) args: Vec<String>,
    #[serde(default)]
    pub(super) env: BTreeMap<String, String>,
}

/// Why an entry cannot be used.
#[derive(Debug, Error)]
pub enum EntryError {
    #[error("not an entry of the ACP registry")]
    Json(#[source] serde_json::Error),
    #[error("`{key}` is `{found}`, and {why}")]
    Refused {
        key: String,
        /// The value, with everything escaped that a terminal obeys.
        found: String,
        why: &'static str,
    },
    #[error("`distribution` has neither `npx` nor `uvx` nor `binary`")]
    NoDistribution,
}

impl RegistryEntry {
    /// Reads an `agent.json` of the registry. Unknown keys are ignored.
    ///
    /// # Errors
    /// [`EntryError`], with the first key that must not be as it is.
    pub fn from_json(text: &str) -> Result<Self, EntryError> {
        let entry: Self = serde_json::from_str(text).map_err(EntryError::Json)?;
        entry.check()?;
        Ok(entry)
    }

    /// Whether this is the agent of `other` in another version: the same packages, and nothing beside them.
    pub(super) fn is_version_of(&self, other: &Self) -> bool {
        let same = |one: &Option<Package>, other: &Option<Package>| match (one, other) {
            (Some(one), Some(other)) => one.unversioned() == other.unversioned() && one.cmd == other.cmd,
            (None, _) => true,
            (Some(_), None) => false,
        };
        let (own, others) = (&self.distribution, &other.distribution);
        self.id == other.id && same(&own.npx, &others.npx) && same(&own.uvx, &others.uvx) && own.binary.is_empty()
    }

    /// Checks everything in the entry.
    ///
    /// # Errors
    /// As [`RegistryEntry::from_json`].
    pub(super) fn check(&self) -> Result<(), EntryError> {
        let is_id = self.id.len() <= LONGEST_NAME
            && self.id.starts_with(|first: char| first.is_ascii_lowercase())
            && self
                .id
                .chars()
                .all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '-'));
        let why = "an id has at most 40 lower-case letters, digits and `-`, and begins with a letter";
        accept("id", &self.id, is_id, why)?;
        let texts = [("name", Some(&self.name)), ("version", Some(&self.version))];
        let texts = texts.into_iter().chain([
            ("license", self.license.as_ref()),
            ("repository", self.repository.as_ref()),
        ]);
        for (key, text) in texts.filter_map(|(key, text)| Some((key, text?))) {
            check_line(key, text)?;
        }
        let Distribution { npx, uvx, binary } = &self.distribution;
        if let Some(npx) = npx {
            let why = "a package of npm is named like `@scope/name@1.2.3`";
            accept(
                "distribution.npx.package",
                &npx.package,
                is_npm_package(&npx.package),
                why,
            )?;
            npx.check("distribution.npx")?;
        }
        if let Some(uvx) = uvx {
            let why = "a package of Python is named like `name==1.2.3`";
            accept(
                "distribution.uvx.package",
                &uvx.package,
                is_python_package(&uvx.package),
                why,
            )?;
            uvx.check("distribution.uvx")?;
        }
        for (platform, archive) in binary.iter().filter(|(platform, _)| is_supported(platform)) {
            archive.check(&format!("distribution.binary.{platform}"))?;
        }
        match npx.is_none() && uvx.is_none() && binary.is_empty() {
            true => Err(EntryError::NoDistribution),
            false => Ok(()),
        }
    }
}

impl Package {
    /// The package without scope and version, which is what its program is called unless the entry says otherwise.
    pub(super) fn bare_name(&self) -> &str {
        let name = self.package.rsplit_once('/').map_or(&*self.package, |(_, name)| name);
        name.split(['@', '=', '[']).next().unwrap_or(name)
    }

    /// The package without its version.
    fn unversioned(&self) -> &str {
        let end = self
            .package
            .char_indices()
            .skip(1)
            .find(|(_, letter)| matches!(letter, '@' | '='));
        end.map_or(&*self.package, |(end, _)| &self.package[..end])
    }

    fn check(&self, key: &str) -> Result<(), EntryError> {
        if let Some(cmd) = &self.cmd {
            check_program(&format!("{key}.cmd"), cmd, cmd)?;
        }
        check_command(key, &self.args, &self.env)
    }
}

impl ReleaseArchive {
    /// The name of the program.
    pub(super) fn program(&self) -> &str {
        self.cmd.rsplit_once('/').map_or(&*self.cmd, |(_, name)| name)
    }

    fn check(&self, key: &str) -> Result<(), EntryError> {
        let is_address = self.archive.strip_prefix("https://").is_some_and(|rest| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%+:@=&?".contains(&byte);
            !rest.is_empty() && rest.len() <= LONGEST && rest.bytes().all(plain)
        });
        accept(
            &format!("{key}.archive"),
            &self.archive,
            is_address,
            "an archive has an address with https",
        )?;
        let cmd = format!("{key}.cmd");
        let is_inside = !self.cmd.starts_with('/') && !self.cmd.split('/').any(|part| part == "..");
        accept(&cmd, &self.cmd, is_inside, "the program has to be in the archive")?;
        check_program(&cmd, &self.cmd, self.program())?;
        check_command(key, &self.args, &self.env)
    }
}

/// Whether ralph runs on a platform of the registry.
fn is_supported(platform: &str) -> bool {
    platform.starts_with("linux-") || platform.starts_with("darwin-")
}

fn accept(key: &str, found: &str, is_fine: bool, why: &'static str) -> Result<(), EntryError> {
    const SHOWN: usize = 80;
    if is_fine {
        return Ok(());
    }
    let beginning: String = found.chars().take(SHOWN).collect();
    let rest = if beginning.len() < found.len() { "…" } else { "" };
    Err(EntryError::Refused {
        key: escape_name(key),
        found: escape_name(&beginning) + rest,
        why,
    })
}

/// Checks a text that is shown to the user and written into a comment.
fn check_line(key: &str, text: &str) -> Result<(), EntryError> {
    let is_shown = |letter: char| !letter.is_control() && !is_invisible(letter);
    let is_line = !text.trim().is_empty() && text.chars().count() <= LONGEST && text.chars().all(is_shown);
    accept(
        key,
        text,
        is_line,
        "it has to be one line of at most 200 visible characters",
    )
}

fn check_program(key: &str, found: &str, name: &str) -> Result<(), EntryError> {
    let why = "a program has a name of letters, digits, `.`, `_` and `-`";
    accept(key, found, is_name(name) && name.len() <= LONGEST_NAME, why)?;
    let why = "that program runs whatever its arguments say";
    accept(key, found, !RUN_ANYTHING.contains(&name), why)
}

fn check_command(key: &str, args: &[String], env: &BTreeMap<String, String>) -> Result<(), EntryError> {
    let counted = |what: &str, count: usize| {
        let why = "a command has at most 32 arguments and 32 variables";
        accept(&format!("{key}.{what}"), &count.to_string(), count <= MOST_ARGS, why)
    };
    counted("args", args.len())?;
    counted("env", env.len())?;
    args.iter()
        .try_for_each(|arg| check_line(&format!("{key}.args"), arg))?;
    for (name, value) in env {
        let place = format!("{key}.env.{name}");
        accept(
            &place,
            value,
            is_variable_of_an_agent(name),
            "an entry may not set that variable",
        )?;
        let is_word = value.len() <= LONGEST_NAME && (value.is_empty() || is_name(value));
        let why = "an entry may set a variable only to a word of letters, digits, `.`, `_` and `-`";
        accept(&place, value, is_word, why)?;
    }
    Ok(())
}

/// Whether a variable can be a switch of the agent's own: two words at least, and none that other programs, a loader or
/// ralph read, or that leads the agent to another server or file.
fn is_variable_of_an_agent(name: &str) -> bool {
    let is_written = name.len() <= LONGEST
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name
            .bytes()
            .all(|byte| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'_'))
        && name.contains('_');
    is_written
        && !FOREIGN_VARIABLES.iter().any(|begin| name.starts_with(begin))
        && !LEADING_VARIABLES.iter().any(|end| name.ends_with(end))
}

/// Whether a text is a word without a meaning to shells, package managers and paths.
fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(inner)
}

fn is_version(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'+');
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(inner)
}

/// Whether npm takes `package` from its registry, and neither from a repository, an address nor a directory.
fn is_npm_package(package: &str) -> bool {
    let name = match package.strip_prefix('@') {
        None => package,
        Some(scoped) => match scoped.split_once('/') {
            Some((scope, name)) if is_name(scope) => name,
            Some(_) | None => return false,
        },
    };
    let (name, version) = name.split_once('@').unwrap_or((name, "latest"));
    package.len() <= LONGEST && is_name(name) && is_version(version)
}

/// Whether uv takes `package` from its index.
fn is_python_package(package: &str) -> bool {
    let (name, version) = package
        .split_once("==")
        .or_else(|| package.split_once('@'))
        .unwrap_or((package, "0"));
    let (name, extras) = match name.split_once('[') {
        Some((name, extras)) => (name, extras.strip_suffix(']')),
        None => (name, Some("all")),
    };
    let extras = extras.is_some_and(|extras| extras.split(',').all(is_name));
    package.len() <= LONGEST && is_name(name) && extras && is_version(version)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn npx(package: &str) -> Value {
        json!({ "id": "mine", "name": "Mine", "version": "1.0.0", "distribution": { "npx": { "package": package } } })
    }

    /// The entry with the value at `pointer` replaced, or added.
    fn with(entry: Value, pointer: &str, value: impl Into<Value>) -> Value {
        let mut entry = entry;
        let (above, key) = pointer.rsplit_once('/').expect("a pointer");
        let above = entry.pointer_mut(above).expect("the object above");
        above[key] = value.into();
        entry
    }

    #[track_caller]
    fn refusal(entry: &Value) -> String {
        match RegistryEntry::from_json(&entry.to_string()) {
            Ok(entry) => panic!("accepted: {entry:?}"),
            Err(error) => ralph_text::with_causes(&error),
        }
    }

    #[test]
    fn an_entry_is_read_and_unknown_keys_are_ignored() {
        let entry = with(
            npx("@scope/agent-acp@1.2.3-beta.1"),
            "/preview",
            json!({ "version": "2.0.0" }),
        );
        let entry = with(entry, "/distribution/npx/args", json!(["--acp", "a b; $(c) {model}"]));
        let entry = with(entry, "/distribution/npx/env", json!({ "MINE_NO_UPDATE": "1" }));
        let entry = RegistryEntry::from_json(&entry.to_string()).expect("an entry");
        let npx = entry.distribution.npx.expect("a package");
        assert_eq!(npx.bare_name(), "agent-acp");
        assert_eq!(npx.args[1], "a b; $(c) {model}", "no shell reads an argument");
    }

    #[test]
    fn an_id_is_no_path_and_no_option() {
        for id in ["../x", "a/b", "-x", "", "Ralph", "a.b", "acp:x", "x\n", &"x".repeat(41)] {
            let said = refusal(&with(npx("a"), "/id", id));
            assert!(said.starts_with("`id` is `"), "{said}");
        }
    }

    #[test]
    fn a_package_comes_from_the_registry_of_packages_and_from_nowhere_else() {
        for package in [
            "-g",
            "user/repo",
            "github:user/repo",
            "git+ssh://x/y",
            "https://x.test/a.tgz",
            "./dir",
            "../dir",
            "/dir",
            "file:x",
            "a@npm:b",
            "a@^1 || x",
            "a@../x",
            "a;b",
            "a b",
            "$(a)",
            "a\n",
            "@scope",
            "@/a",
            "@a/b/c",
            "@scope/../x",
            "",
        ] {
            let said = refusal(&npx(package));
            assert!(said.starts_with("`distribution.npx.package` is `"), "{package}: {said}");
        }
        for package in [
            "git+https://x/y",
            "a @ https://x/y",
            "-p",
            "a==1;b",
            "a[x",
            "./a",
            "a==1 --index-url=x",
        ] {
            let entry = with(npx("a"), "/distribution", json!({ "uvx": { "package": package } }));
            assert!(
                refusal(&entry).starts_with("`distribution.uvx.package` is `"),
                "{package}"
            );
        }
        for package in ["fast-agent==0.10.1", "minion-code@0.1.8", "vibe[acp,x]==2.0"] {
            let entry = with(npx("a"), "/distribution", json!({ "uvx": { "package": package } }));
            assert!(RegistryEntry::from_json(&entry.to_string()).is_ok(), "{package}");
        }
    }

    fn archive(cmd: &str) -> Value {
        let target = json!({ "archive": "https://x.test/a.tar.gz", "cmd": cmd });
        with(
            npx("a"),
            "/distribution",
            json!({ "binary": { "linux-x86_64": target } }),
        )
    }

    #[test]
    fn a_program_is_in_its_archive_and_runs_nothing_else() {
        for cmd in [
            "/bin/agent",
            "../agent",
            "./a/../../b",
            "./sh",
            "bash",
            "./python3",
            "sudo",
            "a b",
            "a;b",
            "./a\u{202e}b",
            "./",
            "",
            "./-x",
        ] {
            let said = refusal(&archive(cmd));
            assert!(
                said.starts_with("`distribution.binary.linux-x86_64.cmd` is `"),
                "{cmd}: {said}"
            );
        }
        let http = with(
            archive("./a"),
            "/distribution/binary/linux-x86_64/archive",
            "http://x.test/a",
        );
        assert!(refusal(&http).contains("an address with https"));
        let foreign = json!({ "binary": { "windows-x86_64": { "archive": "x", "cmd": ".\\a.exe" } } });
        let foreign = with(npx("a"), "/distribution", foreign);
        assert!(
            RegistryEntry::from_json(&foreign.to_string()).is_ok(),
            "ralph runs no program of Windows"
        );
    }

    #[test]
    fn variables_are_switches_of_the_agent() {
        for name in [
            "LD_PRELOAD",
            "PATH",
            "HOME",
            "NODE_OPTIONS",
            "npm_config_registry",
            "NPM_CONFIG_REGISTRY",
            "RALPH_SANDBOX",
            "HTTPS_PROXY",
            "OPENAI_BASE_URL",
            "OPENAI_API_KEY",
            "MINE_CONFIG",
            "GIT_SSH_COMMAND",
            "PYTHONPATH",
            "A=B_C",
            "A_B\n",
            "",
        ] {
            let entry = with(npx("a"), "/distribution/npx/env", json!({ name: "1" }));
            let said = refusal(&entry);
            assert!(
                said.ends_with("is `1`, and an entry may not set that variable"),
                "{name}: {said}"
            );
        }
        for value in ["/tmp/x", "a b", "http:x", "a\nb", "-x"] {
            let entry = with(npx("a"), "/distribution/npx/env", json!({ "MINE_MODE": value }));
            assert!(refusal(&entry).contains("only to a word"), "{value}");
        }
    }

    #[test]
    fn nothing_that_a_terminal_obeys_is_accepted_or_shown() {
        for (pointer, value) in [
            ("/name", "Mine\u{1b}[2J"),
            ("/version", "1\r2"),
            ("/license", "MIT\nrun = \"x\""),
            ("/repository", "https://x\u{202e}y"),
        ] {
            let said = refusal(&with(npx("a"), pointer, value));
            assert!(
                said.chars().all(|letter| !letter.is_control() && !is_invisible(letter)),
                "{said:?}"
            );
        }
        let entry = with(npx("a"), "/distribution/npx/args", json!(["--acp\nrm -rf"]));
        assert!(refusal(&entry).starts_with("`distribution.npx.args` is `"));
        let many = vec!["x"; 33];
        assert!(refusal(&with(npx("a"), "/distribution/npx/args", json!(many))).contains("at most 32"));
        let long = with(npx("a"), "/name", "x".repeat(5_000));
        assert!(refusal(&long).len() < 400);
    }

    #[test]
    fn another_version_of_an_agent_has_the_same_packages_and_nothing_else() {
        let read = |entry: Value| RegistryEntry::from_json(&entry.to_string()).expect("an entry");
        let known = read(npx("@scope/agent@1.2.3"));
        assert!(
            read(npx("@scope/agent@2.0.0")).is_version_of(&known) && read(npx("@scope/agent")).is_version_of(&known)
        );
        for package in ["@scope/agent-x@1.2.3", "@other/agent@1.2.3", "agent@1.2.3"] {
            assert!(!read(npx(package)).is_version_of(&known), "{package}");
        }
        let named = with(npx("@scope/agent"), "/distribution/npx/cmd", "other");
        let archive = archive("./agent")["distribution"]["binary"].clone();
        let archived = with(npx("@scope/agent"), "/distribution/binary", archive);
        let renamed = with(npx("@scope/agent"), "/id", "yours");
        for other in [named, archived, renamed] {
            assert!(!read(other.clone()).is_version_of(&known), "{other}");
        }
    }

    #[test]
    fn what_is_no_entry_is_refused_with_the_reason() {
        for text in ["", "[]", "{}", "{\"id\": 1}", "\u{0}"] {
            let error = RegistryEntry::from_json(text).expect_err(text);
            assert!(matches!(error, EntryError::Json(_)), "{error}");
        }
        let nothing = with(npx("a"), "/distribution", json!({ "docker": {} }));
        assert_eq!(
            refusal(&nothing),
            "`distribution` has neither `npx` nor `uvx` nor `binary`"
        );
    }
}
