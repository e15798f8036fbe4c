//! Documents for contributors: the files and links that they name exist, the tour is complete, and the commands that
//! they show work.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::harness::{SOON, Sandbox, Script};

/// Documents outside of the book.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "adapters/README.md",
];
/// Longest README that a newcomer reads in the first minutes.
const README_LINES: usize = 100;
/// Stops of the tour in ARCHITECTURE.md.
const STOPS: usize = 13;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn text_of(document: &str) -> String {
    fs::read_to_string(root().join(document)).unwrap_or_else(|error| panic!("{document}: {error}"))
}

/// The pages of the book, below `docs`, with their paths from the root.
fn pages() -> Vec<String> {
    let mut pages = Vec::new();
    let mut directories = vec![root().join("docs")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a directory of the book").flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let path = path.strip_prefix(root()).expect("a path below the root");
                pages.push(path.display().to_string());
            }
        }
    }
    pages.sort();
    pages
}

/// The names of the packages in directories of their own, each with its README.
fn packages() -> impl Iterator<Item = (String, String)> {
    let crates = fs::read_dir(root().join("crates")).expect("the packages").flatten();
    let named = crates.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let named = named.map(|name| (name.clone(), format!("crates/{name}/README.md")));
    named.chain([("core".to_owned(), "core/README.md".to_owned())])
}

/// The text without code blocks.
fn prose(text: &str) -> String {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if !fenced && !fence && !line.starts_with("    ") {
            lines.push(line);
        }
    }
    lines.join("\n")
}

/// The `sh` code blocks of a text.
fn shell_blocks(text: &str) -> Vec<&str> {
    let blocks = text.split("```sh\n").skip(1);
    blocks.filter_map(|block| Some(block.split_once("```")?.0)).collect()
}

/// The targets of inline links, without those to other sites.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let pictures = text.split("src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    let targets = targets.chain(pictures).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://")).collect()
}

/// Words in backticks that are paths of sources.
fn sources(text: &str) -> Vec<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    let is_path = |word: &&str| {
        ["src/", "tests/", "docs/", "adapters/"]
            .iter()
            .any(|top| word.starts_with(top))
    };
    quoted.filter(is_path).filter(|word| !word.contains(' ')).collect()
}

/// The anchor of a heading in links.
fn anchor(heading: &str) -> String {
    let letters = heading.trim().to_lowercase();
    let letters = letters
        .chars()
        .filter(|letter| letter.is_alphanumeric() || [' ', '-', '_'].contains(letter));
    letters.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
}

/// Whether a link of a page of the book leads out of `docs`.
fn is_outside(page: &str, path: &str) -> bool {
    let depth = page.matches('/').count();
    path.matches("../").count() >= depth
}

fn has_heading(file: &Path, wanted: &str) -> bool {
    let text = prose(&fs::read_to_string(file).unwrap_or_default());
    let mut headings = text.lines().filter(|line| line.starts_with('#'));
    headings.any(|line| anchor(line.trim_start_matches('#')) == wanted)
}

#[test]
fn every_link_leads_to_a_file_and_a_heading_that_are_there() {
    let mut broken = Vec::new();
    let documents = DOCUMENTS.iter().map(|document| (*document).to_owned());
    for document in documents.chain(packages().map(|(_, readme)| readme)).chain(pages()) {
        let text = prose(&text_of(&document));
        let directory = root()
            .join(&document)
            .parent()
            .expect("a document has a directory")
            .to_owned();
        for link in links(&text) {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if path.is_empty() {
                root().join(&document)
            } else {
                directory.join(path)
            };
            // Files outside of `docs` are not part of the book.
            let leaves = document.starts_with("docs/") && is_outside(&document, path);
            if leaves || !file.exists() || !heading.is_empty() && !has_heading(&file, heading) {
                broken.push(format!("{document}: {link}"));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

#[test]
fn each_package_says_where_to_begin_and_how_to_test_it() {
    for (name, readme) in packages() {
        let text = text_of(&readme);
        let test = format!("    cargo test -p ralph-loop-{name} --lib\n");
        for part in ["Begin with:\n\n- [`src/", &test, "The trap: "] {
            assert!(text.contains(part), "{readme} has no {part:?}");
        }
    }
}

#[test]
fn every_page_is_a_chapter_of_the_book() {
    let summary = text_of("docs/SUMMARY.md");
    let chapters: Vec<String> = links(&summary).iter().map(|link| format!("docs/{link}")).collect();
    let pages = pages().into_iter().filter(|page| page != "docs/SUMMARY.md");
    let missing: Vec<String> = pages.filter(|page| !chapters.contains(page)).collect();
    assert_eq!(missing, Vec::<String>::new());
    let mut once = chapters.clone();
    once.sort();
    once.dedup();
    assert_eq!(once.len(), chapters.len(), "a chapter is there twice");
}

/// Runs each block in turn, in one project, with an agent that stands in for Codex.
#[test]
fn the_commands_of_the_readme_work_from_the_demo_to_the_report_of_the_night() {
    let readme = text_of("README.md");
    assert!(readme.lines().count() <= README_LINES, "{}", readme.lines().count());
    let mut sandbox = Sandbox::new();
    sandbox.add_agent(Path::new(env!("CARGO_BIN_EXE_ralph")));
    fs::remove_file(sandbox.project().join("PLAN.md")).expect("the sandbox's plan");
    let body = "for file in hello world; do echo $file > $file.txt; done; work; over 'One task less.'";
    sandbox.install_as("codex", &Script::jsonl(body));
    let mut printed = String::new();
    for block in shell_blocks(&readme) {
        // No user is there to answer.
        let typed = block.replace("ralph init ", "ralph init --yes ");
        let shell = sandbox.program("sh").args(["-e", "-c", &typed]);
        let done = shell.env("RALPH_DEMO_SPEED", "0").run(SOON);
        assert_eq!(done.code(), Some(0), "{block}{done:?}");
        printed += &done.stdout;
    }
    let plan = sandbox.read("PLAN.md").expect("the plan of `ralph init`");
    assert!(plan.contains("- [x] Write hello.txt\n- [x] Write world.txt"), "{plan}");
    for expected in [
        "done (verified)",
        "done (not verified)",
        "goal tests passed",
        "hello.txt",
    ] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
    sandbox.assert_nothing_runs();
}

#[test]
fn the_counts_of_the_readme_are_those_of_the_page_of_figures() {
    let (readme, figures) = (text_of("README.md"), text_of("docs/reference/quality.md"));
    // A count is followed by what it means, such as `0 of 2: you are asked`.
    let count = |cell: &str| {
        let (part, rest) = cell.trim().split_once(" of ")?;
        let all = rest.split(':').next()?;
        Some(format!("{}/{}", part.parse::<u32>().ok()?, all.parse::<u32>().ok()?))
    };
    let counts = readme
        .lines()
        .filter_map(|line| match line.split('|').collect::<Vec<_>>()[..] {
            [_, _, accepted, verified, _] => Some(format!("{} → {} in all", count(accepted)?, count(verified)?)),
            _ => None,
        });
    let counts: Vec<String> = counts.collect();
    assert_eq!(counts.len(), 3, "{counts:?}");
    for count in counts {
        assert!(figures.contains(&format!(" {count}\n")), "{count}");
    }
}

#[test]
fn every_file_that_a_guide_names_is_there() {
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md"] {
        let text = text_of(document);
        let named = sources(&text).into_iter().filter(|path| !root().join(path).exists());
        missing.extend(named.map(|path| format!("{document}: {path}")));
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn the_change_that_adds_a_setting_applies() {
    let text = text_of("CONTRIBUTING.md");
    let (_, guide) = text.split_once("## Add a setting").expect("a chapter");
    let (_, diff) = guide.split_once("```diff\n").expect("an example");
    let (diff, _) = diff.split_once("```").expect("its end");
    let mut git = Command::new("git")
        .args(["apply", "--check", "-"])
        .current_dir(root())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("git");
    let mut input = git.stdin.take().expect("a pipe");
    input.write_all(diff.as_bytes()).expect("git reads it");
    drop(input);
    let finished = git.wait_with_output().expect("git ends");
    assert!(
        finished.status.success(),
        "the example in CONTRIBUTING.md is out of date: {}",
        String::from_utf8_lossy(&finished.stderr)
    );
}

#[test]
fn each_stop_of_the_tour_is_a_file_whose_header_says_so() {
    let text = text_of("ARCHITECTURE.md");
    for stop in 1..=STOPS {
        let line = text.lines().find(|line| line.starts_with(&format!("{stop}. [")));
        let line = line.unwrap_or_else(|| panic!("there is no stop {stop}"));
        let path = links(line)[0];
        let source = text_of(path);
        let header = source.lines().take_while(|line| line.starts_with("//!"));
        let named = format!("Stop {stop} of the tour in ARCHITECTURE.md");
        assert!(
            header.into_iter().any(|line| line.contains(&named)),
            "{path} does not say that it is stop {stop}"
        );
    }
}

#[test]
fn the_tables_of_modules_name_every_module() {
    let text = text_of("ARCHITECTURE.md");
    let rows = text.lines().filter(|line| line.starts_with('|'));
    let names: Vec<&str> = rows.flat_map(|row| row.split('|').skip(1).take(2)).collect();
    // The packages that hold several modules; the others have a row each.
    let packages = [
        "src",
        "core/src",
        "crates/gate/src",
        "crates/policy/src",
        "crates/state/src",
        "crates/system/src",
        "crates/tools/src",
    ];
    let mut missing = Vec::new();
    for package in packages {
        let lib = text_of(&format!("{package}/lib.rs"));
        let modules = lib
            .lines()
            .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod ")?.strip_suffix(';'));
        let unnamed = modules.filter(|module| !names.iter().any(|name| name.contains(&format!("`{module}`"))));
        missing.extend(unnamed.map(|module| format!("{package}: {module}")));
    }
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn every_test_that_the_table_of_agents_names_is_there() {
    let text = text_of("docs/design/permissions.md");
    let (_, shown) = text
        .split_once("## What is shown with the real agents")
        .expect("the table");
    let words = shown.split('`').skip(1).step_by(2);
    let tests: Vec<&str> = words
        .filter(|word| word.matches('_').count() > 3 && !word.contains(['/', '.']))
        .collect();
    assert!(tests.len() >= 9, "{tests:?}");
    let places = ["tests/approvals.rs", "tests/live_channel.rs"];
    let mut code: String = places.map(text_of).concat();
    for directory in ["tests/approvals", "tests/live_channel", "tests/opencode_server"] {
        for entry in fs::read_dir(root().join(directory)).expect("tests").flatten() {
            code += &fs::read_to_string(entry.path()).expect("a source");
        }
    }
    for test in tests {
        assert!(code.contains(&format!("fn {test}(")), "{test}");
    }
}

#[test]
fn a_link_and_a_path_are_found_in_a_text() {
    let text =
        "See [this](docs/design/loop.md#time) and [that](https://example.org), `src/lib.rs` and `cargo test src/`.";
    assert_eq!(links(text), ["docs/design/loop.md#time"]);
    assert_eq!(sources(text), ["src/lib.rs"]);
    assert_eq!(anchor(" Add a key, now "), "add-a-key-now");
    assert!(is_outside("docs/guide/a.md", "../../README.md") && !is_outside("docs/guide/a.md", "../api.md"));
    assert_eq!(shell_blocks("```sh\nralph\n```\n```json\n{}\n```\n"), ["ralph\n"]);
    assert_eq!(prose("# A\n```\n[no](link)\n# none\n```\nb\n    [no](link)"), "# A\nb");
}
