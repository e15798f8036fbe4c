#[test]
fn there() {
    assert!(std::path::Path::new(env!("CARGO_BIN_EXE_fake-agent")).exists());
}
