//! Syntax of goals: a list of objects in a file, `NAME=COMMAND` on the command line.

use std::path::{Component, Path, PathBuf};

use ralph_core::event::Goal;
use ralph_policy::{
    grammars, settings,
    settings::{
        Duration, Grammar, Maybe, Mistake, Node, Prose, SingleLine, Switch, accept, group_schema, json_if, on_one_line,
        read_item,
    },
};
use serde_json::{Value, json};

settings! {
    /// A command that must succeed before a claim is accepted.
    pub struct WrittenGoal {
        /// The name of the goal.
        name("name"): GoalName,
        /// The command, as a text for `sh -c`.
        command("command"): GoalCommand,
        /// The minimum for the last number of the output.
        target("target"): GoalTarget,
        /// Maximum time of the command.
        timeout_ms("timeout"): Duration = "15m",
        /// Whether the goal also runs after edits, while the agent works.
        on_edit("onEdit"): Switch = false,
        /// The directory of the project in which the goal runs, such as "services/api"; by default the project itself.
        workspace("workspace"): Maybe<Workspace>,
        /// The file with the report of the test runner, as JUnit XML or TAP, such as "target/junit.xml"; by default the
        /// output is read. It is removed before the goal runs.
        report("report"): Maybe<ReportFile>,
        /// The purpose of the goal. `ralph goals` shows it, and an agent whose claim the goal refuses reads it.
        description("description"): Maybe<SingleLine>,
        /// A directory outside of the project whose files are laid over a copy of the project in which the goal runs,
        /// such as "~/held-out/api". Agents can neither read nor write these files, and learn only the number of tests
        /// that pass. Needs the sandbox.
        sealed("sealed"): Maybe<SealedDirectory>,
        /// Whether the goal is enabled.
        enabled("enabled"): Switch = true,
    }
}

/// The goals of a project, enabled and disabled ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConfiguredGoals {
    pub enabled: Vec<Goal>,
    pub disabled: Vec<Goal>,
}

impl From<Vec<WrittenGoal>> for ConfiguredGoals {
    fn from(goals: Vec<WrittenGoal>) -> Self {
        let (enabled, disabled): (Vec<_>, Vec<_>) = goals.into_iter().partition(|goal| goal.enabled);
        let run = |goals: Vec<WrittenGoal>| goals.into_iter().map(Goal::from).collect();
        ConfiguredGoals {
            enabled: run(enabled),
            disabled: run(disabled),
        }
    }
}

impl From<WrittenGoal> for Goal {
    fn from(goal: WrittenGoal) -> Self {
        Goal {
            name: goal.name,
            command: goal.command,
            target: goal.target,
            timeout_ms: goal.timeout_ms,
            on_edit: goal.on_edit,
            workspace: goal.workspace,
            report: goal.report,
            description: goal.description,
            sealed: goal.sealed.map(PathBuf::from),
            task: None,
        }
    }
}

/// Syntax of a list of goals with unique names.
pub struct Goals;

impl Grammar for Goals {
    type Value = ConfiguredGoals;

    const ADDS: bool = true;

    fn read(node: &Node, key: &str) -> Result<ConfiguredGoals, Vec<Mistake>> {
        let Some(items) = node.items() else {
            return accept::<Self>(node, key, None);
        };
        let (mut goals, mut mistakes) = (Vec::<WrittenGoal>::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            let key = format!("{key}[{index}]");
            match read_item(item, &key, "a goal", EXAMPLE) {
                Ok(goal) => goals.push(goal),
                Err(found) => mistakes.extend(found),
            }
            mistakes.extend(repeated(&items[..index], item, &key));
        }
        match mistakes.is_empty() {
            true => Ok(goals.into()),
            false => Err(mistakes),
        }
    }

    fn expected() -> String {
        r#"a list of goals, such as [{"name": "tests", "command": "cargo test"}]"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": group_schema::<WrittenGoal>() })
    }

    fn from_variable(word: &str) -> Value {
        json_if(word, Value::is_array)
    }

    /// Turns `NAME=COMMAND` into a goal. Any other text is kept as it is, to be refused later.
    fn from_flag(word: &str) -> Value {
        match word.split_once('=') {
            Some((name, command)) => json!([{ "name": name.trim(), "command": command.trim() }]),
            None => json!([word]),
        }
    }
}

const EXAMPLE: &str = r#"a goal, such as {"name": "tests", "command": "cargo test"}"#;

fn repeated(earlier: &[Node], goal: &Node, key: &str) -> Option<Mistake> {
    let name = goal.get("name")?;
    let repeats = |earlier: &Node| earlier.get("name").and_then(Node::text) == name.text();
    let is_repeated = name.text().is_some() && earlier.iter().any(repeats);
    is_repeated.then(|| {
        let found = format!("{}, like that of an earlier goal", name.described());
        let key = format!("{key}.name");
        Mistake::ill_typed(&name.origin, &key, found, "a name of its own".to_owned())
    })
}

grammars! {
    pub GoalName: String, r#"a text on one line, such as "tests""#, SingleLine::schema(), |node| on_one_line(node);
    pub GoalCommand: String, r#"a command of the shell, such as "cargo test""#, SingleLine::schema(),
        |node| Prose::read(node, "").ok();
    /// A directory inside the project.
    pub Workspace: String, r#"a directory of the project, such as "services/api""#, SingleLine::schema(),
        |node| node.text().filter(|text| is_within(text)).map(str::to_owned);
    /// A file inside the project, as a relative path without `..`.
    pub ReportFile: String, r#"a file of the project, such as "target/junit.xml""#, SingleLine::schema(),
        |node| node.text().filter(|text| is_within(text)).map(str::to_owned);
    /// A directory anywhere. `~` and variables are expanded as in the paths of the sandbox.
    pub SealedDirectory: String, r#"a directory outside of the project, such as "~/held-out/api""#,
        SingleLine::schema(), |node| on_one_line(node);
}

/// Whether a relative path stays inside the project.
fn is_within(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    let goes_down = parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    goes_down && !path.is_empty() && !path.contains(char::is_control)
}

pub struct GoalTarget;

impl Grammar for GoalTarget {
    type Value = Option<f64>;

    fn read(node: &Node, key: &str) -> Result<Option<f64>, Vec<Mistake>> {
        match node.is_null() {
            true => Ok(None),
            false => accept::<Self>(node, key, node.number().map(Some)),
        }
    }

    fn expected() -> String {
        "a number that the last number of the output has to reach, such as 80".to_owned()
    }

    fn schema() -> Value {
        json!({ "type": ["number", "null"] })
    }

    fn absent() -> Option<Option<f64>> {
        Some(None)
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
        let goals = files.load().config.goals.enabled;
        assert_eq!(
            goals,
            [
                Goal {
                    name: "tests".to_owned(),
                    command: "cargo test".to_owned(),
                    target: None,
                    timeout_ms: 900_000,
                    on_edit: false,
                    ..Goal::default()
                },
                Goal {
                    name: "coverage".to_owned(),
                    command: "./coverage.sh".to_owned(),
                    target: Some(80.0),
                    timeout_ms: 90_000,
                    on_edit: false,
                    ..Goal::default()
                }
            ]
        );
    }

    #[test]
    fn a_goal_that_is_off_is_kept_apart_and_one_has_a_place_and_words_of_its_own() {
        let files = Files::of_project(
            r#"{ "goals": [
                { "name": "api", "command": "go test", "workspace": "services/api", "description": "the API's tests" },
                { "name": "slow", "command": "./slow.sh", "enabled": false },
            ] }"#,
        );
        let goals = files.load().config.goals;
        assert_eq!(goals.enabled[0].workspace.as_deref(), Some("services/api"));
        assert_eq!(goals.enabled[0].description.as_deref(), Some("the API's tests"));
        let names = |goals: &[Goal]| goals.iter().map(|goal| goal.name.clone()).collect::<Vec<_>>();
        assert_eq!(
            (names(&goals.enabled), names(&goals.disabled)),
            (vec!["api".to_owned()], vec!["slow".to_owned()])
        );
    }

    #[test]
    fn each_fault_of_a_goal_is_placed_on_its_line() {
        for (goal, error) in [
            (
                r#"{ "name": "a",
                     "command": "" }"#,
                r#"project.json:3:22: `goals[0].command` is the text ""; expected a command of the shell, such as "cargo test""#,
            ),
            (
                r#"{ "name": "a", "command": "x", "timeout": "8x" }"#,
                r#"project.json:2:32: `goals[0].timeout` is the text "8x" (unknown unit `x`); expected a duration, such as "90s", "10m" or "1h30m""#,
            ),
            (
                r#"{ "name": "a", "command": "x", "target": "80" }"#,
                r#"project.json:2:32: `goals[0].target` is the text "80"; expected a number that the last number of the output has to reach, such as 80"#,
            ),
            (
                r#"{ "name": "a", "comand": "x", "command": "x" }"#,
                "project.json:2:16: `goals[0].comand` is not a field of a goal; expected `command`",
            ),
            (
                r#"{ "name": "a", "command": "x", "workspace": "../b" }"#,
                r#"project.json:2:32: `goals[0].workspace` is the text "../b"; expected a directory of the project, such as "services/api""#,
            ),
            (
                r#"{ "command": "x" }"#,
                r#"project.json:2:1: `goals[0]` is an object without `name`; expected a goal, such as {"name": "tests", "command": "cargo test"}"#,
            ),
            (
                "{ \"name\": \"a\", \"command\": \"x\" },\n{ \"name\": \"a\", \"command\": \"y\" }",
                r#"project.json:3:3: `goals[1].name` is the text "a", like that of an earlier goal; expected a name of its own"#,
            ),
            (
                "\"cargo test\"",
                r#"project.json:2:1: `goals[0]` is the text "cargo test"; expected a goal, such as {"name": "tests", "command": "cargo test"}"#,
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
        let commands: Vec<&str> = config.goals.enabled.iter().map(|goal| goal.command.as_str()).collect();
        assert_eq!(commands, ["make test", "make lint STRICT=1", "make docs"]);
    }

    #[test]
    fn a_goal_of_the_command_line_needs_a_name_of_its_own_and_a_command() {
        let files = Files::of_project(r#"{ "goals": [{ "name": "tests", "command": "make test" }] }"#);
        let error = files.flag("--goal", "goals", "tests=true").error();
        assert_eq!(error[0], "--goal: there is a goal `tests` already (project.json:1:3)");
        for (word, found) in [
            ("cargo test", "\"cargo test\""),
            ("tests=", "incomplete"),
            ("=true", "incomplete"),
        ] {
            let error = Files::new().flag("--goal", "goals", word).error();
            assert!(error[0].starts_with(&format!("--goal is {found}; ")), "{}", error[0]);
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
        assert_eq!(files.load().config.goals.enabled[0].name, "tests");
        let error = Files::new().env("RALPH_GOALS", "tests=true").error();
        assert!(
            error[0].starts_with("RALPH_GOALS is \"tests=true\"; expected a list of goals"),
            "{}",
            error[0]
        );
    }
}
