//! Requests in the background: each is retried until the server accepts it, and ends with signals about the outcome.

use std::time::Duration;

use ralph_core::event::AgentSignal;
use tokio::time::sleep;

use super::{
    ServerError,
    asks::PermissionReply,
    client::{OpencodeClient, PromptOptions},
    handle::SteeringMessage,
};

/// The number of attempts for a request, and the pause after the first; each further pause is twice as long.
const TRIES: u32 = 6;
const PAUSE: Duration = Duration::from_millis(200);

/// Sends a message to a working session. It counts as delivered once the server has accepted it.
pub(super) async fn steer(
    client: OpencodeClient,
    session: String,
    message: SteeringMessage,
    prompt_options: PromptOptions,
) -> Vec<AgentSignal> {
    let SteeringMessage { id, text } = message;
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

/// Answers permission requests, one after the other.
pub(super) async fn answer_permissions(client: OpencodeClient, replies: Vec<PermissionReply>) -> Vec<AgentSignal> {
    let mut signals = Vec::new();
    for reply in replies {
        if let Some(failed) = tried(|| client.answer_permission(&reply)).await {
            signals.extend(note(format!("a permission could not be answered: {failed}")));
        }
    }
    signals
}

/// Answers a question.
pub(super) async fn answer_question(client: OpencodeClient, id: String, answers: Vec<Vec<String>>) -> Vec<AgentSignal> {
    let failed = tried(|| client.answer_question(&id, &answers)).await;
    failed.map_or_else(Vec::new, |failed| {
        note(format!("a question could not be answered: {failed}"))
    })
}

fn note(text: String) -> Vec<AgentSignal> {
    vec![AgentSignal::Noted { text }]
}

/// Repeats a request while the server is unreachable, up to the limit. Returns the error of the last attempt if it
/// failed.
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
