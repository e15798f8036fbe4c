# What is typed most often; `just` lists it. Nothing here is needed: each line is a command of its own.

_list:
    @"{{ just_executable() }}" --list --unsorted

# everything that has to be green, as the CI runs it
ci:
    bash .ci/run

# the same with the full matrix of agents, more rounds and every bench
nightly:
    bash .ci/nightly

# macOS and FreeBSD, checked, and the static binary for Linux, built and run
other-systems:
    bash .ci/other-systems

# tests whose names contain the words, or all
test *words:
    cargo test {{ if words == "" { "" } else { "-- " + words } }}

# formatting and lints
lint:
    cargo fmt --check
    cargo clippy --all-targets -- -D warnings

# speed and memory; one bench by its name, or all
bench name="":
    cargo bench {{ if name == "" { "" } else { "--bench " + name } }}

# the page of figures, or some of its parts: each is what a command prints
evidence *parts:
    .ci/evidence {{ parts }}

# the loop on the screen, with the agent that is built in
demo:
    cargo run --release -- demo

# licences and advisories of what ralph is built from (needs cargo-deny)
deny:
    cargo deny check
