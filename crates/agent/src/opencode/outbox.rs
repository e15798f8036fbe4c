//! Requests that nothing waits for: each is retried until the server takes it, and ends with signals about that.

use std::time::Duration;

use ralph_core::event::AgentSignal;
use tokio::time::sleep;

use super::{
    ServerError,
    asks::Reply,
    client::{Client, PromptOptions},
    handle::Message,
};

/// How often a request is tried, and the first pause between two tries; the pauses double.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(200);

/// Hands a message to a session that works. It is delivered when the server has taken it, not before.
pub(super) async fn steer(
    client: Client,
    session: String,
    message: Message,
    prompt_options: PromptOptions,
) -> Vec<AgentSignal> {
    let Message { id, text } = message;
    let failed = tried(|| client.prompt(&session, &text, &prompt_options)).await;
    let taken = failed.is_none();
    let mut signals = failed.map_or_else(Vec::new, |failed| {
        note(format!("message {} could not be handed over: {failed}", id.0))
    });
    signals.push(AgentSignal::MessageAnswered {
        id,
        taken,
        text: taken.then_some(text),
    });
    signals
}

/// Answers permissions, one after the other.
pub(super) async fn answer_permissions(client: Client, replies: Vec<Reply>) -> Vec<AgentSignal> {
    let mut signals = Vec::new();
    for reply in replies {
        if let Some(failed) = tried(|| client.answer_permission(&reply)).await {
            signals.extend(note(format!("a permission could not be answered: {failed}")));
        }
    }
    signals
}

/// Answers a question.
pub(super) async fn answer_question(client: Client, id: String, answers: Vec<Vec<String>>) -> Vec<AgentSignal> {
    let failed = tried(|| client.answer_question(&id, &answers)).await;
    failed.map_or_else(Vec::new, |failed| {
        note(format!("a question could not be answered: {failed}"))
    })
}

fn note(text: String) -> Vec<AgentSignal> {
    vec![AgentSignal::Unknown { text }]
}

/// Tries until it succeeds, is refused or was tried often enough; returns what the last try failed with.
async fn tried<F: Future<Output = Result<(), ServerError>>>(request: impl Fn() -> F) -> Option<String> {
    let mut pause = PAUSE;
    let mut tries = 1;
    loop {
        let error = request().await.err()?;
        let again = matches!(error, ServerError::Unreachable { .. });
        if !again || tries == TRIES {
            return Some(ralph_text::with_causes(&error));
        }
        tries += 1;
        sleep(pause).await;
        pause *= 2;
    }
}
