//! The parts of a script on which rules decide: programs with their arguments, and the files of redirects.

use ralph_core::event::clip;

use super::{
    code::{find_code, has_code, runs_code, words_of},
    git,
    launchers::{find_launcher, is_launcher},
    options::{changes_programs, find_wrapper, is_runner, is_shell, runs_nothing},
    programs::{FileUse, find_program, has, shows_version},
    script::{self, Redirect, SimpleCommand, evaluates},
    unclear::Unclear,
    values::ScriptValues,
    words::{BELOW, GLOB, HOLE, ShellWord},
};
use crate::permissions::paths::DEVICES;

/// Most bytes of a script that is analysed.
const LONGEST_BYTES: usize = 64 * 1024;
/// Most parts of a script.
const MOST_PARTS: usize = 2000;
/// The deepest nesting of scripts in arguments of shells.
const DEEPEST: u32 = 12;
/// Most arguments of a program at which a command that it runs may begin.
const MOST_PLACES: usize = 9;
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
    /// Whether the part can only be denied or asked about. Rules that allow are about the program that it belongs to.
    pub(in crate::permissions) only_forbids: bool,
}

/// The effect of a part.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::permissions) enum PartEffect {
    /// Runs a program. It is denied if any of `names` is denied, and allowed if any of `own` is allowed.
    Run {
        /// The words of the command, under every name that the program has.
        names: Vec<Vec<String>>,
        own: Vec<String>,
        /// The arguments of an unknown program, which may be another command.
        arguments: Vec<String>,
        /// The paths that the program reads, if it does nothing else.
        reads: Option<Vec<String>>,
    },
    /// Runs a shell whose script is analysed: the script's parts decide, unless any of `names` is denied.
    RunScript { names: Vec<Vec<String>> },
    /// Writes a file: one of these paths.
    Write(Vec<String>),
    /// Reads a file: one of these paths.
    Read(Vec<String>),
    /// Has these words in the code of an interpreter, which may use files of these names.
    Mention(Vec<String>),
    /// The effect is unclear. It is denied if any of `names` is denied; a rule that names the program of any of `own`
    /// may allow it.
    Unclear {
        why: Unclear,
        names: Vec<Vec<String>>,
        own: Vec<String>,
    },
}

/// Splits a script into its parts.
pub(in crate::permissions) fn parts(text: &str) -> Vec<ScriptPart> {
    let mut parts = PartCollector::default();
    match text {
        _ if text.len() > LONGEST_BYTES => parts.unclear(text, Unclear::TooLong, &[]),
        _ if text.contains([HOLE, GLOB, BELOW]) => parts.unclear(text, Unclear::Character, &[]),
        _ => parts.script(text, 0),
    }
    let climbs = text.contains("..");
    for part in &mut parts.found {
        match &mut part.effect {
            PartEffect::Write(paths)
            | PartEffect::Read(paths)
            | PartEffect::Mention(paths)
            | PartEffect::Run { reads: Some(paths), .. } => {
                *paths = parts.values.places(paths, climbs);
            }
            PartEffect::Run { .. } | PartEffect::RunScript { .. } | PartEffect::Unclear { .. } => {}
        }
    }
    parts.found
}

#[derive(Default)]
struct PartCollector {
    found: Vec<ScriptPart>,
    values: ScriptValues,
    /// Whether rules that allow are about the command around this one.
    only_forbids: bool,
}

/// The context of a command.
#[derive(Clone, Copy)]
struct CommandContext<'a> {
    /// The commands that run it, in the form in which rules may name them.
    outer: &'a [Vec<String>],
    /// The texts of the script that are its standard input.
    fed: &'a [String],
    depth: u32,
}

impl PartCollector {
    fn push(&mut self, shown: &str, mut what: PartEffect) {
        // A rule that allows the whole command settles what its parts ask.
        if let PartEffect::Run { names, own, .. } | PartEffect::Unclear { names, own, .. } = &mut what
            && self.only_forbids
        {
            own.extend(names.iter().map(|words| words.join(" ")));
        }
        if matches!(&what, PartEffect::Read(paths) | PartEffect::Write(paths) | PartEffect::Mention(paths) if paths.is_empty())
        {
            return;
        }
        match self.found.len() {
            0..MOST_PARTS => self.found.push(ScriptPart {
                shown: clip(shown, SHOWN_BYTES),
                effect: what,
                only_forbids: self.only_forbids,
            }),
            MOST_PARTS => self.found.push(ScriptPart {
                shown: "…".to_owned(),
                effect: PartEffect::Unclear {
                    why: Unclear::TooLong,
                    names: Vec::new(),
                    own: Vec::new(),
                },
                only_forbids: false,
            }),
            _ => {}
        }
    }

    fn unclear(&mut self, shown: &str, why: Unclear, names: &[Vec<String>]) {
        let (names, own) = (names.to_vec(), Vec::new());
        self.push(shown, PartEffect::Unclear { why, names, own });
    }

    fn script(&mut self, text: &str, depth: u32) {
        if depth > DEEPEST {
            return self.unclear(text, Unclear::TooDeep, &[]);
        }
        let script = script::read(text);
        self.values.add(&script);
        for simple in &script.commands {
            self.simple(simple, &script.fed, depth);
        }
        for name in script.assigned.iter().filter(|name| changes_programs(name)) {
            self.unclear(text, Unclear::Variable { name: name.clone() }, &[]);
        }
        if let Some(why) = script.unclear {
            self.unclear(text, why, &[]);
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, fed: &[String], depth: u32) {
        for assignment in &simple.assignments {
            let name = assignment.assigned().unwrap_or_default();
            if changes_programs(name) {
                self.unclear(&assignment.source, Unclear::Variable { name: name.to_owned() }, &[]);
            } else if evaluates(assignment) {
                self.unclear(&assignment.source, Unclear::Arithmetic, &[]);
            } else if !simple.words.is_empty() {
                self.given(assignment);
            }
        }
        for redirect in &simple.redirects {
            self.redirect(redirect);
        }
        let place = CommandContext {
            outer: &[],
            fed: if simple.is_fed { fed } else { &[] },
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
        if path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/") {
            let program = "/dev/tcp".to_owned();
            return self.unclear(&shown, Unclear::Runs { program }, &[]);
        }
        if DEVICES.contains(&path.as_str()) || path.starts_with("/dev/fd/") {
            return;
        }
        match redirect {
            Redirect::Read(_) => self.push(&shown, PartEffect::Read(vec![word.path()])),
            Redirect::Write(_) => self.push(&shown, PartEffect::Write(vec![word.path()])),
        }
    }

    /// Adds the parts of a command that may run another one.
    fn command(&mut self, words: &[ShellWord], place: CommandContext<'_>) {
        // Launchers of launchers have more commands than words.
        let Some(first) = words.first().filter(|_| self.found.len() <= MOST_PARTS) else {
            return;
        };
        let shown = shown(words);
        if place.depth > DEEPEST {
            return self.unclear(&shown, Unclear::TooDeep, place.outer);
        }
        let mut names = place.outer.to_vec();
        names.push(values(words));
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
        let is_system = directory.is_empty() || SYSTEM.contains(&directory);
        if !directory.is_empty() {
            names.push(renamed(words, name));
            if is_system {
                own.push(renamed(words, name).join(" "));
            }
        }
        let within = CommandContext { outer: &names, ..place };
        if let Some(wrapper) = find_wrapper(name) {
            let is_question = name == "command" && words.get(1).is_some_and(|word| word.value.to_lowercase() == "-v");
            return match wrapper.command(words) {
                _ if is_question => self.push(&shown, run(names, own, Some(Vec::new()))),
                Err(_) => self.runs(&shown, name, with_arguments(names, words), own),
                Ok(at) if at >= words.len() => self.push(&shown, run(names, own, None)),
                Ok(at) => {
                    self.variables(&words[1..at]);
                    words[1..at].iter().for_each(|word| self.given(word));
                    if wrapper.changes_context {
                        let (names, own) = (names.clone(), own.clone());
                        self.push(&shown, run(names, own, None));
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
        self.launched(name, words, within);
        let is_odd = is_runner(name) && !runs_nothing(&renamed(words, name))
            || is_builtin(name) && words[1..].iter().any(|word| odd_argument(name, word));
        if is_odd {
            return self.runs(&shown, name, with_arguments(names, words), own);
        }
        let sets = is_builtin(name) && !["test", "["].contains(&name);
        self.variables(if sets { &words[1..] } else { &[] });
        let reads = match name {
            "cd" | "pushd" | "popd" => {
                let entered = self.values.enter(words);
                self.forbidden(|parts| parts.push(&shown, PartEffect::Read(entered.clone())));
                Some(entered)
            }
            _ if shows_version(name, words) => Some(Vec::new()),
            _ => self.files(name, words),
        };
        let is_known = find_program(name).is_some() || is_runner(name) || is_builtin(name);
        let code = find_code(name, words, place.fed, is_known);
        if code.is_hidden {
            return self.runs(&shown, name, with_arguments(names, words), own);
        }
        let mut arguments = code.words;
        if runs_code(name) {
            let mut mentioned: Vec<String> = words[1..].iter().flat_map(|word| words_of(&word.value)).collect();
            mentioned.extend(arguments.iter().cloned());
            self.forbidden(|parts| parts.push(&shown, PartEffect::Mention(mentioned)));
        }
        if if runs_code(name) {
            !has_code(name, words)
        } else {
            !is_known
        } {
            arguments.splice(0..0, values(&words[1..]));
        }
        self.push(
            &shown,
            PartEffect::Run {
                names,
                own,
                arguments,
                reads: reads.filter(|_| is_system),
            },
        );
    }

    /// Adds the files among the arguments of a program. Returns those that it reads if it does nothing else.
    fn files(&mut self, name: &str, words: &[ShellWord]) -> Option<Vec<String>> {
        let program = find_program(name)?;
        let (mut read, mut written, mut operands) = (Vec::new(), Vec::new(), Vec::new());
        for (used, file) in program.files(words) {
            match used {
                FileUse::Read => read.extend(self.values.paths(&file)),
                FileUse::Write => written.extend(self.values.paths(&file)),
            }
            operands.push(file.path());
        }
        read.retain(|path| program.asks_about_computed() || !path.contains(HOLE));
        let shown = shown(words);
        self.forbidden(|parts| {
            parts.push(&shown, PartEffect::Read(read));
            parts.push(&shown, PartEffect::Write(written));
        });
        program.only_reads(words).then_some(operands)
    }

    /// Adds the command that a launcher runs, and a script for a shell among the arguments of an unknown program.
    fn launched(&mut self, name: &str, words: &[ShellWord], place: CommandContext<'_>) {
        let is_script = |pair: &[ShellWord]| {
            let shell = pair[0].value.rsplit('/').next().unwrap_or_default();
            is_shell(shell) && pair[1].value.starts_with('-')
        };
        self.forbidden(|parts| match find_launcher(words, name) {
            Some((launcher, at)) => {
                for script in launcher.scripts(&words[at..]) {
                    parts.script_behind_options(script, place);
                }
                parts.command(launcher.command(words, name, at), place.deeper());
            }
            None if find_program(name).is_some() && !is_launcher(name) => {}
            None => {
                let at = words[1..].windows(2).position(is_script);
                parts.command(at.map_or(&[][..], |at| &words[at + 1..]), place.deeper());
            }
        });
    }

    /// Adds parts that can only be denied or asked about.
    fn forbidden(&mut self, add: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.only_forbids, true);
        add(self);
        self.only_forbids = before;
    }

    fn runs(&mut self, shown: &str, name: &str, names: Vec<Vec<String>>, own: Vec<String>) {
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

    /// Adds the value of a variable that is set for one program, which may run it.
    fn given(&mut self, word: &ShellWord) {
        let value = word.assigned().and_then(|_| word.value.split_once('='));
        let arguments = words_of(value.map_or("", |(_, value)| value));
        let effect = PartEffect::Run {
            names: Vec::new(),
            own: Vec::new(),
            arguments,
            reads: Some(Vec::new()),
        };
        self.forbidden(|parts| parts.push(&word.source, effect));
    }

    /// Analyses programs with their own ways of running others. Returns false if `name` is not one of them, or if it
    /// counts as a program itself in addition to those that it runs.
    fn special(&mut self, name: &str, words: &[ShellWord], place: CommandContext<'_>) -> bool {
        match name {
            _ if is_shell(name) => {
                self.shell(name, words, place);
                true
            }
            "trap" => self.trap(words, place),
            "su" | "script" | "watch" => self.with_script(name, words, place),
            "find" | "fd" | "fdfind" => {
                self.find(words, place);
                false
            }
            "git" => {
                self.git(words, place);
                true
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
                "-version" | "-help" => {
                    return self.push(&shown(words), run(place.outer.to_vec(), vec![text(words)], None));
                }
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
            Some(file) if !file.is_computed() && place.fed.is_empty() => {
                self.push(&shown(words), run(place.outer.to_vec(), vec![text(words)], None));
            }
            Some(_) | None => self.runs(&shown(words), name, place.outer.to_vec(), vec![text(words)]),
        }
    }

    /// Analyses the script of a trap.
    fn trap(&mut self, words: &[ShellWord], place: CommandContext<'_>) -> bool {
        let mut operands = words[1..].iter().filter(|word| word.value != "--");
        let Some(script) = operands.next().filter(|script| !script.value.starts_with('-')) else {
            return false;
        };
        match script.is_computed() {
            true => self.runs(&shown(words), "trap", place.outer.to_vec(), vec![text(words)]),
            false => {
                let names = place.outer.to_vec();
                self.push(&shown(words), PartEffect::RunScript { names });
                self.script(&script.value, place.depth + 1);
            }
        }
        true
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

    /// Adds the commands that `find` and `fd` run, and the files that it writes.
    fn find(&mut self, words: &[ShellWord], place: CommandContext<'_>) {
        let mut rest = &words[1..];
        while let Some((action, behind)) = rest.split_first() {
            rest = behind;
            match action.value.as_str() {
                "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch" => {
                    let end = rest.iter().position(|word| [";", "+"].contains(&word.value.as_str()));
                    let (command, behind) = rest.split_at(end.unwrap_or(rest.len()));
                    let is_named = command.iter().any(|word| word.value.contains("{}"));
                    let appends = action.value.starts_with("-x")
                        || action.value.starts_with("-X")
                        || action.value.starts_with("--");
                    let placeholder = (is_named || !appends).then_some("{}");
                    self.command(&with_input(command, placeholder), place.deeper());
                    rest = behind;
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    let Some(file) = rest.first() else { return };
                    self.push(&format!("> {}", file.source), PartEffect::Write(vec![file.path()]));
                }
                _ if action.is_computed() && action.source.starts_with(['$', '`']) => {
                    self.runs(&shown(words), "find", place.outer.to_vec(), vec![text(words)]);
                }
                _ => {}
            }
        }
    }

    /// Analyses git, and adds the commands in its arguments.
    fn git(&mut self, words: &[ShellWord], place: CommandContext<'_>) {
        let command = git::read(words);
        let short: Vec<ShellWord> = [&words[..1], command.rest].concat();
        let short = renamed(&short, "git");
        let mut names = place.outer.to_vec();
        names.push(short.clone());
        let mut own = vec![text(words)];
        if !command.is_elsewhere && !command.runs_others {
            own.push(short.join(" "));
        }
        let values: Vec<&str> = command.rest.iter().map(|word| word.value.as_str()).collect();
        match values[..] {
            ["rm" | "mv", ..] => _ = self.files(values[0], command.rest),
            ["restore", ..] => _ = self.files("rm", command.rest),
            ["checkout", ..] => {
                let from = values.iter().position(|word| *word == "--").unwrap_or(values.len() - 1);
                _ = self.files("rm", &command.rest[from..]);
            }
            ["diff" | "grep" | "blame" | "show" | "log", ..] => _ = self.files("ls", command.rest),
            _ => {}
        }
        self.run_by_git(command.rest, &values, CommandContext { outer: &names, ..place });
        match command.runs_others {
            true => self.runs(&shown(words), "git", names, own),
            false => {
                let reads = (git::only_reads(&command) && words[0].value == "git").then(Vec::new);
                self.push(&shown(words), run(names, own, reads));
            }
        }
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

/// Builtins of shells that set variables or evaluate their arguments.
fn is_builtin(name: &str) -> bool {
    let set = "declare typeset local export readonly read mapfile readarray printf unset test [ getopts jobs";
    has(set, name)
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

/// A run of a known program. `reads` are the paths that it reads, if it does nothing else.
fn run(names: Vec<Vec<String>>, own: Vec<String>, reads: Option<Vec<String>>) -> PartEffect {
    PartEffect::Run {
        names,
        own,
        arguments: Vec::new(),
        reads,
    }
}

/// The names of a command that runs others, and those of the commands that may begin at its first arguments.
fn with_arguments(mut names: Vec<Vec<String>>, words: &[ShellWord]) -> Vec<Vec<String>> {
    let places = 1..words.len().min(MOST_PLACES);
    names.extend(places.map(|at| values(&words[at..])));
    names
}

/// A command together with the unknown arguments from its input.
fn with_input(words: &[ShellWord], placeholder: Option<&str>) -> Vec<ShellWord> {
    let hole = HOLE.to_string();
    let mut words = words.to_vec();
    match placeholder.filter(|placeholder| !placeholder.is_empty()) {
        Some(placeholder) => {
            for word in &mut words {
                word.value = word.value.replace(placeholder, &hole);
                word.source = word.source.replace(placeholder, "…");
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

fn values(words: &[ShellWord]) -> Vec<String> {
    words.iter().map(|word| word.value.clone()).collect()
}

fn text(words: &[ShellWord]) -> String {
    values(words).join(" ")
}

fn renamed(words: &[ShellWord], name: &str) -> Vec<String> {
    let mut values = values(words);
    values[0] = name.to_owned();
    values
}

/// The text if computed words turn out to be empty.
pub(in crate::permissions) fn possible(text: &str) -> String {
    text.replace(&format!(" {HOLE}"), &HOLE.to_string())
}

fn shown(words: &[ShellWord]) -> String {
    let sources: Vec<&str> = words.iter().map(|word| word.source.as_str()).collect();
    sources.join(" ")
}
