//! Handles an agent's signals beyond their records: the signal log, and signals that are shown without being recorded.

use ralph_core::{
    event::{AgentEvent, AgentSignal, Event, Role, WindowSample},
    machine::Input,
};
use ralph_system::paths::PAUSE_FILE;

use super::{
    jobs::statement,
    review::reviewers_statement,
    run::{Driver, DriverError},
};

impl Driver {
    /// Handles what a signal's record does not: logs the whole signal, reads the agent's statement, and ends the
    /// session.
    pub(super) fn note_signal(&mut self, at_ms: u64, iteration: u32, signal: &AgentSignal) -> Result<(), DriverError> {
        if let Some(session) = &mut self.agents.session
            && !matches!(signal, AgentSignal::Ended { .. })
        {
            session.log.add(at_ms, signal);
        }
        match signal {
            AgentSignal::TurnEnded { message, .. } => {
                let last_line_claims = self.agent().last_line_claims;
                let state = self.state();
                let read = |message: &String| match state.view.role {
                    Role::Work => statement(message, &state.internal.promise, last_line_claims),
                    Role::Review { .. } => reviewers_statement(message, last_line_claims),
                };
                let statement = message.as_ref().map(read).unwrap_or_default();
                self.advance(&Input::AgentStated { iteration, statement })?;
                // Without tools of its own, what it was denied is in its last lines.
                if let Some(lines) = message.as_ref().filter(|_| last_line_claims) {
                    self.note_denials(lines)?;
                }
            }
            AgentSignal::ToolStarted { input, .. } => self.agents.names_pause_file |= input.contains(PAUSE_FILE),
            AgentSignal::ToolEnded { output, .. } => self.note_denials(output)?,
            AgentSignal::Problem { problem } => self.note_denials(&problem.text)?,
            AgentSignal::WindowUsed { window } => {
                let window = *window;
                if let Some(account) = &self.agent().account {
                    // A report that cannot be kept comes again with the next request.
                    _ = account.keep(WindowSample { at_ms, window });
                }
            }
            // The session is over; its resources are dropped with it.
            AgentSignal::Ended { .. } => self.agents.session = None,
            _ => {}
        }
        Ok(())
    }

    /// Tells the user of what the sandbox has denied.
    fn note_denials(&mut self, output: &str) -> Result<(), DriverError> {
        let Some(scanner) = self.agents.denial_scanner.clone() else {
            return Ok(());
        };
        for notice in scanner.denied(self.agent().adapter.id(), output) {
            self.note(notice)?;
        }
        Ok(())
    }

    /// Shows a signal that was not recorded because the journal has no room for it.
    pub(super) fn show_unrecorded(&self, at_ms: u64, iteration: u32, signal: &AgentSignal, events: &[Event]) {
        let is_record = |event: &Event| matches!(event, Event::Agent(AgentEvent::Reported { .. }));
        let is_answer = matches!(signal, AgentSignal::MessageAnswered { .. } | AgentSignal::Ended { .. });
        if !is_answer && !events.iter().any(is_record) {
            self.hub.publish_detail(at_ms, iteration, signal);
        }
    }
}
