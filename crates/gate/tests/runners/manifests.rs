//! Manifests of runners: the command lines that they match, and the errors in invalid ones.

use std::{fs, path::Path};

use ralph_gate::runner::{Runner, Runners};

use super::{counts, read, runners};

#[test]
fn a_command_line_leads_to_its_runners() {
    let runners = runners();
    for (command, expected) in [
        ("cargo test", "cargo"),
        ("cargo +nightly test --workspace", "cargo"),
        ("RUSTFLAGS=-Dwarnings cargo t -p sums", "cargo"),
        ("cargo build && cargo clippy", ""),
        ("cargo nextest run && cargo test --doc", "cargo nextest"),
        ("python3 -m pytest -q", "pytest"),
        ("uv run pytest", "pytest"),
        ("python3 -m unittest discover -s tests", "unittest"),
        ("go test ./...", "go"),
        ("go build ./...", ""),
        ("npm test", "npm"),
        ("npm run lint", "npm"),
        ("npx jest --ci", "jest"),
        ("npx vitest run", "vitest"),
        ("make check", "automake make"),
        ("make test", "make"),
        ("just test", "just"),
        ("tox -e py312", "tox"),
        ("bundle exec rspec", "rspec"),
        ("mvn -B verify", "surefire"),
        ("./gradlew check", "gradle"),
        ("dotnet test --no-build", "dotnet"),
        ("ctest --test-dir build", "ctest"),
        ("swift test", "swift"),
        ("mix test", "mix"),
        ("node --test", "node"),
        ("deno test -A", "deno"),
        ("bun test", "bun"),
        ("busted", "busted"),
        ("meson test -C builddir", "meson"),
        ("nim r --path:src tests/all.nim", "nim"),
        ("ruff check .", ""),
        ("./check.sh", ""),
    ] {
        let likely: Vec<&str> = runners
            .likely(command)
            .iter()
            .map(|runner| runner.id.as_str())
            .collect();
        assert_eq!(likely.join(" "), expected, "{command}");
    }
}

#[test]
fn a_goal_is_narrowed_where_its_last_command_is_a_runner_that_takes_tests() {
    let runners = runners();
    let narrowed = |command: &str, files: &[&str]| runners.narrowed(command, files, &["adds", "sums"]);
    for (command, expected) in [
        ("cd api && pytest -q", Some("cd api && pytest -q tests/test_a.py")),
        ("npm test", Some("npm test -- tests/test_a.py")),
        ("npm test -- --ci", Some("npm test -- --ci tests/test_a.py")),
        ("cargo test --offline", Some("cargo test --offline -- adds sums")),
        ("go test ./...", Some("go test ./... -run '^(adds|sums)$'")),
        ("pytest -q && ./deploy.sh", None),
        ("pytest -q | tee out", None),
        ("make test", None),
    ] {
        assert_eq!(
            narrowed(command, &["tests/test_a.py"]).as_deref(),
            expected,
            "{command}"
        );
    }
    for odd in ["-rf", "a b.py", "$(x).py", "a;b.py", ""] {
        assert_eq!(narrowed("pytest", &[odd]), None, "{odd}");
    }
    assert_eq!(narrowed("pytest", &[]), None);
}

#[test]
fn what_is_wrong_with_a_runner_is_said_with_its_line() {
    for (text, expected) in [
        ("", "missing field `title`"),
        (
            "title = \"x\"\ncomand = []\n",
            "line 2: unknown field `comand`, expected one of `title`, `command`",
        ),
        (
            "title = \"x\"\ncommand = [\n  \"a\",\n  \"(\",\n]\n",
            "line 2: `(` is not a pattern: ",
        ),
        (
            "title = \"x\"\nblocks = \"go\"\n",
            "line 2: unknown variant `go`, expected `rust`",
        ),
        (
            "title = \"x\"\n[output]\nline = ['(?<pased>\\d+) passed']\n",
            "line 3: unknown variant `pased`, expected one of `passed`, `failed`",
        ),
        (
            "title = \"x\"\n[output]\nopen = ['(?<total>\\d+)']\n",
            "line 3: the group `total` has no meaning here; name it `planned`",
        ),
        (
            "title = \"x\"\n[output.test]\npassed = ['^ok']\n",
            "line 3: the pattern names no test; write a group `(?<id>",
        ),
        (
            "title = \"x\"\n[output.words]\nokay = \"pass\"\n",
            "line 3: unknown variant `pass`, expected one of `passed`, `failed`",
        ),
    ] {
        let error = Runner::parse("x", text).unwrap_err().to_string();
        assert!(error.starts_with("runner `x`") && error.contains(expected), "{error}");
    }
}

fn reference() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/runner.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_reference_has_every_key() {
    let page = reference();
    let first_cells: String = page.lines().filter_map(|line| line.split('|').nth(1)).collect();
    for section in [
        "",
        "[[start]]\nfiles = []\ncommand = \"x\"\n",
        "[output]\n",
        "[output.test]\n",
    ] {
        let text = format!("title = \"x\"\n{section}unknown = 1\n");
        let error = Runner::parse("x", &text).unwrap_err().to_string();
        let (_, keys) = error.split_once("expected one of ").unwrap();
        for key in keys
            .split(", ")
            .filter(|key| !["`start`", "`output`", "`test`"].contains(key))
        {
            assert!(first_cells.contains(key), "{key}");
        }
    }
}

#[test]
fn the_example_of_the_reference_counts_the_tests_of_its_runner() {
    let page = reference();
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let runners = Runners::new(vec![Runner::parse("checkit", example).unwrap()]);
    let report = read(
        &runners,
        "checkit --all",
        "checkit 3\nok one\nok two\nbad three\n2 ok, 1 bad\n",
    )
    .unwrap();
    assert_eq!(counts(&report), [2, 1, 0, 0]);
    assert_eq!(report.inconsistent, None);
}
