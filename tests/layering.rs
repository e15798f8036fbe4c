//! Dependencies between modules, capabilities that pure modules may not use, and the one home of each type, read from
//! the sources.
//!
//! Tests are exempt: they may know everything.

mod budget;
mod circles;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// Modules of the program, each with the others that it may name. Modules not listed are wiring and may name every other. The
/// manifests have which package may use which.
const ARROWS: &[(&str, &[&str])] = &[
    ("glossary", &[]),
    ("acp", &["ui/headless"]),
    ("begin", &[]),
    ("config", &[]),
    ("demo", &[]),
    ("host", &[]),
    ("runners", &[]),
    ("telemetry", &["error"]),
    ("ui/headless", &["config"]),
    ("ui/live", &[]),
    ("ui/terminal", &["ui/headless"]),
    ("ui/presentation", &["config", "ui/headless", "ui/terminal"]),
    ("ui/notify", &["config"]),
    ("ui/summary", &[]),
    (
        "ui/front_end",
        &[
            "config",
            "ui/headless",
            "ui/live",
            "ui/notify",
            "ui/presentation",
            "ui/restorer",
            "ui/terminal",
            "ui/unfolded",
        ],
    ),
    ("ui/remote", &["ui/unfolded"]),
    ("ui/restorer", &[]),
    ("ui/unfolded", &[]),
    ("ui/signals", &[]),
    (
        "ui/attached",
        &[
            "config",
            "ui/front_end",
            "ui/headless",
            "ui/presentation",
            "ui/remote",
            "ui/restorer",
            "ui/signals",
            "ui/terminal",
        ],
    ),
    ("ui", &[]),
];

/// The module whose submodules count as modules of their own.
const DIVIDED: &str = "ui";

/// Modules that wire the others together.
const WIRING: &[&str] = &["lib", "main", "app", "cli", "error"];

/// Directories of the packages, each with the module that the root of the package is; empty if it holds several.
const PACKAGES: &[(&str, &str)] = &[
    ("src", ""),
    ("core/src", ""),
    ("crates/agent/src", "agent"),
    ("crates/driver/src", "driver"),
    ("crates/forge/src", "forge"),
    ("crates/gate/src", "gate"),
    ("crates/git/src", "git"),
    ("crates/many/src", "many"),
    ("crates/plan/src", "plan"),
    ("crates/policy/src", ""),
    ("crates/read-json/src", "read_json"),
    ("crates/review/src", "review"),
    ("crates/server/src", "server"),
    ("crates/state/src", ""),
    ("crates/seccomp/src", "seccomp"),
    ("crates/system/src", ""),
    ("crates/text/src", "text"),
    ("crates/tools/src", ""),
    ("crates/ui/src", ""),
    ("crates/words/src", "words"),
];

/// Modules that only compute.
const PURE: &[&str] = &[
    "board",
    "event",
    "limits",
    "json",
    "read_json",
    "run",
    "machine",
    "notices",
    "json_rpc/frames",
    "json_rpc/received",
    "language/facts",
    "language/position",
    "language/table",
    "language/uri",
    "language/words",
    "many/engine/decision",
    "native/budget",
    "native/compaction",
    "native/endpoint",
    "native/failure",
    "native/history",
    "native/message",
    "native/models",
    "native/repeats",
    "native/tools/arguments",
    "native/wire",
    "plan",
    "telemetry/otlp",
    "telemetry/spans",
    "agent/check_answers",
    "agent/dialect",
    "agent/live_output",
    "agent/protocol",
    "agent/registry/entry",
    "agent/opencode/asking_rules",
    "agent/opencode/asks",
    "agent/opencode/messages",
    "agent/opencode/ignored_events",
    "agent/opencode/parts",
    "agent/opencode/permission",
    "agent/opencode/problem",
    "agent/opencode/turn",
    "agent/opencode/verdict",
    "agent/opencode/wire",
    "agent/transcript",
    "cli/doctor/model",
    "forge/address",
    "forge/answer",
    "forge/issue",
    "forge/issue_plan",
    "forge/request",
    "forge/request_text",
    "permissions",
    "proxy/head",
    "sandbox",
    "settings",
    "words",
    "report",
    "text/escapes",
    "text/json",
    "text/json_rpc",
    "text/position",
    "text/shown",
    "text/signs",
    "text/wrap",
    "trust",
    "tui/boxes",
    "tui/model",
    "tui/panes",
    "tui/update",
    "tui/view",
];

/// Names that need a runtime, a disk, an environment, a network, a process or a clock.
const IMPURE: &[&str] = &[
    "tokio",
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "tracing",
    "SystemTime",
    "Instant",
];

/// Crates that only user interfaces and the command line may use.
const INTERFACES_ONLY: &[&str] = &["clap", "ratatui", "crossterm"];

/// Most lines in a file, including its tests. A longer file tells more than one story.
const LINES: usize = 800;

/// A source file without its tests.
#[derive(Clone)]
struct SourceFile {
    /// Path below the package's directory without extension, below the module that its root is. `mod`, `lib` and the like are
    /// folded into their directory.
    module: String,
    /// The module that the root of the package is; empty if it holds several.
    root: &'static str,
    code: String,
    lines_with_tests: usize,
}

impl SourceFile {
    /// The module of the crate that the file belongs to.
    fn top(&self) -> &str {
        let mut ends = self.module.match_indices('/').map(|(at, _)| at);
        let end = match self.module.starts_with("ui/") {
            true => ends.nth(1),
            false => ends.next(),
        };
        &self.module[..end.unwrap_or(self.module.len())]
    }

    fn is_in(&self, module: &str) -> bool {
        self.module == module || self.module.starts_with(&format!("{module}/"))
    }

    /// The other modules of the crate that the file names.
    fn named(&self) -> BTreeSet<String> {
        let mut named = BTreeSet::new();
        let code = uncommented(&self.code);
        for (at, word) in code.match_indices("crate::") {
            match code[at + word.len()..].strip_prefix('{') {
                Some(tree) => named.extend(branches(tree).into_iter().flat_map(rooms)),
                None => named.extend(rooms(&code[at + word.len()..])),
            };
        }
        named.remove(self.top());
        named
    }

    /// Whether the file names `path`, written out or as part of a `use` tree.
    fn uses(&self, path: &str) -> bool {
        let code = uncommented(&self.code);
        match path.split_once("::") {
            None => contains_word(&code, path),
            Some((first, second)) => code.match_indices(&format!("{first}::")).any(|(at, found)| {
                match code[at + found.len()..].strip_prefix('{') {
                    Some(tree) => first_words(tree).contains(&second.to_owned()),
                    None => first_word(&code[at + found.len()..]) == second,
                }
            }),
        }
    }
}

/// The modules that a path or a branch of a `use` tree leads to.
fn rooms(path: &str) -> Vec<String> {
    let first = first_word(path);
    let below = path
        .trim_start()
        .strip_prefix(DIVIDED)
        .and_then(|rest| rest.strip_prefix("::"));
    match below.filter(|_| first == DIVIDED) {
        None => vec![first],
        Some(below) => {
            let below = match below.strip_prefix('{') {
                Some(tree) => first_words(tree),
                None => vec![first_word(below)],
            };
            below.into_iter().map(|name| format!("{DIVIDED}/{name}")).collect()
        }
    }
}

/// The first word of every branch of a `use` tree; `tree` begins after its brace.
fn first_words(tree: &str) -> Vec<String> {
    branches(tree)
        .into_iter()
        .map(first_word)
        .filter(|word| !word.is_empty())
        .collect()
}

/// Every branch of a `use` tree; `tree` begins after its brace.
fn branches(tree: &str) -> Vec<&str> {
    let (mut depth, mut start, mut words) = (0, 0, Vec::new());
    for (at, character) in tree.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                words.push(&tree[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                words.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.retain(|branch| !branch.trim().is_empty());
    words
}

fn first_word(text: &str) -> String {
    text.trim_start()
        .chars()
        .take_while(|character| character.is_alphanumeric() || *character == '_')
        .collect()
}

fn contains_word(code: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

fn uncommented(code: &str) -> String {
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// All sources except those that are compiled only for tests.
fn sources() -> Vec<SourceFile> {
    packages().concat()
}

/// The sources of each package.
fn packages() -> Vec<Vec<SourceFile>> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    PACKAGES
        .iter()
        .map(|(directory, root)| sources_below(&project.join(directory), root))
        .collect()
}

fn sources_below(root: &Path, name: &'static str) -> Vec<SourceFile> {
    let mut files = Vec::new();
    collect(root, &mut files);
    let test_only: Vec<PathBuf> = files.iter().flat_map(|file| test_modules(file)).collect();
    files
        .iter()
        .filter(|file| {
            !test_only
                .iter()
                .any(|test| file.starts_with(test) || file.with_extension("") == *test)
        })
        .map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let module = file.strip_prefix(root).unwrap().with_extension("");
            let module = module.to_str().unwrap().trim_end_matches("/mod");
            let module = match (name, module) {
                ("", module) => module.to_owned(),
                (name, "lib") => name.to_owned(),
                (name, module) => format!("{name}/{module}"),
            };
            let code = text
                .split("#[cfg(test)]\nmod tests {")
                .next()
                .unwrap_or_default()
                .to_owned();
            SourceFile {
                module,
                root: name,
                code,
                lines_with_tests: text.lines().count(),
            }
        })
        .collect()
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// Paths, without extension, of the modules that `file` declares only for tests.
fn test_modules(file: &Path) -> Vec<PathBuf> {
    let text = fs::read_to_string(file).unwrap();
    let stem = file.file_stem().unwrap();
    let here = if ["mod", "lib", "main"].iter().any(|name| stem == *name) {
        file.parent().unwrap().to_owned()
    } else {
        file.with_extension("")
    };
    let mut modules = Vec::new();
    let declarations = ["#[cfg(test)]\n", "#[cfg(feature = \"testing\")]\npub "];
    for declared in declarations
        .iter()
        .flat_map(|attribute| text.match_indices(attribute))
        .map(|(at, found)| &text[at + found.len()..])
    {
        let (path, declaration) = match declared.trim_start().strip_prefix("#[path = \"") {
            Some(rest) => rest
                .split_once("\"]\n")
                .map_or((None, rest), |(path, rest)| (Some(path), rest)),
            None => (None, declared),
        };
        let declaration = declaration.trim_start().trim_start_matches("pub(super) ");
        let name = declaration
            .strip_prefix("mod ")
            .and_then(|rest| rest.lines().next()?.strip_suffix(';'));
        modules.extend(name.map(|name| match path {
            Some(path) => file.with_file_name(path).with_extension(""),
            None => here.join(name),
        }));
    }
    modules
}

#[test]
fn modules_name_only_those_below_them() {
    let mut wrong = Vec::new();
    for source in &packages()[0] {
        let top = source.top();
        let Some((_, allowed)) = ARROWS.iter().find(|(module, _)| *module == top) else {
            assert!(WIRING.contains(&top), "`{top}` has no place in the layers yet");
            continue;
        };
        let named = source.named().into_iter();
        let forbidden = named.filter(|named| !allowed.contains(&named.as_str()));
        wrong.extend(forbidden.map(|named| format!("{} names {named}", source.module)));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn pure_modules_touch_nothing_but_their_arguments() {
    let mut wrong = Vec::new();
    for source in sources() {
        if PURE.iter().any(|pure| source.is_in(pure)) {
            let touched = IMPURE.iter().filter(|path| source.uses(path));
            wrong.extend(touched.map(|path| format!("{} uses {path}", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn only_user_interfaces_know_of_screens_and_command_lines() {
    let mut wrong = Vec::new();
    for source in sources() {
        if !WIRING.contains(&source.top()) && !["ui/headless", "ui/terminal", "tui"].contains(&source.top()) {
            let used = INTERFACES_ONLY.iter().filter(|name| source.uses(name));
            wrong.extend(used.map(|name| format!("{} uses {name}", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_file_tells_one_story() {
    let long = sources().into_iter().filter(|source| source.lines_with_tests > LINES);
    let wrong: Vec<String> = long
        .map(|source| format!("{}: {} lines", source.module, source.lines_with_tests))
        .collect();
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_reader_of_sources_sees_what_is_there() {
    let source = SourceFile {
        module: "machine/step".to_owned(),
        root: "",
        code: "use crate::{event::{A, B}, store::journal,\n    proc, ui::{report, tui::keys}};\n// crate::agent\nfn f() { crate::plan::g() }\n\
               use std::{fs::File, io};\nlet now = std::time::Instant::now();"
            .to_owned(),
        lines_with_tests: 0,
    };
    let named: Vec<String> = source.named().into_iter().collect();
    assert_eq!(named, ["event", "plan", "proc", "store", "ui/report", "ui/tui"]);
    assert!(source.uses("std::fs") && source.uses("Instant") && !source.uses("std::env") && !source.uses("tokio"));
    assert!(sources().len() > 50);
}

/// Calls that open a file to read it.
const OPENERS: [&str; 4] = ["fs::read(", "read_to_string(", "File::open(", "OpenOptions::new("];

/// Modules that may open files: the one that reads files of others, and those for ralph's own files, `/proc` and git's
/// files.
const READERS: &[&str] = &[
    "files",
    "agent/opencode/session",
    "agent/reporter",
    "driver/jobs",
    "gate/guard",
    "git",
    "os/disk",
    "store/journal",
    "store/lock",
    "store/recording",
    "store/rules",
    "store/signal_log",
    "store/task_output",
    "os/signals",
    "paths",
    "proc",
    "telemetry/exporter",
    "tui/jobs",
    "tui/memory",
    "tui/player",
];

#[test]
fn files_of_others_are_read_by_one_module_alone() {
    let mut wrong = Vec::new();
    for source in sources() {
        if !READERS.iter().any(|reader| source.is_in(reader)) {
            let code = uncommented(&source.code);
            let found = OPENERS.iter().filter(|opener| code.contains(*opener));
            wrong.extend(found.map(|opener| format!("{} calls {opener}…)", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Modules that may write to stdout and stderr: the one that escapes all text, the screen, and the agents inside ralph,
/// whose terminal is not the user's.
const WRITERS: &[&str] = &["text/console", "tui/terminal", "demo", "native/client"];

#[test]
fn text_leaves_by_one_module_alone() {
    let mut wrong = Vec::new();
    for source in sources() {
        let writes = ["stdout", "stderr"].into_iter().filter(|name| {
            source.uses(&format!("io::{name}")) || uncommented(&source.code).contains(&format!(" {name}()"))
        });
        if !WRITERS.iter().any(|writer| source.is_in(writer)) {
            wrong.extend(writes.map(|name| format!("{} writes to {name}", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Modules with process-wide state, each with the reason: the process itself asks for it.
const PROCESS_WIDE: &[(&str, &str)] = &[
    (
        "faults",
        "simulations plan the faults of their own thread, in tests alone",
    ),
    (
        "gate/guard/project_dir",
        "its tests end the work of this thread after any number of steps",
    ),
    (
        "proc/screen",
        "the panic hook asks it whether a panic of this thread is expected",
    ),
    (
        "tui/terminal",
        "the panic hook asks it whether the terminal is taken, and leaves messages there",
    ),
];

/// Types that make a static mutable.
const CHANGEABLE: [&str; 6] = ["Mutex", "RwLock", "Atomic", "Cell", "Once", "Lazy"];

/// The mutable statics of `code`, each up to its value.
fn changing_statics(code: &str) -> Vec<String> {
    let declarations = code.match_indices("static ").filter(|(at, _)| {
        let before = code[..*at].chars().next_back();
        before.is_none_or(char::is_whitespace)
    });
    declarations
        .map(|(at, _)| {
            code[at..]
                .split(['=', ';'])
                .next()
                .unwrap_or_default()
                .trim()
                .to_owned()
        })
        .filter(|declaration| CHANGEABLE.iter().any(|word| declaration.contains(word)))
        .collect()
}

#[test]
fn state_belongs_to_values_and_not_to_the_process() {
    let mut wrong = Vec::new();
    for source in sources() {
        if !PROCESS_WIDE.iter().any(|(module, _)| source.module == *module) {
            let found = changing_statics(&uncommented(&source.code));
            wrong.extend(found.iter().map(|found| format!("{}: {found}", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_static_that_changes_is_told_from_a_constant() {
    let code = "pub static COUNT:\n    AtomicU32 = AtomicU32::new(0);\nstatic NAMES: [&'static str; 1] = [\"Mutex\"];\n\
                thread_local! { static QUIET: Cell<bool> = const { Cell::new(false) }; }\nfn f(x: &'static Mutex<u8>) {}";
    let found = changing_statics(code);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].starts_with("static COUNT") && found[1].starts_with("static QUIET"),
        "{found:?}"
    );
}

/// Modules of facts; the sentences for them are in `words`, and those of notices in `notices`.
const FACTS: &[&str] = &["event", "machine"];

/// String literals of `code` with more than one word, except messages of `expect`, which users do not see.
fn sentences(code: &str) -> Vec<String> {
    let lines = uncommented(code);
    let lines = lines
        .lines()
        .filter(|line| !line.trim_start().starts_with("#[serde") && !line.contains("expect("));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    let code = code.replace("b'\"'", "").replace("'\"'", "").replace("\\\"", "");
    let literals = code.split('"').skip(1).step_by(2);
    let words = |literal: &&str| {
        literal
            .split_whitespace()
            .filter(|word| word.contains(char::is_alphabetic))
            .count()
            > 1
    };
    literals.filter(words).map(str::to_owned).collect()
}

#[test]
fn facts_say_no_sentences() {
    let mut wrong = Vec::new();
    for source in sources() {
        if !FACTS.iter().any(|room| source.is_in(room)) {
            continue;
        }
        let said = sentences(&source.code);
        wrong.extend(said.iter().map(|text| format!("{} says \"{text}\"", source.module)));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_sentence_is_found_and_a_name_is_none() {
    let code = "#[serde(tag = \"a b\")]\n// \"a comment of words\"\nlet a = \"kebab-case\";\nlet b = format!(\"went {wrong} here\");\n\
                f().expect(\"never fails here\");\nlet c = '\"';\nlet d = \"[…] {}\";";
    assert_eq!(sentences(code), ["went {wrong} here"]);
}

/// Modules besides `run` with a function that takes `&mut self` and matches on events, each with the state that it
/// changes.
const BESIDES_THE_VIEW: &[(&str, &str)] = &[
    ("machine/internal_state", "what decisions need and nobody is shown"),
    ("machine/reviews", "the part of it that is about reviews"),
    ("machine/after_edits", "which results of goals are no news to an agent"),
    (
        "machine/unreported_tasks",
        "which ends of background tasks no prompt has told of",
    ),
    ("tui/model", "the time that is shown and the notice at hand"),
    ("board/plan_runs", "the last line that an agent said, for its row"),
    ("machine/warnings", "the limits that the user was told of"),
    (
        "machine/windows",
        "until when the user lets runs use the windows of accounts",
    ),
    (
        "tui/model/agent_activity",
        "how long the agent has been silent for this screen",
    ),
    ("tui/model/log", "the end of an iteration until the log has its rule"),
    ("telemetry/spans", "which spans have begun and not ended"),
    ("acp/updates", "the plan that the editor has been shown"),
    ("ui/headless/text", "nothing: it writes lines"),
    ("plan/markdown", "a plan, by the events of the Markdown parser"),
];

/// Names of the functions that take `&mut self` and have a match arm for an event.
fn folding_functions(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut signature, mut is_open) = (String::new(), false);
    for line in uncommented(code).lines().map(str::trim) {
        if let Some(at) = line.find("fn ") {
            signature = line[at + 3..].to_owned();
            is_open = !line.contains('{') && !line.ends_with(';');
        } else if is_open {
            signature.push_str(line);
            is_open = !line.contains('{');
        }
        let is_arm = line.trim_start_matches("| ").starts_with("Event::");
        if is_arm && signature.contains("&mut self") {
            found.push(first_word(&signature));
        }
    }
    found.dedup();
    found
}

#[test]
fn records_are_folded_in_one_place() {
    let mut wrong = Vec::new();
    for source in sources() {
        let may_fold = source.is_in("run") || BESIDES_THE_VIEW.iter().any(|(module, _)| source.module == *module);
        if !may_fold && (source.named().contains("event") || source.uses("ralph_core::event")) {
            let functions = folding_functions(&source.code);
            let functions = functions.iter();
            wrong.extend(functions.map(|name| format!("{} folds events in {name}", source.module)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_fold_is_found_by_its_arms() {
    let fold =
        "fn apply(\n    &mut self,\n    event: &Event,\n) {\n    match event {\n        Event::Held => {}\n    }\n}";
    assert_eq!(folding_functions(fold), ["apply"]);
    let reads = "fn words(event: &Event) -> &str {\n    match event {\n        Event::Held => \"held\",\n    }\n}";
    assert_eq!(folding_functions(reads), [] as [&str; 0]);
}
