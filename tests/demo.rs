//! `ralph demo`, which a new user tries first.

use crate::harness::{SOON, Sandbox};

/// The demo at full speed, without pauses for a spectator.
fn demo(sandbox: &Sandbox, args: &[&str]) -> crate::harness::running::Finished {
    let command = args.iter().chain(&["demo", "--headless"]);
    sandbox.ralph(command).env("RALPH_DEMO_SPEED", "0").run(SOON)
}

#[test]
fn it_works_off_its_plan_has_a_claim_refused_and_a_later_one_verified_and_says_where_the_work_is() {
    let sandbox = Sandbox::new();
    let finished = demo(&sandbox, &[]);
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let mut rest = finished.stdout.as_str();
    for expected in [
        "not done: goal `tests` did not pass",
        "expected 'Hello, Ada!!!', got 'Hello, --shout!!!'",
        "goal tests passed",
        "ralph: done (verified)",
        "4 of 4 tasks done · 5 iterations",
    ] {
        let (_, after) = rest
            .split_once(expected)
            .unwrap_or_else(|| panic!("{expected}: {}", finished.stdout));
        rest = after;
    }
    let place = finished
        .stdout
        .lines()
        .find(|line| line.starts_with("The repository is in "));
    let place = place.and_then(|line| line.split([' ', ':']).nth(4)).expect("the place");
    let plan = std::fs::read_to_string(format!("{place}/PLAN.md")).expect("its plan");
    assert!(!plan.contains("- [ ]") && plan.matches("- [x]").count() == 4, "{plan}");
    // The printed command that plays the demo again works unchanged.
    let again = finished
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("Play it again: "));
    let again = again.expect("how to play it again");
    assert!(again.ends_with(" replay"), "{again}");
    let summed_up = again.replace("&& ralph", &format!("&& {}", env!("CARGO_BIN_EXE_ralph")));
    let summed_up = summed_up.replace(" replay", " report");
    let report = sandbox.program("sh").args(["-c", &summed_up]).run(SOON);
    assert!(report.stdout.contains("DONE, VERIFIED"), "{report:?}");
    assert!(
        finished.stdout.contains("next: in your project, `ralph init`"),
        "{finished:?}"
    );
    sandbox.assert_nothing_runs();
}

#[test]
fn one_that_was_cut_short_goes_on_with_the_command_it_prints() {
    let sandbox = Sandbox::new();
    let finished = demo(&sandbox, &["--max-iterations", "1"]);
    assert_eq!(finished.code(), Some(6), "{finished:?}");
    let command = finished
        .stdout
        .lines()
        .find_map(|line| line.split_once("resume this one: "));
    let (_, command) = command.expect("how to go on");
    let ralph = env!("CARGO_BIN_EXE_ralph");
    let command = command.replace("&& ralph", &format!("&& {ralph} --headless"));
    let resumed = sandbox
        .program("sh")
        .args(["-c", &command])
        .env("RALPH_DEMO_SPEED", "0")
        .run(SOON);
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(resumed.stdout.contains("4 of 4 tasks done"), "{}", resumed.stdout);
    sandbox.assert_nothing_runs();
}

#[test]
fn without_git_it_says_what_to_install_and_leaves_nothing() {
    let sandbox = Sandbox::without_git();
    let nothing = sandbox.home().join("nothing");
    std::fs::create_dir(&nothing).expect("an empty directory");
    for args in [&["demo"][..], &["demo", "--headless"]] {
        let finished = sandbox.ralph(args).env("PATH", &nothing).run(SOON);
        assert_eq!(finished.code(), Some(1), "{finished:?}");
        assert_eq!(
            finished.stderr,
            "error: the demo begins with `git init`, and git is not installed\n\
             hint: install git with the package manager of your system\n"
        );
    }
    let left = std::fs::read_dir(sandbox.temporary()).expect("its temporary directory");
    assert_eq!(left.count(), 0);
}
