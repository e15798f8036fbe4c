//! Runs that are started on the page.

use serde_json::json;

use super::{PHONE, assert_content, browser::Browser};
use crate::{
    harness::{SOON, Sandbox, Script},
    web::start::web,
};

#[test]
fn a_run_that_has_reached_a_limit_goes_on_with_a_higher_one() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.plan(2);
    let limited = sandbox.looping(["--max-iterations", "1"]).run(SOON);
    assert_eq!(limited.code(), Some(6), "{limited:?}");
    let server = web(&sandbox);
    let url = server.wait_for_line(SOON, |line| line.contains("/#code="));
    let phone = browser.page(PHONE, "dark");
    phone.opens(&url);
    phone.sees("No active runs");
    phone.value(&format!("location.hash = '#/runs/{}'", sandbox.paths().run_ids()[0]));
    phone.clicks("Continue the run");
    phone.clicks("2 iterations");
    phone.sees("Done (not verified)");
    phone.sees("2 of 2 tasks");
    assert_content(&phone);
}

#[test]
fn a_phone_starts_a_run_from_the_page_of_its_project_and_reads_why_one_is_refused() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    sandbox.plan(1);
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(0));
    let server = web(&sandbox);
    let url = server.wait_for_line(SOON, |line| line.contains("/#code="));
    let phone = browser.page(PHONE, "light");
    phone.opens(&url);
    phone.clicks("All runs of project, and new ones");
    phone.clicks("Start a run");
    phone.clicks("Agent");
    phone.value("document.querySelector('#start-adapter').value = 'script'");
    phone.clicks("Most iterations");
    phone.types("3");
    phone.clicks("Start the run");
    phone.sees("nothing to do: the task of PLAN.md is done");
    assert_content(&phone);

    sandbox.write("PLAN.md", "- [x] Task 1\n- [ ] Task 2\n");
    sandbox.write("ui.md", "- [ ] Draw the button\n");
    phone.clicks("Start the run");
    phone.sees("Done (not verified)");
    phone.sees("2 of 2 tasks");
    phone.clicks("Plan");
    phone.sees("1 of 3");
    assert_content(&phone);

    // One task in words, with a command that proves it.
    let project_page = format!(
        "location.hash = '#/projects/' + encodeURIComponent({})",
        json!(sandbox.project())
    );
    phone.value(&project_page);
    phone.clicks("Start a run");
    phone.clicks("Task");
    phone.types("Draw the window");
    phone.clicks("Goal");
    phone.types("test -d .git");
    phone.value("document.querySelector('#start-adapter').value = 'script'");
    phone.clicks("Start the task");
    phone.sees("Done (passed)");
    phone.clicks("Plan");
    phone.sees("Draw the window");
    assert_content(&phone);

    // Several plans are a batch; its refusal is the command line's.
    phone.value(&project_page);
    phone.clicks("Start a run");
    phone.clicks("ui.md");
    phone.clicks("Start a batch of 2 plans");
    phone.sees("PLAN.md: every task is done");
    assert_content(&phone);
}
