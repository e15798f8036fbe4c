//! Files that name each other, in one module or across several, and types whose methods are scattered.
//!
//! Re-exports are followed: a path to an item counts as naming the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use super::{SourceFile, branches, first_word, packages, uncommented};

/// Circular pairs of file and module that are allowed, each with the reason.
const CIRCLES: &[(&str, &str, &str)] = &[
    (
        "proc/portable",
        "proc/helper",
        "the process table of a system without /proc is printed by `ps`, which is a helper and ends as any process does",
    ),
    ("agent/dialect/terminal", "agent/dialect", ITS_PARENT),
    ("driver/test_gate/skips", "driver/test_gate", ITS_PARENT),
    ("gate/guard/store_writer", "gate/guard/originals", ITS_PARENT),
    ("gate/mutants/assertions", "gate/mutants", ITS_PARENT),
    ("gate/mutants/candidate", "gate/mutants", ITS_PARENT),
    ("gate/mutants/work", "gate/mutants", ITS_PARENT),
    ("gate/runner/junit", "gate/runner/report", ITS_PARENT),
    ("gate/runner/tally", "gate/runner/manifest", ITS_PARENT),
    (
        "git/state",
        "git/nested",
        "a repository inside a work tree is a repository like the one around it, and part of that one's state",
    ),
    ("git/nested", "git/checkpoint", ITS_PARENT),
    ("git/nested_restore", "git/restore", ITS_PARENT),
];

/// The reason for the circles of a file with the one that uses it.
const ITS_PARENT: &str = "the types that both use are declared in the file of the two that uses the other";

/// Types whose inherent methods may be in more than one file, by the file that defines them, with the reason.
const SCATTERED: &[(&str, &str)] = &[
    (
        "agent/opencode/task::SessionTask",
        "how a session is followed, beside how it is started and ended",
    ),
    (
        "driver/run::Driver",
        "the one owner of a run's state; a file for each of its duties, which share nothing but that state",
    ),
    (
        "git::Repository",
        "a handle without decisions of its own; a file for each kind of question that git is asked",
    ),
];

/// A written path, and the name that a `use` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ImportedName {
    path: Vec<String>,
    name: String,
}

/// The modules of a package and the arrows between them.
struct ModuleGraph {
    /// The module that the root of the package is; empty if it holds several.
    root: &'static str,
    modules: BTreeSet<String>,
    /// Names that the `use` declarations of a module introduce, as paths from the root; several if they depend on the
    /// system.
    known: BTreeMap<(String, String), Vec<Vec<String>>>,
    arrows: BTreeSet<(String, String)>,
    /// Types, each with the module that defines it.
    types: BTreeSet<(String, String)>,
}

impl ModuleGraph {
    fn from_sources(sources: &[SourceFile]) -> ModuleGraph {
        let mut files = ModuleGraph {
            root: sources.first().map_or("", |source| source.root),
            modules: sources.iter().map(|source| source.module.clone()).collect(),
            known: BTreeMap::new(),
            arrows: BTreeSet::new(),
            types: BTreeSet::new(),
        };
        for source in sources {
            let defined = defined_types(&source.code).into_iter();
            files.types.extend(defined.map(|name| (source.module.clone(), name)));
            let (declarations, _) = uses(&source.code);
            for named in declarations.into_iter().flat_map(|(_, tree)| leaves(&[], &tree)) {
                if let Some(path) = files.absolute(&source.module, &named.path) {
                    let known = files.known.entry((source.module.clone(), named.name));
                    known.or_default().push(path);
                }
            }
        }
        let mut arrows = BTreeSet::new();
        for source in sources {
            let (declarations, rest) = uses(&source.code);
            let private = declarations.iter().filter(|(is_public, _)| !is_public);
            let used = private.flat_map(|(_, tree)| leaves(&[], tree)).map(|named| named.path);
            let written = paths(&rest);
            let named: Vec<Vec<String>> = used.chain(written).collect();
            for path in named.iter().filter_map(|path| files.absolute(&source.module, path)) {
                let found = files.resolved("", &path, 0);
                let others = found
                    .into_iter()
                    .filter(|found| *found != source.module && !found.is_empty());
                arrows.extend(others.map(|found| (source.module.clone(), found)));
            }
        }
        files.arrows = arrows;
        files
    }

    /// The path from the root of a path written in `module`; `None` if it leads out of the crate.
    fn absolute(&self, module: &str, path: &[String]) -> Option<Vec<String>> {
        let mut here: Vec<String> = module.split('/').map(str::to_owned).collect();
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => {
                here.clear();
                here.extend((!self.root.is_empty()).then(|| self.root.to_owned()));
                rest = &path[1..];
            }
            "super" | "self" => {
                while let Some((first, others)) = rest
                    .split_first()
                    .filter(|(first, _)| *first == "super" || *first == "self")
                {
                    if first == "super" {
                        here.pop()?;
                    }
                    rest = others;
                }
            }
            child => {
                self.modules.get(&format!("{module}/{child}"))?;
            }
        }
        here.extend(rest.iter().cloned());
        Some(here)
    }

    /// The files that define the item at `path`, which starts in `module`.
    fn resolved(&self, module: &str, path: &[String], depth: usize) -> Vec<String> {
        let Some((first, rest)) = path.split_first() else {
            return vec![module.to_owned()];
        };
        let child = if module.is_empty() {
            first.clone()
        } else {
            format!("{module}/{first}")
        };
        if self.modules.contains(&child) {
            return self.resolved(&child, rest, depth);
        }
        let known = |name: &str| self.known.get(&(module.to_owned(), name.to_owned()));
        let is_defined = || self.types.contains(&(module.to_owned(), first.clone()));
        if let Some(globs) = known("*").filter(|_| known(first).is_none() && !is_defined() && depth < 8) {
            let modules = globs.iter().map(|glob| &glob[..glob.len() - 1]);
            let defined = modules.filter(|from| self.types.contains(&(from.join("/"), first.clone())));
            let found: Vec<String> = defined.map(|from| from.join("/")).collect();
            if !found.is_empty() {
                return found;
            }
        }
        match known(first) {
            // The depth is bounded: a name may lead to itself.
            Some(known) if depth < 8 => {
                let targets = known.iter().map(|target| [target, rest].concat());
                targets
                    .flat_map(|target| self.resolved("", &target, depth + 1))
                    .collect()
            }
            Some(_) | None => vec![module.to_owned()],
        }
    }

    /// The arrows that are part of a circle.
    fn circular(&self) -> Vec<(&str, &str)> {
        let arrows: Vec<(&str, &str)> = self
            .arrows
            .iter()
            .map(|(from, to)| (from.as_str(), to.as_str()))
            .collect();
        let mut named: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (from, to) in &arrows {
            named.entry(from).or_default().push(to);
        }
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            named.keys().map(|module| (*module, reached(module, &named))).collect();
        arrows
            .into_iter()
            .filter(|(from, to)| reached.get(to).is_some_and(|reached| reached.contains(from)))
            .collect()
    }
}

/// Everything that can be reached from `from`; includes `from` only if there is a circle.
fn reached<'a>(from: &'a str, named: &BTreeMap<&'a str, Vec<&'a str>>) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        let arrows = named.get(module).into_iter().flatten();
        next.extend(arrows.filter(|to| reached.insert(**to)));
    }
    reached
}

/// The `use` declarations of `code`, each with whether it is public, and the code without them.
fn uses(code: &str) -> (Vec<(bool, String)>, String) {
    let (mut found, mut rest, mut open) = (Vec::new(), String::new(), None::<(bool, String)>);
    for line in uncommented(code).lines() {
        let (mut is_public, mut text) = (false, line.trim());
        if open.is_none() {
            let declared = text.strip_prefix("pub").map(|after| match after.strip_prefix('(') {
                Some(after) => after.split_once(')').map_or(after, |(_, after)| after).trim_start(),
                None => after.trim_start(),
            });
            is_public = declared.is_some();
            match declared.unwrap_or(text).strip_prefix("use ") {
                Some(tree) => text = tree,
                None => {
                    rest.push_str(line);
                    rest.push('\n');
                    continue;
                }
            }
        }
        let (is_public, mut tree) = open.take().unwrap_or((is_public, String::new()));
        tree.push_str(text);
        match tree.strip_suffix(';') {
            Some(whole) => found.push((is_public, whole.to_owned())),
            None => open = Some((is_public, tree)),
        }
    }
    (found, rest)
}

/// Every path of a `use` tree.
fn leaves(prefix: &[String], tree: &str) -> Vec<ImportedName> {
    let (path, below) = match tree.split_once('{') {
        Some((path, below)) => (path, Some(below)),
        None => (tree, None),
    };
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (path, None),
    };
    let segments = path.split("::").map(str::trim).filter(|segment| !segment.is_empty());
    let mut path: Vec<String> = prefix.iter().cloned().chain(segments.map(str::to_owned)).collect();
    if let Some(below) = below {
        return branches(below)
            .into_iter()
            .flat_map(|branch| leaves(&path, branch))
            .collect();
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    let name = alias.or(path.last().map(String::as_str)).unwrap_or_default().to_owned();
    vec![ImportedName { path, name }]
}

/// Every path of two or more segments in `code`, except in visibility modifiers.
fn paths(code: &str) -> Vec<Vec<String>> {
    let code = code.replace("pub(in crate::", "pub(");
    let is_part = |character: char| character.is_alphanumeric() || character == '_' || character == ':';
    code.split(|character| !is_part(character))
        .filter(|path| path.contains("::"))
        .map(|path| {
            path.split("::")
                .filter(|segment| !segment.is_empty())
                .map(str::to_owned)
                .collect()
        })
        .collect()
}

/// The types that `code` defines.
fn defined_types(code: &str) -> Vec<String> {
    let keywords = ["struct ", "enum ", "trait "];
    let code = uncommented(code);
    let found = keywords.iter().flat_map(|keyword| code.match_indices(keyword));
    found
        .map(|(at, keyword)| first_word(&code[at + keyword.len()..]))
        .collect()
}

/// The types that `code` has inherent methods for.
fn inherent_types(code: &str) -> BTreeSet<String> {
    let headers = code.lines().filter_map(|line| line.strip_prefix("impl"));
    headers
        .filter(|header| !header.contains(" for "))
        .filter_map(|header| {
            let mut depth = 0;
            let is_open = |character: char| {
                depth += i32::from(character == '<') - i32::from(character == '>');
                depth > 0 || character == '>'
            };
            Some(first_word(header.trim_start_matches(is_open))).filter(|name| !name.is_empty())
        })
        .collect()
}

#[test]
fn no_file_names_one_that_leads_back_to_it() {
    let is_in = |file: &str, module: &&str| file == *module || file.starts_with(&format!("{module}/"));
    let is_known = |from: &str, to: &str| CIRCLES.iter().any(|(known, back, _)| from == *known && is_in(to, back));
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for package in packages() {
        let mut files = ModuleGraph::from_sources(&package);
        let known = |(from, to): &(&str, &str)| {
            CIRCLES
                .iter()
                .position(|(name, back, _)| from == name && is_in(to, back))
        };
        seen.extend(files.circular().iter().filter_map(known));
        files.arrows.retain(|(from, to)| !is_known(from, to));
        let left = files.circular();
        wrong.extend(
            left.iter()
                .map(|(from, to)| format!("{from} names {to}, which leads back to it")),
        );
    }
    let ended = (0..CIRCLES.len()).filter(|at| !seen.contains(at));
    wrong.extend(ended.map(|at| format!("{} is in no circle any more: take it off the list", CIRCLES[at].0)));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn the_inherent_methods_of_a_type_live_in_one_file() {
    let mut places: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sources in packages() {
        let files = ModuleGraph::from_sources(&sources);
        for source in &sources {
            for name in inherent_types(&uncommented(&source.code)) {
                let module = source.module.split('/').map(str::to_owned);
                let path: Vec<String> = module.chain([name.clone()]).collect();
                for file in files.resolved("", &path, 0) {
                    let place = places.entry(format!("{file}::{name}")).or_default();
                    place.insert(source.module.clone());
                }
            }
        }
    }
    places.retain(|_, places| places.len() > 1);
    let mut wrong: Vec<String> = Vec::new();
    for (known, _) in SCATTERED {
        if places.remove(*known).is_none() {
            wrong.push(format!("{known} is in one file: take it off the list"));
        }
    }
    let scattered = places.iter();
    wrong.extend(scattered.map(|(name, places)| format!("{name} has methods in {places:?}")));
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn a_circle_is_found_through_re_exports_and_aliases() {
    let source = |module: &str, code: &str| SourceFile {
        module: module.to_owned(),
        root: "",
        code: code.to_owned(),
        lines_with_tests: 0,
    };
    let sources = [
        source(
            "room",
            "mod low;\nmod high;\nmod alone;\npub use low::{Low, other::Deep as Shown};\nuse high as top;",
        ),
        source("room/low", "use super::{\n    top::{self, High},\n};\nstruct Low;"),
        source(
            "room/high",
            "// use super::alone;\nuse std::fs;\nfn f(low: &crate::room::Low) {}",
        ),
        source("room/alone", "use super::{Low, top};"),
    ];
    let files = ModuleGraph::from_sources(&sources);
    assert_eq!(files.circular(), [("room/high", "room/low"), ("room/low", "room/high")]);
    assert!(
        files
            .arrows
            .contains(&("room/alone".to_owned(), "room/high".to_owned()))
    );
}

#[test]
fn an_inherent_method_is_told_from_a_trait_s() {
    let code = "impl<'a, T: Into<Vec<u8>>> Reader<'a, T> {\nimpl Write for File {\nimpl Plain {\n    impl Inner {";
    assert_eq!(Vec::from_iter(inherent_types(code)), ["Plain", "Reader"]);
}
