//! The patterns of rules, and matching them against texts with unknown parts.

use super::shell::{HOLE, possible};

/// The result of matching a text with unknown parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PatternMatch {
    No,
    /// The result depends on values computed when the command runs.
    Maybe,
    Yes,
}

/// A pattern for commands.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CommandPattern {
    text: Vec<char>,
    /// Whether it ends with ` *`: any arguments, or none.
    has_arguments: bool,
}

impl CommandPattern {
    pub(super) fn new(spec: &str) -> Self {
        let spec = spec.split_whitespace().collect::<Vec<_>>().join(" ");
        let open = spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *"));
        CommandPattern {
            text: open.unwrap_or(&spec).chars().collect(),
            has_arguments: open.is_some(),
        }
    }

    /// Whether the pattern names its program.
    pub(super) fn names_a_program(&self) -> bool {
        self.text.first().is_some_and(|first| *first != '*')
    }

    /// Whether the pattern matches a single command only.
    pub(super) fn is_exact(&self) -> bool {
        !self.has_arguments && !self.text.contains(&'*')
    }

    pub(super) fn matches(&self, command: &str) -> PatternMatch {
        let with = |text: &str, fits: fn(&[char], &[char]) -> bool| {
            let text: Vec<char> = text.chars().collect();
            let arguments = [&self.text[..], &[' ', '*']].concat();
            fits(&self.text, &text) || self.has_arguments && fits(&arguments, &text)
        };
        if with(command, always) {
            return PatternMatch::Yes;
        }
        match command.contains(HOLE) && (with(command, sometimes) || with(&possible(command), sometimes)) {
            true => PatternMatch::Maybe,
            false => PatternMatch::No,
        }
    }
}

/// Whether `text` matches `pattern` for any content of its holes.
fn always(pattern: &[char], text: &[char]) -> bool {
    let (mut at, mut from) = (0, 0);
    // The last star, and the end of the text that it covers so far.
    let mut star: Option<(usize, usize)> = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(known) if *known == text[from] => {
                at += 1;
                from += 1;
            }
            _ => match star {
                Some((last, end)) => {
                    star = Some((last, end + 1));
                    at = last + 1;
                    from = end + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

/// Whether `text` matches `pattern` for some content of its holes.
fn sometimes(pattern: &[char], text: &[char]) -> bool {
    // Nearly all pairs already differ at the beginning.
    let known = pattern.iter().zip(text).take_while(|(a, b)| **a != '*' && **b != HOLE);
    if known.into_iter().any(|(a, b)| a != b) {
        return false;
    }
    // The positions in the text that are reachable after each character of the pattern.
    let mut reached = vec![false; text.len() + 1];
    reached[0] = true;
    skip_holes(&mut reached, text);
    for next in pattern {
        let mut then = vec![false; text.len() + 1];
        for at in (0..=text.len()).filter(|at| reached[*at]) {
            match text.get(at) {
                _ if *next == '*' => then[at..].fill(true),
                Some(&HOLE) => then[at] = true,
                Some(known) if known == next => then[at + 1] = true,
                Some(_) | None => {}
            }
            if *next == '*' {
                break;
            }
        }
        skip_holes(&mut then, text);
        reached = then;
    }
    reached[text.len()]
}

/// A hole may be empty, or end after what it has matched.
fn skip_holes(reached: &mut [bool], text: &[char]) {
    for at in 0..text.len() {
        if reached[at] && text[at] == HOLE {
            reached[at + 1] = true;
        }
    }
}

/// A pattern for absolute paths: `*` within a name, `**` across names. It also matches everything below a match.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PathPattern {
    names: Vec<Vec<char>>,
}

impl PathPattern {
    pub(super) fn new(absolute: &str) -> Self {
        let names = absolute.split('/').filter(|name| !name.is_empty() && *name != ".");
        let mut names: Vec<Vec<char>> = names.map(|name| name.chars().collect()).collect();
        // A path pattern includes everything below it, so a trailing `**` is redundant.
        if names.last().is_some_and(|last| last[..] == ['*', '*']) {
            names.pop();
        }
        PathPattern { names }
    }

    pub(super) fn matches(&self, absolute: &str) -> PatternMatch {
        if let Some((known, _)) = absolute.split_once(HOLE) {
            let known: Vec<&str> = names(known.rsplit_once('/').map_or("", |(directory, _)| directory)).collect();
            return match self.begins_like(&known) {
                true => PatternMatch::Maybe,
                false => PatternMatch::No,
            };
        }
        match self.covers(&names(absolute).collect::<Vec<_>>()) {
            true => PatternMatch::Yes,
            false => PatternMatch::No,
        }
    }

    /// Whether the pattern matches the path or one of its parent directories.
    fn covers(&self, path: &[&str]) -> bool {
        // The numbers of the path's names that the pattern can match so far.
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for pattern in &self.names {
            let mut then = vec![false; path.len() + 1];
            let any = pattern[..] == ['*', '*'];
            for at in (0..=path.len()).filter(|at| reached[*at]) {
                if any {
                    then[at..].fill(true);
                    break;
                }
                if path.get(at).is_some_and(|name| name_matches(pattern, name)) {
                    then[at + 1] = true;
                }
            }
            reached = then;
        }
        reached.contains(&true)
    }

    /// Whether a path that begins with `known` could match.
    fn begins_like(&self, known: &[&str]) -> bool {
        let pairs = self.names.iter().zip(known);
        let mut fixed = pairs.take_while(|(pattern, _)| pattern[..] != ['*', '*']);
        fixed.all(|(pattern, name)| name_matches(pattern, name))
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty())
}

fn name_matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    always(pattern, &name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_of_commands_ends_at_a_word() {
        for (pattern, command, expected) in [
            ("git push *", "git push", PatternMatch::Yes),
            ("git push:*", "git push origin", PatternMatch::Yes),
            ("git push *", "git pushed", PatternMatch::No),
            ("git push*", "git pushed", PatternMatch::Yes),
            ("git push", "git push origin", PatternMatch::No),
            ("* --force", "git push --force", PatternMatch::Yes),
            ("git * main", "git push origin main", PatternMatch::Yes),
            ("git  push", "git push", PatternMatch::Yes),
        ] {
            assert_eq!(
                CommandPattern::new(pattern).matches(command),
                expected,
                "{pattern} {command}"
            );
        }
    }

    #[test]
    fn what_is_not_known_may_match() {
        for (pattern, command, expected) in [
            ("git push *", "git \0", PatternMatch::Maybe),
            ("git push *", "git \0 origin", PatternMatch::Maybe),
            ("git push *", "git \0 push", PatternMatch::Maybe),
            ("git push *", "git pu\0", PatternMatch::Maybe),
            ("git push *", "git push \0", PatternMatch::Yes),
            ("git push *", "git commit \0", PatternMatch::No),
            ("git push *", "\0", PatternMatch::Maybe),
            ("npm run *", "npm run \0", PatternMatch::Yes),
            ("rm *.o", "rm \0", PatternMatch::Maybe),
        ] {
            assert_eq!(
                CommandPattern::new(pattern).matches(command),
                expected,
                "{pattern} {command:?}"
            );
        }
    }

    #[test]
    fn a_pattern_of_paths_covers_what_is_below() {
        for (pattern, path, expected) in [
            ("/p/src/**", "/p/src/a/b.rs", PatternMatch::Yes),
            ("/p/src/**", "/p/src", PatternMatch::Yes),
            ("/p/src", "/p/src/a", PatternMatch::Yes),
            ("/p/src/*.rs", "/p/src/a.rs", PatternMatch::Yes),
            ("/p/src/*.rs", "/p/src/a/b.rs", PatternMatch::No),
            ("/p/**/b.rs", "/p/b.rs", PatternMatch::Yes),
            ("/p/**/b.rs", "/p/x/y/b.rs", PatternMatch::Yes),
            ("/p/src", "/p/source", PatternMatch::No),
            ("/", "/etc/passwd", PatternMatch::Yes),
            ("/p/src/**", "/p/\0", PatternMatch::Maybe),
            ("/p/src/**", "\0/x", PatternMatch::Maybe),
            ("/p/src/**", "/q/\0", PatternMatch::No),
        ] {
            assert_eq!(PathPattern::new(pattern).matches(path), expected, "{pattern} {path:?}");
        }
    }
}
