//! Checks which agents are installed, their versions, and their logins as far as that costs nothing.

use ralph_agent::{
    AgentError,
    catalog::Catalog,
    check::{CheckReport, Comparison, InstalledVersion},
    login::Login,
};
use ralph_core::event::WindowSample;
use ralph_state::store::accounts::AccountFile;
use ralph_system::{os::now_ms, proc::Supervisor};
use ralph_text::with_causes;
use ralph_words::{short_duration, window_in_words};

use super::model::{DoctorFinding, Fatal, FindingState};
use crate::{
    app::{self, ProjectPlace},
    config::Config,
    error::{Failure, FailureKind},
};

use crate::cli::adapters::{NATIVE, is_of_use};

/// The row about the agent that runs by default.
const DEFAULT: &str = "default";

/// Returns the agent that a run would use, then the other installed ones, then the missing ones. `told` gets each
/// installed agent when its check ends, and the rest after that.
pub(super) fn findings(
    place: &ProjectPlace,
    config: &Config,
    remembered: bool,
    catalog: &Catalog,
    supervisor: &Supervisor,
    told: &mut dyn FnMut(&DoctorFinding),
) -> Vec<DoctorFinding> {
    let chosen = app::chosen_adapter(catalog, config, remembered, &place.project, supervisor);
    let is_chosen = |id: &str| chosen.as_ref().is_ok_and(|chosen| chosen == id);
    let lacks_tls = app::native_lacks_tls(config);
    let mut findings: Vec<DoctorFinding> = Vec::new();
    let mut installed = Vec::new();
    let probing = app::probing(place, config, catalog, supervisor);
    catalog.check_each(&place.project, probing, |id, checked| {
        let is_wanted = id == NATIVE && is_chosen(id);
        if !(is_of_use(id, &checked) || is_wanted) {
            return;
        }
        if let Ok(report) = &checked
            && report.path.is_some()
        {
            installed.push((id, matches!(report.login, Login::NotFound { .. })));
        }
        let mut finding = finding(id, checked, is_chosen(id));
        if finding.state != FindingState::Absent
            && let Some(windows) = windows(place, catalog, id)
        {
            finding.text = format!("{} · {windows}", finding.text);
            finding = finding.detail("windows", Some(windows));
        }
        if let Some(why) = lacks_tls.as_ref().filter(|_| id == NATIVE) {
            finding.state = FindingState::Weak;
            finding.text = format!("{} · {why}", finding.text);
        }
        if finding.state != FindingState::Absent {
            told(&finding);
        }
        findings.push(finding);
    });
    findings.sort_by_key(|finding| {
        let is_absent = finding.state == FindingState::Absent;
        (!is_chosen(&finding.name), is_absent, finding.name.clone())
    });
    let is_any_there = findings.iter().any(|finding| finding.state != FindingState::Absent);
    let absent = findings
        .iter_mut()
        .filter(|finding| finding.state == FindingState::Absent);
    let mut others = Vec::new();
    for absent in absent {
        if is_any_there {
            // Install commands are for users without any agent; `ralph adapters check ID` has them, too.
            absent.todo.clear();
            others.push(absent.name.clone());
        } else {
            told(absent);
        }
    }
    if !others.is_empty() {
        let text = format!("not installed: {}", others.join(", "));
        told(&DoctorFinding::new("others", FindingState::Absent, text));
    }
    let mut run = run(&chosen, config, remembered);
    if let Ok(chosen) = &chosen
        && let Some(but) = without_login(&installed, chosen)
    {
        run.state = FindingState::Weak;
        run.text = format!("{}, but {but}", run.text);
    }
    told(&run);
    findings.insert(0, run);
    findings
}

/// The used shares of the windows of the agent's account, as runs have heard of them last.
fn windows(place: &ProjectPlace, catalog: &Catalog, id: &str) -> Option<String> {
    let account = catalog.manifest(id).ok()?.account();
    let now_ms = now_ms();
    let known = AccountFile::new(&place.paths.states(), &account).windows();
    let valid = known.iter().filter(|sample| sample.holds_at(now_ms));
    let said: Vec<String> = valid
        .map(|WindowSample { window, .. }| {
            let left = short_duration(window.resets_ms.saturating_sub(now_ms));
            format!("{}, which is reset in {left}", window_in_words(window))
        })
        .collect();
    (!said.is_empty()).then(|| said.join(" · "))
}

/// Describes missing logins if the chosen agent lacks one. `installed` has each agent and whether it lacks its login.
fn without_login(installed: &[(&str, bool)], chosen: &str) -> Option<&'static str> {
    if !installed.contains(&(chosen, true)) {
        return None;
    }
    Some(match installed.iter().all(|(_, lacks)| *lacks) {
        true => "no agent is logged in, as far as can be told",
        false => "it is not logged in, as far as can be told",
    })
}

/// The agent that `ralph` without options would run.
fn run(chosen: &Result<String, Failure>, config: &Config, remembered: bool) -> DoctorFinding {
    match chosen {
        Ok(id) if remembered && config.adapter.as_ref() == Some(id) => DoctorFinding::new(
            DEFAULT,
            FindingState::Good,
            format!("uses `{id}`, as you chose; `ralph adapters use ID` chooses another"),
        ),
        Ok(id) if config.adapter.is_some() && !remembered => {
            DoctorFinding::new(DEFAULT, FindingState::Good, format!("uses `{id}`, as configured"))
        }
        Ok(id) => DoctorFinding::new(
            DEFAULT,
            FindingState::Good,
            format!("uses `{id}`; `--adapter ID` names another, `ralph adapters use ID` for good"),
        ),
        Err(failure) => {
            let why = match failure.kind {
                FailureKind::Configuration | FailureKind::Usage => Fatal::Configuration,
                FailureKind::AgentUnavailable | FailureKind::Failed | FailureKind::Locked | FailureKind::Unanswered => {
                    Fatal::Agent
                }
            };
            DoctorFinding::fatal(DEFAULT, why, failure)
        }
    }
}

type CheckResult = Result<CheckReport, AgentError>;

fn finding(id: &str, checked: CheckResult, is_chosen: bool) -> DoctorFinding {
    let report = match checked {
        Ok(report) => report,
        Err(error) => {
            return DoctorFinding::new(id, FindingState::Weak, with_causes(&error)).todos(error.hints());
        }
    };
    let Some(path) = &report.path else {
        if is_chosen {
            let text = format!("{}: not installed here, but its server answers", report.title);
            return DoctorFinding::new(id, FindingState::Good, text);
        }
        let text = format!("`{}` is not installed", report.program);
        return DoctorFinding::new(id, FindingState::Absent, text).todos(report.install.clone());
    };
    let (answers, version) = version(&report);
    let (logged_in, login, hint) = login(&report.login);
    let second = report.version_number().and_then(|version| of_opencode_2(id, version));
    let state = if answers && logged_in && second.is_none() {
        FindingState::Good
    } else {
        FindingState::Weak
    };
    let (what, instead) = second.unzip();
    let text = [
        Some(format!("{} {version}", report.title)),
        what.map(str::to_owned),
        login,
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ");
    DoctorFinding::new(id, state, text)
        .todos(instead.map(str::to_owned).into_iter().chain(hint))
        .detail("program", Some(path.display().to_string()))
        .detail("version", report.version_number().map(str::to_owned))
        .detail("verified", report.verified.clone())
        .detail("chosen", is_chosen.then(|| "yes".to_owned()))
}

/// Describes what does not work with opencode 2, and what to do instead; `None` for other agents and for opencode 1. The command
/// has the same name, and another server.
fn of_opencode_2(id: &str, version: &str) -> Option<(&'static str, &'static str)> {
    let major: u32 = version.split('.').next()?.parse().ok()?;
    match id {
        "opencode-server" if major >= 2 => Some((
            "opencode 2 cannot be driven as a server",
            "install opencode 1: npm install -g opencode-ai@1; or try `-a opencode-run`",
        )),
        "opencode-run" if major >= 2 => Some((
            "not tested with opencode 2",
            "to try it, set `adapters.opencode-run.command.args` to \
             [\"run\", \"--standalone\", \"--format\", \"json\", \"{model}\", \"{agent}\"]",
        )),
        _ => None,
    }
}

/// Whether the program reports its version, and how it compares to the verified one.
fn version(report: &CheckReport) -> (bool, String) {
    match &report.version {
        InstalledVersion::NotAsked => (true, "is there".to_owned()),
        InstalledVersion::Said(said) => {
            let version = report.version_number().unwrap_or(said);
            let text = match (report.comparison(), &report.verified) {
                (Comparison::Same, _) => format!("{version}, as verified"),
                (Comparison::Other | Comparison::Unknown, Some(verified)) => {
                    format!("{version}, verified with {verified}")
                }
                (Comparison::Other | Comparison::Unknown, None) => version.to_owned(),
            };
            (true, text)
        }
        InstalledVersion::Failed { why } => (false, format!("does not report its version: {why}")),
        InstalledVersion::TimedOut { after } => {
            let after_ms = u64::try_from(after.as_millis()).unwrap_or(u64::MAX);
            (
                false,
                format!("reported no version within {}", short_duration(after_ms)),
            )
        }
    }
}

/// Whether a login was found, how, and what to type if not.
fn login(login: &Login) -> (bool, Option<String>, Option<String>) {
    match login {
        Login::NotAsked => (true, None, None),
        Login::Variable(name) => (true, Some(format!("{name} is set")), None),
        Login::File(path) => (true, Some(format!("{} is there", path.display())), None),
        Login::NotFound { hint } => (false, Some("no login found".to_owned()), hint.clone()),
    }
}
