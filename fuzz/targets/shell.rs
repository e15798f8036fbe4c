//! Permission rules for commands: whatever follows a denied command, it is not allowed.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use ralph_core::event::Decision;
use ralph_policy::{
    permissions::{PathResolver, PolicyRequest, Rule, RuleList, RulePolicy, ToolClass, offered},
    settings::SettingOrigin,
};

struct Directories;

impl PathResolver for Directories {
    fn project(&self) -> &str {
        "/project"
    }

    fn home(&self) -> Option<&str> {
        Some("/home/user")
    }

    fn canonical(&self, absolute: &str) -> Option<String> {
        Some(absolute.to_owned())
    }
}

static POLICY: LazyLock<RulePolicy> = LazyLock::new(|| RulePolicy {
    deny: vec![rule("Bash(forbidden *)", RuleList::Deny)],
    ask: vec![
        rule("Bash(git push *)", RuleList::Ask),
        rule("Edit(//etc/**)", RuleList::Ask),
    ],
    allow: vec![
        rule("Bash(echo *)", RuleList::Allow),
        rule("Bash(git *)", RuleList::Allow),
    ],
    ..RulePolicy::default()
});

fn rule(text: &str, list: RuleList) -> Rule {
    Rule::read(text, list, &SettingOrigin::Default).expect("a rule")
}

fn request(command: &str) -> PolicyRequest {
    PolicyRequest {
        tool: "Bash".to_owned(),
        kind: ToolClass::Shell,
        command: Some(command.to_owned()),
        paths: Vec::new(),
        url: None,
    }
}

fuzz_target!(|text: &str| {
    let asked = request(text);
    let verdict = POLICY.decide(&asked, &Directories);
    assert_eq!(POLICY.decide(&asked, &Directories), verdict);
    _ = offered(&POLICY, &asked, &Directories);
    // The first line runs before the rest is even read.
    let denied = POLICY.decide(&request(&format!("forbidden x\n{text}")), &Directories);
    assert_ne!(denied.decision, Decision::Allow, "{denied:?}");
    _ = Rule::read(text, RuleList::Deny, &SettingOrigin::Default);
});
