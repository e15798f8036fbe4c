//! Whether an assertion is surely carried out.

use super::language::Language;
use super::source::{Source, has_word};

/// The first words of blocks that may not be entered, or that catch what is raised in them.
const CONDITIONAL: &str = "if elif else unless except catch while until switch select case default match when try";
/// Names of blocks in which something has to be raised: a failed assertion would do.
const RAISING: &str = "assertRaises assertRaisesRegex assertRaisesWithMessage assertThrows raises throws toThrow \
    assert_raises should_panic";
/// Names of tests that libraries of JavaScript do not run.
const NOT_RUN: &str = "xit xtest xdescribe xcontext xspecify pending todo failing fails";
/// Calls that end a test early.
const SKIPPING: &str = "skip Skip Skipf SkipNow skipTest SkipTest pending xfail importorskip";
/// Words of blocks that hold tests, and are no tests themselves.
const GROUPS: &str = "class describe context mod impl module suite struct namespace";

/// The test that an assertion stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scope {
    /// The line that opens the test, or the assertion's own, counted from 0.
    pub(super) test: usize,
    /// Whether that is surely a test, and not a function that tests may call.
    pub(super) is_test: bool,
}

/// Facts of a file that concern all of its tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileScope {
    /// Some of its tests are marked as the only ones.
    has_only: bool,
    /// It holds code beside its tests.
    holds_code: bool,
}

impl FileScope {
    pub(super) fn of(source: &Source<'_>) -> Self {
        FileScope {
            has_only: has_only(source, 0..source.tokens.len()),
            holds_code: source.language == Language::Rust && holds_code_beside_tests(source),
        }
    }
}

/// The scope of the assertion whose first token is `start`; none if it may not be carried out.
pub(super) fn scope(source: &Source<'_>, file: FileScope, start: usize) -> Option<Scope> {
    let line = source.line_of(start);
    let headers = source.headers(line);
    let own = source.tokens_of_line(line).start..start;
    if has_stopper(source, own.clone(), &[]) || is_conditional(source, own.clone(), false) {
        return None;
    }
    let mut is_only = has_only(source, own.clone());
    let mut in_test_module = false;
    let (mut test, mut functions) = (None, Vec::new());
    let mut outermost = line;
    if is_test_header(source, own, &[]) {
        test = Some(line);
    }
    for header in headers {
        let tokens = source.tokens_of_line(header);
        let attached = source.attached(header);
        if has_stopper(source, tokens.clone(), &attached) || is_conditional(source, tokens.clone(), true) {
            return None;
        }
        let is_group = tokens.clone().any(|token| has_word(GROUPS, source.at(token)));
        if !is_group && ends_early(source, tokens.start, start) {
            return None;
        }
        is_only |= has_only(source, tokens.clone());
        in_test_module |= is_test_module(source, tokens.clone(), &attached);
        if !is_group {
            outermost = header;
            if is_test_header(source, tokens.clone(), &attached) {
                test = Some(header);
            } else {
                functions.extend(tokens.filter(|token| is_name_of_function(source, *token)));
            }
        }
    }
    // A function that a test only hands on may never be called.
    let is_inside = |name: &&usize| test.is_some_and(|test| source.line_of(**name) > test);
    if functions.iter().filter(is_inside).any(|name| !is_called(source, *name)) {
        return None;
    }
    let is_code = file.holds_code && test.is_none() && !in_test_module;
    if is_code || file.has_only && !is_only {
        return None;
    }
    Some(Scope {
        test: test.unwrap_or(outermost),
        is_test: test.is_some(),
    })
}

/// Whether `line` stands in a block of tests within a file of code.
pub(super) fn is_in_tests(source: &Source<'_>, line: usize) -> bool {
    let mut own = source.headers(line);
    own.push(line);
    own.into_iter().any(|header| {
        let attached = source.attached(header);
        is_test_module(source, source.tokens_of_line(header), &attached)
            || attached.iter().any(|token| source.at(*token) == "test")
    })
}

fn holds_code_beside_tests(source: &Source<'_>) -> bool {
    (0..source.tokens.len()).any(|token| source.at(token) == "cfg" && source.at(token + 2) == "test")
}

fn is_test_module(source: &Source<'_>, mut header: std::ops::Range<usize>, attached: &[usize]) -> bool {
    source.language == Language::Rust
        && (attached
            .iter()
            .any(|token| source.at(*token) == "cfg" && source.at(token + 2) == "test")
            || header.any(|token| source.at(token) == "mod" && matches!(source.at(token + 1), "test" | "tests")))
}

/// Whether a header leaves its block out, or wants it to raise something.
fn has_stopper(source: &Source<'_>, header: std::ops::Range<usize>, attached: &[usize]) -> bool {
    let dotted = |token: usize| token > 0 && source.is_punct(token - 1, ".");
    let in_header = header.clone().filter(|token| source.is_word(*token)).any(|token| {
        let word = source.at(token);
        has_word(RAISING, word)
            || source.language != Language::Rust
                && (has_word(NOT_RUN, word) && (source.at(token + 1) != "=" || dotted(token))
                    || dotted(token) && matches!(word, "skip" | "skipIf" | "runIf" | "skipUnless"))
            || word == "ignore" && source.is_punct(token + 1, "]")
            || !dotted(token) && word == "setTimeout"
            || dotted(token)
                && matches!(word, "then" | "catch")
                && !matches!(source.at(header.start), "return" | "await")
    });
    let in_attached = attached.iter().filter(|token| source.is_word(**token)).any(|token| {
        let word = source.at(*token);
        let lower = word.to_ascii_lowercase();
        has_word(RAISING, word)
            || lower.contains("skip")
            || lower.contains("xfail")
            || lower.contains("disabled")
            || lower.contains("expectedfailure")
            || matches!(lower.as_str(), "ignore" | "pending" | "todo" | "incomplete")
            || word == "cfg" && source.at(token + 2) != "test"
    });
    in_header || in_attached
}

fn is_conditional(source: &Source<'_>, header: std::ops::Range<usize>, is_block: bool) -> bool {
    let first = source.at(header.start);
    if !header.is_empty() && has_word(CONDITIONAL, first) {
        return true;
    }
    // An arm of a `match`, or of a macro.
    is_block && source.language == Language::Rust && header.clone().any(|token| source.is_punct(token, "=>"))
}

/// Whether a test skips itself between its header and its assertion.
fn ends_early(source: &Source<'_>, header: usize, assertion: usize) -> bool {
    (header..assertion).any(|token| {
        has_word(SKIPPING, source.at(token))
            && source.is_word(token)
            && source.is_punct(token + 1, "(")
            && source.line_of(token) > source.line_of(header)
    })
}

/// Whether a header says that no tests but its own are run.
fn has_only(source: &Source<'_>, mut header: std::ops::Range<usize>) -> bool {
    source.language == Language::JavaScript
        && header.any(|token| {
            source.is_punct(token + 1, "(")
                && (matches!(source.at(token), "fit" | "fdescribe" | "ftest")
                    || source.at(token) == "only" && token > 0 && source.is_punct(token - 1, "."))
        })
}

fn is_name_of_function(source: &Source<'_>, token: usize) -> bool {
    token > 0 && source.is_word(token) && matches!(source.at(token - 1), "def" | "fn" | "func" | "function")
}

fn is_called(source: &Source<'_>, name: usize) -> bool {
    let mut others = (0..source.tokens.len()).filter(|token| source.at(*token) == source.at(name));
    others.any(|token| source.is_punct(token + 1, "(") && !is_name_of_function(source, token))
}

fn is_test_header(source: &Source<'_>, mut header: std::ops::Range<usize>, attached: &[usize]) -> bool {
    let by_attribute = attached
        .iter()
        .any(|token| source.is_word(*token) && matches!(source.at(*token), "test" | "rstest" | "test_case"));
    by_attribute
        || header.any(|token| {
            let word = source.at(token);
            let is_call = source.is_punct(token + 1, "(");
            match source.language {
                Language::Python => token > 0 && source.at(token - 1) == "def" && word.starts_with("test"),
                Language::Rust => false,
                Language::Go => token > 0 && source.at(token - 1) == "func" && word.starts_with("Test"),
                Language::JavaScript => matches!(word, "test" | "it" | "fit" | "specify" | "each" | "only") && is_call,
            }
        })
}
