//! A minimal line diff of two texts.

/// The changed lines between the common beginning and the common end of two texts, and the number of common lines at
/// the beginning.
pub(super) fn difference(old: &str, new: &str) -> (usize, Vec<String>) {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let alike = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[alike..], &new[alike..]);
    let ends = old
        .iter()
        .rev()
        .zip(new.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let removed = old[..old.len() - ends].iter().map(|line| format!("-{line}"));
    let added = new[..new.len() - ends].iter().map(|line| format!("+{line}"));
    (alike, removed.chain(added).collect())
}
