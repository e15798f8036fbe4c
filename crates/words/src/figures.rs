//! Numbers in words: counts, durations, changes, usage; lists and commits, shortened.

use ralph_core::{
    event::{Changes, Elsewhere, RepositoryChange, Usage},
    notices::{counted, first_named},
};

/// Maximum number of names that are listed.
const NAMES: usize = 5;
/// Digits of a commit id in messages.
const DIGITS: usize = 10;

/// `2 commits, 5 files, +120 −4`, or `no changes`.
pub fn changes_in_words(changes: &Changes) -> String {
    if *changes == Changes::default() {
        return "no changes".to_owned();
    }
    let commits = counted(u64::from(changes.commits), "commit");
    let files = counted(u64::from(changes.files), "file");
    format!("{commits}, {files}, +{} −{}", changes.added, changes.removed)
}

/// The changes of an iteration: in the project, in repositories inside, and, by the agent's word, where ralph sees nothing.
pub fn all_changes_in_words(changes: &Changes, elsewhere: &Elsewhere) -> String {
    let unseen: Vec<String> = elsewhere.unseen.iter().map(ToString::to_string).collect();
    let unseen = listed(&unseen);
    let mut parts = match (*changes == Changes::default(), elsewhere.unseen.is_empty()) {
        (true, false) => vec![format!("changes only outside of what ralph sees: {unseen}")],
        (false, false) => vec![
            changes_in_words(changes),
            format!("outside of what ralph sees: {unseen}"),
        ],
        (_, true) => vec![changes_in_words(changes)],
    };
    parts.extend(nested_in_words(elsewhere));
    parts.join("; ")
}

/// `lib: 2 commits, 1 file, +3 −0`, for each repository inside the project in which an iteration worked.
fn nested_in_words(elsewhere: &Elsewhere) -> Vec<String> {
    let each = elsewhere.nested.iter().map(|nested| {
        let what = match &nested.change {
            RepositoryChange::Appeared => "a new repository".to_owned(),
            RepositoryChange::Vanished => "the repository is gone".to_owned(),
            RepositoryChange::Changed { changes } => changes_in_words(changes),
        };
        format!("{}: {what}", nested.path)
    });
    each.collect()
}

/// `12.3k tokens in, 900 out, $0.0420`; `None` if the agent reported no usage.
pub fn usage_in_words(usage: &Usage) -> Option<String> {
    let parts = [
        usage
            .input_tokens
            .map(|tokens| format!("{} tokens in", short_count(tokens))),
        usage.output_tokens.map(|tokens| format!("{} out", short_count(tokens))),
        cost_in_words(usage),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// `$0.04`, or `≈$0.04` if it is estimated; `None` if the cost is unknown.
pub fn cost_in_words(usage: &Usage) -> Option<String> {
    let mark = if usage.estimated { "≈" } else { "" };
    usage.cost_usd.map(|cost| match cost > 0.0 && cost < 0.005 {
        // A cost is never shown as nothing.
        true => format!("{mark}<$0.01"),
        false => format!("{mark}${cost:.2}"),
    })
}

/// `950`, `12.3k`, `4.1M`.
#[allow(clippy::cast_precision_loss)]
pub fn short_count(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..1_000_000 => format!("{:.1}k", count as f64 / 1e3),
        1_000_000.. => format!("{:.1}M", count as f64 / 1e6),
    }
}

/// The date of a moment a day or more ahead, as a prefix for its time of day: `Nov 27 `. Empty for nearer moments.
///
/// `offset_s` is the offset of the user's time zone from UTC, in seconds.
pub fn date_ahead(at_ms: u64, now_ms: u64, offset_s: i64) -> String {
    const DAY_MS: u64 = 86_400_000;
    if at_ms < now_ms.saturating_add(DAY_MS) {
        return String::new();
    }
    let local_ms = i64::try_from(at_ms)
        .unwrap_or(i64::MAX)
        .saturating_add(offset_s.saturating_mul(1000));
    jiff::Timestamp::from_millisecond(local_ms)
        .map(|local| local.strftime("%b %-d ").to_string())
        .unwrap_or_default()
}

/// A running duration in seconds: `0:07`, `12:41`, `1:05:00`.
pub fn ticking(duration_ms: u64) -> String {
    let seconds = duration_ms / 1000;
    match seconds {
        0..3600 => format!("{}:{:02}", seconds / 60, seconds % 60),
        3600.. => format!("{}:{:02}:{:02}", seconds / 3600, seconds % 3600 / 60, seconds % 60),
    }
}

/// Names, of which the first few are written out.
pub fn listed(names: &[String]) -> String {
    first_named(names.iter(), NAMES, ", ")
}

/// The beginning of a commit's id.
pub(super) fn short(commit: &str) -> &str {
    commit.get(..DIGITS).unwrap_or(commit)
}

#[cfg(test)]
mod tests {
    use ralph_core::event::NestedWork;

    use super::*;
    use crate::{short_duration, size_in_words};

    #[test]
    fn work_that_is_not_in_the_projects_files_is_named() {
        let changes = Changes {
            commits: 2,
            files: 1,
            added: 3,
            removed: 0,
        };
        let nested = |path: &str, change| NestedWork {
            path: path.into(),
            change,
        };
        let elsewhere = |nested: &[NestedWork], unseen: &[&str]| Elsewhere {
            nested: nested.to_vec().into(),
            unseen: unseen.iter().map(|path| (*path).into()).collect(),
        };
        let none = Changes::default();
        for (changes, elsewhere, says) in [
            (none, elsewhere(&[], &[]), "no changes"),
            (
                changes,
                elsewhere(&[nested("lib", RepositoryChange::Changed { changes })], &[]),
                "2 commits, 1 file, +3 −0; lib: 2 commits, 1 file, +3 −0",
            ),
            (
                none,
                elsewhere(&[], &["/a", "b"]),
                "changes only outside of what ralph sees: /a, b",
            ),
            (
                changes,
                elsewhere(&[nested("new", RepositoryChange::Appeared)], &["/a"]),
                "2 commits, 1 file, +3 −0; outside of what ralph sees: /a; new: a new repository",
            ),
        ] {
            assert_eq!(all_changes_in_words(&changes, &elsewhere), says);
        }
    }

    #[test]
    fn a_moment_that_is_a_day_away_has_its_date_on_the_users_clock() {
        // 2026-11-20T10:00:00Z
        const NOW_MS: u64 = 1_795_168_800_000;
        const HOUR_MS: u64 = 3_600_000;
        let ahead = |hours: u64, offset_s| date_ahead(NOW_MS + hours * HOUR_MS, NOW_MS, offset_s);
        assert_eq!(ahead(23, 0), "");
        assert_eq!(ahead(24, 0), "Nov 21 ");
        assert_eq!(ahead(24 * 3 + 13, 0), "Nov 23 ");
        assert_eq!(ahead(24 * 3 + 13, 2 * 3_600), "Nov 24 ");
        assert_eq!(date_ahead(NOW_MS - HOUR_MS, NOW_MS, 0), "");
        assert_eq!(date_ahead(u64::MAX, NOW_MS, 0), "");
    }

    #[test]
    fn durations_keep_two_units() {
        let shown: Vec<String> = [0, 430, 9_960, 26_900, 192_000, 3_900_000]
            .into_iter()
            .map(short_duration)
            .collect();
        assert_eq!(shown, ["0.0s", "0.4s", "10.0s", "26s", "3m12s", "1h05m"]);
    }

    #[test]
    fn sizes_are_told_in_units_of_their_magnitude() {
        let shown = [1, 999, 4096, 3 << 20, 12_595 << 20].map(size_in_words);
        assert_eq!(shown, ["1 byte", "999 bytes", "4 KiB", "3 MiB", "12.3 GiB"]);
    }

    #[test]
    fn counts_are_shortened_from_a_thousand_on() {
        assert_eq!([999, 12_345, 4_100_000].map(short_count), ["999", "12.3k", "4.1M"]);
    }

    #[test]
    fn unknown_usage_is_not_shown_as_zero() {
        assert_eq!(usage_in_words(&Usage::default()), None);
        let usage = Usage {
            output_tokens: Some(0),
            ..Usage::default()
        };
        assert_eq!(usage_in_words(&usage).as_deref(), Some("0 out"));
    }

    #[test]
    fn a_cost_that_no_agent_reported_is_marked() {
        let usage = |estimated| Usage {
            cost_usd: Some(0.25),
            estimated,
            ..Usage::default()
        };
        assert_eq!(cost_in_words(&usage(false)).as_deref(), Some("$0.25"));
        assert_eq!(cost_in_words(&usage(true)).as_deref(), Some("≈$0.25"));
        assert_eq!(usage_in_words(&usage(true)).as_deref(), Some("≈$0.25"));
        assert_eq!(cost_in_words(&Usage::default()), None);
        let little = |cost_usd| Usage {
            cost_usd: Some(cost_usd),
            ..Usage::default()
        };
        assert_eq!(cost_in_words(&little(0.003)).as_deref(), Some("<$0.01"));
        assert_eq!(cost_in_words(&little(0.0)).as_deref(), Some("$0.00"));
    }
}
