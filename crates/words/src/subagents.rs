//! Subagents in words.

use ralph_core::subagents::{Subagent, Subagents};

use super::{counted, usage_in_words};

/// The number of subagents: `3 subagents, 2 running`; `None` if there were none.
pub fn subagents_in_words(all: &Subagents) -> Option<String> {
    let count = counted(u64::from(all.started), "subagent");
    match (all.started, all.running()) {
        (0, _) => None,
        (_, 0) => Some(count),
        (_, running) => Some(format!("{count}, {running} running")),
    }
}

/// The subagents in the order of a tree, each with its level from 1 and a line about it.
pub fn subagent_tree(all: &Subagents) -> Vec<(u32, String)> {
    let mut lines = Vec::new();
    let is_root = |one: &&Subagent| one.parent.as_ref().is_none_or(|parent| all.find(parent).is_none());
    for root in all.list.iter().filter(is_root) {
        add(all, root, 1, &mut lines);
    }
    lines
}

fn add(all: &Subagents, one: &Subagent, level: u32, lines: &mut Vec<(u32, String)>) {
    lines.push((level, subagent_in_words(one)));
    let children = all.list.iter().filter(|child| child.parent.as_ref() == Some(&one.id));
    children.for_each(|child| add(all, child, level + 1, lines));
}

fn subagent_in_words(one: &Subagent) -> String {
    let state = if one.running { "running" } else { "ended" };
    let title = if one.title.is_empty() { "subagent" } else { &one.title };
    match usage_in_words(&one.usage) {
        Some(usage) => format!("{title}: {state}, {usage}"),
        None => format!("{title}: {state}"),
    }
}

#[cfg(test)]
mod tests {
    use ralph_core::event::Usage;

    use super::*;

    #[test]
    fn subagents_are_shown_below_those_that_started_them() {
        let one = |id: &str, parent: Option<&str>, running, tokens| Subagent {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            title: format!("task {id}"),
            depth: 1,
            running,
            usage: Usage {
                input_tokens: tokens,
                ..Usage::default()
            },
        };
        let all = Subagents {
            started: 300,
            depth: 2,
            list: vec![
                one("a", None, false, Some(1_200)),
                one("b", None, true, None),
                one("a1", Some("a"), true, None),
                // Reports in which two start each other lead nowhere.
                one("x", Some("y"), true, None),
                one("y", Some("x"), true, None),
            ]
            .into(),
        };
        assert_eq!(subagents_in_words(&all).as_deref(), Some("300 subagents, 4 running"));
        let tree = subagent_tree(&all);
        let shown: Vec<(u32, &str)> = tree.iter().map(|(level, line)| (*level, line.as_str())).collect();
        assert_eq!(
            shown,
            [
                (1, "task a: ended, 1.2k tokens in"),
                (2, "task a1: running"),
                (1, "task b: running")
            ]
        );
    }
}
