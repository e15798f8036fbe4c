//! Cuts texts and lists to a maximum size.

use super::List;

/// Maximum size of a single text from an agent in a record, in bytes.
pub const TEXT_CAP_BYTES: usize = 4096;

/// Maximum number of entries in a list of reasons, hints or parts.
pub const LIST_CAP: usize = 100;

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

/// Maximum number of entries of a list that ends with the number of those left out.
pub const REASONS: usize = LIST_CAP + 1;

/// Cuts a list to [`LIST_CAP`] entries; `more` creates an entry for the rest.
pub(crate) fn listed<T>(mut facts: Vec<T>, more: fn(u64) -> T) -> List<T, REASONS> {
    let left_out = facts.len().saturating_sub(LIST_CAP);
    facts.truncate(LIST_CAP);
    facts.extend((left_out > 0).then(|| more(left_out as u64)));
    facts.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_across_the_cut_is_left_out() {
        for (cap_bytes, beginning, end) in [
            (9, "€ […]", "[…] €"),
            (10, "€ […]", "[…] €"),
            (11, "€ […]", "[…] €"),
            (12, "€€ […]", "[…] €€"),
        ] {
            assert_eq!(clip("€€€€€", cap_bytes), beginning, "{cap_bytes} bytes");
            assert_eq!(clip_start("€€€€€", cap_bytes), end, "{cap_bytes} bytes");
        }
    }

    #[test]
    fn a_long_list_ends_with_the_number_of_entries_left_out() {
        let listed = |count| listed(vec!["reason".to_owned(); count], |more| format!("{more} more"));
        assert_eq!(listed(LIST_CAP).len(), LIST_CAP);
        assert_eq!(listed(LIST_CAP).last().expect("an entry"), "reason");
        assert_eq!(listed(LIST_CAP + 3).len(), REASONS);
        assert_eq!(listed(LIST_CAP + 3).last().expect("an entry"), "3 more");
    }
}
