//! What may be in an entry of the copy: it names what a user's machine installs and runs.
//!
//! A name that is a path, a package that is an address, a variable that changes other programs, or a character that a
//! terminal obeys must not get into the copy. It is a grammar, and not a list of what is bad.

use std::collections::BTreeMap;

use ralph_text::is_invisible;
use serde::Deserialize as _;
use serde_json::{Value, json};

use super::{
    Registry,
    entry::{Distribution, Package, RegistryEntry, ReleaseArchive},
    launch::names,
};
use crate::{
    catalog::{AdapterSources, Catalog, built_in},
    state::SHARED_NAMES,
};

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

/// Checks everything in an entry.
fn check(entry: &RegistryEntry) -> Result<(), String> {
    let id = &entry.id;
    let is_id = id.len() <= LONGEST_NAME
        && id.starts_with(|first: char| first.is_ascii_lowercase())
        && id.chars().all(|letter| matches!(letter, 'a'..='z' | '0'..='9' | '-'));
    let why = "an id has at most 40 lower-case letters, digits and `-`, and begins with a letter";
    accept("id", id, is_id, why)?;
    let texts = [
        ("name", Some(&entry.name)),
        ("version", Some(&entry.version)),
        ("license", entry.license.as_ref()),
        ("repository", entry.repository.as_ref()),
    ];
    for (key, text) in texts.into_iter().filter_map(|(key, text)| Some((key, text?))) {
        check_line(key, text)?;
    }
    let Distribution { npx, uvx, binary } = &entry.distribution;
    if let Some(npx) = npx {
        let (key, package) = ("distribution.npx.package", &npx.package);
        let why = "a package of npm is named like `@scope/name@1.2.3`";
        accept(key, package, is_npm_package(package), why)?;
        check_package("distribution.npx", npx)?;
    }
    if let Some(uvx) = uvx {
        let (key, package) = ("distribution.uvx.package", &uvx.package);
        let why = "a package of Python is named like `name==1.2.3`";
        accept(key, package, is_python_package(package), why)?;
        check_package("distribution.uvx", uvx)?;
    }
    for (platform, archive) in binary {
        check_archive(&format!("distribution.binary.{platform}"), archive)?;
    }
    match npx.is_none() && uvx.is_none() && binary.is_empty() {
        true => Err("`distribution` has neither `npx` nor `uvx` nor `binary`".to_owned()),
        false => Ok(()),
    }
}

fn check_package(key: &str, package: &Package) -> Result<(), String> {
    if let Some(cmd) = &package.cmd {
        check_program(&format!("{key}.cmd"), cmd, cmd)?;
    }
    check_command(key, &package.args, &package.env)
}

fn check_archive(key: &str, archive: &ReleaseArchive) -> Result<(), String> {
    let address = &archive.archive;
    let is_address = address.strip_prefix("https://").is_some_and(|rest| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/%+:@=&?".contains(&byte);
        !rest.is_empty() && rest.len() <= LONGEST && rest.bytes().all(plain)
    });
    let why = "an archive has an address with https";
    accept(&format!("{key}.archive"), address, is_address, why)?;
    let cmd = format!("{key}.cmd");
    let is_inside = !archive.cmd.starts_with('/') && !archive.cmd.split('/').any(|part| part == "..");
    accept(&cmd, &archive.cmd, is_inside, "the program has to be in the archive")?;
    check_program(&cmd, &archive.cmd, archive.program())?;
    check_command(key, &archive.args, &archive.env)
}

fn accept(key: &str, found: &str, is_fine: bool, why: &str) -> Result<(), String> {
    match is_fine {
        true => Ok(()),
        false => Err(format!("`{key}` is `{found}`, and {why}")),
    }
}

/// Checks a text that is shown to the user and written into an adapter, where a brace may begin a placeholder.
fn check_line(key: &str, text: &str) -> Result<(), String> {
    let is_shown = |letter: char| !letter.is_control() && !is_invisible(letter) && !matches!(letter, '{' | '}');
    let is_line = !text.trim().is_empty() && text.chars().count() <= LONGEST && text.chars().all(is_shown);
    accept(
        key,
        text,
        is_line,
        "it has to be one line of at most 200 visible characters without braces",
    )
}

fn check_program(key: &str, found: &str, name: &str) -> Result<(), String> {
    let why = "a program has a name of letters, digits, `.`, `_` and `-`";
    accept(key, found, is_name(name) && name.len() <= LONGEST_NAME, why)?;
    let why = "that program runs whatever its arguments say";
    accept(key, found, !RUN_ANYTHING.contains(&name), why)
}

fn check_command(key: &str, args: &[String], env: &BTreeMap<String, String>) -> Result<(), String> {
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

#[test]
fn every_entry_of_the_copy_is_accepted() {
    let registry = Registry::compiled_in();
    for entry in &registry.agents {
        check(entry).unwrap_or_else(|error| panic!("{}: {error}", entry.id));
        let shared = names(entry)
            .into_iter()
            .find(|name| SHARED_NAMES.contains(&name.as_str()));
        assert_eq!(shared, None, "directories of {} belong to other programs", entry.id);
    }
    let ids: Vec<&str> = registry.agents.iter().map(|entry| entry.id.as_str()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    let catalog = Catalog::load(&AdapterSources::default());
    let named = built_in().filter_map(|id| catalog.manifest(id).expect("a built-in adapter").acp);
    let unknown: Vec<String> = named.filter(|id| !ids.contains(&id.as_str())).collect();
    assert_eq!(unknown, Vec::<String>::new());
    let known = registry
        .agents
        .iter()
        .filter(|entry| catalog.knows_agent(entry).is_some());
    assert_eq!(known.count(), 10);
}

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

fn read(entry: &Value) -> RegistryEntry {
    RegistryEntry::deserialize(entry).expect("an entry")
}

#[track_caller]
fn refusal(entry: &Value) -> String {
    let entry = read(entry);
    check(&entry).expect_err("an entry that is accepted")
}

#[test]
fn an_entry_is_read_and_unknown_keys_are_ignored() {
    let entry = with(
        npx("@scope/agent-acp@1.2.3-beta.1"),
        "/preview",
        json!({ "version": "2.0.0" }),
    );
    let entry = with(entry, "/distribution/npx/args", json!(["--acp", "a b; $(c)"]));
    let entry = with(entry, "/distribution/npx/env", json!({ "MINE_NO_UPDATE": "1" }));
    let entry = read(&entry);
    assert_eq!(check(&entry), Ok(()));
    let npx = entry.distribution.npx.expect("a package");
    assert_eq!(npx.bare_name(), "agent-acp");
    assert_eq!(npx.args[1], "a b; $(c)", "no shell reads an argument");
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
        assert_eq!(check(&read(&entry)), Ok(()), "{package}");
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
fn nothing_that_a_terminal_obeys_is_accepted() {
    for (pointer, value) in [
        ("/name", "Mine\u{1b}[2J"),
        ("/version", "1\r2"),
        ("/license", "MIT\nrun = \"x\""),
        ("/repository", "https://x\u{202e}y"),
    ] {
        let said = refusal(&with(npx("a"), pointer, value));
        assert!(said.contains("200 visible characters"), "{said:?}");
    }
    for arg in ["--acp\nrm -rf", "{model}"] {
        let entry = with(npx("a"), "/distribution/npx/args", json!([arg]));
        assert!(refusal(&entry).starts_with("`distribution.npx.args` is `"));
    }
    let many = vec!["x"; 33];
    assert!(refusal(&with(npx("a"), "/distribution/npx/args", json!(many))).contains("at most 32"));
    let long = with(npx("a"), "/name", "x".repeat(5_000));
    assert!(refusal(&long).contains("at most 200 visible characters"));
}

#[test]
fn an_entry_without_a_distribution_is_refused() {
    let nothing = with(npx("a"), "/distribution", json!({ "docker": {} }));
    assert_eq!(
        refusal(&nothing),
        "`distribution` has neither `npx` nor `uvx` nor `binary`"
    );
}
