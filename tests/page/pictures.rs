//! Pictures of the page in its main states, at three sizes, light and dark: `RALPH_TEST_WRITE=1` writes them
//! to `target/pictures`.

use std::{fs, path::Path};

use crate::{
    bad_input::asking::asking,
    harness::{SOON, Sandbox, Script},
    web::{BLOCKED, serving},
};

use super::{DESK, PHONE, WORK, browser::Browser};

const WALL: [u32; 2] = [2560, 1440];
/// A plan with sections, as long as people write them.
const PLAN: &str = "# Configuration\n\n## Read\n\n- [x] Read the file, or say why not\n- [x] Take defaults for what is missing\n\n\
## Parse\n\n- [ ] Parse tables and lists, with tests\n- [ ] Report errors with line and column, also those of nested tables\n\n\
## Document\n\n- [ ] Describe each option in the manual\n";

#[test]
fn the_page_in_every_state_fits_every_screen() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let rules = r#"{ "ask": ["Bash(git push *)", "Bash(rm *)"], "timeout": "9m" }"#;
    let (asks, _) = asking(rules, WORK);
    asks.write("PLAN.md", PLAN);
    asks.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    let state = asks.state().join("shared");
    let state = state.to_str().expect("a path");
    let [works, blocked, fails, done] = [(); 4].map(|()| Sandbox::new());
    works.write("PLAN.md", PLAN);
    works.install(&Script::jsonl(
        r#"said "The tests come first."; echo "fn table() {}" > parser.rs; sed -i "0,/- \[ \]/s//- [x]/" PLAN.md; git add --all; git commit --quiet --message Parse; said "One more."; await go; over Done."#,
    ));
    blocked.plan(1);
    blocked.install(&Script::jsonl(BLOCKED));
    fails.plan(1);
    fails.install(&Script::jsonl(
        r#"[ "$n" = 1 ] && work; echo "$n" > attempt; over Done."#,
    ));
    done.plan(2);
    done.install(&Script::worker());
    let flags = ["--state-dir", state];
    let running = [&asks, &works].map(|sandbox| sandbox.looping(flags).start());
    assert_eq!(blocked.looping(flags).run(SOON).code(), Some(8));
    let failing = fails
        .looping(flags)
        .args(["--goal", "green=echo 3 tests failed; exit 1", "--max-iterations", "2"])
        .run(SOON);
    assert_ne!(failing.code(), Some(0), "{failing:?}");
    assert_eq!(
        done.looping(flags).args(["--goal", "green=true"]).run(SOON).code(),
        Some(0)
    );
    let web = asks.ralph(["web", "--listen", "127.0.0.1:0"]).args(flags).start();
    let served = serving(&web, &asks, &flags);
    let runs = crate::harness::http::Http::for_address(&served.base, &served.token)
        .get("/runs")
        .json();
    let of = |sandbox: &Sandbox| {
        let project = sandbox.project().display().to_string();
        let mut runs = runs.as_array().expect("a list").iter();
        let run = runs.find(|run| run["project"] == project.as_str()).expect("a run");
        run["run"].as_str().expect("a name").to_owned()
    };
    let project = done.project().display().to_string().replace('/', "%2F");
    let states = [
        ("project", format!("#/projects/{project}"), "Start a run"),
        ("list", "#/".to_owned(), "All runs of project, and new ones"),
        ("asking", format!("#/runs/{}", of(&asks)), "git push"),
        ("working", format!("#/runs/{}", of(&works)), "One more."),
        ("changes", format!("#/runs/{}/changes", of(&works)), "parser.rs"),
        ("blocked", format!("#/runs/{}", of(&blocked)), "Which key do I use?"),
        ("failing", format!("#/runs/{}", of(&fails)), "Goal green failed"),
        ("done", format!("#/runs/{}", of(&done)), "Evidence"),
        ("log", format!("#/runs/{}/log", of(&done)), "iteration 2"),
    ];
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/pictures");
    for (width, size) in [("phone", PHONE), ("desk", DESK), ("wall", WALL)] {
        for scheme in ["light", "dark"] {
            let page = browser.page(size, scheme);
            page.opens(&served.base);
            super::enters(&page, &served.token);
            page.sees("All runs of project, and new ones");
            for (state, place, seen) in &states {
                page.value(&format!("location.hash = '{place}'"));
                page.sees(seen);
                if *state == "project" {
                    page.clicks("Start a run");
                    page.sees("Most iterations");
                }
                super::assert_content(&page);
                if *state == "done" {
                    let report =
                        "fetch(document.querySelector('.card.end a[download]').href).then((file) => file.text())";
                    let report = page.value(report);
                    assert!(
                        report.as_str().is_some_and(|report| report.contains("green passed")),
                        "{report}"
                    );
                }
                if std::env::var_os(super::WRITE).is_some() {
                    fs::create_dir_all(&directory).expect("a directory");
                    page.writes_picture(&directory.join(format!("page-{state}-{width}-{scheme}.png")));
                }
            }
        }
    }
    works.release("go");
    for running in running {
        running.kill();
        running.wait(SOON);
    }
}
