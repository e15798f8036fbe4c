//! The tools of the server, and their execution by the run.

use std::{future::Future, pin::Pin};

use ralph_core::event::RunId;
use ralph_state::control::{
    ControlClient, ControlError, ControlReply, ControlRequest, ToolAnswer, ToolCall, ToolRequest,
};
use serde_json::{Map, Value, json};

/// A tool that is offered.
#[derive(Debug, Clone, Copy)]
pub struct McpTool {
    /// No agent has a tool of this name, which would shadow it.
    pub(super) name: &'static str,
    /// The description for the model.
    pub(super) description: &'static str,
    /// The properties of its arguments, and the names of the required ones.
    pub(super) arguments: fn() -> (Value, &'static [&'static str]),
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
const TOOLS: [McpTool; 21] = [
    McpTool {
        name: "plan",
        description: "The tasks of the plan as they are now: which is yours, which are done, which are set aside.",
        arguments: || (json!({}), &[]),
    },
    McpTool {
        name: "goals_check",
        description: "Runs the commands that decide whether the work is done, exactly as ralph will run them after your turn, and \
                      says which pass and what the others print. Takes up to 40 seconds; then it gives a ticket to ask again with.",
        arguments: || (json!({"ticket": ticket("of a check that goes on")}), &[]),
    },
    McpTool {
        name: "claim_done",
        description: "Claims that every task of the plan is done. Refused with the reasons if a task is open or a goal fails. Once it is \
                      taken, end your turn.",
        arguments: || (json!({"ticket": ticket("of the goals that run for your claim")}), &[]),
    },
    McpTool {
        name: "blocked",
        description: "Says that you cannot go on with the task without something that only the user can give. It is set aside; end your \
                      turn then.",
        arguments: || {
            let reason = text("What is missing, as a question to the user.");
            (json!({"reason": reason}), &["reason"])
        },
    },
    McpTool {
        name: "question",
        description: "Asks the user something, without waiting: it gives a ticket. An answer reaches you while you work or in the next \
                      session; called with the ticket, it says whether there is one.",
        arguments: || {
            let choices = json!({"type": "array", "items": {"type": "string"}, "maxItems": 16, "description": "Answers to choose from, if there are such."});
            let question = text("The question, with what the user needs to know for it.");
            let ticket = ticket("of a question that you asked");
            (json!({"question": question, "choices": choices, "ticket": ticket}), &[])
        },
    },
    McpTool {
        name: "progress",
        description: "Notes in a sentence how far you are, for the user who watches and for the next session.",
        arguments: || (json!({"note": text("What is done, and what comes next.")}), &["note"]),
    },
    McpTool {
        name: "tests_changed",
        description: "Says that your task demands other tests than there were. The user is asked, and sees how you changed them; without \
                      a yes the tests count as they were.",
        arguments: || {
            let reason = text("Why the task cannot be done with the tests as they were.");
            (json!({"reason": reason}), &["reason"])
        },
    },
    McpTool {
        name: "comment_answer",
        description: "Says why the lines of a user's comment stay as they are. The user decides whether that is enough. A comment whose lines                       you change needs no answer.",
        arguments: || {
            let comment = json!({"type": "integer", "minimum": 1, "description": "The number of the comment."});
            let reason = text("Why the lines are right as they are.");
            (json!({"comment": comment, "reason": reason}), &["comment", "reason"])
        },
    },
    McpTool {
        name: "task_add",
        description: "Proposes a task that the plan lacks and that is no part of yours. The user decides on it.",
        arguments: || (json!({"task": text("The task, in one line.")}), &["task"]),
    },
    McpTool {
        name: "background_start",
        description: "Starts a shell command in the project's directory that has to outlive your turn, a development server or a long \
                      build, and gives its number. It ends with the run at the latest; what you start yourself ends with your turn.",
        arguments: || {
            let command =
                text("What a shell runs. It stays in the foreground: where its own program ends, the task is over.");
            (json!({"command": command}), &["command"])
        },
    },
    McpTool {
        name: "background_status",
        description: "The background tasks of the run: which run and for how long, how the others ended, the last line of each.",
        arguments: || (json!({"number": number("Only this task.")}), &[]),
    },
    McpTool {
        name: "background_output",
        description: "What a background task has written: the last 8 KiB, or up to 8 KiB from a byte on.",
        arguments: || {
            let from = json!({"type": "integer", "minimum": 0, "description": "The byte to read from, as the answer before said."});
            (json!({"number": number("The task."), "from": from}), &["number"])
        },
    },
    McpTool {
        name: "background_cancel",
        description: "Ends a background task that an agent has started, and everything it started.",
        arguments: || (json!({"number": number("The task.")}), &["number"]),
    },
    McpTool {
        name: "lsp_definition",
        description: "Where a name is defined: file, line and source line, from a language server that stays warm for the whole run. Sees \
                      your edits.",
        arguments: place,
    },
    McpTool {
        name: "lsp_references",
        description: "All uses of a name in the project, its definition included; exact, where searching for text is not.",
        arguments: place,
    },
    McpTool {
        name: "lsp_hover",
        description: "The type, signature and documentation of a name.",
        arguments: place,
    },
    McpTool {
        name: "lsp_symbols",
        description: "The outline of a `file`, or where the project has symbols with such a `name`.",
        arguments: || {
            let name = text("A name or part of one, to look for in the whole project.");
            (
                json!({"file": text("The file, relative to the project."), "name": name}),
                &[],
            )
        },
    },
    McpTool {
        name: "lsp_diagnostics",
        description: "Errors and warnings in a file as it is now, without a build; without `file`, those of all files that were looked at.",
        arguments: || (json!({"file": text("The file, relative to the project.")}), &[]),
    },
    McpTool {
        name: "lsp_rename",
        description: "Renames a symbol wherever it is used. Shows the edits first; makes them, all or none, with `apply`.",
        arguments: || {
            let (mut properties, _) = place();
            properties["new_name"] = text("Its new name.");
            properties["apply"] = apply();
            (properties, &["file", "line", "new_name"])
        },
    },
    McpTool {
        name: "ast_search",
        description: "Searches code by its syntax with ast-grep: `pattern` is code in which $A stands for one node and $$$A for any number, \
                      such as `foo($A, $$$REST)`.",
        arguments: || (pattern(), &["pattern"]),
    },
    McpTool {
        name: "ast_replace",
        description: "Replaces code by its syntax: `rewrite` is what becomes of each match, with the same $A in it. Shows the edits first; \
                      makes them, all or none, with `apply`.",
        arguments: || {
            let mut properties = pattern();
            properties["rewrite"] = text("What is put in the place of each match.");
            properties["apply"] = apply();
            (properties, &["pattern", "rewrite"])
        },
    },
];

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

fn place() -> (Value, &'static [&'static str]) {
    let properties = json!({
        "file": text("The file, relative to the project."),
        "line": number("The line, from 1."),
        "symbol": text("The name as it is written on that line."),
        "column": number("The column in characters, from 1, in place of `symbol`."),
    });
    (properties, &["file", "line"])
}

fn pattern() -> Value {
    json!({
        "pattern": text("Code to look for."),
        "language": text("Its language, such as rust, ts, python; by default that of each file."),
        "path": text("A file or a directory, relative to the project."),
    })
}

fn apply() -> Value {
    json!({"type": "boolean", "description": "Makes the edits; else they are only shown."})
}

/// Whether the run has a tool of this name.
pub fn is_own_tool(name: &str) -> bool {
    TOOLS.iter().any(|tool| tool.name == name)
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn number(about: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": about})
}

fn ticket(whose: &str) -> Value {
    json!({"type": "integer", "minimum": 1, "description": format!("The ticket {whose}.")})
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
    use super::*;

    fn read(tool: &str, mut arguments: Value) -> Result<ToolCall, String> {
        arguments["tool"] = json!(tool);
        serde_json::from_value(arguments).map_err(|why| why.to_string())
    }

    #[test]
    fn every_tool_has_a_call_and_takes_what_its_schema_says_and_nothing_else() {
        for tool in TOOLS {
            let (properties, required) = (tool.arguments)();
            let properties = properties.as_object().expect("an object");
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
                .filter(|(name, _)| required.contains(&&**name))
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
