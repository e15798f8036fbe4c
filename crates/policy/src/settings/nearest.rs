//! Finds the name that was probably meant.

/// Minimum similarity, from 0 to 1, for a name to be suggested.
const ALIKE: f64 = 0.85;

/// Finds the name that was probably meant by `unknown`. Dotted names are found at any level.
pub fn closest<'n>(unknown: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|known| (likeness(unknown, known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        // Among equally similar names, the outermost is chosen.
        .max_by(|(a, one), (b, other)| a.total_cmp(b).then(depth(other).cmp(&depth(one))))
        .map(|(_, known)| known)
}

fn depth(path: &str) -> usize {
    path.matches('.').count()
}

fn likeness(unknown: &str, known: &str) -> f64 {
    let (unknown_section, unknown_name) = split(unknown);
    let (known_section, known_name) = split(known);
    let (unknown_name, known_name) = (folded(unknown_name), folded(known_name));
    let names = strsim::jaro_winkler(&unknown_name, &known_name);
    // Swapped letters are a more frequent mistake than missing ones.
    let names = names
        + if sorted(&unknown_name) == sorted(&known_name) {
            0.01
        } else {
            0.0
        };
    // Other sections get a small deduction: an equal name there still scores high, but of equally similar names the one
    // in the same section wins.
    match known_section {
        same if same == unknown_section => names,
        // Names outside of any section are meant more often.
        "" => names - 0.015,
        _ => names - 0.02,
    }
}

fn sorted(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// Removes the differences between `max_iterations`, `max-iterations` and `maxIterations`, which mean the same to
/// users.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}
