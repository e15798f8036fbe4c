//! Commands that an agent tried to give: the user is told once of each kind in an iteration.

use std::collections::BTreeSet;

/// The commands that the agent tried in one iteration.
#[derive(Debug, Default)]
pub(super) struct AgentCommands {
    iteration: u32,
    tried: BTreeSet<&'static str>,
}

impl AgentCommands {
    /// Whether `command` was not tried before in `iteration`. Remembers it.
    pub(super) fn is_new(&mut self, iteration: u32, command: &'static str) -> bool {
        if self.iteration != iteration {
            self.iteration = iteration;
            self.tried.clear();
        }
        self.tried.insert(command)
    }
}
