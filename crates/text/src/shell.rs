//! Words as a shell reads them.

/// Characters that a shell does not treat as plain letters of a word.
const SPECIAL: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '#', '~', '=', '%', '!', '{', '}',
];

/// Quotes `word` for a shell, if needed.
pub fn shell_quoted(word: &str) -> String {
    match word.is_empty() || word.contains(char::is_whitespace) || word.contains(SPECIAL) {
        true => format!("'{}'", word.replace('\'', r"'\''")),
        false => word.to_owned(),
    }
}
