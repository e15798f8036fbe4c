//! Background tasks by ralph's own tools, with the same rules as `ralph tasks` in the agent's shell.

use ralph_core::{
    event::{BackgroundCommand, BackgroundRefusal},
    run::BackgroundTask,
};
use ralph_state::{
    control::{ClientRole, ControlReply, ToolAnswer},
    store::task_output::{self, OutputPiece},
};
use ralph_text::{KeptEscapes, PlainText, last_line};
use ralph_words::{background_refusal_in_words, tools as words};
use tokio::task::spawn_blocking;

use super::{
    run::{Driver, DriverError},
    tools::{ReplySender, answer},
};

/// Most bytes of an output in one answer: a model pays for each.
const OUTPUT_BYTES: u64 = 8 * 1024;
/// Bytes that are read to find the last line of an output.
const LAST_LINE_BYTES: u64 = 4 * 1024;

impl Driver {
    pub(super) fn start_for_agent(&mut self, command: String, reply: ReplySender) -> Result<(), DriverError> {
        let result = match self.answer_background(&BackgroundCommand::Start { command }, ClientRole::Agent)? {
            ControlReply::Started { number, text } => ToolAnswer::done(words::background_started(number, &text)),
            other => not_done(other),
        };
        answer(reply, result);
        Ok(())
    }

    pub(super) fn cancel_for_agent(&mut self, number: u32, reply: ReplySender) -> Result<(), DriverError> {
        let result = match self.answer_background(&BackgroundCommand::Cancel { number }, ClientRole::Agent)? {
            ControlReply::Done { text, .. } => ToolAnswer::done(text),
            other => not_done(other),
        };
        answer(reply, result);
        Ok(())
    }

    /// Answers with the state of one task, or of all, with the last line of each.
    pub(super) fn reply_with_tasks(&self, number: Option<u32>, reply: ReplySender) {
        let tasks = self.state().view.background.tasks.iter();
        let wanted = tasks.filter(|task| number.is_none_or(|number| task.number == number));
        let tasks: Vec<BackgroundTask> = wanted.cloned().collect();
        if let (Some(number), true) = (number, tasks.is_empty()) {
            return answer(reply, unknown(number));
        }
        let (files, now_ms) = (self.jobs.files.clone(), self.time.clock.now_ms());
        // Reads files: not on the loop's thread.
        spawn_blocking(move || {
            let tasks = tasks.iter().map(|task| {
                let tail = task_output::read_tail(&files.background(task.number), LAST_LINE_BYTES);
                (task, last_line(&tail.unwrap_or_default().bytes))
            });
            answer(
                reply,
                ToolAnswer::done(words::background_for_agent(&tasks.collect::<Vec<_>>(), now_ms)),
            );
        });
    }

    /// Answers with the output of a task from an offset, or with its end.
    pub(super) fn reply_with_output(&self, number: u32, from: Option<u64>, reply: ReplySender) {
        let Some(task) = self.state().view.background.task(number).cloned() else {
            return answer(reply, unknown(number));
        };
        let (dir, now_ms) = (self.jobs.files.background(number), self.time.clock.now_ms());
        spawn_blocking(move || {
            let piece = match from {
                Some(from) => task_output::read(&dir, from, OUTPUT_BYTES),
                None => task_output::read_tail(&dir, OUTPUT_BYTES),
            };
            answer(
                reply,
                match piece {
                    Ok(piece) => {
                        let text = plain(&piece);
                        let until = piece.from + piece.bytes.len() as u64;
                        ToolAnswer::done(words::background_output(
                            &task,
                            now_ms,
                            piece.from..until,
                            piece.end,
                            &text,
                        ))
                    }
                    Err(error) => ToolAnswer::refused(error.to_string()),
                },
            );
        });
    }
}

fn not_done(reply: ControlReply) -> ToolAnswer {
    match reply {
        ControlReply::Refused { why } | ControlReply::Forbidden { why } => ToolAnswer::refused(why),
        ControlReply::Done { text, .. } | ControlReply::Started { text, .. } => ToolAnswer::done(text),
        ControlReply::Tool { answer } => answer,
        ControlReply::Status { .. } => ToolAnswer::refused(String::new()),
    }
}

fn unknown(number: u32) -> ToolAnswer {
    ToolAnswer::refused(background_refusal_in_words(&BackgroundRefusal::Unknown { number }))
}

/// Returns the text of a part of an output, without escape sequences.
fn plain(piece: &OutputPiece) -> String {
    let mut text = String::new();
    let mut take = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let mut plain = PlainText::new(KeptEscapes::Nothing);
    plain.feed(&piece.bytes, &mut take);
    plain.finish(&mut take);
    text
}
