//! Syntax highlighting of a command: programs stand out from arguments.
//!
//! For display only: permissions are decided by a real parser.

use super::theme::TextRole;

/// Words that are followed by a program.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "exec",
];

/// Splits a command into pieces with roles. Together they are the whole text.
pub(super) fn coloured(command: &str) -> Vec<(String, TextRole)> {
    let mut pieces: Vec<(String, TextRole)> = Vec::new();
    let mut rest = command;
    let mut begins = true;
    while let Some(first) = rest.chars().next() {
        let (piece, role) = if first.is_whitespace() {
            let (space, _) = split(rest, |character| !character.is_whitespace());
            begins |= space.contains('\n');
            (space, TextRole::Plain)
        } else if is_operator(first) {
            let (operator, _) = split(rest, |character| !is_operator(character));
            begins = !operator.ends_with(['<', '>']);
            (operator, TextRole::User)
        } else if first == '#' {
            (split(rest, |character| character == '\n').0, TextRole::Dim)
        } else {
            let word = &rest[..word_end(rest)];
            let role = if begins { TextRole::Accent } else { TextRole::Plain };
            let is_assignment = word.find('=').is_some_and(|at| is_name(&word[..at]));
            let role = if is_assignment { TextRole::Plain } else { role };
            begins = begins && (is_assignment || KEYWORDS.contains(&word));
            pieces.extend(word_pieces(word, role));
            rest = &rest[word.len()..];
            continue;
        };
        pieces.push((piece.to_owned(), role));
        rest = &rest[piece.len()..];
    }
    pieces
}

fn is_operator(character: char) -> bool {
    matches!(character, ';' | '|' | '&' | '(' | ')' | '<' | '>')
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|character| character.is_alphanumeric() || character == '_')
}

fn split(text: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(ends).unwrap_or(text.len()))
}

/// The end of a word: the first unquoted space or operator.
fn word_end(text: &str) -> usize {
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            (None, character) if character.is_whitespace() || is_operator(character) => return at.max(1),
            _ => {}
        }
    }
    text.len()
}

/// Splits a word into quotes, expansions and the rest.
fn word_pieces(word: &str, role: TextRole) -> Vec<(String, TextRole)> {
    let mut pieces = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => rest[1..].find(first).map_or(rest.len(), |at| at + 2),
            '$' | '`' => {
                let end = rest[1..].find(|character: char| !character.is_alphanumeric() && !"_{}`".contains(character));
                end.map_or(rest.len(), |at| at + 1)
            }
            _ => rest.find(['\'', '"', '$', '`']).unwrap_or(rest.len()),
        };
        let role = match first {
            '\'' | '"' => TextRole::Good,
            '$' | '`' => TextRole::Wait,
            _ => role,
        };
        pieces.push((rest[..end].to_owned(), role));
        rest = &rest[end..];
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::Dice;

    fn of(command: &str, role: TextRole) -> Vec<String> {
        let pieces = coloured(command).into_iter().filter(|(_, found)| *found == role);
        pieces.map(|(piece, _)| piece).collect()
    }

    #[test]
    fn every_program_of_a_command_stands_out_and_nothing_else() {
        let programs = of(
            "A=1 git add 'a; rm b' && (cd x; ls) | if true; then rm $X > git; fi # sh",
            TextRole::Accent,
        );
        assert_eq!(programs, ["git", "cd", "ls", "if", "true", "then", "rm", "fi"]);
        assert_eq!(of("echo 'a b' \"c d\"", TextRole::Good), ["'a b'", "\"c d\""]);
        assert_eq!(of("$X a${Y}b", TextRole::Wait), ["$X", "${Y}b"]);
    }

    #[test]
    fn the_pieces_of_any_command_are_the_whole_of_it() {
        let mut dice = Dice::new(0x2545_f491_4f6c_dd1d);
        let alphabet: Vec<char> = "ab'\"\\$`;&|<>(){}# \n\té漢=!".chars().collect();
        for _ in 0..2_000 {
            let command: String = (0..dice.index(40))
                .map(|_| alphabet[dice.index(alphabet.len())])
                .collect();
            let whole: String = coloured(&command).into_iter().map(|(piece, _)| piece).collect();
            assert_eq!(whole, command);
        }
    }
}
