//! `ralph tasks`: background tasks, commands that outlive an iteration but not the run.

use std::{env, path::Path, time::Duration};

use ralph_core::{
    event::{BackgroundCommand, Requester},
    run::BackgroundState,
};
use ralph_state::control::{
    self, BackgroundEntry, ControlClient, ControlError, ControlReply, ControlRequest, OUTPUT_END, OUTPUT_FROM,
    OUTPUT_OVER, StartedBackground,
};
use ralph_text::{
    KeptEscapes, PlainText,
    console::{complain, print, print_json},
    pretty_json, shell_quoted,
};
use ralph_ui::report::OutputStyle;
use ralph_words::{background_end_in_words, background_went_well, command_in_words, short_duration};
use reqwest::Response;
use tokio::{runtime::Runtime, time::sleep};

use crate::{
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    args::{Args, TasksCommand},
    run::place,
    table::{TableCell, table},
};

/// Interval between two reads of an output that is followed.
const LOOK: Duration = Duration::from_millis(200);

pub(super) fn run(args: &Args, json: bool, command: Option<&TasksCommand>) -> Result<u8, Failure> {
    let socket = place(args)?.paths.socket();
    match command {
        None => list(&socket, json),
        Some(TasksCommand::Start { command, json }) => start(&socket, command, *json),
        Some(TasksCommand::Cancel { number }) => {
            let request = ControlRequest::Background(BackgroundCommand::Cancel { number: *number });
            match control::ask(&socket, &request)? {
                ControlReply::Done { text, .. } => print(&format!("{text}\n")),
                reply => return Err(refused(reply)),
            }
            Ok(0)
        }
        Some(TasksCommand::Output { number, follow, bytes }) => {
            runtime()?.block_on(output(&socket, *number, *bytes, *follow))?;
            Ok(0)
        }
    }
}

fn list(socket: &Path, json: bool) -> Result<u8, Failure> {
    let tasks = runtime()?.block_on(async {
        let response = ControlClient::for_socket(socket)?.open("/tasks").await?;
        let tasks: Result<Vec<BackgroundEntry>, _> = response.json().await;
        tasks.map_err(|error| garbled(socket, &error))
    })?;
    if json {
        print_json(&pretty_json(&tasks));
    } else if tasks.is_empty() {
        print("no background tasks; `ralph tasks start -- COMMAND…` starts one\n");
    } else {
        let style = Presentation::for_stdout(OutputFormat::Text).style;
        ralph_text::console::print_coloured(&listed(&tasks, style));
    }
    Ok(0)
}

fn listed(tasks: &[BackgroundEntry], style: OutputStyle) -> String {
    let rows: Vec<_> = tasks
        .iter()
        .map(|task| {
            let state = match (&task.result, task.state) {
                (Some(result), _) if background_went_well(result) => TableCell::new(background_end_in_words(result)),
                (Some(result), _) => TableCell::coloured(background_end_in_words(result), "31"),
                (None, BackgroundState::Running) => TableCell::coloured("running", "32"),
                (None, BackgroundState::Ending | BackgroundState::Ended) => TableCell::new("ending"),
            };
            let by = match task.by {
                Requester::User => "you",
                Requester::Agent => "agent",
            };
            [
                TableCell::new(task.number.to_string()),
                state,
                TableCell::new(short_duration(task.age_ms)),
                TableCell::new(by),
                TableCell::new(command_in_words(&task.command)),
                TableCell::new(&task.last_line),
            ]
        })
        .collect();
    table([" N", "STATE", " TIME", "BY", "COMMAND", "LAST LINE"], &rows, style)
}

fn start(socket: &Path, words: &[String], json: bool) -> Result<u8, Failure> {
    let command = command_of(words)?;
    let request = ControlRequest::Background(BackgroundCommand::Start { command });
    match control::ask(socket, &request)? {
        ControlReply::Started { number, text } if json => {
            let text = serde_json::to_string(&StartedBackground { number, text });
            print_json(&(text.expect("a number and a text") + "\n"));
            Ok(0)
        }
        ControlReply::Started { number, text } => {
            print(&format!("{text}\n"));
            print(&format!(
                "`ralph tasks output {number}` shows what it writes, `ralph tasks cancel {number}` ends it\n"
            ));
            Ok(0)
        }
        reply => Err(refused(reply)),
    }
}

/// The command line for a shell: one argument as it is, several as quoted words.
fn command_of(words: &[String]) -> Result<String, Failure> {
    let usage = |what: String| {
        Failure::new(FailureKind::Usage, what)
            .hint("ralph tasks start -- npm run dev")
            .hint("ralph tasks start 'cd web && npm run dev'")
    };
    let command = match words {
        [line] => line.trim().to_owned(),
        words => {
            let quoted: Vec<String> = words.iter().map(|word| shell_quoted(word)).collect();
            quoted.join(" ")
        }
    };
    let first = words.first().map_or("", |word| word.trim());
    if first.is_empty() {
        return Err(usage("the command is empty".to_owned()));
    }
    // A single argument that is a line of shell may begin with anything.
    let is_program = words.len() > 1 || shell_quoted(first) == *first;
    if is_program && !is_builtin(first) && !is_there(first) {
        return Err(usage(format!("`{first}`: no such program")));
    }
    Ok(command)
}

/// Shell built-ins with which a command may begin.
fn is_builtin(word: &str) -> bool {
    matches!(
        word,
        "." | ":" | "cd" | "command" | "eval" | "exec" | "exit" | "set" | "trap" | "ulimit" | "umask" | "wait"
    )
}

/// Whether the program exists, by its path or on the search path.
fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return Path::new(program).is_file();
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|dir| dir.join(program).is_file())
}

/// Prints the last `bytes` of a task's output; with `follow`, also all further output until the task is over.
async fn output(socket: &Path, number: u32, bytes: u64, follow: bool) -> Result<(), Failure> {
    let client = ControlClient::for_socket(socket)?;
    let mut plain = PlainText::new(KeptEscapes::Nothing);
    let mut show = |line: &str| print(&format!("{line}\n"));
    let mut next = None;
    loop {
        let part = match next {
            None => format!("last={bytes}"),
            Some(next) => format!("from={next}"),
        };
        let response = client.open(&format!("/tasks/{number}/output?{part}")).await;
        let response = match response {
            // The run has ended, and its tasks with it.
            Err(ControlError::NotRunning | ControlError::NoAnswer { .. }) if next.is_some() => break,
            response => response?,
        };
        let header = |name| number_in(&response, name);
        let (from, end) = (header(OUTPUT_FROM), header(OUTPUT_END));
        let over = response.headers().get(OUTPUT_OVER).is_some_and(|over| over == "true");
        let missing = from.saturating_sub(next.unwrap_or_default());
        if missing > 0 {
            plain.finish(&mut show);
            match next {
                None => complain(&format!(
                    "{missing} bytes before this are left out; `--bytes {end}` shows what is kept"
                )),
                Some(_) => print(&format!("[… {missing} bytes are not kept]\n")),
            }
        }
        let piece = match response.bytes().await {
            Ok(piece) => piece,
            Err(_) if next.is_some() => break,
            Err(error) => return Err(garbled(socket, &error).into()),
        };
        plain.feed(&piece, &mut show);
        let read = from + piece.len() as u64;
        next = Some(read);
        if over || !follow && (read >= end || piece.is_empty()) {
            break;
        }
        if read >= end {
            sleep(LOOK).await;
        }
    }
    plain.finish(&mut show);
    Ok(())
}

fn number_in(response: &Response, name: &str) -> u64 {
    let value = response.headers().get(name).and_then(|value| value.to_str().ok());
    value.and_then(|value| value.parse().ok()).unwrap_or_default()
}

fn refused(reply: ControlReply) -> Failure {
    match reply {
        ControlReply::Refused { why } | ControlReply::Forbidden { why } => Failure::new(FailureKind::Failed, why),
        ControlReply::Done { .. }
        | ControlReply::Started { .. }
        | ControlReply::Status { .. }
        | ControlReply::Tool { .. } => Failure::new(FailureKind::Failed, "unexpected answer from the running ralph"),
    }
}

fn garbled(socket: &Path, error: &reqwest::Error) -> ControlError {
    ControlError::Garbled {
        path: socket.to_owned(),
        what: error.to_string(),
    }
}

fn runtime() -> Result<Runtime, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::of(FailureKind::Failed, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        command_of(&words).map_err(|failure| failure.to_string())
    }

    #[test]
    fn one_argument_is_a_line_of_shell_and_several_are_its_words() {
        assert_eq!(read(&["sleep 1 && ls | wc"]).as_deref(), Ok("sleep 1 && ls | wc"));
        assert_eq!(
            read(&["sh", "-c", "echo it's $HOME"]).as_deref(),
            Ok(r"sh -c 'echo it'\''s $HOME'")
        );
        assert_eq!(read(&["env", "A=b", "", "x y"]).as_deref(), Ok("env 'A=b' '' 'x y'"));
        assert_eq!(read(&["A=b ls"]).as_deref(), Ok("A=b ls"));
        assert_eq!(read(&["cd", "/tmp"]).as_deref(), Ok("cd /tmp"));
    }

    #[test]
    fn a_command_that_is_none_is_told_what_to_type() {
        for words in [&[""][..], &["  "], &["", "x"]] {
            assert!(
                read(words)
                    .unwrap_err()
                    .starts_with("error: the command is empty\nhint: ralph tasks start")
            );
        }
        for words in [
            &["no-such-program-here"][..],
            &["no-such-program-here", "x"],
            &["./no-such-file"],
        ] {
            let error = read(words).unwrap_err();
            assert!(error.contains(&format!("`{}`: no such program", words[0])), "{error}");
        }
    }
}
