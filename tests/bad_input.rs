//! Bad input gets a clear error. It loses nothing, starts nothing and leaves nothing behind.

mod any_arguments;
pub mod asking;
mod before_the_start;
mod files;
mod output;
mod state;
mod surroundings;
mod terminal;

use crate::harness::{Sandbox, running::Finished};

/// Checks that ralph refused to start: with this exit code, one `error:` line that names everything in `naming`, hints
/// of which one contains `hint`, and no other output.
#[track_caller]
fn assert_refused(sandbox: &Sandbox, finished: &Finished, code: i32, naming: &[&str], hint: &str) {
    assert_eq!(finished.code(), Some(code), "{finished:?}");
    assert_complains(finished, naming, hint);
    assert_eq!(finished.stdout, "", "stdout is for what was asked for");
    assert_eq!(sandbox.paths().run_ids(), [], "no run began");
    sandbox.assert_nothing_runs();
}

#[track_caller]
fn assert_complains(finished: &Finished, naming: &[&str], hint: &str) {
    let mut lines = finished.stderr.lines();
    let error = lines.next().and_then(|line| line.strip_prefix("error: "));
    let error = error.unwrap_or_else(|| panic!("no error first: {finished:?}"));
    for name in naming {
        assert!(error.contains(name), "`{name}` is not in: {error}");
    }
    let hints: Vec<&str> = lines
        .map(|line| {
            line.strip_prefix("hint: ")
                .unwrap_or_else(|| panic!("not a hint: {line}"))
        })
        .collect();
    assert!(
        hints.iter().any(|text| text.contains(hint)),
        "no hint with `{hint}`: {finished:?}"
    );
}
