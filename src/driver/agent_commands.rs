//! What an agent tried to command: the user hears of each once, however often it is tried.

use std::collections::BTreeSet;

/// The commands that the agent tried in one iteration.
#[derive(Debug, Default)]
pub(super) struct AgentCommands {
    iteration: u32,
    tried: BTreeSet<&'static str>,
}

impl AgentCommands {
    /// Tells whether `command` was not tried before in `iteration`.
    pub(super) fn is_new(&mut self, iteration: u32, command: &'static str) -> bool {
        if self.iteration != iteration {
            self.iteration = iteration;
            self.tried.clear();
        }
        self.tried.insert(command)
    }
}
