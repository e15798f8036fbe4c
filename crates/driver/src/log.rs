//! Logs the steps of a run: the kinds of inputs and events, never their content.

use std::mem::{Discriminant, discriminant};

use ralph_core::{
    event::{AgentSignal, Event},
    json::tag_of,
    machine::{Input, LoopState},
    run::Phase,
};
use ralph_system::diagnostics::kind;
use tracing::{debug, info, trace};

/// Most bytes of the name of an event.
const NAME_CAP_BYTES: usize = 64;

/// Logs a step: its main events at level info, everything at finer levels. `before` is the phase it began in.
pub(super) fn log_step(before: Discriminant<Phase>, input: &Input, state: &LoopState, events: &[Event]) {
    match input {
        Input::Agent {
            signal: AgentSignal::Problem { problem },
            ..
        } => info!(problem = %kind(&problem.kind), "agent reported"),
        Input::Agent {
            signal: AgentSignal::Ended { exit, output_bytes },
            ..
        } => {
            info!(?exit, output_bytes, "agent ended");
        }
        Input::Agent {
            signal: AgentSignal::Unknown { event, .. },
            ..
        } => info!(event = name(event), "agent reported an unknown event"),
        Input::Agent { signal, .. } => trace!(signal = %kind(signal), "input"),
        input => debug!(input = %kind(input), "input"),
    }
    for event in events {
        trace!(event = tag(event), "recorded");
    }
    if discriminant(&state.view.phase) != before {
        info!(phase = %kind(&state.view.phase), iteration = state.view.iterations.number, "phase changed");
    }
}

/// The tag of an event in the journal.
fn tag(event: &Event) -> String {
    let text = serde_json::to_string(event).expect("events have no failing serialisers");
    tag_of(&text, "type").expect("an event has a type").into_owned()
}

/// The name of an event of the agent, if it is one: text with anything else in it may be content.
fn name(event: &str) -> &str {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/$:".contains(&byte);
    match event.len() <= NAME_CAP_BYTES && event.bytes().all(is_part) {
        true => event,
        false => "unnamed",
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::testing::{iteration_ended, permission_asked};

    use super::*;

    #[test]
    fn an_event_is_logged_by_its_tag_and_not_by_the_group_that_it_is_in() {
        let events = [iteration_ended(1), permission_asked(1)];
        assert_eq!(events.map(|event| tag(&event)), ["iteration-ended", "asked"]);
    }

    #[test]
    fn only_the_name_of_an_unknown_event_is_logged() {
        for event in [
            "command_lifecycle",
            "item/agentMessage/delta",
            "session.next",
            "$/progress",
        ] {
            assert_eq!(name(event), event);
        }
        for event in ["a secret", "{\"type\":1}", "ü", &"a".repeat(NAME_CAP_BYTES + 1)] {
            assert_eq!(name(event), "unnamed");
        }
    }
}
