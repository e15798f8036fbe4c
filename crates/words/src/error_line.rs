//! Finds the line in a program's output that says what went wrong.
//!
//! The last line of a tool seldom does: npm prints where its log is, cargo that it waited, node its version. A line says what
//! went wrong if it *names* an error and has words about it: `error[E0425]: cannot find value`, `KeyError: 'x'`,
//! `a.py:2: error: …`. Only places, names of programs and marks stand before the name, or the line is an excerpt of code.
//! Where no line does, a message at a place of the source is next, then a line that begins with a failure.

/// What a line says, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Says {
    /// An error and words about it.
    Error,
    /// A place and words about it.
    Place,
    /// That something failed.
    Failure,
    /// A sentence about something that is missing or not possible.
    Lack,
}

/// Ends of the names of errors, in lower case.
const NAMES: [&str; 5] = ["error", "exception", "failure", "fatal", "panic"];
/// First words about what failed.
const FAILURES: [&str; 4] = ["fail", "failed", "error", "failure"];
/// Marks of test runners in front of what failed.
const MARKS: [&str; 4] = ["✕", "✖", "✗", "×"];
/// Severities of messages that are no errors.
const HARMLESS: [&str; 4] = ["warn", "note", "info", "help"];
/// Last words of a row about a test that passed, which may be named after an error.
const PASSES: [&str; 5] = ["ok", "pass", "passed", "success", "succeeded"];
const LACKS: [&str; 9] = [
    "not found",
    "no module",
    "no such",
    "cannot ",
    "can't ",
    "could not ",
    "couldn't ",
    "denied",
    "unable to ",
];

/// Returns the first line of `output` that says best what went wrong, on one line; its first line if none does.
pub fn error_line(output: &str) -> Option<String> {
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let is_ruler = |at: usize| lines.get(at).is_none_or(|line| !line.contains(char::is_alphanumeric));
    let said = (0..lines.len()).filter_map(|at| {
        // The name of a test between two rulers is a heading.
        let is_heading = at > 0 && is_ruler(at - 1) && at + 1 < lines.len() && is_ruler(at + 1);
        let says = says(lines[at]).filter(|_| !is_heading && !is_boxed(lines[at]))?;
        Some((says, at))
    });
    let Some((says, at)) = said.min() else {
        let shown = lines.iter().find(|line| !line.starts_with('>')).or(lines.first());
        return shown.map(|line| (*line).to_owned());
    };
    // An arrow to a place stands below the message.
    if says == Says::Place && lines[at].starts_with("-->") && at > 0 {
        return Some(lines[at - 1].to_owned());
    }
    let mut line = lines[at].trim_start_matches("E  ").trim_start().to_owned();
    for next in &lines[at + 1..] {
        // A block of YAML begins below its key.
        let begun = line.strip_suffix("|-").map(|key| key.trim_end().to_owned());
        let begun = begun.unwrap_or(line.clone());
        if !begun.ends_with(':') {
            break;
        }
        line = format!("{begun} {next}");
    }
    Some(line)
}

/// Whether a line is a title with rulers on both of its sides.
fn is_boxed(line: &str) -> bool {
    let ends = [
        ("==", "=="),
        ("__", "__"),
        ("!!", "!!"),
        ("──", "──"),
        ("⎯⎯", "⎯⎯"),
        ("* ", " *"),
    ];
    ends.iter()
        .any(|(start, end)| line.starts_with(start) && line.ends_with(end))
}

fn says(line: &str) -> Option<Says> {
    // How a program is called stands before what is wrong with the call.
    if line.to_lowercase().contains("usage: ") {
        return None;
    }
    // make names a recipe that failed in brackets, and what is wrong with a makefile without.
    let is_of_make = line
        .split_once(": *** ")
        .is_some_and(|(_, what)| !what.starts_with('['));
    if line.starts_with("E  ") || line.contains(" panicked at ") || is_of_make {
        return Some(Says::Error);
    }
    if line.starts_with("-->") && line.rsplit(' ').next().is_some_and(is_place) {
        return Some(Says::Place);
    }
    let words: Vec<&str> = line.split_whitespace().collect();
    let last = words
        .last()
        .map(|word| word.trim_matches(['.', '(', ')', '[', ']']).to_lowercase());
    if last.is_some_and(|word| PASSES.contains(&&word[..])) {
        return None;
    }
    let name = words.iter().position(|word| is_name(word));
    if let Some(at) = name {
        let (before, after) = (&words[..at], &words[at + 1..]);
        let is_plain = before.iter().all(|word| is_prefix(word));
        let is_at_place = before.last().is_some_and(|word| is_position(word)) && !after.is_empty();
        if is_plain && (is_announced(words[at], after) || is_at_place) {
            return Some(Says::Error);
        }
    }
    let about = words
        .iter()
        .position(|word| is_place(word.trim_end_matches(':')) && word.ends_with(':'));
    if let Some((at, message)) = about.and_then(|at| Some((at, words.get(at + 1)?.to_lowercase())))
        && at == 0
        && message != "in"
        && !HARMLESS.iter().any(|harmless| message.contains(harmless))
    {
        return Some(Says::Place);
    }
    let begins = |at: usize| {
        let word = words
            .get(at)
            .map(|word| word.trim_end_matches(':').trim_matches(['[', ']']).to_lowercase());
        word.is_some_and(|word| FAILURES.contains(&&word[..])) && words.len() > at + 1
    };
    if begins(0) || begins(1) || line.starts_with("not ok ") || words.first().is_some_and(|word| MARKS.contains(word)) {
        return Some(Says::Failure);
    }
    let low = line.to_lowercase();
    LACKS.iter().any(|lack| low.contains(lack)).then_some(Says::Lack)
}

/// Whether a word is the name of an error: `error[E0425]:`, `java.lang.AssertionError:`, `fatal`.
fn is_name(word: &str) -> bool {
    let name = word.split(['[', '(', ':']).next().unwrap_or_default().to_lowercase();
    NAMES.iter().any(|end| name.ends_with(end))
        && name.chars().all(|sign| sign.is_alphanumeric() || "._/".contains(sign))
}

/// Whether a colon announces words about the error: behind its name, its code, or a second name (`fatal error:`).
fn is_announced(name: &str, after: &[&str]) -> bool {
    let is_code = |word: &&&str| is_name(word) || !word.contains(|sign: char| sign.is_lowercase());
    name.ends_with(':') || after.first().filter(is_code).is_some_and(|word| word.ends_with(':'))
}

/// Whether a word may stand before the name of an error: a place, a program, a mark.
fn is_prefix(word: &str) -> bool {
    word.ends_with(':') || is_position(word) || is_place(word) || word == "-"
}

/// Whether a word is a line, or a line and a column.
fn is_position(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|digit| digit.is_ascii_digit());
    word.split_once(':')
        .is_some_and(|(line, column)| digits(line) && digits(column))
}

/// Whether a word is a file with a line in it: `src/a.rs:3`, `a.ts(1,7)`.
fn is_place(word: &str) -> bool {
    let word = word.trim_end_matches(':');
    let (file, line) = match (word.split_once('('), word.split_once(':')) {
        (Some((file, line)), _) | (None, Some((file, line))) => (file, line.trim_end_matches(')')),
        (None, None) => return false,
    };
    let is_file = file.contains('.') && file.contains(char::is_alphabetic);
    is_file
        && line.starts_with(|digit: char| digit.is_ascii_digit())
        && line.chars().all(|sign| sign.is_ascii_digit() || ":,".contains(sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Outputs of real runs, shortened, each with the line that says what is wrong.
    const OUTPUTS: &[(&str, &str)] = &[
        // cargo, rustc, clippy
        (
            "   Compiling x v0.1.0 (/x)\nwarning: unused variable: `u`\n --> src/lib.rs:1:9\n\nerror[E0425]: cannot find value `c` in this scope\n \
             --> src/lib.rs:1:40\n\nerror: could not compile `x` (lib test) due to 1 previous error\nwarning: build failed, waiting for other jobs to finish...\n",
            "error[E0425]: cannot find value `c` in this scope",
        ),
        (
            "running 1 test\ntest tests::adds ... FAILED\n\nfailures:\n\n---- tests::adds stdout ----\n\nthread 'tests::adds' (27316) panicked at \
             src/lib.rs:2:40:\nassertion `left == right` failed\n  left: -1\n right: 5\n\nerror: test failed, to rerun pass `--lib`\n",
            "thread 'tests::adds' (27316) panicked at src/lib.rs:2:40: assertion `left == right` failed",
        ),
        // npm and node
        (
            "> js@1.0.0 bad\n> node c.cjs\n\nnode:internal/modules/cjs/loader:1210\n  throw err;\n  ^\n\nError: Cannot find module './nosuch'\n\
             Require stack:\n- /js/c.cjs\n    at Module._load (node:internal/modules/cjs/loader:1038:27) {\n  code: 'MODULE_NOT_FOUND',\n}\n\nNode.js v20.20.2\n",
            "Error: Cannot find module './nosuch'",
        ),
        (
            "npm error Missing script: \"nothere\"\nnpm error\nnpm error To see a list of scripts, run:\nnpm error A complete log of this run can be found in: /x\n",
            "npm error Missing script: \"nothere\"",
        ),
        (
            "TAP version 13\n# Subtest: adds\nnot ok 1 - adds\n  ---\n  location: '/js/a.test.cjs:1:64'\n  failureType: 'testCodeFailure'\n  error: |-\n    \
             Expected values to be strictly equal:\n    \n    1 !== 2\n    \n  code: 'ERR_ASSERTION'\n1..1\n# fail 1\n",
            "error: Expected values to be strictly equal: 1 !== 2",
        ),
        (
            "  0 passing (4ms)\n  1 failing\n\n  1) x\n       adds:\n\n      AssertionError [ERR_ASSERTION]: 1 == 2\n      + expected - actual\n\n      at Context.<anonymous> (m.cjs:1:62)\n",
            "AssertionError [ERR_ASSERTION]: 1 == 2",
        ),
        (
            "FAIL ./j.jest.cjs\n  ✕ adds (4 ms)\n\n  ● adds\n\n    expect(received).toBe(expected) // Object.is equality\n\nTests:       1 failed, 1 total\nRan all test suites.\n",
            "FAIL ./j.jest.cjs",
        ),
        (
            " ❯ v.spec.mjs (1 test | 1 failed) 8ms\n   × adds 7ms\n\n⎯⎯⎯⎯⎯⎯⎯ Failed Tests 1 ⎯⎯⎯⎯⎯⎯⎯\n\n FAIL  v.spec.mjs > adds\nAssertionError: expected 2 to be 3 // Object.is equality\n\n ❯ v.spec.mjs:1:94\n",
            "AssertionError: expected 2 to be 3 // Object.is equality",
        ),
        // A program of the project's own.
        (
            "#28 Can parse errors: PASSED\n#29 Error handling in reply parser: PASSED\nerror: handles errors ... ok\n\n\
             Connection error: Connection refused\nmake: *** [Makefile:276: test] Error 1\n",
            "Connection error: Connection refused",
        ),
        // pytest
        (
            "FF   [100%]\n=========== FAILURES ===========\n____________ test_err ___________\n\n    def test_err():\n>       raise KeyError(\"x\")\n\
             E       KeyError: 'x'\n\ntest_pt.py:5: KeyError\n======= short test summary info ======\nFAILED test_pt.py::test_err - KeyError: 'x'\n2 failed in 0.02s\n",
            "KeyError: 'x'",
        ),
        (
            "===== ERRORS =====\n_____ ERROR collecting test_imp.py _____\nImportError while importing test module '/py/test_imp.py'.\nTraceback:\n\
             /lib/importlib/__init__.py:126: in import_module\n    return _bootstrap._gcd_import(name)\ntest_imp.py:1: in <module>\n    import nosuch\n\
             E   ModuleNotFoundError: No module named 'nosuch'\n=== short test summary info ===\nERROR test_imp.py\n1 error in 0.11s\n",
            "ModuleNotFoundError: No module named 'nosuch'",
        ),
        (
            "\nno tests ran in 0.00s\nERROR: file or directory not found: nothere.py\n\n",
            "ERROR: file or directory not found: nothere.py",
        ),
        // unittest
        (
            "======\nFAIL: test_add (test_ut.T.test_add)\n------\nTraceback (most recent call last):\n  File \"/py/test_ut.py\", line 5, in test_add\n    \
             self.assertEqual(add(2, 3), 5)\nAssertionError: -1 != 5\n\n------\nRan 1 test in 0.000s\n\nFAILED (failures=1)\n",
            "AssertionError: -1 != 5",
        ),
        (
            "======\nERROR: test_imp (unittest.loader._FailedTest.test_imp)\n------\nImportError: Failed to import test module: test_imp\nTraceback \
             (most recent call last):\nModuleNotFoundError: No module named 'nosuch'\n\n------\nFAILED (errors=1)\n",
            "ImportError: Failed to import test module: test_imp",
        ),
        (
            "/x/venv/bin/python: No module named nosuchmod\n",
            "/x/venv/bin/python: No module named nosuchmod",
        ),
        // go, as its documentation shows it
        (
            "--- FAIL: TestAdd (0.00s)\n    add_test.go:9: got -1, want 5\nFAIL\nFAIL\texample.org/add\t0.002s\nFAIL\n",
            "add_test.go:9: got -1, want 5",
        ),
        (
            "# example.org/add\n./add.go:4:9: undefined: c\nFAIL\texample.org/add [build failed]\nFAIL\n",
            "./add.go:4:9: undefined: c",
        ),
        (
            "panic: runtime error: index out of range [3] with length 3\n\ngoroutine 1 [running]:\n",
            "panic: runtime error: index out of range [3] with length 3",
        ),
        // mypy, ruff, tsc, eslint, gcc
        (
            "typed.py:1: note: By default\ntyped.py:2: error: Incompatible return value type (got \"int\", expected \"str\")  [return-value]\nFound 1 error in 1 file (checked 1 source file)\n",
            "typed.py:2: error: Incompatible return value type (got \"int\", expected \"str\")  [return-value]",
        ),
        (
            "checking for python... no\n*****************\n* Python dependencies for building jq documentation not found. *\n*****************\n\
             Making check in vendor/oniguruma\nmake[2]: *** No rule to make target 'check'.  Stop.\nmake: *** [Makefile:1709: check] Error 2\n",
            "make[2]: *** No rule to make target 'check'.  Stop.",
        ),
        (
            "ERROR: usage: __main__.py [options] [file_or_dir] [file_or_dir] [...]\n__main__.py: error: unrecognized arguments: --cov=tablib \
             --cov-report=xml\n  inifile: /x/pytest.ini\n  rootdir: /x\n",
            "__main__.py: error: unrecognized arguments: --cov=tablib --cov-report=xml",
        ),
        (
            "usage: mypy [-h] [-v] [-V] [more options; see below]\n            [-m MODULE] [-p PACKAGE]\nmypy: error: Missing target module, package, files, or command.\n",
            "mypy: error: Missing target module, package, files, or command.",
        ),
        (
            "F401 [*] `os` imported but unused\n --> typed.py:3:8\n  |\n3 | import os\nhelp: Remove unused import: `os`\n\nFound 1 error.\n[*] 1 fixable with `--fix`.\n",
            "F401 [*] `os` imported but unused",
        ),
        (
            "typed.py:3:8: F401 [*] `os` imported but unused\nFound 1 error.\n",
            "typed.py:3:8: F401 [*] `os` imported but unused",
        ),
        (
            "t.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.\n",
            "t.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        ),
        (
            "t.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.\n\n1 const x: number = \"a\";\n        ~\n\nFound 1 error in t.ts:1\n",
            "t.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.",
        ),
        (
            "/js/l.cjs\n  1:7  warning  'q' is assigned a value but never used  no-unused-vars\n  2:1  error    'foo' is not defined                    no-undef\n\n✖ 2 problems (1 error, 1 warning)\n",
            "2:1  error    'foo' is not defined                    no-undef",
        ),
        (
            "\nOops! Something went wrong! :(\n\nESLint: 10.15.0\n\nESLint couldn't find an eslint.config.* file.\n\nhttps://eslint.org/chat/help to chat with the team.\n",
            "ESLint couldn't find an eslint.config.* file.",
        ),
        (
            "gcc nosuch.c\ncc1: fatal error: nosuch.c: No such file or directory\ncompilation terminated.\nmake: *** [Makefile:2: test] Error 1\n",
            "cc1: fatal error: nosuch.c: No such file or directory",
        ),
        (
            "b.c: In function ‘main’:\nb.c:1:19: error: ‘x’ undeclared (first use in this function)\n    1 | int main(){return x;}\n",
            "b.c:1:19: error: ‘x’ undeclared (first use in this function)",
        ),
        // rspec, gradle, docker, as their documentation shows them
        (
            "Failures:\n\n  1) Parser reads a line\n     Failure/Error: expect(read).to eq(2)\n\n       expected: 2\n            got: 1\n\n1 example, 1 failure\n",
            "Failure/Error: expect(read).to eq(2)",
        ),
        (
            "> Task :test FAILED\n\nAppTest > adds FAILED\n    org.junit.ComparisonFailure: expected:<1> but was:<2>\n        at AppTest.adds(AppTest.java:12)\n",
            "org.junit.ComparisonFailure: expected:<1> but was:<2>",
        ),
        (
            "#5 [1/2] FROM nothere\n#5 ERROR: not found\n------\nERROR: failed to solve: nothere: not found\n",
            "ERROR: failed to solve: nothere: not found",
        ),
        ("it is so\nand that is all\n", "it is so"),
    ];

    #[test]
    fn the_line_that_says_what_is_wrong_is_found_in_the_output_of_every_tool() {
        for (output, line) in OUTPUTS {
            assert_eq!(error_line(output).as_deref(), Some(*line), "{output}");
        }
        assert_eq!(error_line("\n \n"), None);
    }

    #[test]
    fn every_beginning_of_an_output_has_an_answer() {
        for (output, _) in OUTPUTS {
            for (at, _) in output.char_indices() {
                let cut = &output[..at];
                assert_eq!(error_line(cut).is_some(), !cut.trim().is_empty(), "{cut}");
            }
        }
    }
}
