//! Manifests of runners: the command lines that they match, and the errors in invalid ones.

use ralph_gate::runner::Runner;

use super::runners;

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
        ("make check", "make"),
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
fn what_is_wrong_with_a_runner_is_said_with_its_line() {
    for (text, expected) in [
        ("", "missing field `title`"),
        (
            "title = \"x\"\ncomand = []\n",
            "line 2: unknown field `comand`, expected one of `title`, `command`",
        ),
        (
            "title = \"x\"\ncommand = [\n  \"a\",\n  \"(\",\n]\n",
            "line 4: `command`: not a pattern: ",
        ),
        (
            "title = \"x\"\nblocks = \"go\"\n",
            "line 2: unknown variant `go`, expected `rust`",
        ),
        (
            "title = \"x\"\n[output]\nline = ['(?<pased>\\d+) passed']\n",
            "line 3: `output.line`: unknown kind `pased` of a group; use one of `passed`, `failed`",
        ),
        (
            "title = \"x\"\n[output]\nopen = ['(?<total>\\d+)']\n",
            "line 3: `output.open`: the group `total` has no meaning here; name it `planned`",
        ),
        (
            "title = \"x\"\n[output.test]\npassed = ['^ok']\n",
            "line 3: `output.test.passed`: the pattern names no test; write a group `(?<id>",
        ),
        (
            "title = \"x\"\n[output.words]\nokay = \"pass\"\n",
            "line 3: `output.words`: unknown kind `pass`; use one of `passed`",
        ),
    ] {
        let error = Runner::parse("x", text).unwrap_err().to_string();
        assert!(error.starts_with("runner `x`") && error.contains(expected), "{error}");
    }
}
