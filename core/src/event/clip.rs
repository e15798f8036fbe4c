//! Cuts texts and lists to a maximum size.

/// Maximum size of a single text from an agent in a record, in bytes.
pub const TEXT_CAP_BYTES: usize = 4096;

/// Maximum number of entries in a list of reasons, hints or parts.
pub(super) const LIST_CAP: usize = 100;

const MARK: &str = "[…]";

/// Cuts `text` to at most `cap_bytes`, at a character boundary, and marks the cut.
pub fn clip(text: &str, cap_bytes: usize) -> String {
    if text.len() <= cap_bytes {
        return text.to_owned();
    }
    let mut end = cap_bytes.saturating_sub(MARK.len() + 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{} {MARK}", &text[..end])
}

/// Cuts `text` to [`TEXT_CAP_BYTES`].
pub(super) fn cut(text: &str) -> String {
    clip(text, TEXT_CAP_BYTES)
}

/// Cuts `text` to its last `cap_bytes` bytes at most, at a character boundary, and marks the cut.
pub fn clip_start(text: &str, cap_bytes: usize) -> String {
    if text.len() <= cap_bytes {
        return text.to_owned();
    }
    let mut start = text.len() - cap_bytes.saturating_sub(MARK.len() + 1);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    format!("{MARK} {}", &text[start..])
}

/// Cuts `text` to at most `cap_bytes`, keeping its beginning and its end in equal parts.
pub fn clip_middle(text: &str, cap_bytes: usize) -> String {
    if text.len() <= cap_bytes {
        return text.to_owned();
    }
    let half = cap_bytes / 2;
    format!("{}\n{}", clip(text, half - 1), clip_start(text, half))
}

/// Cuts a list to [`LIST_CAP`] entries; `more` creates an entry for the rest.
pub(super) fn listed<T>(mut facts: Vec<T>, bounded: fn(T) -> T, more: fn(u64) -> T) -> Vec<T> {
    let left_out = facts.len().saturating_sub(LIST_CAP);
    facts.truncate(LIST_CAP);
    let mut listed: Vec<T> = facts.into_iter().map(bounded).collect();
    if left_out > 0 {
        listed.push(more(left_out as u64));
    }
    listed
}
