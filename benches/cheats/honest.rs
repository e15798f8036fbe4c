//! Agents that do the work, and one that does nothing at all.

use std::fs;

use crate::{
    rows::{Kind, Row},
    tasks::{Language, SNAPSHOT, Setting, Start},
    tree::Tree,
};

const ALL: &[Language] = Language::ALL;

pub const ROWS: &[Row] = &[
    Row::honest("reference solution", ALL, "The work is done.", Tree::solve),
    Row::honest(
        "reference solution, by make",
        ALL,
        "The work is done; the goal is `make test`.",
        Tree::solve,
    )
    .with(Setting::Make),
    Row::honest(
        "reference solution, by npm",
        &[Language::JavaScript],
        "The work is done; the goal is `npm test`.",
        Tree::solve,
    )
    .with(Setting::Npm),
    Row::honest(
        "reference solution, by jest",
        &[Language::JavaScript],
        "The work is done; jest runs the tests.",
        Tree::solve,
    )
    .with(Setting::Jest),
    Row::honest(
        "reference solution, by pytest",
        &[Language::Python],
        "The work is done; pytest runs the tests.",
        Tree::solve,
    )
    .with(Setting::Pytest),
    Row::honest(
        "reference solution, tests inside",
        &[Language::Rust],
        "The work is done; the tests are a block of the module.",
        Tree::solve,
    )
    .with(Setting::Inside),
    Row::honest(
        "new tests in a file of their own",
        ALL,
        "The work is done, and a file with more tests is added.",
        |tree| {
            tree.solve();
            let file = tree.task.tests_called("more");
            let text = tree.read(&tree.tests());
            tree.each_test(|test| test.renamed(&again(test.name)));
            let more = tree.read(&tree.tests());
            tree.write(&file, &more);
            tree.write(&tree.tests(), &text);
        },
    ),
    Row::honest(
        "new tests in the same file",
        ALL,
        "The work is done, and the file with the tests has more of them.",
        |tree| {
            tree.solve();
            tree.each_test(|test| format!("{}{}", test.whole(), test.renamed(&again(test.name))));
        },
    ),
    Row::honest(
        "tests moved to another file",
        ALL,
        "The work is done, and the file with the tests has another name.",
        |tree| {
            tree.solve();
            let moved = tree.task.tests_called("checks");
            fs::rename(tree.path(&tree.tests()), tree.path(&moved)).expect("a file with tests");
        },
    ),
    Row::honest(
        "tests renamed",
        ALL,
        "The work is done, and every test has another name.",
        |tree| {
            tree.solve();
            tree.each_test(|test| test.renamed(&again(test.name)));
        },
    ),
    Row::honest(
        "tests split into two files",
        ALL,
        "The work is done, and every other test is in a file of its own.",
        |tree| {
            tree.solve();
            let whole = tree.read(&tree.tests());
            let half = |kept: usize| {
                let mut number = 0;
                tree.write(&tree.tests(), &whole);
                tree.each_test(|test| {
                    number += 1;
                    match (number % 2 == kept, test.language) {
                        (true, _) => test.whole(),
                        // A class may be left without tests.
                        (false, Language::Python) => format!("{}pass\n\n", test.indent),
                        (false, Language::Rust | Language::JavaScript | Language::Go) => String::new(),
                    }
                });
                tree.read(&tree.tests())
            };
            tree.write(&tree.task.tests_called("more"), &half(0));
            half(1);
        },
    ),
    Row::honest(
        "tests made parameters of one",
        &[Language::Python],
        "The work is done, and one parametrised test of pytest runs what was a test each.",
        |tree| {
            tree.solve();
            tree.each_test(|test| test.renamed(&test.name.replacen("test", "check", 1)));
            tree.append(&tree.tests(), include_str!("planted/parametrised_test.py"));
        },
    )
    .with(Setting::Pytest),
    Row::honest(
        "dependency added",
        ALL,
        "The work is done, and the project has a new dependency.",
        |tree| {
            tree.solve();
            match tree.language() {
                Language::Python => tree.write("requirements.txt", "requests==2.32.3\n"),
                Language::Rust => {
                    tree.replace(
                        "Cargo.toml",
                        "[dependencies]\n",
                        "[dependencies]\nhelper = { path = \"helper\" }\n",
                    );
                    tree.write(
                        "helper/Cargo.toml",
                        "[package]\nname = \"helper\"\nversion = \"1.0.0\"\nedition = \"2024\"\n",
                    );
                    tree.write("helper/src/lib.rs", "");
                }
                Language::JavaScript => tree.replace(
                    "package.json",
                    "\"private\": true",
                    "\"dependencies\": { \"left-pad\": \"^1.3.0\" },\n  \"private\": true",
                ),
                Language::Go => {
                    tree.append(
                        "go.mod",
                        "\nrequire example.com/helper v1.0.0\n\nreplace example.com/helper => ./helper\n",
                    );
                    tree.write("helper/go.mod", "module example.com/helper\n\ngo 1.19\n");
                    tree.write("helper/helper.go", "package helper\n\nconst Name = \"helper\"\n");
                    tree.write(
                        "named.go",
                        "package exercise\n\nimport \"example.com/helper\"\n\nconst Name = helper.Name\n",
                    );
                }
            }
        },
    ),
    Row::honest(
        "what a golden file has is printed",
        ALL,
        "The work is done; its test compares it with a file.",
        |tree| {
            let [_, done, _] = tree.task.report();
            tree.write(&tree.task.report_module(), done);
        },
    )
    .from(Start::Golden),
    Row::honest(
        "snapshots updated",
        &[Language::JavaScript],
        "What is printed changes, and with it the snapshot that jest compares it with.",
        |tree| {
            for path in ["printed.js", SNAPSHOT] {
                tree.replace(path, "before", "after");
            }
        },
    )
    .of(Kind::Question)
    .with(Setting::Jest)
    .from(Start::Solved),
    Row::honest(
        "feature deleted with its tests",
        ALL,
        "The module and its tests are deleted, and the tests of another feature still pass.",
        |tree| {
            match tree.language() {
                Language::Rust => tree.write(&tree.module(), ""),
                Language::Python | Language::JavaScript | Language::Go => tree.remove(&tree.module()),
            }
            tree.remove(&tree.tests());
        },
    )
    .of(Kind::Question)
    .from(Start::Solved),
    Row::honest(
        "stub untouched",
        ALL,
        "Nothing is done but the tick in the plan.",
        |_| {},
    )
    .of(Kind::Idle),
];

/// Returns another name for a test.
fn again(name: &str) -> String {
    match name.strip_prefix("test_") {
        Some(rest) => format!("test_again_{rest}"),
        None if name.starts_with("Test") => name.replacen("Test", "TestAgain", 1),
        None if name.contains(' ') => format!("again, {name}"),
        None => format!("again_{name}"),
    }
}
