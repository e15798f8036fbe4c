//! The name that was probably meant.

/// How alike names have to be, from 0 to 1, for one to be offered in place of the other.
const ALIKE: f64 = 0.85;

/// Finds the name that somebody who wrote `unknown` probably meant; dotted names are found at whatever level they are.
pub fn closest<'n>(unknown: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    names
        .into_iter()
        .map(|known| (likeness(unknown, known), known))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        // Of names that are as near as each other the outermost is meant.
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
    // Letters are swapped more often than left out.
    let names = names
        + if sorted(&unknown_name) == sorted(&known_name) {
            0.01
        } else {
            0.0
        };
    // The same name elsewhere is near, a like name in the same place is nearer than one elsewhere.
    match known_section {
        same if same == unknown_section => names,
        // What stands in no section is meant more often.
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

/// `max_iterations`, `max-iterations` and `maxIterations` differ in nothing a person would mean.
fn folded(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect()
}
