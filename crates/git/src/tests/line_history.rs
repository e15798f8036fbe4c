//! The origin of each line of a file.

use super::*;
use crate::{BlamedContent, HistoryState, LineOrigin};

const PRESENT: BlamedContent = BlamedContent::Present {
    has_commits_of_others: true,
};

/// Makes a checkpoint after one step, as a state of the history.
fn state(repository: &Repository, n: u32, moment: Moment) -> HistoryState {
    let run = RunId("history".to_owned());
    HistoryState {
        checkpoint: repository.checkpoint(&run, n, moment).unwrap().checkpoint,
        has_commits_of_others: moment == Moment::Before,
    }
}

/// Returns the lines of `path` with their origins: `1` for the state with index 1, `now`, or the subject of a commit.
fn blamed(repository: &Repository, states: &[HistoryState], path: &str) -> Vec<(String, String)> {
    let lines = repository
        .blame(states, PRESENT, Path::new(path), None)
        .unwrap()
        .expect("a file");
    let of = |origin| match origin {
        LineOrigin::State(index) => index.to_string(),
        LineOrigin::Now => "now".to_owned(),
        LineOrigin::Commit { subject, .. } => subject,
    };
    lines.into_iter().map(|line| (of(line.origin), line.text)).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = expected
        .iter()
        .map(|(origin, text)| (origin.to_string(), text.to_string()));
    pairs.collect()
}

#[test]
fn each_line_has_the_state_at_which_it_first_was_as_it_is() {
    let project = Project::new();
    project.write("lines", "1\n2\n3\nfour\n");
    let repository = project.open();
    // 0: before the first iteration. The user had added a line without a commit.
    let mut states = vec![state(&repository, 1, Moment::Before)];
    // 1: the agent changes a line and commits, 2: nothing happens, 3: it adds a line above all others.
    project.write("lines", "1\ntwo\n3\nfour\n");
    project.commit_all("By the agent");
    states.push(state(&repository, 1, Moment::After));
    states.push(state(&repository, 2, Moment::Before));
    project.write("lines", "0\n1\ntwo\n3\nfour\n");
    states.push(state(&repository, 2, Moment::After));
    // 4: another commit arrives between two runs.
    project.write("lines", "0\n1\ntwo\n3\nfour\nfive\n");
    project.commit_all("By somebody else");
    states.push(state(&repository, 3, Moment::Before));
    project.git(["mv", "lines", "renamed"]);
    states.push(state(&repository, 3, Moment::After));
    project.write("renamed", "0\n1\ntwo\n3\nfour\nfive\nsix");
    let expected = [
        ("3", "0"),
        ("Start", "1"),
        ("1", "two"),
        ("Start", "3"),
        ("0", "four"),
        ("By somebody else", "five"),
        ("now", "six"),
    ];
    assert_eq!(blamed(&repository, &states, "renamed"), pairs(&expected));
    let one = repository
        .blame(&states, PRESENT, Path::new("renamed"), Some(3))
        .unwrap()
        .unwrap();
    assert_eq!(
        (one.len(), one[0].number, &one[0].origin),
        (1, 3, &LineOrigin::State(1))
    );
    assert!(
        repository
            .blame(&states, PRESENT, Path::new("renamed"), Some(8))
            .is_err()
    );
    assert_eq!(
        repository.blame(&states, PRESENT, Path::new("lines"), None).unwrap(),
        None
    );
    let last = repository.blame(&states[..2], BlamedContent::LastState, Path::new("lines"), None);
    let last: Vec<_> = last
        .unwrap()
        .expect("a file")
        .into_iter()
        .map(|line| line.origin)
        .collect();
    assert_eq!(
        last[1],
        LineOrigin::State(1),
        "its line 2, before a line was added above"
    );
    assert_eq!(last.len(), 4);
    // While the agent works, its own commits are not others'.
    let working = BlamedContent::Present {
        has_commits_of_others: false,
    };
    project.commit_all("By the working agent");
    let lines = repository
        .blame(&states, working, Path::new("renamed"), Some(7))
        .unwrap();
    assert_eq!(lines.unwrap()[0].origin, LineOrigin::Now);
    project.git(["fsck", "--strict", "--no-dangling"]);
    assert_eq!(project.git(["for-each-ref", "refs/heads"]).lines().count(), 1);
}

#[test]
fn a_line_has_an_origin_before_the_first_commit_and_without_checkpoints() {
    let project = Project::unborn();
    project.write("new", "a\n");
    let repository = project.open();
    assert_eq!(blamed(&repository, &[], "new"), pairs(&[("now", "a")]));
    let states = [state(&repository, 1, Moment::Before)];
    assert_eq!(blamed(&repository, &states, "new"), pairs(&[("0", "a")]));
}

#[test]
fn settings_of_the_user_change_no_origin() {
    let project = Project::new();
    project.git(["config", "blame.ignoreRevsFile", "missing"]);
    project.git(["config", "core.autocrlf", "true"]);
    project.write("crlf \"quoted\"\tü", "a\r\nb\r\n");
    let repository = project.open();
    let states = [state(&repository, 1, Moment::Before)];
    project.write("crlf \"quoted\"\tü", "a\r\nc\r\n");
    let lines = blamed(&repository, &states, "crlf \"quoted\"\tü");
    assert_eq!(lines, pairs(&[("0", "a\r"), ("now", "c\r")]));
}

#[test]
fn a_commit_that_arrived_under_an_odd_name_is_found() {
    let project = Project::new();
    let name = "a \"b\"\t\u{1}ü\\";
    let repository = project.open();
    let states = [state(&repository, 1, Moment::Before)];
    project.write(name, "a\nb\n");
    project.commit_all("Odd");
    project.write(name, "a\nb\nc\n");
    let expected = [("Odd", "a"), ("Odd", "b"), ("now", "c")];
    assert_eq!(blamed(&repository, &states, name), pairs(&expected));
}

#[test]
fn restored_lines_are_as_old_as_before_and_states_that_are_gone_are_left_out() {
    let project = Project::new();
    let repository = project.open();
    let mut states = vec![state(&repository, 1, Moment::Before)];
    project.write("lines", "1\n2\n3\nfour\n");
    states.push(state(&repository, 1, Moment::After));
    project.write("lines", "gone\n");
    states.push(state(&repository, 2, Moment::After));
    repository
        .restore(&RunId("history".to_owned()), 1, Moment::After)
        .unwrap();
    states.push(state(&repository, 3, Moment::Before));
    let expected = [("Start", "1"), ("Start", "2"), ("Start", "3"), ("1", "four")];
    assert_eq!(blamed(&repository, &states, "lines"), pairs(&expected));
    states[1].checkpoint.tree = "1".repeat(40);
    let expected = [("Start", "1"), ("Start", "2"), ("Start", "3"), ("3", "four")];
    assert_eq!(blamed(&repository, &states, "lines"), pairs(&expected));
    states[3].checkpoint.head = Some("2".repeat(40));
    let expected = [("3", "1"), ("3", "2"), ("3", "3"), ("3", "four")];
    assert_eq!(blamed(&repository, &states, "lines"), pairs(&expected));
}
