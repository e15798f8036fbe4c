//! Connects permission rules with the machine: paths on this disk, and agents that can be held to rules.

use std::{borrow::Cow, path::Path, slice, sync::Arc};

use ralph_agent::{Capabilities, manifest::LiveLaunch};
use ralph_core::{
    event::{Decider, Decision, Offer, PermissionMode, PermissionRequest, Ruling, ToolKind, ToolKinds},
    run::{AddedRule, Permissions},
};
use ralph_policy::permissions::{
    self, PartVerdict, PathResolver, PermissionVerdict, PolicyRequest, Rule, RuleList, RulePolicy, VerdictReason,
    offered, with_granted,
};
use ralph_text::one_line;
use ralph_tools::mcp::is_own_tool;
use ralph_words::mode_word;

use super::{ProjectPlace, place::where_it_leads};
use ralph_driver::{AvailableAgent, PermissionDecider};

use crate::error::{Failure, FailureKind};

/// The paths of this machine.
pub(crate) struct PathRoots {
    project: String,
    home: Option<String>,
}

impl PathRoots {
    pub(crate) fn for_place(place: &ProjectPlace) -> Self {
        PathRoots {
            project: place.project.to_string_lossy().into_owned(),
            home: dirs::home_dir().and_then(|home| home.into_os_string().into_string().ok()),
        }
    }
}

impl PathResolver for PathRoots {
    fn project(&self) -> &str {
        &self.project
    }

    fn home(&self) -> Option<&str> {
        self.home.as_deref()
    }

    fn canonical(&self, absolute: &str) -> Option<String> {
        where_it_leads(Path::new(absolute)).into_os_string().into_string().ok()
    }

    fn is_directory(&self, absolute: &str) -> bool {
        Path::new(absolute).is_dir()
    }
}

/// Returns the judge that applies `policy` to requests.
pub(crate) fn judge(place: &ProjectPlace, mut policy: RulePolicy) -> Arc<dyn PermissionDecider> {
    let concerns = policy.concerns();
    if policy.allows_all() {
        // An agent that asks although no rule requires it does so because of the user's own settings for it. No mode
        // may answer that.
        policy.mode = PermissionMode::Ask;
    }
    let disk = PathRoots::for_place(place);
    Arc::new(RunRules { policy, disk, concerns })
}

/// Whether the request is for one of ralph's own tools, which only reports to the run. Agents build the tool names
/// differently.
fn is_own(request: &PolicyRequest) -> bool {
    let name = ["mcp__ralph__", "mcp_ralph_", "ralph__", "ralph_"]
        .iter()
        .find_map(|prefix| request.tool.strip_prefix(prefix));
    matches!(request.kind, permissions::ToolClass::Mcp { .. }) && name.is_some_and(is_own_tool)
}

/// Decides as a run does: its own tools are allowed unless a rule names them.
pub(crate) fn decide(policy: &RulePolicy, request: &PolicyRequest, disk: &PathRoots) -> PermissionVerdict {
    let verdict = policy.decide(request, disk);
    if !matches!(verdict.because, VerdictReason::Mode { .. }) || !is_own(request) {
        return verdict;
    }
    let parts = verdict.parts.into_iter().map(|part| PartVerdict {
        decision: Decision::Allow,
        because: VerdictReason::OwnTool,
        ..part
    });
    PermissionVerdict {
        decision: Decision::Allow,
        because: VerdictReason::OwnTool,
        parts: parts.collect(),
    }
}

/// The rules of a run, with the disk that their paths refer to.
struct RunRules {
    policy: RulePolicy,
    disk: PathRoots,
    /// The kinds of tools before whose use agents ask from the beginning of the run.
    concerns: ToolKinds,
}

impl RunRules {
    /// The policy with the rules that answers added in this run, and with the mode that the user has set.
    fn with(&self, permissions: &Permissions) -> Cow<'_, RulePolicy> {
        let mut policy = Cow::Borrowed(&self.policy);
        if let Some(mode) = permissions.mode {
            policy.to_mut().mode = mode;
        }
        for added in &permissions.rules {
            let origin = answer_in_words(added);
            let rules = slice::from_ref(&added.rule);
            // A rule of a newer ralph may be invalid for this one; it allows nothing then.
            if let Ok(more) = with_granted(&policy, rules, &added.over, &origin) {
                policy = Cow::Owned(more);
            }
        }
        policy
    }
}

/// The origin of a rule that an answer added.
pub(crate) fn answer_in_words(added: &AddedRule) -> String {
    match &added.run {
        None => format!("your answer to question {}", added.ask),
        Some(run) => format!("your answer to question {} of the run {}", added.ask, run.0),
    }
}

impl PermissionDecider for RunRules {
    fn concerns(&self, permissions: &Permissions) -> ToolKinds {
        match permissions.mode {
            Some(mode) if !mode.is_auto() => ToolKinds::ALL,
            Some(_) | None => self.concerns,
        }
    }

    fn rule(&self, request: &PermissionRequest, permissions: &Permissions) -> Ruling {
        let policy = self.with(permissions);
        let request = PolicyRequest::from(request);
        let verdict = decide(&policy, &request, &self.disk);
        Ruling {
            decision: verdict.decision,
            by: match verdict.because {
                VerdictReason::Rule { rule, origin, .. } | VerdictReason::PossibleRule { rule, origin, .. } => {
                    Decider::Rule { rule, origin }
                }
                VerdictReason::Mode { mode } => Decider::Mode { mode },
                VerdictReason::Harmless => Decider::Mode { mode: policy.mode },
                VerdictReason::OwnTool => Decider::Rule {
                    rule: "mcp__ralph__*".to_owned(),
                    origin: "ralph's own tools".to_owned(),
                },
                VerdictReason::Unclear { .. } => Decider::Unclear,
            },
            offer: match verdict.decision {
                Decision::Ask => offered(&policy, &request, &self.disk),
                Decision::Allow | Decision::Deny => Offer::default(),
            },
        }
    }

    fn objection(
        &self,
        request: &PermissionRequest,
        permissions: &Permissions,
        rules: &[String],
        over: &[String],
    ) -> Option<String> {
        let policy = match with_granted(&self.with(permissions), rules, over, "this answer") {
            Ok(policy) => policy,
            Err(error) => return Some(error.to_string()),
        };
        let verdict = policy.decide(&PolicyRequest::from(request), &self.disk);
        let parts = verdict.parts.iter();
        let rest: Vec<String> = parts
            .filter(|part| part.decision != Decision::Allow)
            .map(|part| format!("`{}` ({})", one_line(&part.part), because_in_words(&part.because)))
            .collect();
        let others = rest.len().saturating_sub(1);
        rest.first().map(|first| match others {
            0 => format!("{} does not allow {first}", rules.join(", ")),
            more => format!("{} does not allow {first} and {more} more", rules.join(", ")),
        })
    }
}

/// Checks that an agent can be held to a policy.
///
/// # Errors
/// A [`Failure`] that names the adapter and the rules that would have no effect.
pub(super) fn enforceable(agent: &AvailableAgent, policy: &RulePolicy) -> Result<(), Failure> {
    let adapter = agent.adapter.id();
    let capabilities = agent.adapter.capabilities();
    let rules = [RuleList::Deny, RuleList::Ask].into_iter().flat_map(|list| {
        let unheld = policy
            .list(list)
            .iter()
            .filter(move |rule| !can_be_held(capabilities, rule, list));
        unheld.map(move |rule| format!("`{}` of `permissions.{}` ({})", rule.text, list.name(), rule.origin))
    });
    let mut unenforced: Vec<String> = rules.collect();
    if policy.mode != PermissionMode::Auto && !capabilities.can_ask_always() {
        unenforced.insert(0, format!("the mode `{}`", mode_word(policy.mode)));
    }
    let Some(first) = unenforced.first() else {
        return Ok(());
    };
    let others = match unenforced.len() {
        1 => String::new(),
        more => format!(" and {} more", more - 1),
    };
    let failure = Failure::new(
        FailureKind::Configuration,
        format!("adapter `{adapter}` cannot enforce {first}{others}"),
    );
    let asks: Vec<_> = capabilities.asks.names().collect();
    Err(match asks[..] {
        [] => {
            failure.hint("it does not ask before using tools; rules need a live channel with permission requests (not `--channel one-way`), or a server that ralph starts (not `--server`)")
        }
        _ => failure.hint(format!(
            "it requests permission only for tools of these kinds: {}",
            asks.join(", ")
        )),
    }
    .hint("`ralph adapters` shows what each adapter asks for; `claude` requests permission for every use of a tool")
    .hint("or move them from `permissions` to the agent's own settings"))
}

/// Whether the agent asks before the tool calls that a rule is about, or cannot make them.
fn can_be_held(capabilities: Capabilities, rule: &Rule, list: RuleList) -> bool {
    let unasked = rule.kinds().without(capabilities.asks);
    // An agent without tools for reading still reads with its shell. An agent without a web tool stays off the web.
    let fetch = ToolKinds::from_kinds(&[ToolKind::Fetch]);
    unasked.is_empty() || list == RuleList::Deny && unasked == fetch && capabilities.dispensable.has(ToolKind::Fetch)
}

/// Checks that the agent's own settings do not let it run commands without asking.
///
/// # Errors
/// A [`Failure`] that names the file with such a setting.
pub(super) fn unbypassed(
    adapter: &str,
    live: &LiveLaunch,
    concerned: ToolKinds,
    project: &Path,
) -> Result<(), Failure> {
    if !concerned.has(ToolKind::Shell) {
        return Ok(());
    }
    match live.asking.bypassed_by(project) {
        None => Ok(()),
        Some(file) => Err(Failure::new(
            FailureKind::Configuration,
            format!(
                "adapter `{adapter}` cannot enforce the rules: {} lets it run commands without asking",
                file.display()
            ),
        )
        .hint("move the file away for runs with rules, and add its rules to `permissions.allow`")),
    }
}

/// The reason of a decision, as a clause.
pub(crate) fn because_in_words(because: &VerdictReason) -> String {
    match because {
        VerdictReason::Rule { rule, list, origin } => format!("`{rule}` of `{}` ({origin})", list.name()),
        VerdictReason::PossibleRule { rule, list, origin } => {
            format!("could be `{rule}` of `{}` ({origin})", list.name())
        }
        VerdictReason::Mode { mode } => format!("no rule; mode `{}`", mode_word(*mode)),
        VerdictReason::Unclear { why } => why.to_string(),
        VerdictReason::Harmless => "needs no rule".to_owned(),
        VerdictReason::OwnTool => "one of ralph's own tools, and no rule names it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::testing::server_tool_asked;

    #[test]
    fn ralphs_own_tools_need_no_rule_in_any_mode_and_no_others_are_taken_for_them() {
        let policy = RulePolicy {
            mode: PermissionMode::Restricted,
            ..RulePolicy::default()
        };
        let disk = PathRoots {
            project: "/project".to_owned(),
            home: None,
        };
        let rules = RunRules {
            policy,
            disk,
            concerns: ToolKinds::ALL,
        };
        let given = Permissions::default();
        let decided = |tool: &str| rules.rule(&server_tool_asked(tool), &given).decision;
        for own in ["mcp__ralph__plan", "mcp_ralph_claim_done", "ralph_question"] {
            assert_eq!(decided(own), Decision::Allow, "{own}");
        }
        for other in ["mcp__ralph__rm", "mcp__other__plan", "plan", "mcp__ralph2__plan"] {
            assert_eq!(decided(other), Decision::Deny, "{other}");
        }
        let loosened = Permissions {
            mode: Some(PermissionMode::Auto),
            ..Permissions::default()
        };
        let ruling = rules.rule(&server_tool_asked("mcp__other__plan"), &loosened);
        assert_eq!(
            ruling.decision,
            Decision::Allow,
            "the mode that the user has set counts"
        );
    }
}
