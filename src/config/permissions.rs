//! Syntax of the permission rules.
//!
//! Unlike other settings, the lists of all layers add up: a project's file cannot allow what the user's file denies.

use std::marker::PhantomData;

use ralph_core::event::{PermissionMode, Unanswered};
use ralph_policy::{
    permissions::{Rule, RuleList, RulePolicy},
    settings,
    settings::{Duration, Grammar, Leaf, Merged, Mistake, Node, NodeShape, OneOf, SettingOrigin, accept, accept_or},
};
use serde_json::{Value, json};

settings! {
    /// Rules on what an agent may do, in the syntax of Claude Code: "Bash(git push *)", "Edit(src/**)",
    /// "Read(~/.ssh/**)", "WebFetch(domain:example.org)", "mcp__server__tool", or a tool's name alone. Rules of `deny`
    /// win over rules of `ask`, these over rules of `allow`, and these over the mode. The lists of all files add up.
    /// `ralph permissions test 'git push && ls'` shows which rule decides on which part of a command. Rules see what an
    /// agent reports; they are not a sandbox.
    pub struct PermissionSettings {
        /// The decision on requests without a matching rule. "auto": allowed. "ask": put to the user. "restricted":
        /// denied. "readonly": allowed for tools that only read. What only reads within the project (`ls`, `git log`,
        /// `cat src/x`) is allowed in every mode.
        #[flag("--permission-mode", "MODE", "The decision on requests without a matching rule: auto, ask, restricted or readonly [default: auto]")]
        mode("mode"): OneOf<PermissionMode> = "auto",
        /// Denied requests: ["Bash(git push *)", "Read(~/.ssh/**)"].
        deny("deny"): RuleListSyntax<DenyRules> = [],
        /// Requests that are put to the user: ["WebFetch", "Bash(npm publish *)"].
        ask("ask"): RuleListSyntax<AskRules> = [],
        /// Allowed requests: ["Bash(npm run test *)", "Edit(src/**)"].
        allow("allow"): RuleListSyntax<AllowRules> = [],
        /// Maximum time that a request waits for an answer.
        timeout_ms("timeout"): Duration = "5m",
        /// The decision on a request without an answer in time: "deny", with an explanation, and the agent continues
        /// without it; "allow"; "pause", which pauses the run; or "block", which sets the task aside.
        unanswered("onTimeout"): OneOf<Unanswered> = "deny",
    }
}

impl PermissionSettings {
    /// The policy that applies the rules.
    pub fn policy(&self) -> RulePolicy {
        RulePolicy {
            mode: self.mode,
            deny: self.deny.clone(),
            ask: self.ask.clone(),
            allow: self.allow.clone(),
            granted: Vec::new(),
        }
    }
}

/// A type that stands for one list of rules.
pub trait RuleListMarker {
    const LIST: RuleList;
}

pub struct DenyRules;
pub struct AskRules;
pub struct AllowRules;

impl RuleListMarker for DenyRules {
    const LIST: RuleList = RuleList::Deny;
}

impl RuleListMarker for AskRules {
    const LIST: RuleList = RuleList::Ask;
}

impl RuleListMarker for AllowRules {
    const LIST: RuleList = RuleList::Allow;
}

/// Syntax of one list of rules.
pub struct RuleListSyntax<L>(PhantomData<L>);

impl<L: RuleListMarker> Grammar for RuleListSyntax<L> {
    type Value = Vec<Rule>;

    fn read(node: &Node, key: &str) -> Result<Vec<Rule>, Vec<Mistake>> {
        let Some(items) = node.items() else {
            return accept::<Self>(node, key, None);
        };
        let (mut rules, mut mistakes) = (Vec::<Rule>::new(), Vec::new());
        for (index, item) in items.iter().enumerate() {
            let key = format!("{key}[{index}]");
            let read = match item.text() {
                Some(text) => Rule::read(text, L::LIST, &item.origin).map_err(|error| Some(error.to_string())),
                None => Err(None),
            };
            match accept_or::<SingleRule>(item, &key, read) {
                // Only repetitions within one file are mistakes. Another file may contain the same rule.
                Ok(rule) => match rules
                    .iter()
                    .find(|other| other.text == rule.text && same_text(other, &rule))
                {
                    Some(first) => mistakes.push(Mistake::Conflict {
                        why: format!("`{key}` is `{}` a second time, after {}", rule.text, first.origin),
                        origin: rule.origin,
                    }),
                    None => rules.push(rule),
                },
                Err(found) => mistakes.extend(found),
            }
        }
        match mistakes.is_empty() {
            true => Ok(rules),
            false => Err(mistakes),
        }
    }

    fn expected() -> String {
        r#"a list of rules, such as ["Bash(git push *)", "Edit(src/**)"]"#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "array", "items": SingleRule::schema() })
    }

    /// Parses a list in JSON, or rules separated by commas.
    fn from_variable(word: &str) -> Value {
        let list = serde_json::from_str(word).ok().filter(Value::is_array);
        list.unwrap_or_else(|| word.split(',').map(|rule| Value::from(rule.trim())).collect())
    }
}

/// Whether two rules were written in the same file.
fn same_text(one: &Rule, other: &Rule) -> bool {
    match (&one.origin, &other.origin) {
        (SettingOrigin::File { path, .. }, SettingOrigin::File { path: other, .. }) => path == other,
        (one, other) => one == other,
    }
}

struct SingleRule;

impl Grammar for SingleRule {
    type Value = Rule;

    /// Never called: reading a rule requires its list, which [`RuleListSyntax`] knows.
    fn read(node: &Node, key: &str) -> Result<Rule, Vec<Mistake>> {
        accept::<Self>(node, key, None)
    }

    fn expected() -> String {
        r#"a rule, such as "Bash(git push *)""#.to_owned()
    }

    fn schema() -> Value {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// Adds the rules of a layer to those of the weaker ones.
pub(super) fn add_rules(merged: &Merged, mut leaf: Leaf) -> Leaf {
    let key = leaf.path.join(".");
    let is_list = RuleList::ALL
        .iter()
        .any(|list| key == format!("permissions.{}", list.name()));
    if let (true, Some(there), NodeShape::List(more)) = (is_list, merged.get(&key), &mut leaf.node.shape) {
        more.splice(0..0, there.items().unwrap_or_default().iter().cloned());
    }
    leaf
}

/// Finds rules that can never apply because of stronger ones.
pub(super) fn hidden_rules(permissions: &PermissionSettings) -> Vec<Mistake> {
    let policy = permissions.policy();
    let hidden = policy
        .hidden()
        .into_iter()
        .map(|(rule, list, stronger)| Mistake::Conflict {
            origin: rule.origin.clone(),
            why: format!(
                "`{}` can never decide: `{}` of `permissions.{}` ({}) decides before it; take one of the two out",
                rule.text,
                stronger.text,
                list.name(),
                stronger.origin
            ),
        });
    hidden.collect()
}

#[cfg(test)]
mod tests {
    use crate::config::testing::Files;

    fn with(permissions: &str) -> Files {
        Files::of_project(&format!("{{ \"permissions\": {permissions} }}"))
    }

    #[test]
    fn rules_of_all_layers_add_up_with_their_origins() {
        let loaded = with(r#"{ "deny": ["Bash(npm publish *)"], "allow": ["Read"] }"#)
            .with("user.json", r#"{ "permissions": { "deny": ["Bash(git push *)"] } }"#)
            .env("RALPH_PERMISSIONS_DENY", "WebFetch, Task")
            .load();
        let deny = &loaded.config.permissions.deny;
        let rules: Vec<&str> = deny.iter().map(|rule| rule.text.as_str()).collect();
        assert_eq!(rules, ["Bash(git push *)", "Bash(npm publish *)", "WebFetch", "Task"]);
        let origins: Vec<String> = deny.iter().map(|rule| rule.origin.to_string()).collect();
        assert!(origins[0].ends_with("user.json:1:29"), "{origins:?}");
        assert!(origins[1].ends_with("project.json:1:29"), "{origins:?}");
        assert_eq!(origins[2], "RALPH_PERMISSIONS_DENY");
        assert_eq!(loaded.config.permissions.allow.len(), 1);
    }

    #[test]
    fn a_project_cannot_allow_what_the_user_denies() {
        let files = with(r#"{ "deny": [], "allow": ["Bash(git push *)"] }"#)
            .with("user.json", r#"{ "permissions": { "deny": ["Bash(git push:*)"] } }"#);
        assert_eq!(
            files.error()[0],
            "project.json:1:42: `Bash(git push *)` can never decide: `Bash(git push:*)` of `permissions.deny` \
             (user.json:1:29) decides before it; take one of the two out"
        );
    }

    #[test]
    fn a_rule_that_can_never_match_is_placed() {
        for (permissions, error) in [
            (
                r#"{ "deny": ["Bsah(git push *)"] }"#,
                "project.json:1:29: `permissions.deny[0]` is the text \"Bsah(git push *)\" (there is no tool `Bsah`; did you \
                 mean `Bash`?); expected a rule, such as \"Bash(git push *)\"",
            ),
            (
                r#"{ "ask": [7] }"#,
                "project.json:1:28: `permissions.ask[0]` is the number 7; expected a rule, such as \"Bash(git push *)\"",
            ),
            (
                r#"{ "ask": "Bash" }"#,
                "project.json:1:20: `permissions.ask` is the text \"Bash\"; expected a list of rules, such as \
                 [\"Bash(git push *)\", \"Edit(src/**)\"]",
            ),
            (
                r#"{ "ask": ["Bash(a)", "Bash(a)"] }"#,
                "project.json:1:39: `permissions.ask[1]` is `Bash(a)` a second time, after project.json:1:28",
            ),
            (
                r#"{ "mode": "readonyl" }"#,
                "project.json:1:20: `permissions.mode` is the text \"readonyl\" (did you mean \"readonly\"?); expected \
                 \"auto\" or \"ask\" or \"restricted\" or \"readonly\"",
            ),
        ] {
            assert_eq!(with(permissions).error()[0], error);
        }
    }
}
