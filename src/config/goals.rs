//! Goals as they are written: a list of objects in a file, `NAME=COMMAND` on the command line.

use serde_json::{Map, Value, json};

use super::{
    duration::parse_duration,
    kind::{Kind, Mismatch, Unlimited, described},
};
use crate::event::Goal;

const FIELDS: [&str; 4] = ["name", "command", "target", "timeout"];
/// Time a goal may take that does not say.
const TIMEOUT: &str = "15m";

/// What is wrong in a list of goals, and where.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fault {
    /// The goal, from 0.
    pub(super) index: usize,
    /// The field of it; none where the goal as a whole is wrong.
    pub(super) field: Option<String>,
    pub(super) mismatch: Mismatch,
}

impl Fault {
    /// `goals[1].timeout`.
    pub(super) fn key(&self) -> String {
        match &self.field {
            Some(field) => format!("goals[{}].{field}", self.index),
            None => format!("goals[{}]", self.index),
        }
    }
}

/// Lists what is wrong with each of `goals`.
pub(super) fn faults(goals: &[Value]) -> Vec<Fault> {
    let mut faults = Vec::new();
    for (index, goal) in goals.iter().enumerate() {
        let mut fault = |field: Option<&str>, mismatch| {
            let field = field.map(str::to_owned);
            faults.push(Fault { index, field, mismatch });
        };
        let Value::Object(fields) = goal else {
            fault(None, mismatch(described(goal), example()));
            continue;
        };
        for (name, value) in fields {
            if let Err(mismatch) = check_field(name, value) {
                fault(Some(name), mismatch);
            }
        }
        for name in ["name", "command"]
            .into_iter()
            .filter(|name| !fields.contains_key(*name))
        {
            fault(None, mismatch(format!("an object without `{name}`"), example()));
        }
        let repeats = |earlier: &Value| earlier["name"].is_string() && earlier["name"] == goal["name"];
        if goals[..index].iter().any(repeats) {
            let found = format!("{}, like that of an earlier goal", described(&goal["name"]));
            fault(Some("name"), mismatch(found, "a name of its own".to_owned()));
        }
    }
    faults
}

fn check_field(name: &str, value: &Value) -> Result<(), Mismatch> {
    let text = |expected: &str, fits: fn(char) -> bool| match value.as_str() {
        Some(text) if !text.trim().is_empty() && !text.contains(fits) => Ok(()),
        Some(_) | None => Err(mismatch(described(value), expected.to_owned())),
    };
    match name {
        "name" => text(r#"a text on one line, such as "tests""#, char::is_control),
        "command" => text(r#"a command of the shell, such as "cargo test""#, |c| c == '\0'),
        "target" if value.is_number() || value.is_null() => Ok(()),
        "target" => Err(mismatch(
            described(value),
            "a number that the last number of the output has to reach, such as 80".to_owned(),
        )),
        "timeout" => Kind::Duration(Unlimited::Never).check(value),
        unknown => Err(mismatch(
            "no field of a goal".to_owned(),
            match nearest(unknown) {
                Some(near) => format!("`{near}`"),
                None => "`name`, `command`, `target` or `timeout`".to_owned(),
            },
        )),
    }
}

fn nearest(unknown: &str) -> Option<&'static str> {
    FIELDS
        .into_iter()
        .find(|known| strsim::jaro_winkler(&unknown.to_lowercase(), known) >= 0.85)
}

fn mismatch(found: String, expected: String) -> Mismatch {
    Mismatch { found, expected }
}

pub(super) fn example() -> String {
    r#"a goal, such as {"name": "tests", "command": "cargo test"}"#.to_owned()
}

/// Describes a goal as JSON Schema.
pub(super) fn schema() -> Value {
    let mut timeout = Kind::Duration(Unlimited::Never).schema();
    timeout["default"] = json!(TIMEOUT);
    json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "command"],
        "properties": {
            "name": { "type": "string", "minLength": 1 },
            "command": { "type": "string", "minLength": 1 },
            "target": { "type": ["number", "null"] },
            "timeout": timeout,
        },
    })
}

/// Takes goals that have no faults.
pub(super) fn read(goals: &Value) -> Vec<Goal> {
    let text = |goal: &Map<String, Value>, name: &str| goal.get(name)?.as_str().map(str::to_owned);
    let goals = goals.as_array().into_iter().flatten().filter_map(Value::as_object);
    goals
        .filter_map(|goal| {
            let timeout = text(goal, "timeout").unwrap_or_else(|| TIMEOUT.to_owned());
            Some(Goal {
                name: text(goal, "name")?,
                command: text(goal, "command")?,
                target: goal.get("target").and_then(Value::as_f64),
                timeout_ms: parse_duration(&timeout).ok()?,
            })
        })
        .collect()
}

/// Makes a goal of `NAME=COMMAND`; what is no such text stays one, and is refused as that.
pub(super) fn of_word(word: &str) -> Value {
    match word.split_once('=') {
        Some((name, command)) => json!({ "name": name.trim(), "command": command.trim() }),
        None => Value::String(word.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::testing::Files;

    #[test]
    fn goals_are_read_with_what_they_leave_out() {
        let files = Files::of_project(
            r#"{ "goals": [
                { "name": "tests", "command": "cargo test" },
                { "name": "coverage", "command": "./coverage.sh", "target": 80, "timeout": "90s" },
            ] }"#,
        );
        let goals = files.load().config.goals;
        assert_eq!(
            goals,
            [
                Goal {
                    name: "tests".to_owned(),
                    command: "cargo test".to_owned(),
                    target: None,
                    timeout_ms: 900_000,
                },
                Goal {
                    name: "coverage".to_owned(),
                    command: "./coverage.sh".to_owned(),
                    target: Some(80.0),
                    timeout_ms: 90_000,
                }
            ]
        );
    }

    #[test]
    fn each_fault_of_a_goal_is_placed_on_its_line() {
        for (goal, error) in [
            (
                r#"{ "name": "a",
                     "command": "" }"#,
                r#"project.json:3: `goals[0].command` is the text ""; expected a command of the shell, such as "cargo test""#,
            ),
            (
                r#"{ "name": "a", "command": "x", "timeout": "8x" }"#,
                r#"project.json:2: `goals[0].timeout` is the text "8x" (unknown unit `x`); expected a duration, such as "90s", "10m" or "1h30m""#,
            ),
            (
                r#"{ "name": "a", "command": "x", "target": "80" }"#,
                r#"project.json:2: `goals[0].target` is the text "80"; expected a number that the last number of the output has to reach, such as 80"#,
            ),
            (
                r#"{ "name": "a", "comand": "x", "command": "x" }"#,
                "project.json:2: `goals[0].comand` is no field of a goal; expected `command`",
            ),
            (
                r#"{ "command": "x" }"#,
                r#"project.json:2: `goals[0]` is an object without `name`; expected a goal, such as {"name": "tests", "command": "cargo test"}"#,
            ),
            (
                "{ \"name\": \"a\", \"command\": \"x\" },\n{ \"name\": \"a\", \"command\": \"y\" }",
                r#"project.json:3: `goals[1].name` is the text "a", like that of an earlier goal; expected a name of its own"#,
            ),
            (
                "\"cargo test\"",
                r#"project.json:2: `goals[0]` is the text "cargo test"; expected a goal, such as {"name": "tests", "command": "cargo test"}"#,
            ),
        ] {
            let files = Files::of_project(&format!("{{ \"goals\": [\n{goal}\n] }}"));
            assert_eq!(files.error()[0], error);
        }
    }

    #[test]
    fn goals_of_the_command_line_join_those_of_the_files() {
        let files = Files::of_project(r#"{ "goals": [{ "name": "tests", "command": "make test" }] }"#)
            .flag("--goal", "goals", "lint=make lint STRICT=1")
            .flag("--goal", "goals", "docs=make docs");
        let config = files.load().config;
        let commands: Vec<&str> = config.goals.iter().map(|goal| goal.command.as_str()).collect();
        assert_eq!(commands, ["make test", "make lint STRICT=1", "make docs"]);
    }

    #[test]
    fn a_goal_of_the_command_line_needs_a_name_of_its_own_and_a_command() {
        let files = Files::of_project(r#"{ "goals": [{ "name": "tests", "command": "make test" }] }"#);
        let error = files.flag("--goal", "goals", "tests=true").error();
        assert_eq!(error[0], "--goal: there is a goal `tests` already (project.json:1)");
        for word in ["cargo test", "tests=", "=true"] {
            let error = Files::new().flag("--goal", "goals", word).error();
            assert!(
                error[0].starts_with("--goal: `goals` is a list (`goals[0]"),
                "{}",
                error[0]
            );
            assert!(
                error[0].ends_with("expected NAME=COMMAND, such as tests=\"cargo test\""),
                "{}",
                error[0]
            );
        }
    }

    #[test]
    fn goals_of_a_variable_are_json() {
        let files = Files::new().env("RALPH_GOALS", r#"[{"name": "tests", "command": "true"}]"#);
        assert_eq!(files.load().config.goals[0].name, "tests");
        let error = Files::new().env("RALPH_GOALS", "tests=true").error();
        assert!(
            error[0].starts_with("RALPH_GOALS: `goals` is the text \"tests=true\"; expected a list of goals"),
            "{}",
            error[0]
        );
    }
}
