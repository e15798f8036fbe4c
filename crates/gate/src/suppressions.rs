//! Comments and attributes that have a tool pass over a mistake, in the lines that a patch adds.

use std::collections::BTreeMap;

/// Suppressions as they are written for each tool, in lower case.
const SUPPRESSIONS: [&str; 16] = [
    "# noqa",
    "# nosec",
    "# pylint: disable",
    "# pyright: ignore",
    "# type: ignore",
    "pragma: no cover",
    "#[allow(",
    "#![allow(",
    "//nolint",
    "@ts-expect-error",
    "@ts-ignore",
    "@ts-nocheck",
    "biome-ignore",
    "eslint-disable",
    "istanbul ignore",
    "rubocop:disable",
];

/// Returns the suppressions of which a patch adds more than it takes away, with their number.
pub fn added_suppressions(patch: &str) -> BTreeMap<&'static str, u32> {
    let mut found: BTreeMap<&str, i64> = BTreeMap::new();
    for line in patch.lines() {
        let by = match line.as_bytes() {
            [b'+', b'+', b'+', b' ', ..] | [b'-', b'-', b'-', b' ', ..] => continue,
            [b'+', ..] => 1,
            [b'-', ..] => -1,
            _ => continue,
        };
        let line = line.to_lowercase();
        for suppression in SUPPRESSIONS.iter().filter(|suppression| line.contains(**suppression)) {
            *found.entry(suppression).or_default() += by;
        }
    }
    let added = found.into_iter().filter(|(_, count)| *count > 0);
    added
        .map(|(suppression, count)| (suppression, u32::try_from(count).unwrap_or(u32::MAX)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_patch_adds_counts_and_what_it_only_moves_does_not() {
        let patch = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-import a  # noqa: F401\n+import b  # noqa: F401\n+x = 1  # type: ignore[assignment]\n \
                     y  # type: ignore\n--- a/y.ts\n+++ b/y.ts\n+// eslint-disable-next-line no-console\n+// ESLint-disable-line\n";
        let found = Vec::from_iter(added_suppressions(patch));
        assert_eq!(found, [("# type: ignore", 1), ("eslint-disable", 2)]);
        assert!(added_suppressions("").is_empty());
    }
}
