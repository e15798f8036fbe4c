//! Calls of ralph's own tools by an agent.

use ralph_core::event::RunId;
use serde::{Deserialize, Serialize};

/// Most bytes of a text that an agent passes to a tool. Longer ones are refused, not cut: the agent can shorten them.
pub const TEXT_CAP_BYTES: usize = 2_000;

/// A call of a tool by an agent of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[schemars(rename = "Called")]
#[serde(deny_unknown_fields)]
pub struct ToolRequest {
    /// The run that gave the agent the tool. Another run refuses the call, since its tasks are not this agent's.
    pub run: RunId,
    pub call: ToolCall,
}

/// A tool with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolCall {
    /// Returns the current tasks.
    Plan {},
    /// Runs the goals now.
    GoalsCheck {
        /// The ticket of a check that was begun before.
        ticket: Option<u32>,
    },
    /// Claims that all work is done.
    ClaimDone {
        /// The ticket of a check of the goals that was begun before.
        ticket: Option<u32>,
    },
    /// Reports that the agent cannot continue the task.
    Blocked { reason: String },
    /// Asks the user a question, or fetches the answer.
    Question {
        question: Option<String>,
        #[serde(default)]
        choices: Vec<String>,
        /// The ticket of a question that was asked before.
        ticket: Option<u32>,
    },
    /// Reports that tests were changed on purpose.
    TestsChanged { reason: String },
    /// Reports the agent's progress.
    Progress { note: String },
    /// Gives a reason for leaving the lines of a user's comment as they are.
    CommentAnswer { comment: u32, reason: String },
    /// Proposes a task that is not in the plan.
    TaskAdd { task: String },
    /// Starts a command that goes on when the turn ends.
    BackgroundStart { command: String },
    /// Returns the state of all background tasks, or of one.
    BackgroundStatus { number: Option<u32> },
    /// Reads the output of a background task.
    BackgroundOutput {
        number: u32,
        /// The offset to read from; without it, the end of the output is read.
        from: Option<u64>,
    },
    /// Ends a background task that an agent has started.
    BackgroundCancel { number: u32 },
    /// Finds the definition of the symbol at a position.
    LspDefinition {
        file: String,
        /// The line, from 1.
        line: u32,
        /// The column in characters, from 1.
        column: Option<u32>,
        /// A word on the line, in place of a column.
        symbol: Option<String>,
    },
    /// Finds the references to the symbol at a position.
    LspReferences {
        file: String,
        line: u32,
        column: Option<u32>,
        symbol: Option<String>,
    },
    /// Returns what the language server knows about the symbol at a position.
    LspHover {
        file: String,
        line: u32,
        column: Option<u32>,
        symbol: Option<String>,
    },
    /// Lists the symbols of a file, or the symbols of the project with a given name.
    LspSymbols { file: Option<String>, name: Option<String> },
    /// Returns the diagnostics of a file, or of all files that are known.
    LspDiagnostics { file: Option<String> },
    /// Computes the edits that rename the symbol at a position.
    LspRename {
        file: String,
        line: u32,
        column: Option<u32>,
        symbol: Option<String>,
        new_name: String,
        /// Whether to make the edits as well.
        #[serde(default)]
        apply: bool,
    },
    /// Finds code that matches a syntax pattern.
    AstSearch {
        pattern: String,
        language: Option<String>,
        /// A file or a directory.
        path: Option<String>,
    },
    /// Computes the edits that replace each match of a syntax pattern.
    AstReplace {
        pattern: String,
        rewrite: String,
        language: Option<String>,
        path: Option<String>,
        /// Whether to make the edits as well.
        #[serde(default)]
        apply: bool,
    },
}

/// The answer to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, crate::JsonSchema)]
pub struct ToolAnswer {
    pub text: String,
    /// Whether the call was refused; the text says why.
    pub refused: bool,
}

impl ToolAnswer {
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            refused: false,
        }
    }

    pub fn refused(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            refused: true,
        }
    }
}
