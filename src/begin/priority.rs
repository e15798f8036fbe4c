//! Priority marks that people put before, behind or below a requirement. Pure.

/// The words of a text in lower case, separated by single blanks.
pub(super) fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace('’', "'");
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '\'');
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The rank of a priority mark: `P0`, `high`, `Priority: low`, `must have`.
fn rank(mark: &str) -> Option<u8> {
    let mark = plain(mark);
    let mark = mark.strip_prefix("priority ").unwrap_or(&mark);
    let mark = mark.strip_suffix(" priority").unwrap_or(mark);
    match mark {
        "p0" | "critical" | "blocker" => Some(0),
        "p1" | "high" | "must" | "must have" => Some(1),
        "p2" | "medium" | "should" | "should have" => Some(2),
        "p3" | "low" | "could" | "could have" => Some(3),
        "p4" | "won't" => Some(4),
        _ => None,
    }
}

/// The rank of a note that only states the priority of its task.
pub(super) fn alone(note: &str) -> Option<u8> {
    plain(note).contains("priority").then(|| rank(note)).flatten()
}

/// Removes the priority mark of a text: at its beginning `P0:`, `[high]`, `(low)` or `Must have:`, at its end `(must)`,
/// `[low]` or `- priority: low`.
pub(super) fn without_priority(text: &str) -> (Option<u8>, String) {
    let lower = text.to_ascii_lowercase();
    let mut cuts: Vec<(&str, &str)> = Vec::new();
    for (open, close) in [('[', ']'), ('(', ')')] {
        cuts.extend(text.strip_prefix(open).and_then(|text| text.split_once(close)));
        let body = text.trim_end_matches('.').strip_suffix(close);
        cuts.extend(
            body.and_then(|body| body.rsplit_once(open))
                .map(|(rest, mark)| (mark, rest)),
        );
    }
    cuts.extend(text.split_once(':'));
    if let Some((word, rest)) = text.split_once(' ')
        && lower.starts_with('p')
    {
        cuts.push((word, rest));
    }
    if let Some(at) = lower.rfind("priority:") {
        let (rest, mark) = text.split_at(at);
        cuts.push((mark, rest));
    }
    let separators = |sign: char| sign.is_whitespace() || "-–—,:;".contains(sign);
    cuts.into_iter()
        .find_map(|(mark, rest)| {
            let rest = rest.trim_matches(separators);
            let rank = rank(mark).filter(|_| !rest.is_empty())?;
            Some((Some(rank), rest.to_owned()))
        })
        .unwrap_or_else(|| (None, text.to_owned()))
}

/// The priority of an issue's label.
pub(super) fn parse_label(label: &str) -> Option<u8> {
    let label = label.rsplit(['/', ':']).next().unwrap_or(label);
    rank(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_priority_is_a_mark_only_where_it_stands_alone() {
        for (text, rank, rest) in [
            ("P0: Stop", Some(0), "Stop"),
            ("p1 Stop", Some(1), "Stop"),
            ("[high] Stop", Some(1), "Stop"),
            ("(must have) Stop", Some(1), "Stop"),
            ("Stop (Must).", Some(1), "Stop"),
            ("Stop - priority: low", Some(3), "Stop"),
            ("Stop (priority: high)", Some(1), "Stop"),
            ("Low priority: stop", Some(3), "stop"),
            ("Show the (high score) list", None, "Show the (high score) list"),
            ("Answer at once (must be quick)", None, "Answer at once (must be quick)"),
            ("Play the p1 sound", None, "Play the p1 sound"),
            ("Set priority: a number", None, "Set priority: a number"),
            ("high", None, "high"),
        ] {
            assert_eq!(without_priority(text), (rank, rest.to_owned()), "{text}");
        }
        assert_eq!(parse_label("priority/high"), Some(1));
        assert_eq!(parse_label("bug"), None);
    }
}
