//! Pictures of the page in its main states, at four sizes, light and dark: `RALPH_TEST_WRITE=1` writes them
//! to `target/pictures`.

use std::{env, fs, path::Path};

use crate::{
    harness::{SOON, Sandbox},
    web::serving,
};

use super::{
    DESK, PHONE, WRITE, assert_content,
    browser::{Browser, Page},
    enters,
    gallery::gallery,
};

const WALL: [u32; 2] = [2560, 1440];
const SIDE: [u32; 2] = [844, 390];

fn writes(page: &Page, state: &str, width: &str, scheme: &str) {
    if env::var_os(WRITE).is_some() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
        fs::create_dir_all(&directory).expect("a directory");
        page.writes_picture(&directory.join(format!("page-{state}-{width}-{scheme}.png")));
    }
}

#[test]
fn the_page_in_every_state_fits_every_screen() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let gallery = gallery();
    // Without a picture, one scheme shows that everything fits.
    let schemes = match env::var_os(WRITE) {
        Some(_) => &["light", "dark"][..],
        None => &["dark"],
    };
    for (width, size) in [("phone", PHONE), ("side", SIDE), ("desk", DESK), ("wall", WALL)] {
        for scheme in schemes {
            let page = browser.page(size, scheme);
            page.opens(&gallery.served.base);
            enters(&page, &gallery.served.token);
            page.sees("All runs of project, and new ones");
            for state in &gallery.states {
                state.enter(&page);
                assert_content(&page);
                if state.name == "done" {
                    let report =
                        "fetch(document.querySelector('.card.end a[download]').href).then((file) => file.text())";
                    let report = page.value(report);
                    assert!(
                        report.as_str().is_some_and(|report| report.contains("green passed")),
                        "{report}"
                    );
                }
                writes(&page, state.name, width, scheme);
                state.leave(&page);
            }
        }
    }
}

#[test]
fn a_list_without_runs_says_what_will_be_there() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0"]).start();
    let served = serving(&web, &sandbox, &[]);
    for (width, size) in [("phone", PHONE), ("desk", DESK)] {
        for scheme in ["light", "dark"] {
            let page = browser.page(size, scheme);
            page.opens(&served.base);
            writes(&page, "login", width, scheme);
            enters(&page, &served.token);
            page.sees("No runs yet. Start one with ralph in a project");
            assert_content(&page);
            writes(&page, "empty", width, scheme);
        }
    }
    web.kill();
    web.wait(SOON);
}
