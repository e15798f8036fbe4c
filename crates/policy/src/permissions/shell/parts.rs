//! The parts of a script on which rules decide: programs with their arguments, and the files of redirects.

use ralph_core::event::clip;

use super::{
    options::{changes_programs, find_wrapper, is_runner, is_shell},
    script::{self, Redirect, SimpleCommand, evaluates},
    unclear::Unclear,
    words::{HOLE, ShellWord},
};

/// Most bytes of a script that is analysed.
const LONGEST_BYTES: usize = 64 * 1024;
/// Most parts of a script.
const MOST_PARTS: usize = 2000;
/// The deepest nesting of scripts in arguments of shells.
const DEEPEST: u32 = 12;
/// Most bytes of a part that are shown.
const SHOWN_BYTES: usize = 200;
/// Directories in which a program given by its path counts as the system's program of that name.
const SYSTEM: &[&str] = &[
    "/bin/",
    "/usr/bin/",
    "/usr/local/bin/",
    "/sbin/",
    "/usr/sbin/",
    "/opt/homebrew/bin/",
];

/// Replaces unknown text in a script that is partly computed.
const ANYTHING: &str = "${_}";

/// A part of a script.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::permissions) struct ScriptPart {
    /// The part as written.
    pub(in crate::permissions) shown: String,
    pub(in crate::permissions) effect: PartEffect,
}

/// The effect of a part.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::permissions) enum PartEffect {
    /// Runs a program. It is denied if any of `names` is denied, and allowed if any of `own` is allowed.
    Run {
        names: Vec<String>,
        own: Vec<String>,
    },
    /// Runs a shell whose script is analysed: the script's parts decide, unless any of `names` is denied.
    RunScript {
        names: Vec<String>,
    },
    Write(String),
    Read(String),
    /// The effect is unclear. It is denied if any of `names` is denied; a rule that names the program of any of `own`
    /// may allow it.
    Unclear {
        why: Unclear,
        names: Vec<String>,
        own: Vec<String>,
    },
}

/// Splits a script into its parts.
pub(in crate::permissions) fn parts(text: &str) -> Vec<ScriptPart> {
    let mut parts = PartCollector::default();
    match text {
        _ if text.len() > LONGEST_BYTES => parts.unclear(text, Unclear::TooLong, &[]),
        _ if text.contains(HOLE) => parts.unclear(text, Unclear::Character, &[]),
        _ => parts.script(text, 0),
    }
    if parts.changes_directory {
        parts.found.iter_mut().for_each(mark_unresolved);
    }
    parts.found
}

/// Marks the place of a relative path as unknown, since the directory was changed.
fn mark_unresolved(part: &mut ScriptPart) {
    if let PartEffect::Write(path) | PartEffect::Read(path) = &mut part.effect
        && !path.starts_with(['/', '~'])
    {
        *path = format!("{HOLE}/{path}");
    }
}

#[derive(Default)]
struct PartCollector {
    found: Vec<ScriptPart>,
    /// Whether the script changes the working directory.
    changes_directory: bool,
}

/// The context of a command.
#[derive(Clone, Copy)]
struct CommandContext<'a> {
    /// The commands that run it, in the form in which rules may name them.
    outer: &'a [String],
    /// Whether its standard input is text of the script.
    is_fed: bool,
    depth: u32,
}

impl PartCollector {
    fn push(&mut self, shown: &str, what: PartEffect) {
        match self.found.len() {
            0..MOST_PARTS => self.found.push(ScriptPart {
                shown: clip(shown, SHOWN_BYTES),
                effect: what,
            }),
            MOST_PARTS => self.found.push(ScriptPart {
                shown: "…".to_owned(),
                effect: PartEffect::Unclear {
                    why: Unclear::TooLong,
                    names: Vec::new(),
                    own: Vec::new(),
                },
            }),
            _ => {}
        }
    }

    fn unclear(&mut self, shown: &str, why: Unclear, names: &[String]) {
        let (names, own) = (names.to_vec(), Vec::new());
        self.push(shown, PartEffect::Unclear { why, names, own });
    }

    fn script(&mut self, text: &str, depth: u32) {
        if depth > DEEPEST {
            return self.unclear(text, Unclear::TooDeep, &[]);
        }
        let script = script::read(text);
        for simple in &script.commands {
            self.simple(simple, depth);
        }
        for name in script.assigned.iter().filter(|name| changes_programs(name)) {
            self.unclear(text, Unclear::Variable { name: name.clone() }, &[]);
        }
        if let Some(why) = script.unclear {
            self.unclear(text, why, &[]);
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, depth: u32) {
        for assignment in &simple.assignments {
            let name = assignment.assigned().unwrap_or_default();
            if changes_programs(name) {
                self.unclear(&assignment.source, Unclear::Variable { name: name.to_owned() }, &[]);
            } else if evaluates(assignment) {
                self.unclear(&assignment.source, Unclear::Arithmetic, &[]);
            }
        }
        for redirect in &simple.redirects {
            self.redirect(redirect);
        }
        let place = CommandContext {
            outer: &[],
            is_fed: simple.is_fed,
            depth,
        };
        self.command(&simple.words, place);
    }

    fn redirect(&mut self, redirect: &Redirect) {
        let (word, sign) = match redirect {
            Redirect::Read(word) => (word, '<'),
            Redirect::Write(word) => (word, '>'),
        };
        let shown = format!("{sign} {}", word.source);
        let path = word.value.clone();
        let harmless = [
            "/dev/null",
            "/dev/stdout",
            "/dev/stderr",
            "/dev/stdin",
            "/dev/tty",
            "/dev/zero",
        ];
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let program = "/dev/tcp".to_owned();
            return self.unclear(&shown, Unclear::Runs { program }, &[]);
        }
        if harmless.contains(&path.as_str()) || path.starts_with("/dev/fd/") {
            return;
        }
        match redirect {
            Redirect::Read(_) => self.push(&shown, PartEffect::Read(path)),
            Redirect::Write(_) => self.push(&shown, PartEffect::Write(path)),
        }
    }

    /// Adds the parts of a command that may run another one.
    fn command(&mut self, words: &[ShellWord], place: CommandContext<'_>) {
        let Some(first) = words.first() else { return };
        let shown = shown(words);
        if place.depth > DEEPEST {
            return self.unclear(&shown, Unclear::TooDeep, place.outer);
        }
        let mut names = place.outer.to_vec();
        names.push(text(words));
        if first.is_computed() {
            return self.unclear(&shown, Unclear::Name, &names);
        }
        let (directory, name) = first
            .value
            .rsplit_once('/')
            .map_or(("", first.value.as_str()), |(_, name)| {
                (&first.value[..first.value.len() - name.len()], name)
            });
        let mut own = vec![text(words)];
        if !directory.is_empty() {
            names.push(renamed(words, name));
            if SYSTEM.contains(&directory) {
                own.push(renamed(words, name));
            }
        }
        self.changes_directory |= ["cd", "pushd", "popd"].contains(&name);
        let within = CommandContext { outer: &names, ..place };
        if let Some(wrapper) = find_wrapper(name) {
            let is_question = name == "command" && words.get(1).is_some_and(|word| word.value.to_lowercase() == "-v");
            return match wrapper.command(words) {
                _ if is_question => self.push(&shown, PartEffect::Run { names, own }),
                Err(_) => self.runs(&shown, name, names, own),
                Ok(at) if at >= words.len() => self.push(&shown, PartEffect::Run { names, own }),
                Ok(at) => {
                    self.variables(&words[1..at]);
                    if wrapper.changes_context {
                        let (names, own) = (names.clone(), own.clone());
                        self.push(&shown, PartEffect::Run { names, own });
                    }
                    match name {
                        "xargs" => self.command(
                            &with_input(&words[at..], wrapper.placeholder(words, at)),
                            within.deeper(),
                        ),
                        _ => self.command(&words[at..], within.deeper()),
                    }
                }
            };
        }
        if self.special(name, words, within) {
            return;
        }
        let is_odd = is_runner(name) || is_builtin(name) && words[1..].iter().any(|word| odd_argument(name, word));
        match is_odd {
            true => self.runs(&shown, name, names, own),
            false => {
                let sets = is_builtin(name) && !["test", "["].contains(&name);
                self.variables(if sets { &words[1..] } else { &[] });
                self.push(&shown, PartEffect::Run { names, own });
            }
        }
    }

    fn runs(&mut self, shown: &str, name: &str, names: Vec<String>, own: Vec<String>) {
        let program = name.to_owned();
        let why = Unclear::Runs { program };
        self.push(shown, PartEffect::Unclear { why, names, own });
    }

    /// Adds variables that change which programs run, among words like `A=b`.
    fn variables(&mut self, words: &[ShellWord]) {
        for word in words {
            let name = word.assigned().unwrap_or(&word.value);
            if changes_programs(name) {
                self.unclear(&word.source, Unclear::Variable { name: name.to_owned() }, &[]);
            }
        }
    }

    /// Analyses programs with their own ways of running others. Returns false if `name` is not one of them, or if it
    /// counts as a program itself in addition to those that it runs.
    fn special(&mut self, name: &str, words: &[ShellWord], place: CommandContext<'_>) -> bool {
        match name {
            _ if is_shell(name) => {
                self.shell(name, words, place);
                true
            }
            "su" | "script" | "watch" => self.with_script(name, words, place),
            "find" => {
                self.find(words, place);
                false
            }
            "git" => self.git(words, place),
            "tar" | "bsdtar" | "gtar" => {
                let starts = [
                    "--to",
                    "--checkpoint-a",
                    "--use",
                    "--info-s",
                    "--new-v",
                    "--rsh",
                    "--rmt",
                    "-I",
                    "-F",
                ];
                let runs = |word: &ShellWord| starts.iter().any(|start| word.value.starts_with(start));
                if words.iter().any(runs) {
                    let own = vec![text(words)];
                    self.runs(&shown(words), name, place.outer.to_vec(), own);
                }
                words.iter().any(runs)
            }
            _ => false,
        }
    }

    /// Analyses the script of `sh -c`.
    fn shell(&mut self, name: &str, words: &[ShellWord], place: CommandContext<'_>) {
        let (mut at, mut is_script) = (1, false);
        while let Some(word) = words.get(at) {
            let value = word.value.as_str();
            let Some(letters) = value.strip_prefix(['-', '+']).filter(|_| !word.is_computed()) else {
                break;
            };
            at += 1;
            match letters {
                "-" | "" => break,
                "-norc" | "-noprofile" | "-login" | "-posix" => {}
                "-version" | "-help" => return self.push(&shown(words), run(place.outer, words)),
                _ if letters.chars().all(|letter| "aefhilmnuvxpBCEHPTco".contains(letter)) => {
                    is_script |= value.starts_with('-') && letters.contains('c');
                    at += letters.matches('o').count();
                }
                _ => return self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]),
            }
        }
        match words.get(at) {
            Some(script) if is_script => {
                if script.is_computed() {
                    self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]);
                }
                let names = place.outer.to_vec();
                self.push(&shown(words), PartEffect::RunScript { names });
                self.script(&script.value.replace(HOLE, ANYTHING), place.depth + 1);
            }
            Some(file) if !file.is_computed() && !place.is_fed => self.push(&shown(words), run(place.outer, words)),
            Some(_) | None => self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]),
        }
    }

    /// Analyses the commands of `su -c`, `script -c` and `watch`.
    fn with_script(&mut self, name: &str, words: &[ShellWord], place: CommandContext<'_>) -> bool {
        if name == "watch" {
            self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]);
            let mut at = 1;
            while let Some(option) = words.get(at).filter(|word| word.value.starts_with('-')) {
                at += if ["-n", "--interval", "-q"].contains(&option.value.as_str()) {
                    2
                } else {
                    1
                };
            }
            self.script_behind_options(&text(&words[at.min(words.len())..]), place);
            return true;
        }
        let is_command = |word: &ShellWord| word.value.starts_with("--c") || short_has(&word.value, 'c');
        let Some(at) = words.iter().position(is_command) else {
            return false;
        };
        self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]);
        let script = match words[at].value.split_once('=') {
            Some((_, script)) => script.to_owned(),
            None => words.get(at + 1).map(|word| word.value.clone()).unwrap_or_default(),
        };
        self.script_behind_options(&script, place);
        true
    }

    /// Adds the parts of a script. Only denials in it matter, since the program that runs it is already unclear.
    fn script_behind_options(&mut self, script: &str, place: CommandContext<'_>) {
        if !script.trim().is_empty() {
            self.script(&script.replace(HOLE, ANYTHING), place.depth + 1);
        }
    }

    /// Adds the commands that `find` runs, and the files that it writes.
    fn find(&mut self, words: &[ShellWord], place: CommandContext<'_>) {
        let mut rest = &words[1..];
        while let Some((action, behind)) = rest.split_first() {
            rest = behind;
            match action.value.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let end = rest.iter().position(|word| [";", "+"].contains(&word.value.as_str()));
                    let (command, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    self.command(&with_input(command, Some("{}")), place.deeper());
                    rest = behind;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    let Some(file) = rest.first() else { return };
                    self.push(&format!("> {}", file.source), PartEffect::Write(file.value.clone()));
                }
                _ if action.is_computed() && action.source.starts_with(['$', '`']) => {
                    self.runs(&shown(words), "find", place.outer.to_vec(), vec![text(words)]);
                }
                _ => {}
            }
        }
    }

    /// Analyses git: its global options, and subcommands that run other commands.
    fn git(&mut self, words: &[ShellWord], place: CommandContext<'_>) -> bool {
        let (mut at, mut is_elsewhere, mut is_unclear) = (1, false, false);
        while let Some(word) = words.get(at).filter(|word| word.value.starts_with('-')) {
            at += match word.value.as_str() {
                "-P"
                | "-p"
                | "--no-pager"
                | "--paginate"
                | "--no-replace-objects"
                | "--no-optional-locks"
                | "--literal-pathspecs"
                | "--no-advice"
                | "--bare" => 1,
                "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                    is_elsewhere = true;
                    2
                }
                "-c" => {
                    is_unclear |= !words
                        .get(at + 1)
                        .is_some_and(|setting| is_harmless_setting(&setting.value));
                    2
                }
                other => {
                    let (name, _) = other.split_once('=').unwrap_or((other, ""));
                    is_elsewhere |= ["--git-dir", "--work-tree", "--namespace"].contains(&name);
                    is_unclear |= !["--git-dir", "--work-tree", "--namespace", "--version", "--help"].contains(&name);
                    1
                }
            };
        }
        let behind = &words[at.min(words.len())..];
        let short = format!("git {}", text(behind));
        let mut names = place.outer.to_vec();
        names.push(short.clone());
        let mut own = vec![text(words)];
        if !is_elsewhere && !is_unclear {
            own.push(short);
        }
        let values: Vec<&str> = behind.iter().map(|word| word.value.as_str()).collect();
        self.run_by_git(behind, &values, CommandContext { outer: &names, ..place });
        if is_unclear || git_runs(&values) {
            self.runs(&shown(words), "git", names, own);
        } else {
            self.push(&shown(words), PartEffect::Run { names, own });
        }
        true
    }

    /// Adds the commands in the arguments of git.
    fn run_by_git(&mut self, behind: &[ShellWord], values: &[&str], place: CommandContext<'_>) {
        match values {
            ["bisect", "run", ..] => self.command(&behind[2..], place.deeper()),
            ["submodule", "foreach", rest @ ..] => {
                let script: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with("--")).collect();
                self.script_behind_options(&script.join(" "), place);
            }
            ["rebase", rest @ ..] => {
                for pair in rest.windows(2).filter(|pair| ["-x", "--exec"].contains(&pair[0])) {
                    self.script_behind_options(pair[1], place);
                }
                for script in rest.iter().filter_map(|word| word.strip_prefix("--exec=")) {
                    self.script_behind_options(script, place);
                }
            }
            _ => {}
        }
    }
}

impl CommandContext<'_> {
    fn deeper(self) -> Self {
        CommandContext {
            depth: self.depth + 1,
            ..self
        }
    }
}

/// Whether a setting of git cannot affect which programs run.
fn is_harmless_setting(setting: &str) -> bool {
    let (key, _) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_ascii_lowercase();
    let keys = [
        "user.name",
        "user.email",
        "core.quotepath",
        "core.autocrlf",
        "commit.gpgsign",
        "init.defaultbranch",
    ];
    keys.contains(&key.as_str()) || key.starts_with("color.") || key.starts_with("advice.")
}

/// Whether a git command changes which programs other commands run, or itself runs one.
fn git_runs(values: &[&str]) -> bool {
    match values {
        ["config", rest @ ..] => {
            let reads = [
                "--get",
                "--get-all",
                "--list",
                "-l",
                "get",
                "list",
                "--get-regexp",
                "--unset",
                "unset",
            ];
            let is_reading = rest.iter().any(|word| reads.contains(word));
            let harmless = |word: &&str| word.starts_with('-') || is_harmless_setting(word);
            !is_reading && rest.len() > 1 && !rest.iter().find(|word| !word.starts_with('-')).is_some_and(harmless)
        }
        [
            "filter-branch" | "difftool" | "mergetool" | "daemon" | "web--browse" | "credential",
            ..,
        ] => true,
        ["submodule", "foreach", ..] => true,
        ["rebase", rest @ ..] => rest
            .iter()
            .any(|word| word.starts_with("-x") || word.starts_with("--e")),
        [_, rest @ ..] => {
            let starts = [
                "--upload-p",
                "--receive-p",
                "--exec",
                "--open-f",
                "-O",
                "--ext-diff",
                "ext::",
            ];
            rest.iter()
                .any(|word| starts.iter().any(|start| word.starts_with(start)))
        }
        [] => false,
    }
}

/// Builtins of shells that set variables or evaluate their arguments.
fn is_builtin(name: &str) -> bool {
    const SET: [&str; 14] = [
        "declare",
        "typeset",
        "local",
        "export",
        "readonly",
        "read",
        "mapfile",
        "readarray",
        "printf",
        "unset",
        "test",
        "[",
        "getopts",
        "jobs",
    ];
    SET.contains(&name)
}

/// Whether an argument makes a builtin run something.
fn odd_argument(name: &str, word: &ShellWord) -> bool {
    let runs = match name {
        "mapfile" | "readarray" => short_has(&word.value, 'C'),
        "jobs" => short_has(&word.value, 'x'),
        "declare" | "typeset" | "local" => short_has(&word.value, 'n'),
        _ => false,
    };
    runs || evaluates(word)
}

fn short_has(word: &str, letter: char) -> bool {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
    letters.is_some_and(|letters| letters.contains(letter))
}

fn run(outer: &[String], words: &[ShellWord]) -> PartEffect {
    PartEffect::Run {
        names: outer.to_vec(),
        own: vec![text(words)],
    }
}

/// A command together with the unknown arguments from its input.
fn with_input(words: &[ShellWord], placeholder: Option<&str>) -> Vec<ShellWord> {
    let hole = HOLE.to_string();
    let mut words = words.to_vec();
    match placeholder.filter(|placeholder| !placeholder.is_empty()) {
        Some(placeholder) => {
            for word in &mut words {
                word.value = word.value.replace(placeholder, &hole);
            }
        }
        None if words.is_empty() => {}
        None => words.push(ShellWord {
            value: hole,
            source: "…".to_owned(),
        }),
    }
    words
}

fn text(words: &[ShellWord]) -> String {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
    values.join(" ")
}

fn renamed(words: &[ShellWord], name: &str) -> String {
    let values: Vec<&str> = words[1..].iter().map(|word| word.value.as_str()).collect();
    [&[name], &values[..]].concat().join(" ")
}

/// The text if computed words turn out to be empty.
pub(in crate::permissions) fn possible(text: &str) -> String {
    text.replace(&format!(" {HOLE}"), &HOLE.to_string())
}

fn shown(words: &[ShellWord]) -> String {
    let sources: Vec<&str> = words.iter().map(|word| word.source.as_str()).collect();
    sources.join(" ")
}
