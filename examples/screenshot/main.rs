//! Draws pictures of the screen.
//!
//! `cargo run --example screenshot` builds ralph, runs `ralph demo` in a terminal, presses keys, and writes the frames
//! to `docs/screen.svg` as one animated picture, and the output to `docs/demo.cast` for `asciinema play`. With the paths of files that `RALPH_TEST_WRITE=1 cargo test --lib
//! the_main_states` has written, it draws each as SVG, and as PNG if Chromium is installed.

mod stage;
mod still;
mod svg;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use stage::Stage;

const COLS: u16 = 112;
const ROWS: u16 = 30;
/// Pause between two keys of typed text.
const TYPING: Duration = Duration::from_millis(60);
/// Time for a viewer to look at a pane.
const LOOK: Duration = Duration::from_millis(1800);

fn main() {
    let states: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    if !states.is_empty() {
        return states.iter().for_each(|state| still::draw(state));
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stage = Stage::open(&built(root), COLS, ROWS, &root.join("docs/demo.cast"));
    play(&mut stage);
    let picture = svg::draw(&stage.close(), &svg::DARK);
    fs::write(root.join("docs/screen.svg"), picture).expect("a file for the picture");
}

/// Builds ralph and returns the path of the binary.
fn built(root: &Path) -> PathBuf {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--bin", "ralph"])
        .current_dir(root)
        .status()
        .expect("cargo");
    assert!(status.success(), "ralph can be built");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("debug/ralph")
}

/// Presses the keys of the demonstration.
fn play(stage: &mut Stage) {
    stage.wait_for("edit PLAN.md");
    stage.wait_for("write test.sh");
    for key in ":Greet in two languages".chars() {
        stage.press(&key.to_string());
        thread::sleep(TYPING);
    }
    thread::sleep(LOOK / 2);
    stage.press("\r");
    stage.wait_for("You have sent a message");
    thread::sleep(LOOK);
    for pane in ["l", "d", "h"] {
        stage.press(pane);
        thread::sleep(LOOK);
    }
    stage.press("t");
    stage.wait_for("was refused");
    stage.wait_for("done (verified)");
    thread::sleep(LOOK);
    stage.press("q");
}
