//! Commands to the loop that runs in this project.

use std::sync::Arc;

use ralph_core::event::{
    Answer, AnswerPlace, Remember, RuleScope, SteeringId, SteeringKind, StopReason, StopRequest, UserCommand,
};
use ralph_driver::{BreakerReset, DeferredMessage, LeaveOutcome, PermissionDecider};
use ralph_state::{
    control::{self, ControlError, ControlReply, ControlRequest},
    store::journal::read_view,
};
use ralph_system::paths::ProjectPaths;
use ralph_text::console::print;
use ralph_words::{command_refusal_in_words, queued_message_in_words};

use crate::{
    app::{ProjectPlace, judge},
    config,
    error::{Failure, FailureKind},
};

use super::{
    args::Args,
    run::{place, sources},
};

/// Sends a message to the run whose state is at `paths`, or leaves it for the next one.
pub(super) fn steer(paths: &ProjectPaths, (now, standing): (bool, bool), text: &[String]) -> Result<u8, Failure> {
    let text = text.join(" ").trim().to_owned();
    if text.is_empty() {
        return Err(
            Failure::new(FailureKind::Usage, "the message is empty").hint("ralph steer \"look at the tests first\"")
        );
    }
    let kind = match (now, standing) {
        (true, _) => SteeringKind::Now,
        (false, true) => SteeringKind::Standing,
        (false, false) => SteeringKind::Next,
    };
    let command = UserCommand::Steer {
        kind,
        text: text.clone(),
    };
    if let Some(refusal) = command.refusal() {
        return Err(Failure::new(FailureKind::Usage, command_refusal_in_words(&refusal)));
    }
    match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => leave(paths, &DeferredMessage::Steering { kind, text }, None),
        reply => show(reply?),
    }
}

/// Leaves a message or an answer for the last run if no loop is running.
fn leave(
    paths: &ProjectPaths,
    message: &DeferredMessage,
    judge: Option<&dyn PermissionDecider>,
) -> Result<u8, Failure> {
    match ralph_driver::leave(paths, message, judge)? {
        LeaveOutcome::Queued { id, plan, rules } => {
            print(&format!("{}\n", queued_message_in_words(id, &plan, &rules)));
            Ok(0)
        }
        LeaveOutcome::Confirmed(words) => {
            print(&format!("{words}\n"));
            Ok(0)
        }
        LeaveOutcome::NoRun => Err(Failure::new(
            FailureKind::Failed,
            "no runs in this project yet, so the message has no recipient",
        )
        .hint("start one with `ralph`; `--prompt TEXT` gives it instructions from the start")),
        LeaveOutcome::Refused { why } => Err(Failure::new(
            FailureKind::Failed,
            format!("the message was not accepted: {why}"),
        )),
    }
}

pub(super) fn withdraw(paths: &ProjectPaths, id: u32) -> Result<u8, Failure> {
    let id = SteeringId(id);
    let command = UserCommand::Withdraw { id };
    match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => {}
        reply => return show(reply?),
    }
    match ralph_driver::withdraw(paths, id)? {
        true => {
            print(&format!("message {} is withdrawn\n", id.0));
            Ok(0)
        }
        false => Err(Failure::new(
            FailureKind::Failed,
            format!("no message {} waits for the last run", id.0),
        )),
    }
}

pub(super) fn answer(args: &Args, ask: u32, words: &[String], rules: &[String]) -> Result<u8, Failure> {
    let answer = read_answer(ask, words, rules)?;
    let place = place(args)?;
    let paths = &place.paths;
    let at = AnswerPlace::CommandLine;
    let command = UserCommand::Answer {
        ask,
        answer: answer.clone(),
        at,
    };
    match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => {
            // Only a remembered answer has rules to check.
            let remembers = matches!(answer, Answer::Allow { remember: Some(_) });
            let judge = remembers.then(|| judge_of(args, &place)).transpose()?;
            let message = DeferredMessage::Answer { ask, answer, at };
            leave(paths, &message, judge.as_deref())
        }
        reply => show(reply?),
    }
}

/// Returns the judge of whether an answer's rules allow the request, as the loop has it.
fn judge_of(args: &Args, place: &ProjectPlace) -> Result<Arc<dyn PermissionDecider>, Failure> {
    let loaded = config::load(&sources(args, place))?;
    Ok(judge(place, loaded.config.permissions.policy()))
}

fn read_answer(ask: u32, words: &[String], rules: &[String]) -> Result<Answer, Failure> {
    let usage = |what: &str, hint: String| Failure::new(FailureKind::Usage, what).hint(hint);
    let rest = Some(words[1..].join(" ").trim().to_owned()).filter(|rest| !rest.is_empty());
    let allows = |remember| Answer::Allow { remember };
    let remembered = |scope| {
        let rules = rules.to_vec();
        allows(Some(Remember { scope, rules }))
    };
    let answer = match words[0].to_lowercase().as_str() {
        "y" | "yes" => allows(None),
        "always" => remembered(RuleScope::Run),
        "project" => remembered(RuleScope::Project),
        "n" | "no" => Answer::Deny { message: rest.clone() },
        _ => Answer::Words { words: words.to_vec() },
    };
    match &answer {
        Answer::Allow { .. } if rest.is_some() => {
            let what = "a message goes to the agent with a no, not with a yes";
            let failure = usage(what, format!("ralph answer {ask} yes"));
            return Err(failure.hint("`ralph steer --now \"…\"` sends a separate message"));
        }
        Answer::Allow { remember: None } | Answer::Deny { .. } | Answer::Words { .. } if !rules.is_empty() => {
            let what = "a rule is added with `always` or `project`";
            return Err(usage(what, format!("ralph answer {ask} always --rule '{}'", rules[0])));
        }
        Answer::Allow { .. } | Answer::Deny { .. } | Answer::Words { .. } => {}
    }
    Ok(answer)
}

pub(super) fn resume(args: &Args, now: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let command = UserCommand::Resume;
    let resumed = match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => return Err(nothing_paused(&paths)),
        reply => reply?,
    };
    if !now {
        return show(resumed);
    }
    // A loop may be paused while it waits, so both are tried. The command fails only if the loop was neither.
    match (ask(args, UserCommand::RetryNow)?, resumed) {
        (forbidden @ ControlReply::Forbidden { .. }, _) => show(forbidden),
        (ControlReply::Refused { .. }, ControlReply::Refused { .. }) => Err(Failure::new(
            FailureKind::Failed,
            "the run is neither paused nor waiting",
        )),
        (ControlReply::Refused { .. }, resumed) => show(resumed),
        (retried, _) => show(retried),
    }
}

/// The error of `ralph resume` without a running loop. Hints at `ralph continue` if the last run can be continued.
fn nothing_paused(paths: &ProjectPaths) -> Failure {
    let failure = Failure::from(ControlError::NotRunning);
    let view = paths.latest_run().and_then(|run| read_view(paths, &run).ok());
    match view {
        Some(view) if view.stop_reason().is_none_or(StopReason::can_be_continued) => Failure {
            hints: vec!["`ralph resume` ends a pause; `ralph continue` continues the last run".to_owned()],
            ..failure
        },
        Some(_) | None => failure,
    }
}

pub(super) fn reset_circuit(args: &Args) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let command = UserCommand::ResetCircuit;
    match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => {}
        reply => return show(reply?),
    }
    print(match ralph_driver::reset_circuit(&paths)? {
        BreakerReset::Done => "the stuck detector is reset; the interrupted run resumes with it\n",
        BreakerReset::Nothing => "nothing to reset: no run is active\n",
    });
    Ok(0)
}

pub(super) fn stop(args: &Args, after_iteration: bool, at_once: bool) -> Result<u8, Failure> {
    let stop = match (after_iteration, at_once) {
        (true, _) => StopRequest::AfterIteration,
        (false, true) => StopRequest::Immediate,
        (false, false) => StopRequest::Graceful,
    };
    send(args, UserCommand::Stop { stop })
}

/// Pauses the run of this project. Returns the exit code; `None` if none is active.
pub(super) fn pause(args: &Args) -> Result<Option<u8>, Failure> {
    let command = UserCommand::Pause;
    match control::ask(&place(args)?.paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) => Ok(None),
        reply => show(reply?).map(Some),
    }
}

pub(super) fn send(args: &Args, command: UserCommand) -> Result<u8, Failure> {
    show(ask(args, command)?)
}

fn ask(args: &Args, command: UserCommand) -> Result<ControlReply, Failure> {
    Ok(control::ask(
        &place(args)?.paths.socket(),
        &ControlRequest::Command { command },
    )?)
}

/// Prints the reply to a command, and returns the exit code.
///
/// # Errors
/// A [`Failure`] with the reason of a refusal.
pub(super) fn show(reply: ControlReply) -> Result<u8, Failure> {
    match reply {
        ControlReply::Done { text, .. } => {
            print(&format!("{text}\n"));
            Ok(0)
        }
        ControlReply::Refused { why } | ControlReply::Forbidden { why } => Err(Failure::new(FailureKind::Failed, why)),
        ControlReply::Started { .. } | ControlReply::Status { .. } | ControlReply::Tool { .. } => Err(Failure::new(
            FailureKind::Failed,
            "unexpected answer from the running ralph",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(words: &[&str]) -> Answer {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        read_answer(1, &words, &[]).unwrap()
    }

    #[test]
    fn yes_and_no_may_be_short_or_in_capitals() {
        for yes in ["y", "Y", "yes", "YES"] {
            assert_eq!(answer(&[yes]), Answer::Allow { remember: None }, "{yes}");
        }
        for no in ["n", "No", "NO"] {
            let message = Some("use the other branch".to_owned());
            assert_eq!(answer(&[no, "use the other branch"]), Answer::Deny { message }, "{no}");
        }
        let words = vec!["yellow".to_owned()];
        assert_eq!(answer(&["yellow"]), Answer::Words { words });
    }
}
