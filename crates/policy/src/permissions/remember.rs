//! The rules that would allow a request in future, as narrow as possible.

use ralph_core::event::{Decision, Offer};
use thiserror::Error;

use super::{
    paths::PathResolver,
    policy::RulePolicy,
    rule::{GrantedRule, Rule, RuleError, RuleList},
    shell::{HOLE, PartEffect, parts},
    tools::{ToolClass, rule_name},
    verdict::PolicyRequest,
};
use crate::settings::SettingOrigin;

/// Most rules that one answer adds.
const MOST: usize = 16;

/// Programs whose subcommands say what they do, and the number of words that a rule keeps.
const SUBCOMMANDS: &[(&str, usize)] = &[
    ("npm run", 3),
    ("pnpm run", 3),
    ("yarn run", 3),
    ("bun run", 3),
    ("docker compose", 3),
    ("npm", 2),
    ("pnpm", 2),
    ("yarn", 2),
    ("bun", 2),
    ("cargo", 2),
    ("go", 2),
    ("git", 2),
    ("make", 2),
    ("uv", 2),
    ("docker", 2),
    ("kubectl", 2),
    ("gh", 3),
];

/// The rules that a remembered answer to `request` would add.
pub fn offered(policy: &RulePolicy, request: &PolicyRequest, world: &dyn PathResolver) -> Offer {
    let asked_by = policy.asked_by(request, world);
    let rules = rule_for(request, world.project());
    let covers = !rules.is_empty()
        && with_granted(policy, &rules, &asked_by, "")
            .is_ok_and(|policy| policy.decide(request, world).decision == Decision::Allow);
    Offer {
        rules: if covers { rules } else { Vec::new() },
        asked_by,
    }
}

/// A copy of the policy with rules that answers have added; `origin` is their source, for display.
///
/// # Errors
/// `NoRule` if there are too many, or with the text of one that is invalid.
pub fn with_granted(
    policy: &RulePolicy,
    rules: &[String],
    over: &[String],
    origin: &str,
) -> Result<RulePolicy, NoRule> {
    let mut policy = policy.clone();
    if rules.len() > MOST {
        return Err(NoRule::TooMany);
    }
    for text in rules {
        policy.granted.push(GrantedRule {
            rule: Rule::read(text, RuleList::Allow, &SettingOrigin::Default).map_err(|error| NoRule::Wrong {
                rule: text.clone(),
                error,
            })?,
            over: over.to_vec(),
            origin: origin.to_owned(),
        });
    }
    Ok(policy)
}

/// The reason why an answer adds no rules.
#[derive(Debug, Error, PartialEq)]
pub enum NoRule {
    #[error("an answer adds at most {MOST} rules")]
    TooMany,
    #[error("`{rule}`: {error}")]
    Wrong { rule: String, error: RuleError },
}

/// The allow rules that the answer "always" adds for a request of an agent in `project`; empty if no rule can express
/// it.
pub(super) fn rule_for(request: &PolicyRequest, project: &str) -> Vec<String> {
    let mut rules = match (&request.kind, &request.command, &request.url) {
        (ToolClass::Shell, Some(command), _) => return for_command(command, project).unwrap_or_default(),
        (ToolClass::Edit | ToolClass::Read, ..) => {
            let rules = request.paths.iter().map(|path| for_path(&request.kind, path, project));
            rules.collect::<Option<Vec<_>>>().unwrap_or_default()
        }
        (ToolClass::Fetch, _, Some(url)) => super::policy::host(url)
            .filter(|host| !host.contains('*'))
            .map(|host| format!("WebFetch(domain:{host})"))
            .into_iter()
            .collect(),
        // The end of the server's name is unknown, and not needed.
        (ToolClass::Mcp { server, tool }, ..) if server.is_empty() => vec![format!("mcp__{tool}")],
        (ToolClass::Mcp { server, tool }, ..) if !tool.is_empty() => vec![format!("mcp__{server}__{tool}")],
        (ToolClass::Search, ..) => vec!["WebSearch".to_owned()],
        (ToolClass::Shell | ToolClass::Fetch | ToolClass::Mcp { .. } | ToolClass::Other, ..) => Vec::new(),
    };
    rules.dedup();
    rules
}

fn for_command(command: &str, project: &str) -> Option<Vec<String>> {
    let mut rules = Vec::new();
    for part in parts(command).iter().filter(|part| !part.only_forbids) {
        let for_paths = |kind, paths: &[String]| paths.iter().map(|path| for_path(kind, path, project)).collect();
        let needed: Option<Vec<String>> = match &part.effect {
            PartEffect::Run { own, .. } => own.last().and_then(|text| for_program(text)).map(|rule| vec![rule]),
            PartEffect::RunScript { .. } | PartEffect::Mention(_) => continue,
            PartEffect::Write(paths) => for_paths(&ToolClass::Edit, paths),
            PartEffect::Read(paths) => for_paths(&ToolClass::Read, paths),
            PartEffect::Unclear { .. } => None,
        };
        for rule in needed? {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    Some(rules)
}

fn for_program(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(' ').collect();
    let starts = |known: &str| text == known || text.strip_prefix(known).is_some_and(|rest| rest.starts_with(' '));
    let known = SUBCOMMANDS.iter().find(|(known, _)| starts(known));
    let named = known.and_then(|(_, count)| words.get(..*count));
    let plain = |word: &&str| !word.starts_with('-') && !word.contains(HOLE);
    let (text, end) = match named.filter(|named| named.iter().all(plain)) {
        Some(named) => (named.join(" "), " *"),
        None => (text.to_owned(), ""),
    };
    // Characters with a special meaning in rules.
    let odd = [HOLE, '*', '"', '\'', '\\', ';', '|', '&', '<', '>', '`', '\n', '(', ')'];
    (!text.contains(odd) && !text.contains("$(") && !text.contains("  ") && !text.ends_with(' '))
        .then(|| format!("Bash({text}{end})"))
}

fn for_path(kind: &ToolClass, path: &str, project: &str) -> Option<String> {
    let name = rule_name(kind)?;
    // A path below the project is relative, so that the rule does not depend on where the project is.
    let below = path.strip_prefix(project).and_then(|rest| rest.strip_prefix('/'));
    let path = below.unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    if path.is_empty() || path.contains([HOLE, '*', '(', ')']) || path.contains(char::is_control) {
        return None;
    }
    Some(match path {
        _ if path.starts_with("~/") => format!("{name}({path})"),
        _ if path.starts_with('~') => return None,
        _ if path.starts_with('/') => format!("{name}(/{path})"),
        _ => format!("{name}(./{path})"),
    })
}
