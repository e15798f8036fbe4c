//! The tools of the server, and their execution by the run.

use std::{future::Future, pin::Pin};

use ralph_core::event::RunId;
use ralph_state::control::{
    ControlClient, ControlError, ControlReply, ControlRequest, ToolAnswer, ToolCall, ToolRequest,
};
use serde_json::{Map, Value};

use crate::arguments::{Argument, arguments, schema};

/// A tool that is offered.
#[derive(Debug, Clone, Copy)]
pub struct McpTool {
    /// No agent has a tool of this name, which would shadow it.
    pub(super) name: &'static str,
    /// The description for the model.
    pub(super) description: &'static str,
    /// The arguments that it shares with other tools, and its own.
    pub(super) shared: &'static [&'static [Argument]],
    pub(super) own: &'static [Argument],
}

impl McpTool {
    /// The JSON Schema of its arguments.
    pub(super) fn schema(&self) -> Value {
        schema(self.shared.iter().copied().flatten().chain(self.own))
    }
}

/// A running call.
pub(crate) type ToolFuture<'a> = Pin<Box<dyn Future<Output = ToolAnswer> + Send + 'a>>;

/// Offers tools and carries them out.
pub trait ToolProvider: Send + Sync {
    /// The tools, in the order in which they are listed.
    fn tools(&self) -> Vec<McpTool>;

    /// Carries out a tool of [`ToolProvider::tools`]. The future is dropped if the client cancels the call.
    fn call<'a>(&'a self, tool: &'a McpTool, arguments: Map<String, Value>) -> ToolFuture<'a>;
}

/// The tools of a run. A row contains everything that this server needs; `control::ToolCall` has the arguments, and
/// `driver::calls` the implementation.
macro_rules! tools {
    ($($name:ident: $description:literal, $($shared:ident)? [$($own:tt)*];)+) => {
        const TOOLS: &[McpTool] = &[$(McpTool {
            name: stringify!($name),
            description: $description,
            shared: &[$($shared)?],
            own: arguments!($($own)*),
        }),+];
    };
}

tools! {
    plan: "The tasks of the plan as they are now: which is yours, which are done, which are set aside.", [];
    goals_check: "Runs the commands that decide whether the work is done, exactly as ralph will run them after your turn, and \
                  says which pass and what the others print. Takes up to 40 seconds; then it gives a ticket to ask again with.",
        [may ticket Number "The ticket of a check that goes on."];
    claim_done: "Claims that every task of the plan is done. Refused with the reasons if a task is open or a goal fails. Once it is \
                 taken, end your turn.",
        [may ticket Number "The ticket of the goals that run for your claim."];
    blocked: "Says that you cannot go on with the task without something that only the user can give. It is set aside; end your \
              turn then.",
        [must reason Text "What is missing, as a question to the user."];
    question: "Asks the user something, without waiting: it gives a ticket. An answer reaches you while you work or in the next \
               session; called with the ticket, it says whether there is one.", [
        may question Text "The question, with what the user needs to know for it."
        may choices Texts "Answers to choose from, if there are such."
        may ticket Number "The ticket of a question that you asked."
    ];
    progress: "Notes in a sentence how far you are, for the user who watches and for the next session.",
        [must note Text "What is done, and what comes next."];
    tests_changed: "Says that your task demands other tests than there were. The user is asked, and sees how you changed them; without \
                    a yes the tests count as they were.",
        [must reason Text "Why the task cannot be done with the tests as they were."];
    comment_answer: "Says why the lines of a user's comment stay as they are. The user decides whether that is enough. A comment whose \
                     lines you change needs no answer.", [
        must comment Number "The number of the comment."
        must reason Text "Why the lines are right as they are."
    ];
    task_add: "Proposes a task that the plan lacks and that is no part of yours. The user decides on it.",
        [must task Text "The task, in one line."];
    background_start: "Starts a shell command in the project's directory that has to outlive your turn, a development server or a long \
                       build, and gives its number. It ends with the run at the latest; what you start yourself ends with your turn.",
        [must command Text "What a shell runs. It stays in the foreground: where its own program ends, the task is over."];
    background_status: "The background tasks of the run: which run and for how long, how the others ended, the last line of each.",
        [may number Number "Only this task."];
    background_output: "What a background task has written: the last 8 KiB, or up to 8 KiB from a byte on.", [
        must number Number "The task."
        may from Offset "The byte to read from, as the answer before said."
    ];
    background_cancel: "Ends a background task that an agent has started, and everything it started.",
        [must number Number "The task."];
    lsp_definition: "Where a name is defined: file, line and source line, from a language server that stays warm for the whole run. Sees \
                     your edits.", PLACE [];
    lsp_references: "All uses of a name in the project, its definition included; exact, where searching for text is not.", PLACE [];
    lsp_hover: "The type, signature and documentation of a name.", PLACE [];
    lsp_symbols: "The outline of a `file`, or where the project has symbols with such a `name`.", [
        may file Text "The file, relative to the project."
        may name Text "A name or part of one, to look for in the whole project."
    ];
    lsp_diagnostics: "Errors and warnings in a file as it is now, without a build; without `file`, those of all files that were looked at.",
        [may file Text "The file, relative to the project."];
    lsp_rename: "Renames a symbol wherever it is used. Shows the edits first; makes them, all or none, with `apply`.", PLACE [
        must new_name Text "Its new name."
        may apply Switch "Makes the edits; else they are only shown."
    ];
    ast_search: "Searches code by its syntax with ast-grep: `pattern` is code in which $A stands for one node and $$$A for any number, \
                 such as `foo($A, $$$REST)`.", PATTERN [];
    ast_replace: "Replaces code by its syntax: `rewrite` is what becomes of each match, with the same $A in it. Shows the edits first; \
                  makes them, all or none, with `apply`.", PATTERN [
        must rewrite Text "What is put in the place of each match."
        may apply Switch "Makes the edits; else they are only shown."
    ];
}

const PLACE: &[Argument] = arguments! {
    must file Text "The file, relative to the project."
    must line Number "The line, from 1."
    may symbol Text "The name as it is written on that line."
    may column Number "The column in characters, from 1, in place of `symbol`."
};

const PATTERN: &[Argument] = arguments! {
    must pattern Text "Code to look for."
    may language Text "Its language, such as rust, ts, python; by default that of each file."
    may path Text "A file or a directory, relative to the project."
};

/// The tools that need a language server.
pub const LANGUAGE_TOOLS: [&str; 6] = [
    "lsp_definition",
    "lsp_references",
    "lsp_hover",
    "lsp_symbols",
    "lsp_diagnostics",
    "lsp_rename",
];

/// The tools that need ast-grep.
pub const SYNTAX_TOOLS: [&str; 2] = ["ast_search", "ast_replace"];

/// Whether the run has a tool of this name.
pub fn is_own_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name)
}

/// The tools that the run carries out.
pub struct RunTools {
    client: ControlClient,
    /// The run whose session got the tools; `None` to use any run that is active.
    run: Option<RunId>,
    /// The names of tools that are not offered.
    without: Vec<String>,
}

impl RunTools {
    pub fn new(client: ControlClient, run: Option<RunId>, without: Vec<String>) -> Self {
        Self { client, run, without }
    }

    async fn answer(&self, tool: &McpTool, mut arguments: Map<String, Value>) -> Result<ToolAnswer, ControlError> {
        arguments.insert("tool".to_owned(), tool.name.into());
        let call: ToolCall = match serde_json::from_value(Value::Object(arguments)) {
            Ok(call) => call,
            Err(why) => return Ok(ToolAnswer::refused(format!("`{}`: {why}", tool.name))),
        };
        let run = match &self.run {
            Some(run) => run.clone(),
            None => match self.client.status().await {
                Err(ControlError::Refused { .. }) => RunId(String::new()),
                answered => answered?.run,
            },
        };
        let called = ToolRequest { run, call };
        let replied = self.client.ask(&ControlRequest::Tool { called, waits: true }).await?;
        Ok(match replied {
            ControlReply::Tool { answer } => answer,
            ControlReply::Refused { why } | ControlReply::Forbidden { why } => ToolAnswer::refused(why),
            ControlReply::Done { text, .. } => ToolAnswer::refused(text),
            ControlReply::Started { .. } | ControlReply::Status { .. } => ToolAnswer::refused(String::new()),
        })
    }
}

impl ToolProvider for RunTools {
    fn tools(&self) -> Vec<McpTool> {
        let offered = |tool: &&McpTool| !self.without.iter().any(|name| name == tool.name);
        TOOLS.iter().filter(offered).copied().collect()
    }

    fn call<'a>(&'a self, tool: &'a McpTool, arguments: Map<String, Value>) -> ToolFuture<'a> {
        Box::pin(async move {
            self.answer(tool, arguments).await.unwrap_or_else(|error| {
                ToolAnswer::refused(match error {
                    ControlError::NotRunning => GONE.to_owned(),
                    other => ralph_text::with_causes(&other),
                })
            })
        })
    }
}

/// The message to an agent whose run has ended.
const GONE: &str =
    "the run that this tool belongs to is over, or its ralph was stopped: nothing was done, and nothing will be";

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(tool: &str, mut arguments: Value) -> Result<ToolCall, String> {
        arguments["tool"] = json!(tool);
        serde_json::from_value(arguments).map_err(|why| why.to_string())
    }

    #[test]
    fn every_tool_has_a_call_and_takes_what_its_schema_says_and_nothing_else() {
        for tool in TOOLS {
            let schema = tool.schema();
            let properties = schema["properties"].as_object().expect("an object");
            let required = schema["required"].as_array().expect("a list");
            let sample = |name: &String| match properties[name]["type"].as_str() {
                Some("integer") => json!(1),
                Some("array") => json!(["a"]),
                Some("boolean") => json!(true),
                _ => json!("text"),
            };
            let all: Map<String, Value> = properties.keys().map(|name| (name.clone(), sample(name))).collect();
            read(tool.name, Value::Object(all.clone())).unwrap_or_else(|why| panic!("{}: {why}", tool.name));
            let least: Map<String, Value> = all
                .into_iter()
                .filter(|(name, _)| required.contains(&json!(name)))
                .collect();
            read(tool.name, Value::Object(least.clone())).unwrap_or_else(|why| panic!("{}: {why}", tool.name));
            let mut more = least;
            more.insert("nonce".to_owned(), json!("x"));
            assert!(
                read(tool.name, Value::Object(more)).is_err(),
                "{} takes what it does not know",
                tool.name
            );
        }
    }

    #[test]
    fn wrong_types_are_told_by_name() {
        assert!(read("blocked", json!({})).unwrap_err().contains("`reason`"));
        assert!(read("progress", json!({"note": 3})).unwrap_err().contains("string"));
        assert!(read("goals_check", json!({"ticket": -1})).is_err());
        assert!(read("stop", json!({})).is_err());
    }
}
