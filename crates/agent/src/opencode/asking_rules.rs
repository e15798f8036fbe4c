//! Rules of opencode that make a server ask before every tool use. Pure.
//!
//! The last matching rule of opencode decides; those of a session come after those of its agent. Denials in an agent's
//! own settings stay in force. A subagent has a session of its own, which inherits only denials; it asks because of a
//! rule in the server's configuration, unless its own settings allow something after that rule.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// A permission that no configuration uses, so that its rule stays last when configurations are merged.
const EVERYTHING: &str = "**";
const PERMISSION_VAR: &str = "OPENCODE_PERMISSION";
const CONFIG_VAR: &str = "OPENCODE_CONFIG_CONTENT";

/// A permission rule of opencode.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct OpencodeRule {
    pub(super) permission: String,
    pub(super) pattern: String,
    pub(super) action: String,
}

/// An agent that the server knows. Only its name is required; the other fields may have any form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct KnownAgent {
    name: String,
    #[serde(default)]
    mode: Value,
    #[serde(default)]
    hidden: Value,
    #[serde(default)]
    permission: Value,
}

/// The environment variables that make the server ask, merged with the values in `before`.
pub(super) fn variables(asks: bool, before: impl Fn(&str) -> Option<String>) -> Vec<(String, String)> {
    let object = |name: &str| match before(name) {
        None => Some(Map::new()),
        // A value that is not a plain object is left as it is.
        Some(text) => serde_json::from_str(&text).ok(),
    };
    let mut variables = Vec::new();
    if let Some(mut config) = object(CONFIG_VAR) {
        // opencode silently refuses all but the first of several simultaneous requests, which ends a turn.
        let experimental = config.entry("experimental").or_insert_with(|| json!({}));
        if let Some(experimental) = experimental.as_object_mut() {
            experimental.entry("continue_loop_on_deny").or_insert(Value::Bool(true));
        }
        variables.push((CONFIG_VAR.to_owned(), Value::Object(config).to_string()));
    }
    if asks {
        let mut permission = object(PERMISSION_VAR).unwrap_or_default();
        permission.shift_remove(EVERYTHING);
        permission.insert(EVERYTHING.to_owned(), json!("ask"));
        variables.push((PERMISSION_VAR.to_owned(), Value::Object(permission).to_string()));
    }
    variables
}

/// The rules that make a session ask for everything that its agent is not denied, and the names of subagents that the
/// rules exclude, since they would not ask.
pub(super) fn asking_rules(agents: &[KnownAgent], chosen: Option<&str>) -> (Vec<OpencodeRule>, Vec<String>) {
    let mut rules = vec![everything()];
    if let Some(agent) = agents.iter().find(|agent| agent.is_chosen(chosen)) {
        let own = agent.rules().into_iter().filter(|rule| *rule != everything());
        rules.extend(own.map(|rule| OpencodeRule {
            action: match rule.action.as_str() {
                "deny" => "deny".to_owned(),
                _ => "ask".to_owned(),
            },
            ..rule
        }));
    }
    let excluded = agents.iter().filter(|agent| agent.mode != "primary" && !agent.asks());
    let excluded: Vec<String> = excluded.map(|agent| agent.name.clone()).collect();
    rules.extend(excluded.iter().map(|name| OpencodeRule {
        permission: "task".to_owned(),
        pattern: name.clone(),
        action: "deny".to_owned(),
    }));
    (rules, excluded)
}

/// The rule that makes a session ask before each use of `tools`, which start subagents, unless rules of its agent concern
/// them.
pub(super) fn counting_rules(agents: &[KnownAgent], chosen: Option<&str>, tools: &[String]) -> Vec<OpencodeRule> {
    let agent = agents.iter().find(|agent| agent.is_chosen(chosen));
    let own = agent.map(KnownAgent::rules).unwrap_or_default();
    let is_free = |tool: &&String| !own.iter().any(|rule| rule.permission == **tool);
    let asked = tools.iter().filter(is_free).map(|tool| OpencodeRule {
        permission: tool.clone(),
        ..everything()
    });
    asked.collect()
}

impl KnownAgent {
    /// Whether a session without a chosen agent has this one, or the session has chosen it.
    fn is_chosen(&self, chosen: Option<&str>) -> bool {
        match chosen {
            Some(name) => self.name == name,
            // The first one is the default agent.
            None => self.mode != "subagent" && self.hidden != true,
        }
    }

    fn rules(&self) -> Vec<OpencodeRule> {
        serde_json::from_value(self.permission.clone()).unwrap_or_default()
    }

    /// Whether the agent asks before every tool use.
    fn asks(&self) -> bool {
        let rules = self.rules();
        let Some(at) = rules.iter().rposition(|rule| *rule == everything()) else {
            return false;
        };
        // A use outside of the project is also asked for under its own permission.
        let allows = |rule: &OpencodeRule| rule.action == "allow" && rule.permission != "external_directory";
        !rules[at..].iter().any(allows)
    }
}

fn everything() -> OpencodeRule {
    OpencodeRule {
        permission: EVERYTHING.to_owned(),
        pattern: "*".to_owned(),
        action: "ask".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(name: &str, mode: &str, rules: &[(&str, &str, &str)]) -> KnownAgent {
        let rule = |(permission, pattern, action): &(&str, &str, &str)| OpencodeRule {
            permission: (*permission).to_owned(),
            pattern: (*pattern).to_owned(),
            action: (*action).to_owned(),
        };
        let rules: Vec<OpencodeRule> = rules.iter().map(rule).collect();
        let told = json!({"name": name, "mode": mode, "hidden": null, "permission": rules});
        serde_json::from_value(told).unwrap()
    }

    #[test]
    fn a_session_asks_for_what_its_agent_is_allowed_and_keeps_what_it_is_denied() {
        let agents = [
            agent(
                "helper",
                "subagent",
                &[("**", "*", "ask"), ("external_directory", "/tmp/*", "allow")],
            ),
            agent(
                "build",
                "primary",
                &[("*", "*", "allow"), ("bash", "rm *", "deny"), ("**", "*", "ask")],
            ),
            agent("free", "all", &[("**", "*", "ask"), ("bash", "*", "allow")]),
            agent("foreign", "subagent", &[("*", "*", "ask")]),
            serde_json::from_value(json!({"name": "odd", "permission": {"bash": "ask"}})).unwrap(),
        ];
        let (rules, excluded) = asking_rules(&agents, None);
        let shown: Vec<String> = rules
            .iter()
            .map(|rule| format!("{} {} {}", rule.permission, rule.pattern, rule.action))
            .collect();
        assert_eq!(
            shown,
            [
                "** * ask",
                "* * ask",
                "bash rm * deny",
                "task free deny",
                "task foreign deny",
                "task odd deny"
            ]
        );
        assert_eq!(excluded, ["free", "foreign", "odd"], "they would not ask");
        let (rules, _) = asking_rules(&agents, Some("free"));
        assert_eq!(rules[1].action, "ask", "whatever its own settings allow");
    }

    #[test]
    fn a_session_asks_before_it_starts_a_subagent_unless_its_agent_has_a_rule_for_that() {
        let tools = ["task".to_owned()];
        let asked = |rules| {
            let agents = [agent("helper", "subagent", &[]), agent("build", "primary", rules)];
            let rules = counting_rules(&agents, None, &tools).into_iter();
            rules.map(|rule| (rule.permission, rule.action)).collect::<Vec<_>>()
        };
        let asks = [("task".to_owned(), "ask".to_owned())];
        assert_eq!(asked(&[("*", "*", "allow")]), asks);
        assert_eq!(asked(&[("*", "*", "allow"), ("task", "*", "ask")]), []);
    }

    #[test]
    fn a_server_is_told_to_ask_after_everything_that_the_user_tells_it() {
        let told = |asks, name: &str, text: &str| {
            let (name, text) = (name.to_owned(), text.to_owned());
            variables(asks, move |asked| (asked == name).then(|| text.clone()))
        };
        let found = told(true, PERMISSION_VAR, r#"{"**":"allow","bash":"allow"}"#);
        assert_eq!(found[1].1, r#"{"bash":"allow","**":"ask"}"#);
        let found = told(false, CONFIG_VAR, r#"{"model":"a/b"}"#);
        assert_eq!(found.len(), 1);
        assert_eq!(
            found[0].1,
            r#"{"model":"a/b","experimental":{"continue_loop_on_deny":true}}"#
        );
        assert_eq!(told(false, CONFIG_VAR, "// not JSON"), []);
    }
}
