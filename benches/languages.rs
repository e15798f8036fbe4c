//! The time that a language server saves in the next session because it stays warm: the delay of each first answer,
//! as measured by the agent.

mod support;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use support::{
    report::{Row, note, title},
    scratch::{Scratch, run_to_limit},
};

/// Runs of two iterations, each run with a new server.
const RUNS: usize = 3;
/// Most time of the first answer in the second iteration, as a part of that in the first.
const MOST_OF_COLD: f64 = 0.25;

const HELLO: &str = r#"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#;
const CALL: &str = r#"{"id":1,"method":"tools/call","params":{"name":"lsp_definition","arguments":{"file":"src/main.rs","line":4,"symbol":"area"}}}"#;

/// Asks until the server knows enough to answer, and logs the time that this took. Fails after a minute.
const AGENT: &str = r#"
cat > /dev/null
begun=$(date +%s%N)
end=$(($(date +%s) + 60))
until printf '%s\n' 'HELLO' 'CALL' | 'RALPH' mcp | grep -q 'src/shapes.rs:6'; do
    [ "$(date +%s)" -lt "$end" ] || exit 1
done
echo $(($(date +%s%N) - begun)) >> 'LOG'
echo '{"type":"turn-ended","ok":true,"message":"Asked."}'
"#;

fn main() {
    title("language servers (the first answer of an iteration)");
    let Some(rust_analyzer) = rust_analyzer() else {
        note("rust-analyzer is not installed: rustup component add rust-analyzer");
        return;
    };
    let scratch = project();
    let log = scratch.path("answers.log");
    let agent = AGENT
        .replace("HELLO", HELLO)
        .replace("CALL", CALL)
        .replace("RALPH", env!("CARGO_BIN_EXE_ralph"))
        .replace("LOG", &log.display().to_string());
    scratch.add_shell_agent("ralph-jsonl", &agent);
    for _ in 0..RUNS {
        // Before rustup's proxies, which look for toolchains in the project's home.
        let path = [
            rust_analyzer.parent().expect("a directory").into(),
            env::var_os("PATH").unwrap_or_default(),
        ];
        let path = env::join_paths(
            path.iter()
                .flat_map(|paths| env::split_paths(paths).collect::<Vec<_>>()),
        );
        run_to_limit(scratch.run("jsonl", 2).env("PATH", path.expect("paths")));
    }
    let times = answers(&log);
    let of = |first: usize| {
        let mut times: Vec<Duration> = times.iter().skip(first).step_by(2).copied().collect();
        times.sort_unstable();
        times[times.len() / 2]
    };
    let (cold, warm) = (of(0), of(1));
    Row::new("rust-analyzer, first iteration", cold).print();
    Row::new("rust-analyzer, second iteration", warm)
        .beside("first iteration", cold)
        .at_most(cold.mul_f64(MOST_OF_COLD))
        .print();
}

/// Returns the rust-analyzer of the default toolchain, which lies beside its cargo and rustc.
fn rust_analyzer() -> Option<PathBuf> {
    let output = Command::new("rustup").args(["which", "rust-analyzer"]).output().ok()?;
    let path = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    (output.status.success() && path.exists()).then_some(path)
}

/// Makes a crate with a definition to be found.
fn project() -> Scratch {
    let scratch = Scratch::new(0);
    let write = |path: &str, text: &str| {
        let path = scratch.project().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    write(
        "Cargo.toml",
        "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2021\"\n",
    );
    write(
        "src/main.rs",
        // Without macros of the standard library, whose source may not be installed.
        "mod shapes;\n\nfn main() {\n    let _ = shapes::Square { side: 3 }.area();\n}\n",
    );
    write(
        "src/shapes.rs",
        "pub struct Square {\n    pub side: u32,\n}\n\nimpl Square {\n    pub fn area(&self) -> u32 {\n        self.side * self.side\n    }\n}\n",
    );
    scratch.git(["add", "--all"]);
    scratch.git(["commit", "--quiet", "--message", "Shapes"]);
    scratch
}

/// Returns the time of the first answer of each iteration.
fn answers(log: &Path) -> Vec<Duration> {
    let text = fs::read_to_string(log).expect("the agent's log");
    let times = text
        .lines()
        .map(|line| Duration::from_nanos(line.parse().expect("nanoseconds")));
    times.collect()
}
