//! Sandbox places in words: why they are writable or unreadable.

use ralph_system::sandbox::Why;

/// The protections that a version of Landlock lacks; empty if it has all that ralph uses.
pub fn lacking_in_words(abi: i32) -> Vec<&'static str> {
    let since = [
        (3, "truncating files that it may not write"),
        (5, "controlling devices that it can open"),
        (6, "signalling your processes"),
        (6, "sockets without a path"),
    ];
    let lacking = since.into_iter().filter(|(version, _)| abi < *version);
    lacking.map(|(_, what)| what).collect()
}

/// Why a place is on a list of the sandbox.
pub fn place_in_words(why: Why) -> &'static str {
    match why {
        Why::Project => "the project",
        Why::Git => "the project's git directory",
        Why::Agent => "the agent's own state",
        Why::Cache => "a cache",
        Why::Private => "a directory in the place of temporary files or of a cache",
        Why::Temporary => "temporary files",
        Why::Device => "a terminal or a device that keeps nothing",
        Why::Credentials => "keys and passwords",
        Why::History => "what was typed",
        Why::OtherAgent => "the state of another agent",
        Why::RalphState => "ralph's own records",
        Why::Setting => "a setting",
        Why::Sealed => "the files of a sealed goal",
    }
}
