//! The integration tests, in one binary.

mod codex;
mod harness;
mod stand_in;

#[test]
fn there() {
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_fake-agent")).exists());
}
