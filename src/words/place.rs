//! Why a place may be written or cannot be read, in words.

use crate::sandbox::Why;

/// Why a place is on a list of the sandbox.
pub fn place_in_words(why: Why) -> &'static str {
    match why {
        Why::Project => "the project",
        Why::Git => "the project's git directory",
        Why::Agent => "the agent's own state",
        Why::Cache => "a cache",
        Why::Temporary => "temporary files",
        Why::Device => "a terminal or a device that keeps nothing",
        Why::Credentials => "keys and passwords",
        Why::OtherAgent => "the state of another agent",
        Why::RalphState => "ralph's own records",
        Why::Setting => "a setting",
    }
}
