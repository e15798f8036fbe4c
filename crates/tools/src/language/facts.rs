//! What is asked of language servers and what they find, without a sentence.

/// A place that a question is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// Relative to the project, or absolute.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1. It goes before `symbol`.
    pub column: Option<u32>,
    /// A word on that line.
    pub symbol: Option<String>,
}

/// Syntax that is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// Code, in which `$A` stands for a node and `$$$A` for any number.
    pub pattern: String,
    /// A language as ast-grep names it; none goes by the extension of each file.
    pub language: Option<String>,
    /// A file or a directory; none is the project.
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    Definition(At),
    References(At),
    Hover(At),
    /// What a file has in it.
    Outline {
        file: String,
    },
    /// The symbols of the project with such a name.
    Symbols {
        name: String,
    },
    /// What is wrong with a file; without one, all that the running servers have told.
    Diagnostics {
        file: Option<String>,
    },
    Rename {
        at: At,
        name: String,
        apply: bool,
    },
    /// Where the syntax is as in a pattern.
    Search(Pattern),
    /// The same, with what is put in its place.
    Replace {
        pattern: Pattern,
        rewrite: String,
        apply: bool,
    },
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    Definitions(Told<Place>),
    References(Told<Place>),
    Matches(Told<Place>),
    Hover {
        text: String,
        still: Option<Still>,
    },
    Outline(Told<OutlineItem>),
    Symbols(Told<OutlineItem>),
    Diagnostics(Told<Message>),
    /// The edits that there are to make, or that were made.
    Edits {
        files: Vec<Edited>,
        applied: bool,
    },
}

/// Things that were found, as far as they are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told<T> {
    pub items: Vec<T>,
    /// So many more were found.
    pub more: usize,
    /// The server is not done with the project: there may be more.
    pub still: Option<Still>,
}

/// A server that has not seen all of the project yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Still {
    pub server: String,
    /// What it does, in its own words.
    pub doing: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Relative to the project where it is in it; an address where it is no file.
    pub path: String,
    /// From 1.
    pub line: u32,
    /// In characters, from 1.
    pub column: u32,
    /// The line, if it can be read.
    pub source: Option<String>,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineItem {
    pub kind: &'static str,
    pub name: String,
    /// What a server says of it besides, or what it is in.
    pub detail: String,
    pub depth: u8,
    pub place: Place,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    /// Which program says so, and its name for it.
    pub source: String,
    pub text: String,
    pub place: Place,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
    Information,
    Hint,
}

/// A file that changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub path: String,
    /// How many places change in it.
    pub places: usize,
    /// The lines that change, some of them.
    pub lines: Vec<Shown>,
}

/// A line before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown {
    /// From 1.
    pub line: u32,
    pub before: String,
    pub after: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The path leads out of the project.
    Outside {
        file: String,
    },
    Unreadable {
        file: String,
        why: String,
    },
    /// No server is for such files; `known` are the extensions for which one is installed.
    NoServer {
        file: String,
        known: Vec<String>,
    },
    NoLine {
        file: String,
        lines: usize,
    },
    NoColumn {
        file: String,
        line: u32,
        columns: usize,
    },
    /// Neither a column nor a symbol was named.
    NoPlace,
    /// The symbol is not on the line, but on others near it.
    NoSymbol {
        symbol: String,
        file: String,
        line: u32,
        source: String,
        near: Vec<u32>,
    },
    /// Nothing says what to look for.
    NoQuestion,
    NoPattern,
    /// More than are edited at once.
    TooManyMatches,
    NotStarted {
        server: String,
        why: String,
    },
    /// It ended, was started again and ended again.
    GaveUp {
        server: String,
        why: String,
    },
    Ended {
        server: String,
        why: String,
    },
    /// The deadline has passed.
    Late {
        still: Still,
        after_ms: u64,
    },
    Unsupported {
        server: String,
    },
    Refused {
        server: String,
        why: String,
    },
    /// What it answered makes no sense.
    Garbled {
        server: String,
        what: &'static str,
    },
    /// The edits are not made, and nothing was changed.
    NoEdits,
    MovesFiles {
        server: String,
    },
    EditsOutside {
        path: String,
    },
    EditsOverlap {
        path: String,
    },
    EditsDenied {
        path: String,
    },
    ChangedMeanwhile {
        path: String,
    },
    NotWritten {
        path: String,
        why: String,
    },
    TooManyFiles {
        files: usize,
        most: usize,
    },
    Busy {
        most: usize,
    },
    Closed,
}
