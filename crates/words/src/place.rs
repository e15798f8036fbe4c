//! The sandbox in words.

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
