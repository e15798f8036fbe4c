//! Draws a screen that a test has written.

use std::{fs, num::NonZeroU16, path::Path, process::Command, time::Duration};

use crate::svg::{self, Frame};

/// Draws `NAME.COLSxROWS.PALETTE.ansi` as SVG and PNG, in the same directory.
pub fn draw(state: &Path) {
    let name = state.file_name().and_then(|name| name.to_str()).expect("a name");
    let mut parts = name.split('.').skip(1);
    let size = parts.next().and_then(|size| size.split_once('x'));
    let [cols, rows] = size
        .map(|(cols, rows)| [cols, rows].map(|number| number.parse().ok()))
        .and_then(|[cols, rows]| Some([cols?, rows?]))
        .expect("a name that tells the size");
    let colours = match parts.next() {
        Some("light") => &svg::LIGHT,
        Some(_) | None => &svg::DARK,
    };
    let mut parser = vt100::Parser::new(rows, cols, 0);
    parser.process(&fs::read(state).expect("a state"));
    let frame = Frame {
        at: Duration::ZERO,
        screen: parser.screen().clone(),
    };
    let picture = state.with_extension("svg");
    fs::write(&picture, svg::draw(&[frame], colours)).expect("a file for the picture");
    let picture = picture.canonicalize().expect("the picture");
    photograph(&picture, [cols, rows].map(NonZeroU16::get));
}

/// Renders a picture as PNG in a browser; does nothing without one.
fn photograph(picture: &Path, [cols, rows]: [u16; 2]) {
    let Some(browser) = ["chromium", "chromium-browser", "google-chrome"]
        .iter()
        .find_map(|name| which::which(name).ok())
    else {
        return;
    };
    let [width, height] = svg::size(cols, rows);
    let home = tempfile::tempdir().expect("a directory");
    let status = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("--window-size={width},{height}"))
        .arg(format!("--screenshot={}", picture.with_extension("png").display()))
        .arg(picture)
        .status()
        .expect("the browser");
    assert!(status.success(), "{}: {status}", picture.display());
}
