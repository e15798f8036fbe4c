use insta::assert_snapshot;
use ralph_core::event::{SessionId, SteeringId};

use super::*;

fn rendered(signals: &[AgentSignal]) -> String {
    let mut transcript = Transcript::default();
    let mut out = Vec::new();
    for signal in signals {
        transcript.render(signal, &mut out);
    }
    String::from_utf8(out).expect("UTF-8")
}

fn readable(signals: &[AgentSignal]) -> String {
    let shown = rendered(signals);
    assert!(shown.ends_with("\r\n"));
    assert!(
        !shown.replace("\r\n", "").contains(['\r', '\n']),
        "every line ends with CR LF: {shown:?}"
    );
    shown.replace("\r\n", "\n").replace('\x1b', "^")
}

fn said(text: &str) -> AgentSignal {
    AgentSignal::Said { text: text.to_owned() }
}

fn tool_ended(ok: bool, output: &str) -> AgentSignal {
    AgentSignal::ToolEnded {
        call: "1".to_owned(),
        tool: "shell".to_owned(),
        ok,
        output: output.to_owned(),
        duration_ms: None,
    }
}

#[test]
fn a_session_reads_as_a_conversation() {
    let usage = Usage {
        input_tokens: Some(1_234_567),
        cached_tokens: Some(500),
        output_tokens: Some(50),
        cost_usd: None,
        ..Usage::default()
    };
    assert_snapshot!(readable(&[
        AgentSignal::Opened { session: Some(SessionId("s-1".to_owned())), model: None },
        AgentSignal::Thought { text: "I should look.".to_owned() },
        said("I will run a command first.\n"),
        AgentSignal::ToolStarted { call: "1".to_owned(), tool: "shell".to_owned(), input: "ls\npwd".to_owned() },
        tool_ended(true, "README.md\n"),
        AgentSignal::FileChanged { path: "src/a.rs".to_owned(), change: FileChange::Added },
        tool_ended(false, ""),
        said("Done.\n\nBye."),
        AgentSignal::Usage { usage },
        AgentSignal::TurnEnded { ok: true, message: Some("Done.\n\nBye.".to_owned()) },
    ]), @r"
    ^[2;3mI should look.^[0m

    I will run a command first.

    ^[36m▸ ^[1mshell^[0m ls
      pwd
      ^[2mREADME.md^[0m
    ^[32m+^[0m src/a.rs
      ^[31m✗ shell failed^[0m

    Done.

    Bye.

    ^[2m1.2M tokens in (500 cached) · 50 out^[0m
    ");
}

#[test]
fn what_was_used_is_added_up_and_shown_at_the_end() {
    let usage = Usage {
        input_tokens: Some(1000),
        cost_usd: Some(0.001),
        ..Usage::default()
    };
    let shown = rendered(&[
        AgentSignal::Usage { usage },
        said("one"),
        AgentSignal::Usage { usage },
        AgentSignal::TurnEnded {
            ok: true,
            message: None,
        },
        AgentSignal::Ended {
            exit: None,
            output_bytes: 0,
        },
    ]);
    assert_eq!(shown.matches("tokens in").count(), 1, "{shown}");
    assert!(shown.ends_with("2.0k tokens in · <$0.01\x1b[0m\r\n"), "{shown:?}");
}

#[test]
fn results_of_tools_that_work_at_the_same_time_say_whose_they_are() {
    let started = |call: &str, input: &str| AgentSignal::ToolStarted {
        call: call.to_owned(),
        tool: "Edit".to_owned(),
        input: input.to_owned(),
    };
    let ended = |call: &str, ok, duration_ms| AgentSignal::ToolEnded {
        call: call.to_owned(),
        tool: "Edit".to_owned(),
        ok,
        output: format!("result of {call}"),
        duration_ms,
    };
    let changed = |path: &str| AgentSignal::FileChanged {
        path: path.to_owned(),
        change: FileChange::Updated,
    };
    assert_snapshot!(readable(&[
        started("1", "a.rs"),
        started("2", "b.rs"),
        ended("1", true, Some(999)),
        ended("2", true, Some(1_250)),
        started("3", "c.rs"),
        ended("3", false, Some(61_000)),
        changed("c.rs"),
        changed("d.rs"),
    ]), @r"
    ^[36m▸ ^[1mEdit^[0m a.rs
    ^[36m▸ ^[1mEdit^[0m b.rs
    ^[36m◂ ^[1mEdit^[0m a.rs
      ^[2mresult of 1^[0m
    ^[36m◂ ^[1mEdit^[0m b.rs
      ^[2mresult of 2^[0m
      ^[2mtook 1.2s^[0m
    ^[36m▸ ^[1mEdit^[0m c.rs
      ^[2mresult of 3^[0m
      ^[31m✗ Edit failed after 1m01s^[0m
      ^[33m~ updated^[0m
    ^[33m~^[0m d.rs
    ");
}

#[test]
fn what_a_tool_writes_is_shown_as_it_comes_and_once() {
    let started = AgentSignal::ToolStarted {
        call: "1".to_owned(),
        tool: "shell".to_owned(),
        input: "make".to_owned(),
    };
    let piece = |call: &str, text: &str| AgentSignal::ToolOutput {
        call: call.to_owned(),
        text: text.to_owned(),
    };
    let live = [
        started.clone(),
        piece("1", "one\ntw"),
        piece("2", "other\n"),
        piece("1", "o\nth"),
    ];
    assert!(rendered(&live).contains("two"), "it is shown before the tool ends");
    let whole = "one\ntwo\nthree\n";
    let all: Vec<_> = live.into_iter().chain([tool_ended(true, whole)]).collect();
    assert_eq!(rendered(&all), rendered(&[started, tool_ended(true, whole)]));
}

#[test]
fn an_output_of_which_the_first_piece_never_came_is_shown_once_and_in_words_that_say_so() {
    // codex 0.169 reports `sleep 1; echo slept` and `echo one; sleep 1; echo two` like this.
    let slept = live_output("slept\n", "slept\n");
    assert_snapshot!(slept, @r"
    ^[36m▸ ^[1mshell^[0m command
      ^[2mslept^[0m
    ");
    let late = live_output("two\n", "one\ntwo\n");
    assert_snapshot!(late, @r"
    ^[36m▸ ^[1mshell^[0m command
      ^[2mtwo^[0m
      ^[2m… before that:^[0m
      ^[2mone^[0m
    ");
}

/// Renders a command with live output `piece` and final output `whole`.
fn live_output(piece: &str, whole: &str) -> String {
    readable(&[
        AgentSignal::ToolStarted {
            call: "1".to_owned(),
            tool: "shell".to_owned(),
            input: "command".to_owned(),
        },
        AgentSignal::ToolOutput {
            call: "1".to_owned(),
            text: piece.to_owned(),
        },
        tool_ended(true, whole),
    ])
}

#[test]
fn problems_and_retries_stand_out() {
    let why = "unexpected status 401".to_owned();
    assert_snapshot!(readable(&[
        AgentSignal::Retrying { attempt: Some(1), of: Some(5), why: why.clone(), kind: None },
        AgentSignal::Retrying { attempt: None, of: None, why: "waiting for network".to_owned(), kind: None },
        AgentSignal::Problem { problem: Problem::said(ralph_core::event::ProblemKind::Auth, why) },
        AgentSignal::TurnEnded { ok: false, message: None },
    ]), @r"
    ^[33m↻ retry 1 of 5: unexpected status 401^[0m
    ^[33m↻ retry: waiting for network^[0m
    ^[31m✗ not authenticated: unexpected status 401^[0m
    ");
}

#[test]
fn a_permission_that_was_given_does_not_look_like_trouble() {
    let asked = |allowed| {
        readable(&[AgentSignal::PermissionAsked {
            id: "1".to_owned(),
            text: "bash (touch x)".to_owned(),
            allowed,
        }])
    };
    assert_eq!(asked(true), "^[2masks for permission: bash (touch x)^[0m\n");
    assert_eq!(asked(false), "^[33masks for permission: bash (touch x)^[0m\n");
}

#[test]
fn a_failure_nobody_explained_is_still_shown() {
    assert!(
        rendered(&[AgentSignal::TurnEnded {
            ok: false,
            message: None
        }])
        .contains("the turn failed")
    );
}

#[test]
fn a_final_message_that_was_not_said_before_is_shown() {
    let message = Some("the end".to_owned());
    assert!(rendered(&[AgentSignal::TurnEnded { ok: true, message }]).contains("the end\r\n"));
}

#[test]
fn no_escape_sequence_of_an_agent_gets_through() {
    let evil = "a\x1b]52;c;ZXZpbA==\x07b\x1b[2Jc\rd\u{9b}31m\x08";
    let own = [BOLD, DIM, "\x1b[2;3m", RED, GREEN, YELLOW, CYAN, RESET];
    let shown = rendered(&[
        said(evil),
        AgentSignal::Thought { text: evil.to_owned() },
        AgentSignal::ToolStarted {
            call: String::new(),
            tool: evil.to_owned(),
            input: evil.to_owned(),
        },
        tool_ended(false, evil),
        AgentSignal::FileChanged {
            path: evil.to_owned(),
            change: FileChange::Deleted,
        },
        AgentSignal::Noted { text: evil.to_owned() },
        AgentSignal::Opened {
            session: Some(SessionId(evil.to_owned())),
            model: Some(evil.to_owned()),
        },
        AgentSignal::Problem {
            problem: Problem::said(ralph_core::event::ProblemKind::Other, evil.to_owned()),
        },
        AgentSignal::QuestionAsked {
            id: String::new(),
            text: evil.to_owned(),
        },
    ]);
    let rest = own
        .iter()
        .fold(shown.replace("\r\n", "\n"), |text, sequence| text.replace(sequence, ""));
    assert!(
        !rest
            .chars()
            .any(|character| character.is_control() && character != '\n'),
        "{rest:?}"
    );
}

#[test]
fn a_long_result_is_cut_and_the_cut_is_counted() {
    let output = (0..150).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    let shown = rendered(&[tool_ended(true, &output)]);
    assert_eq!(shown.lines().count(), SHOWN_LINES + 1);
    assert!(shown.contains("… 142 more lines"), "{shown}");
    let of_many = format!("{}\n… 50 more lines", &output[..output.len() - "\n149".len()]);
    assert!(
        rendered(&[tool_ended(true, &of_many)]).contains("… 191 more lines"),
        "both cuts are one"
    );
}

#[test]
fn paths_are_shown_as_the_project_names_them_and_commands_as_they_are_run() {
    let mut transcript = Transcript::new(Path::new("/home/me/project"), 80);
    let mut out = Vec::new();
    let started = |input: &str| AgentSignal::ToolStarted {
        call: "1".to_owned(),
        tool: "tool".to_owned(),
        input: input.to_owned(),
    };
    let changed = AgentSignal::FileChanged {
        path: "/home/me/project/src/a.rs".to_owned(),
        change: FileChange::Updated,
    };
    let ended = AgentSignal::ToolEnded {
        call: "1".to_owned(),
        tool: "tool".to_owned(),
        ok: true,
        output: "@@ /home/me/project/src/a.rs:3 @@\n-old\n+@@ /home/me/project/ @@".to_owned(),
        duration_ms: None,
    };
    for signal in [
        started("/home/me/project/src/a.rs replace_all=true"),
        ended,
        changed.clone(),
        started("fn main in /home/me/project/src"),
        changed,
        started("/home/me/project"),
        started("/home/me/projects/b.rs"),
        started("ls /home/me/project/src"),
    ] {
        transcript.render(&signal, &mut out);
    }
    assert_snapshot!(String::from_utf8(out).unwrap().replace("\r\n", "\n").replace('\x1b', "^"), @r"
    ^[36m▸ ^[1mtool^[0m src/a.rs replace_all=true
      ^[2m@@ src/a.rs:3 @@^[0m
      ^[2m-old^[0m
      ^[2m+@@ /home/me/project/ @@^[0m
      ^[33m~ updated^[0m
    ^[36m▸ ^[1mtool^[0m fn main in src
    ^[33m~^[0m src/a.rs
    ^[36m▸ ^[1mtool^[0m .
    ^[36m▸ ^[1mtool^[0m /home/me/projects/b.rs
    ^[36m▸ ^[1mtool^[0m ls /home/me/project/src
    ");
}

#[test]
fn a_difference_in_a_result_is_coloured_and_a_list_is_not() {
    let difference = readable(&[tool_ended(true, "diff --git a/x b/x\n@@ -1 +1 @@\n-old\n+new\n same")]);
    assert!(difference.contains("^[31m-old^[0m\n  ^[32m+new^[0m\n"), "{difference}");
    assert!(readable(&[tool_ended(true, "- one\n+ two")]).contains("^[2m- one^[0m\n  ^[2m+ two^[0m"));
}

#[test]
fn what_the_user_said_stands_where_the_agent_took_it() {
    let mut transcript = Transcript::new(Path::new("/p"), 80);
    let mut out = Vec::new();
    let answered = |taken: bool, text: Option<&str>| AgentSignal::MessageAnswered {
        id: SteeringId(1),
        taken,
        text: text.map(str::to_owned),
    };
    for signal in [
        AgentSignal::TextDelta {
            text: "I am going".to_owned(),
        },
        answered(true, Some("Use SQLite,\nand \x1b[31mtabs\n")),
        answered(false, None),
        AgentSignal::Said {
            text: "As you like.".to_owned(),
        },
    ] {
        transcript.render(&signal, &mut out);
    }
    assert_snapshot!(String::from_utf8(out).unwrap().replace("\r\n", "\n").replace('\x1b', "^"), @r"
    I am going

    ^[32m❯ ^[1myou^[0m^[32m Use SQLite,^[0m
      ^[32mand tabs^[0m

    As you like.
    ");
}
