//! The picture of the README, as a browser renders it.

use std::{fs, num::NonZeroU16, path::Path};

use ralph_state::store::recording::RecordedEvent;

use crate::page::browser::Browser;

const PICTURE: &str = "docs/screen.svg";
const RECORDING: &str = "docs/demo.cast";
/// Largest size of the recording, which everybody who clones the repository loads.
const RECORDING_CAP_BYTES: usize = 200 * 1024;
/// Largest size of the picture: a reader does not wait for a page that loads longer.
const CAP_BYTES: usize = 150 * 1024;
/// Largest distance of a character from its column, in cells.
const TOLERANCE: f64 = 0.5;

/// Every character that is not in its column, as text: its run, its index, and its distance in columns.
///
/// Elements in `defs` have no layout, so the script moves them into the picture first. A cell is eight units wide; the
/// picture's text has no wide characters.
const MISPLACED_CHARACTERS: &str = r"
document.rootElement.append(...document.querySelector('defs').children);
[...document.querySelectorAll('text')].flatMap((text) => {
  const runs = text.childElementCount ? [...text.children] : [text];
  const written = runs.map((run) => run.textContent).join('');
  if (text.getNumberOfChars() !== written.length) return [`${written}: ${text.getNumberOfChars()} characters`];
  let first = 0;
  return runs.flatMap((run) => {
    const start = first;
    first += run.textContent.length;
    return [...run.textContent].flatMap((_, at) => {
      const columns = (text.getStartPositionOfChar(start + at).x - run.getAttribute('x')) / 8 - at;
      return Math.abs(columns) <= TOLERANCE ? [] : [`${run.textContent}: ${at}: ${columns}`];
    });
  });
}).slice(0, 20)";

/// All text that is shown at the time `at`, in seconds.
fn shown(page: &crate::page::browser::Page, at: f64) -> String {
    let text = page.value(&format!(
        "document.rootElement.pauseAnimations(), document.rootElement.setCurrentTime({at}),
         [...document.querySelectorAll('use')].map((use) => document.querySelector(use.href.animVal).textContent).join('\\n')"
    ));
    text.as_str().expect("text").to_owned()
}

#[test]
fn the_picture_of_the_screen_moves_is_small_and_has_every_character_in_its_column() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PICTURE);
    let picture = fs::read_to_string(&path).expect("the picture");
    assert!(picture.len() <= CAP_BYTES, "{} bytes", picture.len());
    assert!(!picture.contains("promise>"), "a token is nothing to look at");
    let Some(browser) = Browser::shared() else {
        return;
    };
    let page = browser.page([920, 534], "dark");
    page.opens(&format!("file://{}", path.display()));
    let seconds = page.value("parseFloat(document.querySelector('animate').getAttribute('dur'))");
    let seconds = seconds.as_f64().expect("seconds");
    assert!(seconds < 45.0, "{seconds} s");
    let beginning = shown(&page, 1.0);
    assert!(
        beginning.contains("iteration 1") && !beginning.contains("verified"),
        "{beginning}"
    );
    assert!(shown(&page, seconds - 0.5).contains("done (verified)"));
    let misplaced = page.value(&MISPLACED_CHARACTERS.replace("TOLERANCE", &TOLERANCE.to_string()));
    assert_eq!(misplaced, serde_json::json!([]));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn the_recording_of_the_demo_is_small_and_ends_verified() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORDING);
    let recording = fs::read_to_string(&path).expect("the recording");
    assert!(recording.len() <= RECORDING_CAP_BYTES, "{} bytes", recording.len());
    let mut terminal = vt100::Parser::default();
    let mut shown = Vec::new();
    for line in recording.lines() {
        match RecordedEvent::parse(line).expect("a line of a recording") {
            RecordedEvent::Size { cols, rows } => {
                let [cols, rows] = [cols, rows].map(|size| NonZeroU16::new(size).expect("a size"));
                terminal.screen_mut().set_size(rows, cols);
            }
            RecordedEvent::Output { text } => terminal.process(text.as_bytes()),
        }
        shown.push(terminal.screen().contents());
    }
    for wanted in [
        "iteration 1",
        "You have sent a message",
        "was refused",
        "DONE, VERIFIED",
    ] {
        assert!(shown.iter().any(|screen| screen.contains(wanted)), "{wanted}");
    }
    assert!(
        terminal.screen().contents().contains("done (verified)"),
        "{:?}",
        shown.last()
    );
}
