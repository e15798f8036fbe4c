//! Questions to language servers and their answers, as data without sentences.

/// The place that a question concerns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolPosition {
    /// Relative to the project, or absolute.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1. It takes precedence over `symbol`.
    pub column: Option<u32>,
    /// A word on that line.
    pub symbol: Option<String>,
}

/// A syntax pattern to search for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxPattern {
    /// Code in which `$A` matches one node and `$$$A` any number of nodes.
    pub pattern: String,
    /// The language as ast-grep names it; `None` to use the extension of each file.
    pub language: Option<String>,
    /// A file or a directory; `None` for the whole project.
    pub path: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageQuery {
    Definition(SymbolPosition),
    References(SymbolPosition),
    Hover(SymbolPosition),
    /// The symbols of a file.
    Outline {
        file: String,
    },
    /// The symbols of the project that match a name.
    Symbols {
        name: String,
    },
    /// The diagnostics of a file, or of all files on the running servers.
    Diagnostics {
        file: Option<String>,
    },
    Rename {
        at: SymbolPosition,
        name: String,
        apply: bool,
    },
    /// The places that match a pattern.
    Search(SyntaxPattern),
    /// Replaces all matches of a pattern.
    Replace {
        pattern: SyntaxPattern,
        rewrite: String,
        apply: bool,
    },
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LanguageAnswer {
    Definitions(Results<SourceLocation>),
    References(Results<SourceLocation>),
    Matches(Results<SourceLocation>),
    Hover {
        text: String,
        still: Option<Indexing>,
    },
    Outline(Results<OutlineItem>),
    Symbols(Results<OutlineItem>),
    Diagnostics(Results<Diagnostic>),
    /// Edits that are proposed, or that were made.
    Edits {
        files: Vec<ChangedFile>,
        applied: bool,
    },
}

/// A bounded list of results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Results<T> {
    pub items: Vec<T>,
    /// The number of further results.
    pub more: usize,
    /// The server that is not done with the project, so that there may be more results.
    pub indexing: Option<Indexing>,
}

/// A server that has not seen the whole project yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Indexing {
    pub server: String,
    /// The server's description of its present task.
    pub doing: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLocation {
    /// A path relative to the project if it is inside; the URI if it is not a file.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// The text of the line, if it can be read.
    pub source: Option<String>,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutlineItem {
    pub kind: &'static str,
    pub name: String,
    /// The server's details of the symbol, or its container.
    pub detail: String,
    pub depth: u8,
    pub place: SourceLocation,
}

/// A diagnostic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: DiagnosticSeverity,
    /// The program that reports it, with its code.
    pub source: String,
    pub text: String,
    pub place: SourceLocation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiagnosticSeverity {
    Error,
    Warning,
    Information,
    Hint,
}

/// A file that is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    pub path: String,
    /// The number of changed places.
    pub places: usize,
    /// Some of the changed lines.
    pub lines: Vec<EditedLine>,
}

/// A changed line, before and after.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditedLine {
    /// The line, from 1.
    pub line: u32,
    pub before: String,
    pub after: String,
}

/// The reason why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueryError {
    /// The path is outside of the project.
    Outside {
        file: String,
    },
    Unreadable {
        file: String,
        why: String,
    },
    /// No server supports such files; `known` are the extensions with an installed server.
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
    /// Neither a column nor a symbol was given.
    NoPlace,
    /// The symbol is not on the line, but on the nearby lines `near`.
    NoSymbol {
        symbol: String,
        file: String,
        line: u32,
        source: String,
        near: Vec<u32>,
    },
    /// The question does not name what to look for.
    NoQuestion,
    NoPattern,
    /// There are more matches than can be edited at once.
    TooManyMatches,
    NotStarted {
        server: String,
        why: String,
    },
    /// The server ended, was restarted, and ended again.
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
        still: Indexing,
        after_ms: u64,
    },
    Unsupported {
        server: String,
    },
    Refused {
        server: String,
        why: String,
    },
    /// The answer is inconsistent.
    Garbled {
        server: String,
        what: &'static str,
    },
    /// There is nothing to edit.
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
