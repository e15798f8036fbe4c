//! ralph's own tools, as an agent asks the run for them.

use ralph_core::event::RunId;
use serde::{Deserialize, Serialize};

/// Most bytes of what an agent says with a tool: more is refused, and not cut, since the agent can say it shorter.
pub const SAID_CAP_BYTES: usize = 2_000;

/// A call of a tool by an agent of `run`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Called {
    /// The run that handed the tool to the agent. Another one does not answer: its tasks are none of this agent's.
    pub run: RunId,
    pub call: ToolCall,
}

/// What an agent wants of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToolCall {
    /// The tasks as they are now.
    Plan {},
    /// The goals, run now.
    GoalsCheck {
        /// That of a check that was begun before.
        #[serde(default)]
        ticket: Option<u32>,
    },
    /// All is done.
    ClaimDone {
        /// That of a check of the goals that was begun before.
        #[serde(default)]
        ticket: Option<u32>,
    },
    /// The task cannot be gone on with.
    Blocked { reason: String },
    /// Something that only the user knows, or its answer.
    Question {
        #[serde(default)]
        question: Option<String>,
        #[serde(default)]
        choices: Vec<String>,
        /// That of a question that was asked before.
        #[serde(default)]
        ticket: Option<u32>,
    },
    /// Tests that were changed on purpose.
    TestsChanged { reason: String },
    /// How far the agent is.
    Progress { note: String },
    /// Work that is not in the plan.
    TaskAdd { task: String },
    /// A command that goes on when the turn ends.
    BackgroundStart { command: String },
    /// How background tasks stand: all, or one.
    BackgroundStatus {
        #[serde(default)]
        number: Option<u32>,
    },
    /// What a background task has written.
    BackgroundOutput {
        number: u32,
        /// The byte to read on from; the end is read where there is none.
        #[serde(default)]
        from: Option<u64>,
    },
    /// The end of a background task that an agent has started.
    BackgroundCancel { number: u32 },
    /// Where what is named at a place is defined.
    LspDefinition {
        file: String,
        /// From 1.
        line: u32,
        /// In characters, from 1.
        #[serde(default)]
        column: Option<u32>,
        /// A word on the line, in place of a column.
        #[serde(default)]
        symbol: Option<String>,
    },
    /// Where it is used.
    LspReferences {
        file: String,
        line: u32,
        #[serde(default)]
        column: Option<u32>,
        #[serde(default)]
        symbol: Option<String>,
    },
    /// What is known of it.
    LspHover {
        file: String,
        line: u32,
        #[serde(default)]
        column: Option<u32>,
        #[serde(default)]
        symbol: Option<String>,
    },
    /// What a file has in it, or where the project has a symbol of such a name.
    LspSymbols {
        #[serde(default)]
        file: Option<String>,
        #[serde(default)]
        name: Option<String>,
    },
    /// What is wrong with a file, or with all that is known.
    LspDiagnostics {
        #[serde(default)]
        file: Option<String>,
    },
    /// The edits that give something another name.
    LspRename {
        file: String,
        line: u32,
        #[serde(default)]
        column: Option<u32>,
        #[serde(default)]
        symbol: Option<String>,
        new_name: String,
        /// Makes them.
        #[serde(default)]
        apply: bool,
    },
    /// Where the syntax is as in a pattern.
    AstSearch {
        pattern: String,
        #[serde(default)]
        language: Option<String>,
        /// A file or a directory.
        #[serde(default)]
        path: Option<String>,
    },
    /// The edits that put something in the place of each match.
    AstReplace {
        pattern: String,
        rewrite: String,
        #[serde(default)]
        language: Option<String>,
        #[serde(default)]
        path: Option<String>,
        /// Makes them.
        #[serde(default)]
        apply: bool,
    },
}

/// What the agent is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "testing", derive(schemars::JsonSchema))]
pub struct ToolAnswer {
    pub text: String,
    /// It was not done, and the text says why.
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
