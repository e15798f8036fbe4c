//! Hints for flags of other loops, read from the page of the guide that says what they are here.

const PAGE: &str = include_str!("../../docs/guide/other-loops.md");

/// Returns what `flag` of other loops is here, for each loop that has another meaning for it.
pub(super) fn hints(flag: &str) -> Vec<String> {
    let mut loop_name = "";
    let mut found: Vec<(&str, String)> = Vec::new();
    for line in PAGE.lines() {
        loop_name = line.strip_prefix("## ").unwrap_or(loop_name);
        let mut cells = line.split('|').skip(1).map(str::trim);
        let (Some(there), Some(here)) = (cells.next(), cells.next()) else {
            continue;
        };
        let mut quoted = there.split('`').skip(1).step_by(2);
        if quoted.any(|code| code.split([' ', '=']).next() == Some(flag)) {
            let here = without_links(here);
            if !found.iter().any(|(_, known)| *known == here) {
                found.push((loop_name, here));
            }
        }
    }
    let hint = |(loop_name, here)| format!("`{flag}` of {loop_name} is here: {here}");
    found.into_iter().map(hint).collect()
}

/// The text of a cell, in which links are their words.
fn without_links(cell: &str) -> String {
    let mut parts = cell.split("](");
    let first = parts.next().unwrap_or_default().replace('[', "");
    parts.fold(first, |text, part| {
        let (_, rest) = part.split_once(')').unwrap_or(("", part));
        text + &rest.replace('[', "")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_flag_of_the_page_has_a_hint_with_what_it_is_here() {
        for (flag, expected) in [
            ("--monitor", "`--monitor` of ralph-claude-code is here: `ralph`"),
            ("--status", "`--status` of ralph-claude-code is here: `ralph status`"),
            (
                "--timeout",
                "`--timeout` of lisa is here: `ralph --iteration-timeout 600s`",
            ),
            (
                "--no-continue",
                "`--no-continue` of ralph-claude-code is here: `ralph --session fresh`",
            ),
            (
                "--allowed-tools",
                "`--allowed-tools` of ralph-claude-code is here: `ralph permissions` shows the rules there are here",
            ),
        ] {
            assert!(
                hints(flag).iter().any(|hint| hint == expected),
                "{flag}: {:?}",
                hints(flag)
            );
        }
        assert_eq!(hints("--calls").len(), 2);
        assert!(hints("--frobnicate").is_empty() && hints("ralph").is_empty());
    }
}
