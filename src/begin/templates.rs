//! Templates of the files for a new project.

use std::fmt::Write as _;

use ralph_text::pretty_json;
use serde_json::{Map, Value, json};

use super::CommandSuggestion;

/// A plan with these tasks, or with a commented example.
pub(crate) fn plan(tasks: &[String]) -> String {
    let mut text = "# Plan\n\n\
         <!-- One task per line, in order. Each is done in a fresh session, so keep it small and say how to tell that it is\n\
         done. The agent also reads the notes between the tasks. -->\n\n"
        .to_owned();
    if tasks.is_empty() {
        text += "<!-- - [ ] Parse the configuration file; a broken one is refused with line and column -->\n";
    }
    for task in tasks {
        writeln!(text, "- [ ] {task}").expect("a string takes every write");
    }
    text
}

/// A project configuration with these goals, and these settings for work trees. `forgives` says whether tests may fail that
/// fail before the first iteration.
pub(crate) fn config(goals: &[CommandSuggestion], forgives: bool, tree: Map<String, Value>) -> String {
    let goals = goals
        .iter()
        .map(|goal| json!({ "name": goal.name, "command": goal.command }));
    let mut config = json!({ "goals": goals.collect::<Vec<_>>() });
    if forgives {
        config["gate"] = json!({ "knownFailures": "forgive" });
    }
    if !tree.is_empty() {
        config["tree"] = Value::Object(tree);
    }
    pretty_json(&config)
}

/// Instructions for agents that list these commands.
pub(crate) fn instructions(commands: &[CommandSuggestion]) -> String {
    let longest = commands.iter().map(|found| found.command.len()).max().unwrap_or(0);
    let mut text = "# For coding agents\n\n## Commands\n\n".to_owned();
    for CommandSuggestion {
        name, command, from, ..
    } in commands
    {
        writeln!(text, "    {command:longest$}   # {name}, from {from}").expect("a string takes every write");
    }
    text + "\nRun them before you say that something is done, and fix what they find.\n"
}

/// The plan for an agent that writes instructions for agents. `file` is the file that it writes.
pub(crate) fn instructions_assignment(file: &str, project: &str, commands: &[CommandSuggestion]) -> String {
    let mut text = format!(
        "# Instructions for agents\n\n- [ ] Write {file}: what a coding agent has to know of the project in {project}\n\n\
         Read the project, and change nothing in it. Write {file} here, in Markdown, in 80 lines at most:\n\n\
         * the commands that build, test and check it, as they are typed in its directory, and how one test is run\n\
         * where things are: the directories and files that matter, a line each\n\
         * what the code keeps to and one file alone does not show\n\
         * what is not to be edited by hand\n\n\
         Say only what you have seen in the project, and nothing that is true of every project.\n"
    );
    if !commands.is_empty() {
        text += "\nThese commands verify it:\n\n";
        for CommandSuggestion {
            name, command, from, ..
        } in commands
        {
            writeln!(text, "* {name}: `{command}`, from {from}").expect("a string takes every write");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_plan::{PlanError, PlanKind, parse_bytes};

    #[test]
    fn instructions_have_a_line_for_each_command() {
        let found = |name: &str, command: &str| CommandSuggestion {
            name: name.to_owned(),
            command: command.to_owned(),
            from: "Cargo.toml".to_owned(),
            others: Vec::new(),
        };
        let text = instructions(&[found("tests", "cargo test"), found("lint", "cargo clippy --all")]);
        assert!(
            text.contains(
                "    cargo test           # tests, from Cargo.toml\n    cargo clippy --all   # lint, from Cargo.toml\n"
            ),
            "{text}"
        );
    }

    #[test]
    fn a_plan_has_the_tasks_that_were_named_and_else_none() {
        let parsed = |tasks: &[String]| parse_bytes(PlanKind::Markdown, plan(tasks).as_bytes());
        let named = ["Write the parser".to_owned(), "Test it".to_owned()];
        let tasks = parsed(&named).unwrap().tasks;
        assert_eq!(tasks.into_iter().map(|task| task.text).collect::<Vec<_>>(), named);
        assert!(matches!(parsed(&[]), Err(PlanError::NoTaskYet)));
    }
}
