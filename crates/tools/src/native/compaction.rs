//! The request for a summary of old steps, which takes their place when a conversation nears the window of the model.
//!
//! The steps are written down as a text: a request with their calls and results would be as long as what it is to shorten,
//! and APIs refuse calls without the tools.

use ralph_core::event::{clip, clip_middle};

use super::message::{ChatMessage, ModelAnswer};

/// The system prompt of the request.
pub(super) const SYSTEM: &str =
    "You sum up the work of a coding agent, so that it can go on without its earlier steps.";
const TASK: &str = "The task of the agent:\n\n";
const STEPS: &str = "\n\nIts steps so far:\n\n";
const WISH: &str = "\n\nSum up these steps for the agent, which forgets them: what is done, with the names of files, what was \
                    found out and decided, which commands work, what failed and why, and what is to do next. Keep names, \
                    numbers and errors exact. Write the summary and nothing else.";
/// Most bytes of the task, of each text and result, and of the arguments of a call.
const TASK_CAP_BYTES: usize = 4000;
const TEXT_CAP_BYTES: usize = 1200;
const ARGUMENTS_CAP_BYTES: usize = 400;

/// The text that asks for a summary of `steps` towards `task`, of about `cap_bytes`.
pub(super) fn wish(task: &ChatMessage, steps: &[ChatMessage], cap_bytes: usize) -> String {
    let task = match task {
        ChatMessage::User { text, .. } => clip(text, TASK_CAP_BYTES.min(cap_bytes / 4)),
        ChatMessage::Assistant(_) | ChatMessage::Results { .. } => String::new(),
    };
    let steps: Vec<String> = steps.iter().flat_map(written).collect();
    let left = cap_bytes.saturating_sub(TASK.len() + task.len() + STEPS.len() + WISH.len());
    format!("{TASK}{task}{STEPS}{}{WISH}", clip_middle(&steps.join("\n"), left))
}

fn written(message: &ChatMessage) -> Vec<String> {
    match message {
        ChatMessage::User { text, .. } => vec![format!("User: {text}")],
        ChatMessage::Assistant(answer) => written_answer(answer),
        ChatMessage::Results { results } => {
            let word = |ok: bool| if ok { "Result" } else { "Error" };
            let results = results.iter();
            let written =
                results.map(|result| format!("{}: {}", word(result.ok), clip_middle(&result.text, TEXT_CAP_BYTES)));
            written.collect()
        }
    }
}

fn written_answer(answer: &ModelAnswer) -> Vec<String> {
    let said = Some(&answer.text).filter(|text| !text.trim().is_empty());
    let said = said.map(|text| format!("Agent: {}", clip_middle(text, TEXT_CAP_BYTES)));
    let calls = answer.calls.iter();
    let calls = calls.map(|call| {
        format!(
            "Call: {} {}",
            call.name,
            clip_middle(&call.arguments, ARGUMENTS_CAP_BYTES)
        )
    });
    said.into_iter().chain(calls).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::message::{ModelCall, ToolResult};

    #[test]
    fn the_steps_are_told_in_order_and_long_ones_in_part() {
        let answer = ModelAnswer {
            text: "I look.".to_owned(),
            calls: vec![ModelCall {
                id: "1".to_owned(),
                name: "read".to_owned(),
                arguments: "{}".to_owned(),
            }],
            ..ModelAnswer::default()
        };
        let result = ToolResult {
            text: "x".repeat(1 << 20),
            ok: true,
            ..ToolResult::default()
        };
        let steps = [
            ChatMessage::user("Earlier: nothing."),
            ChatMessage::Assistant(answer),
            ChatMessage::Results { results: vec![result] },
        ];
        let task = ChatMessage::user("Do it.");
        let wish = wish(&task, &steps, 8000);
        let places = [
            "Do it.",
            "User: Earlier: nothing.",
            "Agent: I look.",
            "Call: read {}",
            "Result: x",
            "Sum up",
        ];
        let places: Vec<_> = places.iter().map(|part| wish.find(part).expect(part)).collect();
        assert!(places.is_sorted() && wish.len() < 4000, "{wish}");
        let many = vec![steps[1].clone(); 4000];
        assert!(super::wish(&task, &many, 8000).len() <= 8100);
    }
}
