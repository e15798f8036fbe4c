//! Language tools: language servers that a run keeps running for its agents, questions to them, and syntax searches.
//!
//! A server is started by the first question about a file of its kind, below a guard and in the sandbox of the run, and
//! stays for all iterations. The agent edits files without notice, so the project is scanned for changes before each
//! question, and changed files are sent to the server as text: it processes them in order with the question, whereas it
//! reads watched files at any time.
//!
//! A server runs code that the agent wrote, and its answers may be manipulated. Therefore nothing is read or written on
//! its behalf that the sandbox would not let the agent read or write.

mod answers;
mod ask;
mod changes;
mod documents;
mod edits;
mod facts;
mod home;
mod installed;
mod languages;
mod places;
mod pool;
mod position;
mod server;
mod source;
mod state;
mod table;
mod trees;
mod uri;
pub mod words;

pub use facts::{
    ChangedFile, Diagnostic, DiagnosticSeverity, EditedLine, Indexing, LanguageAnswer, LanguageQuery, OutlineItem,
    QueryError, Results, SourceLocation, SymbolPosition, SyntaxPattern,
};
pub use home::Home;
pub use installed::installed;
pub use languages::Languages;
pub use pool::ServerNotice;
pub use table::{LanguageServer, built_in};
pub use trees::AST_GREP;
