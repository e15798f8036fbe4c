//! Words of the shell, with quotes removed and computed parts left open.
//!
//! Variables, patterns and substitutions are expanded only when a command runs: each becomes a [`HOLE`], which stands
//! for any text. Commands in substitutions are passed to [`CommandParser`].

use ralph_text::is_invisible;

use super::{
    cursor::{Cursor, ends_word},
    unclear::Unclear,
};

/// Stands for any text, including none. No command can contain this character.
pub(in crate::permissions) const HOLE: char = '\0';
/// Stands for any text within a name of a path. No command can contain this character.
pub(in crate::permissions) const GLOB: char = '\u{1}';
/// As a name of a path: any directories and files below. With a [`GLOB`], those that no dot hides. No command can contain it.
pub(in crate::permissions) const BELOW: char = '\u{2}';

/// A word of a command.
#[derive(Debug, Clone, Default)]
pub(super) struct ShellWord {
    /// The word without quotes.
    pub(super) value: String,
    /// The word as written.
    pub(super) source: String,
}

impl ShellWord {
    pub(super) fn is_computed(&self) -> bool {
        self.value.contains(HOLE)
    }

    pub(super) fn is_quoted(&self) -> bool {
        self.source.contains(['\'', '"', '\\'])
    }

    /// The word as a path: patterns of files stand for names, and the user's home and the directory are not computed.
    pub(super) fn path(&self) -> String {
        // A process substitution is a pipe.
        if self.value.len() == HOLE.len_utf8() && self.is_computed() && self.source.starts_with(['<', '>']) {
            return "/dev/stdin".to_owned();
        }
        let unquoted = self.source.trim_start_matches('"');
        let starts = [
            ("$HOME", "~"),
            ("${HOME}", "~"),
            ("$PWD", "."),
            ("${PWD}", "."),
            ("$(pwd)", "."),
            ("`pwd`", "."),
        ];
        let is_end = |rest: &str| {
            rest.trim_start_matches('"')
                .chars()
                .next()
                .is_none_or(|next| next == '/')
        };
        let known = starts
            .iter()
            .find(|(variable, _)| unquoted.strip_prefix(variable).is_some_and(is_end));
        match (known, self.value.strip_prefix(HOLE)) {
            (Some((_, known)), Some(rest)) => format!("{known}{rest}"),
            _ if self.is_glob() => self.value.replace(HOLE, &GLOB.to_string()),
            _ => self.value.clone(),
        }
    }

    /// Whether only `*` and `?` are computed, which match names of existing files.
    fn is_glob(&self) -> bool {
        !self.source.contains(['$', '`', '{', '[', '(', '\'', '"', '\\', '…'])
            && !self.source.contains("**")
            && self.is_computed()
    }

    /// The name of the variable, if the word has exactly one computed part, which is the value of a variable.
    pub(super) fn variable(&self) -> Option<&str> {
        let (_, behind) = self.source.split_once('$').filter(|_| self.has_one_hole())?;
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let (name, is_whole) = match behind.strip_prefix('{') {
            Some(behind) => behind
                .split_once('}')
                .map(|(name, _)| (name, name.chars().all(is_name)))?,
            None => {
                let end = behind.find(|character| !is_name(character)).unwrap_or(behind.len());
                (&behind[..end], true)
            }
        };
        (!name.is_empty() && is_whole).then_some(name)
    }

    /// Whether the word has exactly one computed part, which is the output of commands.
    pub(super) fn is_output(&self) -> bool {
        self.has_one_hole() && (self.source.contains(['`', '…']) || self.source.contains("$("))
    }

    fn has_one_hole(&self) -> bool {
        self.value.matches(HOLE).count() == 1
    }

    /// The variable to which the word assigns, if it has the form of an assignment.
    pub(super) fn assigned(&self) -> Option<&str> {
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        let end = self.source.find(|character| !is_name(character))?;
        let (name, rest) = self.source.split_at(end);
        if name.is_empty() || name.starts_with(|character: char| character.is_ascii_digit()) {
            return None;
        }
        let rest = match rest.strip_prefix('[') {
            Some(subscript) => subscript.split_once(']').map_or("", |(_, rest)| rest),
            None => rest,
        };
        (rest.starts_with('=') || rest.starts_with("+=")).then_some(name)
    }
}

/// Parses the commands within words.
pub(super) trait CommandParser<'t> {
    fn cursor(&mut self) -> &mut Cursor<'t>;
    /// Parses commands up to and including a closing parenthesis.
    fn substituted(&mut self) -> Result<(), Unclear>;
    /// Parses commands from which one level of quoting was removed.
    fn backquoted(&mut self, script: &str) -> Result<(), Unclear>;
    /// Enters a level of nesting.
    fn deeper(&mut self) -> Result<(), Unclear>;
    fn shallower(&mut self);
    /// Adds the commands in an expression for shells that parse it as two nested subshells.
    fn without_arithmetic(&mut self, expression: &str);
    /// Reports a line end within a command, where no here-document may begin.
    fn line_ended(&mut self) -> Result<(), Unclear>;
    /// Records a variable that is assigned to.
    fn assigns(&mut self, name: &str);
}

/// The value of a word so far.
#[derive(Default)]
struct WordValue {
    text: String,
    /// Whether the rest of the word is part of a hole.
    is_open: bool,
    /// The position of the first brace. A following comma makes it an expansion.
    brace: Option<usize>,
}

impl WordValue {
    fn push(&mut self, character: char) {
        if !self.is_open {
            self.text.push(character);
        }
    }

    fn hole(&mut self) {
        self.push(HOLE);
    }

    fn open(&mut self, from: usize) {
        if !self.is_open {
            self.text.truncate(from);
            self.text.push(HOLE);
            self.is_open = true;
        }
    }
}

/// Parses a word; `None` if there is none here.
pub(super) fn word<'t>(commands: &mut impl CommandParser<'t>) -> Result<Option<ShellWord>, Unclear> {
    let start = commands.cursor().at();
    let mut value = WordValue::default();
    while let Some(next) = commands.cursor().peek() {
        match next {
            '<' | '>' if commands.cursor().rest()[1..].starts_with('(') => {
                commands.cursor().bump();
                commands.cursor().bump();
                commands.substituted()?;
                value.hole();
            }
            '(' if is_array(commands.cursor().since(start)) => array(commands, &mut value)?,
            next if ends_word(next) => break,
            '\\' | '\'' | '"' | '`' | '$' => quoted(commands, &mut value)?,
            next if next.is_control() || is_hidden(next) || (next.is_whitespace() && !next.is_ascii()) => {
                return Err(Unclear::Character);
            }
            next => {
                unquoted(commands.cursor(), next, &mut value);
            }
        }
    }
    let source = commands.cursor().since(start).to_owned();
    let word = ShellWord {
        value: value.text,
        source,
    };
    Ok((!word.source.is_empty()).then_some(word))
}

/// Whether a character is invisible.
fn is_hidden(character: char) -> bool {
    is_invisible(character)
        || matches!(character, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
}

fn unquoted(cursor: &mut Cursor<'_>, next: char, value: &mut WordValue) {
    let at = value.text.len();
    cursor.bump();
    match next {
        '*' | '?' => value.hole(),
        '[' if at == 0 && cursor.peek().is_none_or(ends_word) => value.push('['),
        '[' => value.open(at),
        // In zsh, `=git` expands to the path of git.
        '=' if at == 0
            && !cursor
                .peek()
                .is_none_or(|next| ends_word(next) || next == '=' || next == '~') =>
        {
            value.open(at)
        }
        '{' => {
            value.brace.get_or_insert(at);
            value.push('{');
        }
        ',' => match value.brace {
            Some(brace) => value.open(brace),
            None => value.push(','),
        },
        '.' if cursor.starts_with(".") => match value.brace {
            Some(brace) => value.open(brace),
            None => value.push('.'),
        },
        other => value.push(other),
    }
}

fn quoted<'t>(commands: &mut impl CommandParser<'t>, value: &mut WordValue) -> Result<(), Unclear> {
    match commands.cursor().bump() {
        Some('\\') => match commands.cursor().bump() {
            Some('\n') => Ok(()),
            Some(other) => {
                value.push(other);
                Ok(())
            }
            None => Err(Unclear::Syntax),
        },
        Some('\'') => single(commands.cursor(), value),
        Some('"') => double(commands, value),
        Some('`') => backquote(commands, value, Quotes::None),
        _ => dollar(commands, value, Quotes::None),
    }
}

/// Whether a text is within double quotes.
#[derive(Clone, Copy, PartialEq)]
enum Quotes {
    None,
    Double,
}

fn single(cursor: &mut Cursor<'_>, value: &mut WordValue) -> Result<(), Unclear> {
    loop {
        match cursor.bump() {
            None => return Err(Unclear::Syntax),
            Some('\'') => return Ok(()),
            Some(other) => value.push(other),
        }
    }
}

fn double<'t>(commands: &mut impl CommandParser<'t>, value: &mut WordValue) -> Result<(), Unclear> {
    loop {
        match commands.cursor().bump() {
            None => return Err(Unclear::Syntax),
            Some('"') => return Ok(()),
            Some('`') => backquote(commands, value, Quotes::Double)?,
            Some('$') => dollar(commands, value, Quotes::Double)?,
            Some('\\') => match commands.cursor().bump() {
                None => return Err(Unclear::Syntax),
                Some('\n') => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => value.push(escaped),
                Some(other) => {
                    value.push('\\');
                    value.push(other);
                }
            },
            Some(other) => value.push(other),
        }
    }
}

/// Parses an expansion after its dollar sign.
fn dollar<'t>(commands: &mut impl CommandParser<'t>, value: &mut WordValue, quotes: Quotes) -> Result<(), Unclear> {
    let cursor = commands.cursor();
    match cursor.peek() {
        Some('(') if cursor.starts_with("((") && cursor.is_arithmetic() => {
            cursor.bump();
            cursor.bump();
            arithmetic(commands)?;
        }
        Some('(') => {
            cursor.bump();
            commands.substituted()?;
        }
        Some('{') => {
            cursor.bump();
            parameter(commands, quotes)?;
        }
        Some('[') => return Err(Unclear::Arithmetic),
        Some('\'') if quotes == Quotes::None => {
            cursor.bump();
            return escaped(cursor, value);
        }
        Some('"') if quotes == Quotes::None => {
            cursor.bump();
            return double(commands, value);
        }
        Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
            cursor.bump();
        }
        Some(next) if next.is_ascii_alphabetic() || next == '_' => {
            while cursor
                .peek()
                .is_some_and(|next| next.is_ascii_alphanumeric() || next == '_')
            {
                cursor.bump();
            }
        }
        Some(_) | None => {
            value.push('$');
            return Ok(());
        }
    }
    value.hole();
    Ok(())
}

/// Parses the text of `$'…'`, whose escapes may stand for any character.
fn escaped(cursor: &mut Cursor<'_>, value: &mut WordValue) -> Result<(), Unclear> {
    loop {
        match cursor.bump() {
            None => return Err(Unclear::Syntax),
            Some('\'') => return Ok(()),
            Some('\\') => {
                cursor.bump().ok_or(Unclear::Syntax)?;
                value.open(value.text.len());
            }
            Some(other) => value.push(other),
        }
    }
}

/// Parses the rest of `${…}`.
fn parameter<'t>(commands: &mut impl CommandParser<'t>, quotes: Quotes) -> Result<(), Unclear> {
    commands.deeper()?;
    let start = commands.cursor().at();
    let mut within = WordValue::default();
    loop {
        match commands.cursor().bump() {
            None => return Err(Unclear::Syntax),
            Some('}') => break,
            Some('\\') => {
                commands.cursor().bump();
            }
            // Shells differ in the meaning of a quote there.
            Some('\'') if quotes == Quotes::Double => return Err(Unclear::Syntax),
            Some('\'') => single(commands.cursor(), &mut within)?,
            Some('"') => double(commands, &mut within)?,
            Some('`') => backquote(commands, &mut within, quotes)?,
            Some('$') => dollar(commands, &mut within, quotes)?,
            Some(_) => {}
        }
    }
    commands.shallower();
    let inside = commands.cursor().since(start);
    // `@P` expands a value as a prompt, including its commands, as do the flags of zsh.
    if inside.contains("@P") || inside.starts_with(['(', '=', '~', '^']) {
        return Err(Unclear::Syntax);
    }
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = inside.find(|character| !is_name(character)).unwrap_or(inside.len());
    if inside[end..].trim_start_matches(':').starts_with('=') {
        commands.assigns(&inside[..end]);
    }
    Ok(())
}

fn backquote<'t>(commands: &mut impl CommandParser<'t>, value: &mut WordValue, quotes: Quotes) -> Result<(), Unclear> {
    let mut script = String::new();
    loop {
        match commands.cursor().bump() {
            None => return Err(Unclear::Syntax),
            Some('`') => break,
            Some('\\') => match commands.cursor().bump() {
                None => return Err(Unclear::Syntax),
                Some(escaped @ ('`' | '\\' | '$')) => script.push(escaped),
                Some('"') if quotes == Quotes::Double => script.push('"'),
                Some(other) => script.extend(['\\', other]),
            },
            Some(other) => script.push(other),
        }
    }
    value.hole();
    commands.backquoted(&script)
}

/// Parses an arithmetic expression up to and including `))`.
pub(super) fn arithmetic<'t>(commands: &mut impl CommandParser<'t>) -> Result<(), Unclear> {
    let start = commands.cursor().at();
    let (mut depth, mut last) = (0_u32, ' ');
    let mut within = WordValue::default();
    loop {
        let next = commands.cursor().bump().ok_or(Unclear::Syntax)?;
        match next {
            '(' => depth += 1,
            ')' if depth == 0 => {
                let expression = commands.cursor().since(start);
                if !commands.cursor().eat(")") {
                    return Err(Unclear::Arithmetic);
                }
                commands.without_arithmetic(&expression[..expression.len() - 1]);
                return Ok(());
            }
            ')' => depth -= 1,
            '$' => dollar(commands, &mut within, Quotes::Double)?,
            '`' => backquote(commands, &mut within, Quotes::Double)?,
            '#' if last.is_ascii_digit() => {}
            '#' | '\'' | '"' | '\\' => return Err(Unclear::Arithmetic),
            _ => {}
        }
        last = next;
    }
}

/// Parses the substitutions in the text of a here-document.
pub(super) fn here_document<'t>(commands: &mut impl CommandParser<'t>) -> Result<(), Unclear> {
    let mut within = WordValue::default();
    while let Some(next) = commands.cursor().bump() {
        match next {
            '\\' => {
                commands.cursor().bump();
            }
            '$' => dollar(commands, &mut within, Quotes::Double)?,
            '`' => backquote(commands, &mut within, Quotes::Double)?,
            _ => {}
        }
    }
    Ok(())
}

fn is_array(source: &str) -> bool {
    let word = ShellWord {
        source: source.to_owned(),
        value: String::new(),
    };
    source.ends_with('=') && word.assigned().is_some()
}

fn array<'t>(commands: &mut impl CommandParser<'t>, value: &mut WordValue) -> Result<(), Unclear> {
    commands.deeper()?;
    commands.cursor().bump();
    loop {
        commands.cursor().skip_blank();
        if commands.cursor().eat("\n") {
            commands.line_ended()?;
            continue;
        }
        if commands.cursor().eat(")") {
            break;
        }
        word(commands)?.ok_or(Unclear::Syntax)?;
    }
    commands.shallower();
    value.hole();
    Ok(())
}
