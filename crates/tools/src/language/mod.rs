//! Language tools: language servers that a run keeps warm for its agents, what they are asked, and searches by syntax.
//!
//! A server is started by the first question about a file of its kind, below a guard and in the sandbox of the run, and stays for all
//! iterations. What surprises: the files belong to the agent, who edits them without a word to anybody. So before each question the
//! project is looked through for what has changed, and a changed file is handed to the server as a text, which it takes in order with
//! the question; a watched file it would read whenever it likes.
//!
//! An answer is what a server says about files, and a server runs what the agent wrote. So nothing is read or written for it that the
//! sandbox would not let the agent read or write.

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
mod wire;

pub use facts::{
    At, Edited, Found, Message, NoAnswer, OutlineItem, Pattern, Place, Question, Severity, Shown, Still, Told,
};
pub use home::Home;
pub use installed::installed;
pub use languages::Languages;
pub use pool::News;
pub use table::{LanguageServer, built_in};
pub use trees::AST_GREP;
