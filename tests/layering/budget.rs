//! How many lines each package has (`budget.toml`), and how often a list of kinds is written out.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use super::{PACKAGES, SourceFile, contains_word, packages, uncommented};

/// Most variants of an enum that any number of files may match in full.
const SHORT_LIST: usize = 8;

/// Most files that may match all variants of a longer one.
const WRITTEN: usize = 3;

/// The production lines that `budget.toml` grants, by directory of a package.
fn budgets() -> BTreeMap<String, usize> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("budget.toml")).expect("budget.toml");
    let rows = text.lines().filter_map(|line| line.split('#').next()?.split_once('='));
    rows.map(|(directory, lines)| {
        let lines = lines.trim().replace('_', "");
        let lines = lines
            .parse()
            .unwrap_or_else(|_| panic!("budget.toml: {directory}= {lines}"));
        (directory.trim().trim_matches('"').to_owned(), lines)
    })
    .collect()
}

/// The variants of the enums that `code` declares, by name.
fn enums(code: &str) -> Vec<(String, Vec<String>)> {
    let mut found = Vec::new();
    for (at, word) in code.match_indices("enum ") {
        let rest = &code[at + word.len()..];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let Some(body) = rest.find('{').map(|open| &rest[open + 1..]) else {
            continue;
        };
        let (mut depth, mut variants) = (0_usize, Vec::new());
        for line in body.lines() {
            let trimmed = line.trim_start();
            if depth == 0 && trimmed.starts_with('}') {
                break;
            }
            let variant: String = trimmed.chars().take_while(char::is_ascii_alphanumeric).collect();
            if depth == 0 && variant.starts_with(|c: char| c.is_ascii_uppercase()) {
                variants.push(variant);
            }
            for character in line.chars() {
                match character {
                    '{' | '(' | '[' => depth += 1,
                    '}' | ')' | ']' => depth = depth.saturating_sub(1),
                    _ => {}
                }
            }
        }
        found.push((name, variants));
    }
    found
}

/// Whether `code` has a pattern for each of the variants of the enum `name`.
fn matches_all(code: &str, name: &str, variants: &[String]) -> bool {
    let matched: BTreeSet<&str> = code
        .match_indices(&format!("{name}::"))
        .filter_map(|(at, found)| {
            let rest = &code[at + found.len()..];
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric())?;
            let after = behind_fields(rest[end..].trim_start());
            ["=>", "|", "if "]
                .iter()
                .any(|next| after.starts_with(next))
                .then_some(&rest[..end])
        })
        .collect();
    variants.iter().all(|variant| matched.contains(variant.as_str()))
}

/// The text behind the fields of a pattern at the start of `rest`.
fn behind_fields(rest: &str) -> &str {
    if !rest.starts_with(['{', '(']) {
        return rest;
    }
    let mut depth = 0_usize;
    for (at, character) in rest.char_indices() {
        match character {
            '{' | '(' => depth += 1,
            '}' | ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return rest[at + 1..].trim_start();
        }
    }
    ""
}

/// Enums of more than [`SHORT_LIST`] variants that more than [`WRITTEN`] files match in full.
fn lists_written_again(sources: &[SourceFile]) -> Vec<String> {
    let codes: Vec<(&str, String)> = sources
        .iter()
        .map(|source| (source.module.as_str(), uncommented(&source.code)))
        .collect();
    let declared = codes.iter().flat_map(|(_, code)| enums(code));
    let long: BTreeMap<String, Vec<String>> = declared.filter(|(_, variants)| variants.len() > SHORT_LIST).collect();
    let mut wrong = Vec::new();
    for (name, variants) in long {
        let matching: Vec<&str> = codes
            .iter()
            .filter(|(_, code)| contains_word(code, &name) && matches_all(code, &name, &variants))
            .map(|(module, _)| *module)
            .collect();
        if matching.len() > WRITTEN {
            wrong.push(format!(
                "{name} ({} variants) in {}",
                variants.len(),
                matching.join(", ")
            ));
        }
    }
    wrong
}

#[allow(clippy::print_stdout)] // the table, with `--nocapture`
#[test]
fn no_package_has_more_lines_than_its_budget() {
    let mut budgets = budgets();
    let total = budgets.remove("total").expect("`total` in budget.toml");
    let mut sum = 0;
    let mut wrong = Vec::new();
    println!("{:<16} {:>7} {:>7}", "package", "lines", "budget");
    for ((directory, _), sources) in PACKAGES.iter().zip(packages()) {
        let package = directory.trim_start_matches("crates/").trim_end_matches("/src");
        let lines: usize = sources.iter().map(|source| source.code.lines().count()).sum();
        let budget = budgets.remove(package).unwrap_or_default();
        println!("{package:<16} {lines:>7} {budget:>7}");
        sum += lines;
        if lines > budget {
            wrong.push(format!("{package} has {lines} lines, and its budget is {budget}"));
        }
    }
    println!("{:<16} {sum:>7} {total:>7}", "all");
    assert!(sum <= total, "all packages have {sum} lines, and the budget is {total}");
    assert_eq!(wrong, Vec::<String>::new(), "budget.toml says who pays for more");
    assert_eq!(budgets, BTreeMap::new(), "budget.toml names what is no package");
}

#[test]
fn a_list_of_kinds_is_written_out_in_few_files() {
    assert_eq!(lists_written_again(&packages().concat()), Vec::<String>::new());
}

#[test]
fn a_list_that_is_written_again_is_found() {
    let letters = ["A", "B", "C", "D", "E", "F", "G", "H", "I"];
    let declared = format!(
        "pub enum Letter {{\n    /// One.\n    {},\n}}\n",
        letters.join(",\n    ")
    );
    let matched: String = letters
        .iter()
        .map(|letter| format!("Letter::{letter} => 1,\n"))
        .collect();
    let file = |number: usize, code: &str| SourceFile {
        module: format!("file{number}"),
        root: "",
        code: code.to_owned(),
        lines_with_tests: 0,
    };
    let mut files = vec![file(0, &declared)];
    files.extend((1..=WRITTEN).map(|number| file(number, &matched)));
    assert_eq!(lists_written_again(&files), Vec::<String>::new());
    files.push(file(9, &matched));
    assert_eq!(
        lists_written_again(&files),
        ["Letter (9 variants) in file1, file2, file3, file9"]
    );
    files[4].code = files[4].code.replace("Letter::I", "_");
    assert_eq!(lists_written_again(&files), Vec::<String>::new());
}
