//! What a change does to a text, line by line.

/// The lines in which two texts differ, between those that they begin and end with alike; and how many they begin with.
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
