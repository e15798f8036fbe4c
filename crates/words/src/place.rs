//! Sandbox places in words: why they are writable or unreadable.

use ralph_system::sandbox::ListingReason;

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
pub fn place_in_words(why: ListingReason) -> &'static str {
    match why {
        ListingReason::Project => "the project",
        ListingReason::Git => "the project's git directory",
        ListingReason::Agent => "the agent's own state",
        ListingReason::Cache => "a cache",
        ListingReason::Private => "a directory in the place of temporary files or of a cache",
        ListingReason::Temporary => "temporary files",
        ListingReason::Device => "a terminal or a device that keeps nothing",
        ListingReason::RawDevice => "a disk, the machine's memory, a keyboard or a console",
        ListingReason::Credentials => "keys and passwords",
        ListingReason::History => "shell history",
        ListingReason::OtherAgent => "the state of another agent",
        ListingReason::RalphState => "ralph's own records",
        ListingReason::Setting => "a setting",
        ListingReason::Sealed => "the files of a sealed goal",
    }
}
