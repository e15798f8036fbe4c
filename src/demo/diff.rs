//! The line-by-line difference of two short texts.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DiffLine<'a> {
    Kept(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

/// The shortest edit from `before` to `after`, by their longest common subsequence. Quadratic, for texts of a page or
/// two.
pub(super) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    // common[i][j]: length of the longest common subsequence of old[i..] and new[j..].
    let mut common = vec![vec![0usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut out = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            out.push(DiffLine::Kept(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            out.push(DiffLine::Removed(old[i]));
            i += 1;
        } else {
            out.push(DiffLine::Added(new[j]));
            j += 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_removed_and_added_lines_are_told_apart() {
        use DiffLine::{Added, Kept, Removed};
        assert_eq!(
            lines("a\nb\nc\n", "a\nx\nc\nd\n"),
            [Kept("a"), Removed("b"), Added("x"), Kept("c"), Added("d")]
        );
        assert_eq!(lines("", "a"), [Added("a")]);
        assert_eq!(lines("a", ""), [Removed("a")]);
    }
}
