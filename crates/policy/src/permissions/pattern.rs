//! The patterns of rules, and matching them against texts with unknown parts.

use super::shell::{BELOW, GLOB, HOLE, possible, takes_value};

/// Most places of a command at which a pattern is compared with the rest of it.
const MOST_PLACES: usize = 64;

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
    /// The words before the first one with a star.
    lead: Vec<String>,
}

impl CommandPattern {
    pub(super) fn new(spec: &str) -> Self {
        let spec = spec.split_whitespace().collect::<Vec<_>>().join(" ");
        let open = spec.strip_suffix(":*").or_else(|| spec.strip_suffix(" *"));
        let text = open.unwrap_or(&spec);
        let lead = text.split(' ').take_while(|word| !word.contains('*'));
        CommandPattern {
            text: text.chars().collect(),
            has_arguments: open.is_some(),
            lead: lead.map(str::to_owned).collect(),
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

    /// The pattern matches a command also behind options before its subcommands.
    pub(super) fn forbids(&self, words: &[String]) -> PatternMatch {
        self.matches(&words.join(" ")).max(self.matches_behind_options(words))
    }

    /// Whether the arguments of an unknown program may be a command that matches. Only its words are compared: a quoted
    /// text is a single word.
    pub(super) fn may_be_in(&self, arguments: &[String]) -> bool {
        let Some(program) = self.lead.first() else { return false };
        let names = |word: &&String| *word == program || word.rsplit('/').next() == Some(program);
        let mut places = arguments.iter().enumerate().filter(|(_, word)| names(word));
        let may_begin = |(at, _): (usize, &String)| {
            let words = [std::slice::from_ref(program), &arguments[at + 1..]].concat();
            // A program without an operand is a name that happens to be the same: `jest rm`.
            let is_name = self.has_arguments && words[1..].iter().all(|word| word.starts_with('-'));
            !is_name && self.forbids(&words) != PatternMatch::No
        };
        places.by_ref().take(MOST_PLACES).any(may_begin) || places.next().is_some()
    }

    fn matches_behind_options(&self, words: &[String]) -> PatternMatch {
        // The number of words that the lead covers so far.
        let mut reached = vec![PatternMatch::No; words.len() + 1];
        reached[0] = PatternMatch::Yes;
        let mut is_open = false;
        for (at, known) in self.lead.iter().enumerate() {
            if at > 0 {
                skip_options(&mut reached, words, at == 1);
            }
            let mut then = vec![PatternMatch::No; words.len() + 1];
            for (place, word) in words
                .iter()
                .enumerate()
                .filter(|(place, _)| reached[*place] != PatternMatch::No)
            {
                then[place + 1] = reached[place].min(word_matches(known, word));
                // A computed word may also be options, or several words.
                is_open |= at > 0 && word.len() == HOLE.len_utf8() && word.starts_with(HOLE);
            }
            reached = then;
        }
        let is_whole = !self.text.contains(&'*');
        let found = match is_whole {
            _ if self.lead.is_empty() => PatternMatch::No,
            true if self.has_arguments => reached.iter().copied().max().unwrap_or(PatternMatch::No),
            true => reached[words.len()],
            false => {
                let mut places = (0..=words.len()).filter(|place| reached[*place] != PatternMatch::No);
                let rests = |place: usize| {
                    let rest = words[place..].iter();
                    let text: Vec<&str> = self.lead.iter().chain(rest).map(String::as_str).collect();
                    reached[place].min(self.matches(&text.join(" ")))
                };
                let best = places.by_ref().take(MOST_PLACES).map(rests).max();
                is_open |= places.next().is_some();
                best.unwrap_or(PatternMatch::No)
            }
        };
        match is_open {
            true => found.max(PatternMatch::Maybe),
            false => found,
        }
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

/// Whether a word is `known`, or could be.
fn word_matches(known: &str, word: &str) -> PatternMatch {
    let characters = |text: &str| text.chars().collect::<Vec<char>>();
    match known == word {
        true => PatternMatch::Yes,
        false if word.contains(HOLE) && sometimes(&characters(known), &characters(word)) => PatternMatch::Maybe,
        false => PatternMatch::No,
    }
}

/// Continues behind options, and behind the words that are their values or may be.
fn skip_options(reached: &mut [PatternMatch], words: &[String], is_global: bool) {
    for (at, word) in words.iter().enumerate() {
        if word.len() < 2 || !word.starts_with(['-', '+']) || reached[at] == PatternMatch::No {
            continue;
        }
        let is_valued = is_global && takes_value(&words[0], word);
        if !is_valued {
            reached[at + 1] = reached[at + 1].max(reached[at]);
        }
        if !word.contains('=') && at + 2 < reached.len() {
            reached[at + 2] = reached[at + 2].max(reached[at]);
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
    /// Whether it is about a directory.
    is_tree: bool,
}

impl PathPattern {
    pub(super) fn new(absolute: &str) -> Self {
        let names = absolute.split('/').filter(|name| !name.is_empty() && *name != ".");
        let mut names: Vec<Vec<char>> = names.map(|name| name.chars().collect()).collect();
        // A path pattern includes everything below it, so a trailing `**` is redundant.
        let is_tree = names.pop_if(|last| last[..] == ['*', '*']).is_some();
        PathPattern { names, is_tree }
    }

    pub(super) fn matches(&self, absolute: &str) -> PatternMatch {
        if let Some((known, _)) = absolute.split_once(HOLE) {
            let known: Vec<&str> = names(known.rsplit_once('/').map_or("", |(directory, _)| directory)).collect();
            return match self.begins_like(&known) {
                true => PatternMatch::Maybe,
                false => PatternMatch::No,
            };
        }
        let path: Vec<&str> = names(absolute).collect();
        match self.covers(&path, PatternMatch::Yes) {
            true => PatternMatch::Yes,
            false if absolute.contains([GLOB, BELOW]) && self.covers(&path, PatternMatch::Maybe) => PatternMatch::Maybe,
            false => PatternMatch::No,
        }
    }

    /// Whether the pattern matches the path or one of its parent directories, or may.
    ///
    /// Only a pattern for a directory may match one of the unknown directories before a name: a search for `*.rs` is no
    /// reason to ask because of `.env`.
    fn covers(&self, path: &[&str], how: PatternMatch) -> bool {
        let open = match how {
            PatternMatch::Yes => None,
            PatternMatch::No | PatternMatch::Maybe => path.iter().position(|name| name.starts_with(BELOW)),
        };
        let fits = |pattern: &[char], at: usize| match (how, open) {
            (PatternMatch::Yes, _) => name_matches(pattern, path[at]),
            (_, Some(open)) if at == open => pattern[0] != '.' || !path[at].ends_with(GLOB),
            // `find` matches hidden names, too.
            (_, Some(open)) if at > open => name_is_possible(pattern, path[at]),
            _ => name_may_match(pattern, path[at]),
        };
        // The numbers of the path's names that the pattern can match so far.
        let mut reached = vec![false; path.len() + 1];
        reached[0] = true;
        for pattern in &self.names {
            let mut then = vec![false; path.len() + 1];
            let any = pattern[..] == ['*', '*'];
            for at in 0..=path.len() {
                let is_here = reached[at] || at > 0 && open == Some(at - 1) && reached[at - 1];
                if !is_here {
                    continue;
                }
                if any {
                    then[at..].fill(true);
                    break;
                }
                if at < path.len() && fits(pattern, at) {
                    then[at + 1] = true;
                    then[at] |= open == Some(at);
                }
            }
            reached = then;
        }
        match open {
            Some(_) if !self.is_tree => reached[path.len()],
            Some(_) | None => reached.contains(&true),
        }
    }

    /// Whether a path that begins with `known` could match.
    fn begins_like(&self, known: &[&str]) -> bool {
        let pairs = self.names.iter().zip(known);
        let mut fixed = pairs.take_while(|(pattern, _)| pattern[..] != ['*', '*']);
        fixed.all(|(pattern, name)| name_matches(pattern, name))
    }
}

fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

fn name_matches(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    always(pattern, &name)
}

/// Whether a name with wildcards of a shell could be one that matches. A shell finds no hidden file by `*`.
fn name_may_match(pattern: &[char], name: &str) -> bool {
    !(pattern.first() == Some(&'.') && name.starts_with(GLOB)) && name_is_possible(pattern, name)
}

fn name_is_possible(pattern: &[char], name: &str) -> bool {
    let name: Vec<char> = name.chars().map(|c| if c == GLOB { HOLE } else { c }).collect();
    sometimes(pattern, &name)
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
