//! Logs the steps of a run: the kinds of inputs and events, never their content.

use std::mem::{Discriminant, discriminant};

use ralph_core::{
    event::{AgentSignal, Event},
    machine::{Input, LoopState},
    run::Phase,
};
use ralph_system::diagnostics::kind;
use tracing::{debug, info, trace};

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
        Input::Agent { signal, .. } => trace!(signal = %kind(signal), "input"),
        input => debug!(input = %kind(input), "input"),
    }
    for event in events {
        trace!(event = %kind(event), "recorded");
    }
    if discriminant(&state.view.phase) != before {
        info!(phase = %kind(&state.view.phase), iteration = state.view.iterations.number, "phase changed");
    }
}
