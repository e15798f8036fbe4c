//! Splits a script into the simple commands that it could run.
//!
//! Text outside of bash's grammar makes the whole script unclear, but the parts before it are kept: a denied command
//! before a syntax error is still denied. It does not matter whether a command is ever reached, or in which subshell.
//!
//! The parser is ralph's own. It has to account for every character, to terminate on any input with a bounded stack in
//! linear time, and to stop where shells differ. A parser made for running scripts would guess there.

use super::{
    cursor::Cursor,
    unclear::Unclear,
    words::{self, CommandParser, ShellWord, arithmetic, here_document, word},
};

/// The deepest nesting that is parsed.
const DEEPEST: u32 = 40;

/// A simple command: assignments, a program with its arguments, and redirects.
#[derive(Debug, Default)]
pub(super) struct SimpleCommand {
    pub(super) assignments: Vec<ShellWord>,
    pub(super) words: Vec<ShellWord>,
    pub(super) redirects: Vec<Redirect>,
    /// Whether its standard input is text of the script.
    pub(super) is_fed: bool,
    pub(super) output: CommandOutput,
    /// The number of the statement of the whole script in which it is.
    pub(super) statement: usize,
}

/// The receiver of what a command prints.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum CommandOutput {
    #[default]
    Shown,
    /// Another command of the statement.
    Piped,
    /// A word of the script.
    Substituted,
}

impl SimpleCommand {
    /// Whether it takes its input for names, which another command may use.
    pub(super) fn takes_names(&self) -> bool {
        let reads = self
            .words
            .first()
            .is_some_and(|first| ["read", "mapfile", "readarray"].contains(&first.value.as_str()));
        reads
            || self
                .words
                .iter()
                .any(|word| word.value.rsplit('/').next() == Some("xargs"))
    }
}

#[derive(Debug)]
pub(super) enum Redirect {
    Read(ShellWord),
    Write(ShellWord),
}

/// The content of a script.
#[derive(Debug, Default)]
pub(super) struct ParsedScript {
    pub(super) commands: Vec<SimpleCommand>,
    /// Names of variables that loops and expansions set.
    pub(super) assigned: Vec<String>,
    /// The words over which loops go.
    pub(super) listed: Vec<ShellWord>,
    /// The texts that the script gives to the input of commands.
    pub(super) fed: Vec<String>,
    /// Whether commands may run more than once, in a loop or a function.
    pub(super) repeats: bool,
    statements: usize,
    /// The reason why the rest of the script is unknown.
    pub(super) unclear: Option<Unclear>,
}

/// Parses `text`.
pub(super) fn read(text: &str) -> ParsedScript {
    let mut script = ParsedScript::default();
    let mut reader = ScriptParser {
        cursor: Cursor::new(text),
        depth: 0,
        script: &mut script,
        pending: Vec::new(),
    };
    script.unclear = reader.list(ListEnd::Text).err();
    script
}

#[derive(Clone, Copy, PartialEq)]
enum ListEnd {
    Text,
    Parenthesis,
}

/// A construct that a reserved word has to close.
#[derive(Clone, Copy, PartialEq)]
enum OpenConstruct {
    /// Before `then`.
    Condition,
    If,
    /// Before `do`.
    Head,
    Loop,
    Brace,
    /// Before a pattern of `case`.
    Patterns,
    /// Within the commands of a pattern.
    Branch,
}

/// The syntax that may follow.
#[derive(Clone, Copy, PartialEq)]
enum ExpectedSyntax {
    Command,
    /// After a compound command: redirects, separators and closing words.
    End,
}

struct HereDocument {
    delimiter: String,
    is_literal: bool,
    is_indented: bool,
}

struct ScriptParser<'t, 's> {
    cursor: Cursor<'t>,
    depth: u32,
    script: &'s mut ParsedScript,
    /// Here-documents that begin on the next line.
    pending: Vec<HereDocument>,
}

impl<'t> CommandParser<'t> for ScriptParser<'t, '_> {
    fn cursor(&mut self) -> &mut Cursor<'t> {
        &mut self.cursor
    }

    fn substituted(&mut self) -> Result<(), Unclear> {
        let outer = std::mem::take(&mut self.pending);
        let (start, first) = (self.cursor.at(), self.script.commands.len());
        self.nested()?;
        self.give(first, CommandOutput::Substituted);
        if !outer.is_empty() && self.cursor.since(start).contains('\n') {
            return Err(Unclear::Syntax);
        }
        self.pending = outer;
        Ok(())
    }

    fn backquoted(&mut self, script: &str) -> Result<(), Unclear> {
        self.deeper()?;
        let first = self.script.commands.len();
        self.within(script).list(ListEnd::Text)?;
        self.give(first, CommandOutput::Substituted);
        self.shallower();
        Ok(())
    }

    fn deeper(&mut self) -> Result<(), Unclear> {
        self.depth += 1;
        match self.depth > DEEPEST {
            true => Err(Unclear::TooDeep),
            false => Ok(()),
        }
    }

    fn shallower(&mut self) {
        self.depth -= 1;
    }

    fn without_arithmetic(&mut self, expression: &str) {
        // Substitutions have been parsed already; parsing them again at every level would take exponential time.
        if expression.contains(['$', '`']) || self.deeper().is_err() {
            return;
        }
        let mut other = ParsedScript::default();
        let mut reader = ScriptParser {
            cursor: Cursor::new(expression),
            depth: self.depth,
            script: &mut other,
            pending: Vec::new(),
        };
        let is_whole = reader.list(ListEnd::Text).is_ok();
        self.shallower();
        // Arithmetic never has two adjacent operands.
        let is_operand = |word: &ShellWord| {
            let start = word.value.trim_start_matches('-').chars().next();
            start.is_some_and(|start| start.is_alphanumeric() || "_./".contains(start))
        };
        let has_arguments = |simple: &SimpleCommand| simple.words.windows(2).any(|pair| pair.iter().all(is_operand));
        if is_whole && other.commands.iter().any(has_arguments) {
            self.script.commands.extend(other.commands);
        }
    }

    fn line_ended(&mut self) -> Result<(), Unclear> {
        match self.pending.is_empty() {
            true => Ok(()),
            false => Err(Unclear::Syntax),
        }
    }

    fn assigns(&mut self, name: &str) {
        self.script.assigned.push(name.to_owned());
    }
}

impl<'t> ScriptParser<'t, '_> {
    /// Creates a parser for another text that adds its results to this one's.
    fn within<'o>(&mut self, text: &'o str) -> ScriptParser<'o, '_> {
        ScriptParser {
            cursor: Cursor::new(text),
            depth: self.depth,
            script: &mut *self.script,
            pending: Vec::new(),
        }
    }

    /// Sets the receiver of the commands from `first` on, unless it is a word.
    fn give(&mut self, first: usize, to: CommandOutput) {
        let commands = self.script.commands[first..].iter_mut();
        for command in commands.filter(|command| command.output != CommandOutput::Substituted) {
            command.output = to;
        }
    }

    /// Sets the receiver of the command before a pipe: all commands of the statement, if a compound one ends there.
    fn piped(&mut self) {
        let before = self.cursor.before().trim_end();
        let commands = &self.script.commands;
        let is_compound = ["}", ")", "done", "fi", "esac"].iter().any(|end| before.ends_with(end))
            || commands.last().is_some_and(|last| last.words.is_empty());
        let statement = self.script.statements;
        let first = match is_compound {
            true => commands.iter().position(|command| command.statement == statement),
            false => commands.len().checked_sub(1),
        };
        self.give(first.unwrap_or(commands.len()), CommandOutput::Piped);
    }

    fn ended(&mut self, open: &[OpenConstruct]) {
        self.script.statements += usize::from(open.is_empty() && self.depth == 0);
    }

    /// Adds a command.
    fn add(&mut self, simple: SimpleCommand) {
        let statement = self.script.statements;
        self.script.commands.push(SimpleCommand { statement, ..simple });
    }

    /// Parses up to and including a closing parenthesis.
    fn nested(&mut self) -> Result<(), Unclear> {
        self.deeper()?;
        self.list(ListEnd::Parenthesis)?;
        self.shallower();
        Ok(())
    }

    fn list(&mut self, end: ListEnd) -> Result<(), Unclear> {
        let (mut open, mut next) = (Vec::new(), ExpectedSyntax::Command);
        loop {
            self.cursor.skip_blank();
            if open.last() == Some(&OpenConstruct::Patterns) {
                next = match self.cursor.eat("\n") {
                    true => self.here_documents().map(|()| ExpectedSyntax::Command)?,
                    false => self.patterns(&mut open)?,
                };
                continue;
            }
            match self.cursor.peek() {
                None if end == ListEnd::Text && open.is_empty() && self.pending.is_empty() => return Ok(()),
                None => return Err(Unclear::Syntax),
                Some(')') if end == ListEnd::Parenthesis && open.is_empty() && self.pending.is_empty() => {
                    self.cursor.bump();
                    return Ok(());
                }
                Some(')') => return Err(Unclear::Syntax),
                Some(_) => next = self.item(&mut open, next)?,
            }
        }
    }

    /// Parses a command, a reserved word or a separator.
    fn item(&mut self, open: &mut Vec<OpenConstruct>, next: ExpectedSyntax) -> Result<ExpectedSyntax, Unclear> {
        let is_redirect = |cursor: &Cursor<'_>| cursor.starts_with("&>") || cursor.rest().starts_with(['<', '>']);
        match self.cursor.peek() {
            Some('\n') => {
                self.cursor.bump();
                self.here_documents()?;
                self.ended(open);
                Ok(ExpectedSyntax::Command)
            }
            Some(';') => match [";;&", ";;", ";&"].iter().any(|end| self.cursor.eat(end)) {
                true if open.last() == Some(&OpenConstruct::Branch) => Ok(instead(open, OpenConstruct::Patterns)),
                true => Err(Unclear::Syntax),
                false => {
                    self.cursor.bump();
                    self.ended(open);
                    Ok(ExpectedSyntax::Command)
                }
            },
            Some('|' | '&') if next == ExpectedSyntax::Command || !self.cursor.starts_with("&>") => {
                if next == ExpectedSyntax::Command && self.cursor.starts_with("&>") {
                    return self.command();
                }
                match self.cursor.starts_with("|") && !self.cursor.starts_with("||") {
                    true => self.piped(),
                    false => self.ended(open),
                }
                _ = ["&&", "||", "|&", "|", "&"]
                    .iter()
                    .any(|operator| self.cursor.eat(operator));
                Ok(ExpectedSyntax::Command)
            }
            Some('(') if next == ExpectedSyntax::Command => self.parenthesis(),
            Some(_) if next == ExpectedSyntax::Command => match self.reserved(open)? {
                Some(next) => Ok(next),
                None => self.command(),
            },
            Some(_)
                if is_redirect(&self.cursor)
                    || self.cursor.rest().starts_with(|digit: char| digit.is_ascii_digit()) =>
            {
                let mut simple = SimpleCommand::default();
                match self.redirect(&mut simple)? {
                    true => self.add(simple),
                    false => return Err(Unclear::Syntax),
                }
                Ok(ExpectedSyntax::End)
            }
            Some(_) | None => {
                let closes = ["then", "do", "done", "fi", "else", "elif", "esac", "}", "{"];
                match closes.contains(&self.cursor.bare()) {
                    true => self.reserved(open)?.ok_or(Unclear::Syntax),
                    false => Err(Unclear::Syntax),
                }
            }
        }
    }

    /// Parses a subshell or an arithmetic command.
    fn parenthesis(&mut self) -> Result<ExpectedSyntax, Unclear> {
        if self.cursor.starts_with("((") && self.cursor.is_arithmetic() {
            self.cursor.eat("((");
            arithmetic(self)?;
            return Ok(ExpectedSyntax::End);
        }
        self.cursor.bump();
        self.nested()?;
        Ok(ExpectedSyntax::End)
    }

    /// Parses a reserved word; `None` if a command begins here.
    fn reserved(&mut self, open: &mut Vec<OpenConstruct>) -> Result<Option<ExpectedSyntax>, Unclear> {
        let bare = self.cursor.bare();
        let last = open.last().copied();
        let next = match bare {
            "if" => {
                open.push(OpenConstruct::Condition);
                ExpectedSyntax::Command
            }
            "while" | "until" => {
                self.script.repeats = true;
                open.push(OpenConstruct::Head);
                ExpectedSyntax::Command
            }
            "{" => {
                open.push(OpenConstruct::Brace);
                ExpectedSyntax::Command
            }
            "then" if last == Some(OpenConstruct::Condition) => instead(open, OpenConstruct::If),
            "elif" if last == Some(OpenConstruct::If) => instead(open, OpenConstruct::Condition),
            "else" if last == Some(OpenConstruct::If) => ExpectedSyntax::Command,
            "do" if last == Some(OpenConstruct::Head) => instead(open, OpenConstruct::Loop),
            "!" | "coproc" => ExpectedSyntax::Command,
            "fi" if last == Some(OpenConstruct::If) => close(open),
            "done" if last == Some(OpenConstruct::Loop) => close(open),
            "}" if last == Some(OpenConstruct::Brace) => close(open),
            "esac" if last == Some(OpenConstruct::Branch) => close(open),
            "then" | "elif" | "else" | "do" | "fi" | "done" | "}" | "esac" => return Err(Unclear::Syntax),
            "for" | "select" => return self.repeated(open).map(Some),
            "case" => return self.choice(open).map(Some),
            "[[" => return self.test().map(Some),
            "function" => return self.function().map(Some),
            "time" => {
                let mut behind = self.cursor;
                behind.eat("time");
                behind.skip_blank();
                match behind.bare() {
                    "-p" => behind.eat("-p"),
                    option if option.starts_with('-') => return Ok(None),
                    _ => true,
                };
                self.cursor = behind;
                return Ok(Some(ExpectedSyntax::Command));
            }
            _ => return Ok(None),
        };
        self.cursor.eat(bare);
        Ok(Some(next))
    }

    /// Parses the head of `for` and `select`.
    fn repeated(&mut self, open: &mut Vec<OpenConstruct>) -> Result<ExpectedSyntax, Unclear> {
        let keyword = self.cursor.bare();
        self.cursor.eat(keyword);
        self.cursor.skip_blank();
        open.push(OpenConstruct::Head);
        self.script.repeats = true;
        if self.cursor.starts_with("((") {
            if !self.cursor.is_arithmetic() {
                return Err(Unclear::Syntax);
            }
            self.cursor.eat("((");
            arithmetic(self)?;
            return Ok(ExpectedSyntax::Command);
        }
        let name = self.cursor.bare();
        let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(Unclear::Syntax);
        }
        self.cursor.eat(name);
        self.script.assigned.push(name.to_owned());
        self.blank_lines()?;
        if self.cursor.bare() == "in" {
            self.cursor.eat("in");
            loop {
                self.cursor.skip_blank();
                match word(self)? {
                    Some(word) => self.script.listed.push(word),
                    None => break,
                }
            }
            if !self.cursor.rest().starts_with([';', '\n']) {
                return Err(Unclear::Syntax);
            }
        }
        Ok(ExpectedSyntax::Command)
    }

    /// Parses the head of `case`.
    fn choice(&mut self, open: &mut Vec<OpenConstruct>) -> Result<ExpectedSyntax, Unclear> {
        self.cursor.eat("case");
        self.cursor.skip_blank();
        word(self)?.ok_or(Unclear::Syntax)?;
        self.blank_lines()?;
        if self.cursor.bare() != "in" {
            return Err(Unclear::Syntax);
        }
        self.cursor.eat("in");
        open.push(OpenConstruct::Patterns);
        Ok(ExpectedSyntax::Command)
    }

    /// Parses the patterns before a branch, or the end of all branches.
    fn patterns(&mut self, open: &mut Vec<OpenConstruct>) -> Result<ExpectedSyntax, Unclear> {
        if self.cursor.bare() == "esac" {
            self.cursor.eat("esac");
            return Ok(close(open));
        }
        self.cursor.eat("(");
        loop {
            self.cursor.skip_blank();
            word(self)?.ok_or(Unclear::Syntax)?;
            self.cursor.skip_blank();
            if self.cursor.eat(")") {
                return Ok(instead(open, OpenConstruct::Branch));
            }
            if !self.cursor.eat("|") {
                return Err(Unclear::Syntax);
            }
        }
    }

    /// Parses `[[ … ]]`.
    fn test(&mut self) -> Result<ExpectedSyntax, Unclear> {
        self.cursor.eat("[[");
        loop {
            while let Some(blank @ (' ' | '\t' | '\n')) = self.cursor.peek() {
                self.cursor.bump();
                if blank == '\n' {
                    self.line_ended()?;
                }
            }
            match self.cursor.peek() {
                _ if self.cursor.bare() == "]]" => {
                    self.cursor.eat("]]");
                    return Ok(ExpectedSyntax::End);
                }
                // These are literal in a regular expression, but `#` begins a comment and `;` ends a command elsewhere.
                None | Some('#' | ';') => return Err(Unclear::Syntax),
                Some('(' | ')' | '|' | '&') => {
                    self.cursor.bump();
                }
                Some('<' | '>') if !self.cursor.rest()[1..].starts_with('(') => {
                    self.cursor.bump();
                }
                Some(_) => {
                    let operand = word(self)?.ok_or(Unclear::Syntax)?;
                    if evaluates(&operand) {
                        return Err(Unclear::Arithmetic);
                    }
                }
            }
        }
    }

    /// Parses `function name` and an optional `()`.
    fn function(&mut self) -> Result<ExpectedSyntax, Unclear> {
        self.script.repeats = true;
        self.cursor.eat("function");
        self.cursor.skip_blank();
        word(self)?.ok_or(Unclear::Syntax)?;
        self.cursor.skip_blank();
        if self.cursor.eat("(") {
            self.cursor.skip_blank();
            if !self.cursor.eat(")") {
                return Err(Unclear::Syntax);
            }
        }
        self.blank_lines()?;
        Ok(ExpectedSyntax::Command)
    }

    /// Parses a simple command, or the head of a function.
    fn command(&mut self) -> Result<ExpectedSyntax, Unclear> {
        let mut simple = SimpleCommand::default();
        let outcome = self.simple(&mut simple);
        // The parsed part of the command counts even if a syntax error follows.
        let is_function = matches!(outcome, Ok(ExpectedSyntax::Command));
        if !is_function {
            self.add(simple);
        }
        outcome?;
        if is_function {
            self.script.repeats = true;
            self.blank_lines()?;
        }
        Ok(match is_function {
            true => ExpectedSyntax::Command,
            false => ExpectedSyntax::End,
        })
    }

    fn simple(&mut self, simple: &mut SimpleCommand) -> Result<ExpectedSyntax, Unclear> {
        loop {
            self.cursor.skip_blank();
            match self.cursor.peek() {
                Some('&') if self.cursor.starts_with("&>") => _ = self.redirect(simple)?,
                None | Some('\n' | ';' | '&' | '|' | ')') => return Ok(ExpectedSyntax::End),
                Some('(')
                    if simple.words.len() == 1 && simple.assignments.is_empty() && simple.redirects.is_empty() =>
                {
                    self.cursor.bump();
                    self.cursor.skip_blank();
                    return match self.cursor.eat(")") {
                        true => Ok(ExpectedSyntax::Command),
                        false => Err(Unclear::Syntax),
                    };
                }
                Some('(') => return Err(Unclear::Syntax),
                Some(_) if self.redirect(simple)? => {}
                Some(_) => {
                    let word = word(self)?.ok_or(Unclear::Syntax)?;
                    match simple.words.is_empty() && word.assigned().is_some() {
                        true => simple.assignments.push(word),
                        false => simple.words.push(word),
                    }
                }
            }
        }
    }

    /// Parses a redirect; returns false if there is none.
    fn redirect(&mut self, simple: &mut SimpleCommand) -> Result<bool, Unclear> {
        const OPERATORS: [&str; 13] = [
            "&>>", "&>", "<<<", "<<-", "<<", "<>", "<&", ">>", ">|", ">&", "<", ">!", ">",
        ];
        let mut behind = self.cursor;
        while behind.peek().is_some_and(|digit| digit.is_ascii_digit()) {
            behind.bump();
        }
        let is_substitution = behind.starts_with("<(") || behind.starts_with(">(");
        let Some(operator) = OPERATORS.iter().find(|operator| behind.eat(operator)) else {
            return Ok(false);
        };
        if is_substitution {
            return Ok(false);
        }
        self.cursor = behind;
        self.cursor.skip_blank();
        let target = word(self)?.ok_or(Unclear::Syntax)?;
        match *operator {
            "<<" | "<<-" => {
                if target.is_computed() {
                    return Err(Unclear::Syntax);
                }
                self.pending.push(HereDocument {
                    is_literal: target.is_quoted(),
                    delimiter: target.value,
                    is_indented: *operator == "<<-",
                });
                simple.is_fed = true;
            }
            "<<<" => {
                simple.is_fed = true;
                self.script.fed.push(target.value);
            }
            "<&" | ">&" if is_descriptor(&target.value) => {}
            "<&" => return Err(Unclear::Syntax),
            _ if target.source.starts_with("<(") || target.source.starts_with(">(") => {}
            "<" => simple.redirects.push(Redirect::Read(target)),
            _ => simple.redirects.push(Redirect::Write(target)),
        }
        Ok(true)
    }

    /// Parses the here-documents that begin here, at the start of a line.
    fn here_documents(&mut self) -> Result<(), Unclear> {
        for document in std::mem::take(&mut self.pending) {
            let start = self.cursor.at();
            let mut body = "";
            loop {
                if self.cursor.peek().is_none() {
                    return Err(Unclear::Syntax);
                }
                let line = self.cursor.line();
                let line = match document.is_indented {
                    true => line.trim_start_matches('\t'),
                    false => line,
                };
                if line == document.delimiter {
                    break;
                }
                // The delimiter could be part of a continued line.
                if !document.is_literal && line.ends_with('\\') {
                    return Err(Unclear::Syntax);
                }
                body = self.cursor.since(start);
            }
            self.script.fed.push(body.to_owned());
            if !document.is_literal {
                self.deeper()?;
                here_document(&mut self.within(body))?;
                self.shallower();
            }
        }
        Ok(())
    }

    /// Skips blanks, comments and newlines.
    fn blank_lines(&mut self) -> Result<(), Unclear> {
        loop {
            self.cursor.skip_blank();
            if !self.cursor.eat("\n") {
                return Ok(());
            }
            self.line_ended()?;
        }
    }
}

fn close(open: &mut Vec<OpenConstruct>) -> ExpectedSyntax {
    open.pop();
    ExpectedSyntax::End
}

/// Replaces the innermost open construct.
fn instead(open: &mut Vec<OpenConstruct>, other: OpenConstruct) -> ExpectedSyntax {
    open.pop();
    open.push(other);
    ExpectedSyntax::Command
}

fn is_descriptor(target: &str) -> bool {
    let number = target.strip_suffix('-').unwrap_or(target);
    !target.is_empty() && number.chars().all(|digit| digit.is_ascii_digit())
}

/// Whether a text, even a quoted one, could be evaluated as arithmetic with a command in a subscript.
pub(super) fn evaluates(word: &words::ShellWord) -> bool {
    let subscript = word.value.split_once('[').map_or("", |(_, rest)| rest);
    subscript.contains("$(") || subscript.contains('`')
}
