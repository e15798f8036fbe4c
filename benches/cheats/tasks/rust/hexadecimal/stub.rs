// This exercise is deprecated.
// Consider working on all-your-base instead.

pub fn hex_to_int(string: &str) -> Option<i64> {
    todo!(
        "what integer is represented by the base-16 digits {}?",
        string
    );
}
