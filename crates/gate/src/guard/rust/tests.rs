use std::fs;

use super::{GuardedChangeKind, RustSource, compare, compare_deleted, likenesses};

const ORIGINAL: &str = r####"//! A crate.
//!
//! ```
//! assert_eq!(sums::add(1, 2), 3);
//! ```

use std::fmt;

/// Adds.
///
/// ```
/// assert_eq!(sums::add(2, 2), 4);
/// ```
///
/// Not Rust:
/// ```text
/// anything
/// ```
pub fn add(a: i32, b: i32) -> i32 {
    let brace = '{';
    let _ = "#[cfg(test)] mod no { ";
    a + b
}

pub struct Sum<'a>(&'a str);

impl fmt::Display for Sum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.0) }
}

impl Sum<'_> {
    #[cfg(test)]
    fn for_tests() -> Self { Sum("1") }
}

#[cfg(not(test))]
const WORK: u8 = 1;

#[test]
fn stands_alone() { assert_eq!(add(1, 1), 2); }

#[cfg(test)]
#[path = "more.rs"]
mod more;

#[cfg(test)]
mod tests {
    use super::*;

    /// Helps.
    fn two() -> i32 { 2 }

    #[test]
    fn adds() {
        assert_eq!(add(two(), 2), 4, r#"a "quote" }"#);
    }

    mod nested {
        #[tokio::test]
        async fn waits() {}
    }
}
"####;

fn names(text: &str) -> Vec<String> {
    RustSource::scan(text)
        .blocks
        .into_iter()
        .map(|block| block.name)
        .collect()
}

/// Returns the changes, and the text of the trial.
fn compared(original: &str, now: &str) -> (Vec<String>, String) {
    let parts = compare(original, now, |_| false);
    let changes = parts
        .changes
        .iter()
        .map(|(kind, part)| format!("{kind:?} {part}"))
        .collect();
    (changes, String::from_utf8(parts.put.unwrap_or_default()).unwrap())
}

fn changed(now: &str) -> (Vec<String>, String) {
    let (changes, put) = compared(ORIGINAL, now);
    if !changes.is_empty() {
        // The text of a trial lacks nothing.
        assert_eq!(compared(ORIGINAL, &put).0, Vec::<String>::new(), "{put}");
    }
    (changes, put)
}

fn replaced(from: &str, to: &str) -> String {
    assert!(ORIGINAL.contains(from), "{from}");
    ORIGINAL.replace(from, to)
}

#[test]
fn tests_are_found_and_nothing_else() {
    let expected = [
        "fn for_tests",
        "fn stands_alone",
        "mod more",
        "mod tests",
        "fn adds",
        "fn waits",
        "doctest of the module",
        "doctest of fn add",
    ];
    assert_eq!(names(ORIGINAL), expected);
}

#[test]
fn items_of_all_kinds_are_told_apart() {
    for (text, expected) in [
        ("#[cfg(test)] use a::{b, c}; fn d() {}", vec!["use"]),
        (
            "#[cfg(test)] const A: B = B { c: 1 }; #[test] fn d() {}",
            vec!["const A", "fn d"],
        ),
        (
            "#[cfg(test)] pub(crate) const unsafe extern \"C\" fn a() {}",
            vec!["fn a"],
        ),
        (
            "#[cfg(all(test, unix))] mod a { #[test] fn b() {} }",
            vec!["mod a", "fn b"],
        ),
        (
            "#[cfg(any(test, feature = \"x\"))] pub fn a(x: [u8; 3]) {}",
            vec!["fn a"],
        ),
        ("#[cfg(not(test))] mod a { fn b() {} }", vec![]),
        ("#[cfg(feature = \"test\")] mod a {}", vec![]),
        (
            "#[cfg(feature = \"a\")] mod a { #[test_case(1, 2)] fn b() {} }",
            vec!["fn b"],
        ),
        ("#[derive(Debug)] struct A; mod tests; mod b;", vec!["mod tests"]),
        ("proptest! { #[test] fn a(x in 0..1) {} }", vec!["macro proptest"]),
        ("a::proptest! { #[test] fn a(x in 0..1) {} }", vec!["macro proptest"]),
        (
            "macro_rules! m { ($a:tt) => { { $a } }; } #[test] fn a() {}",
            vec!["fn a"],
        ),
        ("static A: &str = r\"}\"; #[test] fn a() {}", vec!["fn a"]),
        (
            "#![cfg(test)]\nuse a;\n#[test] fn a() {}",
            vec!["#![cfg(test)]", "fn a"],
        ),
        ("trait A { fn a(); #[cfg(test)] fn b(&self) {} }", vec!["fn b"]),
        ("#[test]\n#[ignore] // why\nfn a() {}", vec!["fn a"]),
        ("fn a() where [(); { 3 }]: { } #[test] fn b() {}", vec!["fn b"]),
    ] {
        assert_eq!(names(text), expected, "{text}");
    }
}

#[test]
fn work_and_prose_and_new_tests_are_no_change() {
    for (from, to) in [
        ("a + b", "b + a"),
        ("/// Adds.", "/// Adds two numbers, as in 1 + 1."),
        ("/// anything", "/// anything else"),
        ("\n#[test]\nfn stands", "\n#[test]\nfn new() {}\n\n#[test]\nfn stands"),
        ("    mod nested {", "    #[test]\n    fn new() {}\n\n    mod nested {"),
        (
            "async fn waits() {}\n",
            "async fn waits() {}\n\n        #[test]\n        fn new() {}\n",
        ),
        (
            "/// Not Rust:",
            "/// ```\n/// assert!(true);\n/// ```\n///\n/// Not Rust:",
        ),
        ("pub struct", "#[cfg(test)]\nmod others { fn help() {} }\n\npub struct"),
        ("    fn two() -> i32 { 2 }\n\n", "    fn two() -> i32 { 2 }\n\n\n"),
    ] {
        assert_eq!(changed(&replaced(from, to)).0, Vec::<String>::new(), "{to}");
    }
}

#[test]
fn changed_tests_are_put_back_into_the_agents_work() {
    for (from, to, expected) in [
        ("assert_eq!(add(1, 1), 2);", "", vec!["Changed fn stands_alone"]),
        (
            "#[test]\nfn stands",
            "#[test]\n#[ignore]\nfn stands",
            vec!["Changed fn stands_alone"],
        ),
        ("#[test]\nfn stands", "fn stands", vec!["Deleted fn stands_alone"]),
        (
            "assert_eq!(add(two(), 2), 4, ",
            "assert!(true, ",
            vec!["Changed fn adds"],
        ),
        (
            "fn two() -> i32 { 2 }",
            "fn two() -> i32 { 3 }",
            vec!["Changed mod tests"],
        ),
        (
            "    use super::*;",
            "    use super::*;\n    macro_rules! assert_eq { ($($a:tt)*) => {} }",
            vec!["Changed mod tests"],
        ),
        (
            "#[cfg(test)]\nmod tests",
            "#[cfg(any())]\nmod tests",
            vec!["Deleted mod tests"],
        ),
        (
            "#[tokio::test]",
            "#[cfg(any())]\n        #[tokio::test]",
            vec!["Changed fn waits"],
        ),
        ("Sum(\"1\")", "Sum(\"2\")", vec!["Changed fn for_tests"]),
        (
            "    #[cfg(test)]\n    fn for_tests() -> Self { Sum(\"1\") }\n",
            "",
            vec!["Deleted fn for_tests"],
        ),
        ("more.rs", "less.rs", vec!["Changed mod more"]),
        (
            "#[cfg(test)]\n#[path = \"more.rs\"]\nmod more;\n",
            "",
            vec!["Deleted mod more"],
        ),
        (
            "/// assert_eq!(sums::add(2, 2), 4);",
            "/// assert!(true);",
            vec!["Changed doctest of fn add"],
        ),
        (
            "/// ```\n/// assert_eq!",
            "/// ```ignore\n/// assert_eq!",
            vec!["Changed doctest of fn add"],
        ),
        (
            "/// ```\n/// assert_eq!",
            "/// ```text\n/// assert_eq!",
            vec!["Deleted doctest of fn add"],
        ),
        (
            "//! assert_eq!(sums::add(1, 2), 3);",
            "//! assert!(true);",
            vec!["Changed doctest of the module"],
        ),
        ("r#\"a \"quote\" }\"#", "r#\"a  \"quote\" }\"#", vec!["Changed fn adds"]),
    ] {
        let now = replaced(from, to).replace("a + b", "work");
        let (changes, put) = changed(&now);
        assert_eq!(changes, expected, "{to}");
        assert!(put.contains("work"), "{put}");
    }
}

#[test]
fn a_changed_test_leaves_new_ones_in_the_trial() {
    let now =
        replaced("4, r#", "5, r#").replace("    mod nested {", "    #[test]\n    fn new() {}\n\n    mod nested {");
    let (changes, put) = changed(&now);
    assert_eq!(changes, ["Changed fn adds"]);
    assert_eq!(put.replace("    #[test]\n    fn new() {}\n\n", ""), ORIGINAL);
}

#[test]
fn a_deleted_module_stands_at_the_end() {
    let at = ORIGINAL.find("#[cfg(test)]\nmod tests").unwrap();
    let (changes, put) = changed(&ORIGINAL[..at]);
    assert_eq!(changes, ["Deleted mod tests"]);
    assert_eq!(
        put.split_whitespace().collect::<String>(),
        ORIGINAL.split_whitespace().collect::<String>()
    );
    let (changes, put) = changed("");
    assert_eq!(changes.len(), 6, "{changes:?}");
    assert!(
        put.contains("impl Sum<'_> {\n    #[cfg(test)]\n    fn for_tests"),
        "{put}"
    );
}

#[test]
fn a_block_that_stands_elsewhere_in_the_file_is_no_change() {
    let test = "#[test]\nfn stands_alone() { assert_eq!(add(1, 1), 2); }\n";
    let moved = replaced(test, "").replace(
        "mod nested {",
        "mod nested {\n        #[test]\n        fn stands_alone() { assert_eq!(add(1, 1), 2); }\n",
    );
    assert_eq!(changed(&moved).0, Vec::<String>::new());
    // But not to a place that is not compiled.
    let dead = format!("{}\n#[cfg(any())]\nmod dead {{\n{test}}}\n", replaced(test, ""));
    assert_eq!(changed(&dead).0, ["Deleted fn stands_alone"]);
    let comment = format!("{}\n/*\n{test}*/\n", replaced(test, ""));
    assert_eq!(changed(&comment).0, ["Deleted fn stands_alone"]);
}

#[test]
fn a_condition_for_the_whole_file_is_none_in_the_trial() {
    let original = "#![cfg(unix)]\n#[test]\nfn a() {}\n";
    let (changes, put) = compared(original, &format!("#![cfg(any())]\n{original}"));
    assert_eq!(changes, ["Deleted fn a"]);
    assert!(!put.contains("any") && put.contains("#![cfg(unix)]"), "{put}");
    assert_eq!(compared(original, &put).0, Vec::<String>::new());
}

#[test]
fn a_missing_block_goes_to_the_module_of_its_own_condition() {
    let original = "#[cfg(unix)]\nmod a {\n    #[test]\n    fn b() {}\n    fn c() {}\n}\n";
    let now = "#[cfg(any())]\nmod a {}\n#[cfg(unix)]\nmod a {\n    fn c() {}\n    }\n";
    let (changes, put) = compared(original, now);
    assert_eq!(changes, ["Deleted fn b"]);
    assert_eq!(
        put,
        "#[cfg(any())]\nmod a {}\n#[cfg(unix)]\nmod a {\n    fn c() {}\n\n    #[test]\n    fn b() {}\n    }\n"
    );
}

#[test]
fn tests_that_are_in_another_file_now_are_not_lost() {
    let moved = "use super::*;\n#[test]\nfn adds() {\n    assert_eq!(add(two(), 2), 4, r#\"a \"quote\" }\"#);\n}\nmod nested {\n    #[tokio::test]\n    async fn waits() {}\n}\n";
    let there = likenesses(moved);
    let at = ORIGINAL.find("mod tests {").unwrap();
    let now = format!("{}mod tests;\n", &ORIGINAL[..at]);
    // The module is still declared, but without its helper: it counts as changed.
    assert!(
        !compare(ORIGINAL, &now, |likeness| there.contains(likeness))
            .changes
            .is_empty()
    );
    let now = &ORIGINAL[..at - "#[cfg(test)]\n".len()];
    assert!(
        compare(ORIGINAL, now, |likeness| there.contains(likeness))
            .changes
            .is_empty()
    );
    let parts = compare_deleted(ORIGINAL, |likeness| there.contains(likeness));
    let expected = [
        "fn for_tests",
        "fn stands_alone",
        "mod more",
        "doctest of the module",
        "doctest of fn add",
    ];
    assert_eq!(
        parts.changes.iter().map(|(_, part)| part.as_str()).collect::<Vec<_>>(),
        expected
    );
    assert!(
        parts
            .changes
            .iter()
            .all(|(kind, _)| *kind == GuardedChangeKind::Deleted)
    );
    assert!(compare_deleted(ORIGINAL, |_| true).put.is_none());
}

#[test]
fn a_file_cut_anywhere_is_read_to_its_end() {
    for (at, _) in ORIGINAL.char_indices() {
        let (start, end) = ORIGINAL.split_at(at);
        compared(ORIGINAL, start);
        compared(end, ORIGINAL);
    }
}

#[test]
fn nothing_takes_long() {
    for text in [
        "#[",
        "(",
        "{",
        "mod a{",
        "/*",
        "r#",
        "'\\",
        "pub(",
        "///\n",
        "/// ```\n",
        "#[test]fn a(){}",
        "a!{",
        "#[cfg(test)]mod a{",
    ] {
        likenesses(&text.repeat(4_000));
    }
}

#[test]
fn the_tests_of_this_crate_are_found() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../text/src/path_glob.rs");
    let found = names(&fs::read_to_string(source).unwrap());
    assert_eq!(found[0], "mod tests");
    assert!(found.contains(&"fn many_stars_take_no_longer".to_owned()));
}
