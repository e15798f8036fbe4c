//! `ralph permissions`: evaluates the permission rules without an agent.

use std::fmt::Write as _;

use ralph_core::event::{Decision, RuleScope, UserCommand};
use ralph_policy::{
    permissions::{
        GrantedRule, PermissionVerdict, PolicyRequest, Rule, RuleList, RulePolicy, ToolClass, tool_class, with_granted,
    },
    settings::{SettingOrigin, format_duration},
};
use ralph_state::{
    control::{self, ControlError, ControlRequest},
    store::{journal::read_view, rules::remembered},
};
use ralph_system::paths::ProjectPaths;
use ralph_text::{
    console::{print, print_json},
    one_line, pretty_json,
};
use ralph_words::decision_in_words;
use serde_json::{Value, json};

use crate::{
    app::{PathRoots, answer_in_words, because_in_words, decide},
    config,
    error::{Failure, FailureKind},
};

use super::{
    args::{Args, PermissionsCommand},
    control::show,
    run::sources,
    trust,
};

/// Exit code for a command that the user would be asked about; the same as of a run that needs an answer.
const ASKED: u8 = 8;

pub(super) fn run(args: &Args, json: bool, command: Option<&PermissionsCommand>) -> Result<u8, Failure> {
    let place = trust::place_to_look(args)?;
    let loaded = config::load(&sources(args, &place))?;
    let permissions = &loaded.config.permissions;
    let policy = with_answers(permissions.policy(), &place.paths)?;
    match command {
        Some(PermissionsCommand::Forget { rule }) => forget(&place.paths, rule.trim()),
        Some(PermissionsCommand::Test {
            shell,
            tool,
            path,
            url,
            json,
        }) => {
            let request = request(shell.as_deref(), tool.as_deref(), path, url.as_deref())?;
            let verdict = decide(&policy, &request, &PathRoots::for_place(&place));
            match json {
                true => print_json(&pretty_json(&verdict)),
                false => print(&in_words(&verdict)),
            }
            Ok(match verdict.decision {
                Decision::Allow => 0,
                Decision::Deny => FailureKind::Failed.exit_code(),
                Decision::Ask => ASKED,
            })
        }
        None if json => {
            let rules = |list| {
                let rules = policy.list(list).iter();
                let rules = rules.map(|rule| json!({ "rule": rule.text, "origin": rule.origin.to_string() }));
                rules.collect::<Vec<_>>()
            };
            print_json(&pretty_json(&json!({
                "mode": policy.mode,
                "deny": rules(RuleList::Deny),
                "ask": rules(RuleList::Ask),
                "allow": rules(RuleList::Allow),
                "answers": policy.granted.iter().map(granted).collect::<Vec<_>>(),
                "timeoutMs": permissions.timeout_ms,
                "onTimeout": permissions.unanswered,
            })));
            Ok(0)
        }
        None => {
            print(&listed(&policy, &loaded.config.permissions));
            Ok(0)
        }
    }
}

/// Adds the rules that answers added, for the project and in the current or resumable run, and the mode set there.
fn with_answers(policy: RulePolicy, paths: &ProjectPaths) -> Result<RulePolicy, Failure> {
    let run = paths.latest_run().map(|run| read_view(paths, &run)).transpose()?;
    let run = run.filter(|view| !view.is_over()).unwrap_or_default();
    let of_run = run
        .permissions
        .rules
        .iter()
        .filter(|added| added.scope == RuleScope::Run);
    let of_run = of_run.map(|added| {
        let origin = format!("{}, in this run", answer_in_words(added));
        (added.rule.clone(), added.over.clone(), origin)
    });
    let file = paths.rules().display().to_string();
    let of_project = remembered(paths)?
        .into_iter()
        .map(|rule| (rule.rule, rule.over, file.clone()));
    let mut whole = policy;
    whole.mode = run.permissions.mode.unwrap_or(whole.mode);
    for (rule, over, origin) in of_project.chain(of_run) {
        // A rule of a newer ralph may be invalid for this one; it allows nothing then.
        if let Ok(more) = with_granted(&whole, &[rule], &over, &origin) {
            whole = more;
        }
    }
    Ok(whole)
}

fn granted(granted: &GrantedRule) -> Value {
    json!({ "rule": granted.rule.text, "before": granted.over, "origin": granted.origin })
}

/// Removes a rule that an answer added: through the running loop, or directly without one.
fn forget(paths: &ProjectPaths, rule: &str) -> Result<u8, Failure> {
    let command = UserCommand::Forget { rule: rule.to_owned() };
    match control::ask(&paths.socket(), &ControlRequest::Command { command }) {
        Err(ControlError::NotRunning) if ralph_driver::forget_rule(paths, rule)? => {
            print(&format!("forgotten: {rule}\n"));
            Ok(0)
        }
        Err(ControlError::NotRunning) => {
            let why = format!("no answer has added `{rule}`");
            Err(Failure::new(FailureKind::Failed, why)
                .hint("`ralph permissions` shows the rules; remove a rule of a file from that file"))
        }
        reply => show(reply?),
    }
}

/// The request that an agent would make.
fn request(
    shell: Option<&str>,
    tool: Option<&str>,
    paths: &[String],
    url: Option<&str>,
) -> Result<PolicyRequest, Failure> {
    let usage = |message: String| {
        Failure::new(FailureKind::Usage, message)
            .hint("`ralph permissions test 'git push'`, or `ralph permissions test --tool Edit --path src/main.rs`")
    };
    let tool = match (tool, shell, paths, url) {
        (Some(tool), ..) => tool,
        (None, Some(_), ..) => "Bash",
        (None, None, [_, ..], _) => "Edit",
        (None, None, [], Some(_)) => "WebFetch",
        (None, None, [], None) => return Err(usage("there is nothing to test".to_owned())),
    };
    // A name that no rule could have is not a tool.
    if let Err(error) = Rule::read(tool, RuleList::Deny, &SettingOrigin::Flag("--tool".to_owned())) {
        return Err(usage(format!("--tool: {error}")));
    }
    let kind = tool_class(tool);
    if shell.is_some() && kind != ToolClass::Shell {
        return Err(usage(format!("`{tool}` is given no command")));
    }
    Ok(PolicyRequest {
        tool: tool.to_owned(),
        kind,
        command: shell.map(str::to_owned),
        paths: paths.to_vec(),
        url: url.map(str::to_owned),
    })
}

fn in_words(verdict: &PermissionVerdict) -> String {
    let parts: Vec<String> = verdict.parts.iter().map(|part| one_line(&part.part)).collect();
    let width = parts.iter().map(|part| part.chars().count()).max().unwrap_or(0).min(48);
    let mut text = String::new();
    for (shown, part) in parts.iter().zip(&verdict.parts) {
        let decision = decision_in_words(part.decision);
        let because = one_line(&because_in_words(&part.because));
        writeln!(text, "{shown:width$}  {decision:7}  {because}").expect("a string takes every write");
    }
    if verdict.parts.len() != 1 {
        text += decision_in_words(verdict.decision);
        text.push('\n');
    }
    text
}

/// A rule that an answer added, and the `ask` rules that it precedes.
fn answered(granted: &GrantedRule) -> (&'static str, String, String) {
    let over = match &granted.over[..] {
        [] => String::new(),
        over => format!("; before `{}` of `ask`", over.join("`, `")),
    };
    let origin = format!("{}{over}", granted.origin);
    ("answer", one_line(&granted.rule.text), one_line(&origin))
}

fn listed(policy: &RulePolicy, permissions: &config::PermissionSettings) -> String {
    let rows: Vec<(&str, String, String)> = RuleList::ALL
        .into_iter()
        .flat_map(|list| policy.list(list).iter().map(move |rule| (list, rule)))
        .map(|(list, rule)| (list.name(), one_line(&rule.text), rule.origin.to_string()))
        .chain(policy.granted.iter().map(answered))
        .collect();
    let width = rows.iter().map(|(_, rule, _)| rule.chars().count()).max().unwrap_or(0);
    let word = |value: serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let mut text = format!("{:9}  {}\n", "mode", word(json!(policy.mode)));
    for (list, rule, origin) in rows {
        writeln!(text, "{list:9}  {rule:width$}  {origin}").expect("a string takes every write");
    }
    let (after, then) = (
        format_duration(permissions.timeout_ms),
        word(json!(permissions.unanswered)),
    );
    text + &format!("{:9}  {then} after {after}\n", "no answer")
}
