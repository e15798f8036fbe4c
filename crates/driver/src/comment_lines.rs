//! Looks up the lines of a comment that names one by its number, before the loop takes the comment.

use std::sync::Arc;

use ralph_core::{
    event::{RequestedBy, UserCommand},
    machine::Input,
};
use ralph_state::control::{ClientRole, ControlRequest};
use ralph_system::diagnostics::inherited;
use tokio::task::spawn_blocking;

use super::{
    comments::{CommentedFiles, IterationResult, filled},
    run::{Driver, DriverError},
    tools::{CommentWithLines, OffLoopResult, ReplySender},
};

impl Driver {
    /// Looks up the lines of a comment off the loop, since git may take its time.
    pub(super) fn find_lines(&self, command: UserCommand, by: RequestedBy, reply: Option<ReplySender>) {
        let (jobs, found) = (Arc::clone(&self.jobs), self.tools.calls.found_in.clone());
        let iteration = match &command {
            UserCommand::WriteComment { place, .. } => place.iteration,
            _ => None,
        };
        let result = IterationResult::find(&self.state().view, iteration);
        tokio::spawn(async move {
            let look = inherited(move || {
                let files = CommentedFiles {
                    project: jobs.paths.project(),
                    repository: jobs.repository.as_deref(),
                };
                filled(command, |place| files.quoted(place, &result))
            });
            let Ok(command) = spawn_blocking(look).await else {
                return;
            };
            let lines = CommentWithLines { command, by, reply };
            _ = found.send(OffLoopResult::Lines(lines)).await; // the run is over
        });
    }

    /// Carries out a command once its lines were looked up. Without them it is refused.
    pub(super) fn lines_found(&mut self, found: CommentWithLines) -> Result<(), DriverError> {
        let CommentWithLines { command, by, reply } = found;
        if let Some(reply) = reply {
            let answer = self.answer(ControlRequest::Command { command }, ClientRole::User)?;
            _ = reply.send(answer); // the client may have gone
            return Ok(());
        }
        match command.refusal() {
            Some(refusal) => self.refuse_command(refusal),
            None => self.advance(&Input::Command { command, by }).map(drop),
        }
    }
}
