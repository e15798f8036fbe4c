//! `ralph doctor`: whether ralph can run here, with which agents, and what to type where something is missing.

mod agents;
mod machine;
mod model;
mod project;

use ralph_system::proc::Supervisor;
use ralph_text::{
    console::{print_coloured, print_json},
    pretty_json,
};

use crate::{
    app,
    config::{self, Config, Loaded},
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{
    args::{Args, DoctorFormatArg},
    run::sources,
    trust,
};
use model::{Checkup, CheckupText, DoctorFinding, DoctorSection, Fatal, FindingState};

const AGENTS: &str = "agents";
const MACHINE: &str = "machine";
const PROJECT: &str = "project";
/// The longest name of a finding other than an adapter.
const LONGEST_NAME: &str = ".ralph-pause";

pub(super) fn run(args: &Args, format: DoctorFormatArg, supervisor: &Supervisor) -> Result<u8, Failure> {
    let (place, left_out) = trust::place_and_what_is_left_out(args)?;
    let sources = sources(args, &place);
    let loaded = config::load(&sources).map_err(Failure::from);
    // With a broken configuration, the other checks use the defaults.
    let config = loaded
        .as_ref()
        .map_or_else(|_| Config::default(), |loaded| loaded.config.clone());
    let remembered = loaded.as_ref().is_ok_and(|loaded| loaded.adapter_is_remembered);
    let catalog = app::catalog(&place, &config);
    let mut checkup = Checkup {
        version: env!("CARGO_PKG_VERSION"),
        project: place.project.display().to_string(),
        sections: Vec::new(),
    };
    // As text, each row is printed as soon as it is known: some programs take seconds to report their version.
    let text = (format == DoctorFormatArg::Text).then(|| CheckupText {
        width: catalog
            .ids()
            .map(str::len)
            .max()
            .unwrap_or_default()
            .max(LONGEST_NAME.len()),
        style: Presentation::for_stdout(OutputFormat::Text).style,
    });
    let say = |line: &dyn Fn(&CheckupText) -> String| {
        if let Some(text) = &text {
            print_coloured(&line(text));
        }
    };
    let mut told = |finding: &DoctorFinding| say(&|text| text.row(finding));
    say(&|text| text.head(&checkup));
    say(&|text| text.title(AGENTS));
    let findings = agents::findings(&place, &config, remembered, &catalog, supervisor, &mut told);
    checkup.sections.push(DoctorSection {
        title: AGENTS,
        findings,
    });
    say(&|text| text.title(MACHINE));
    let findings = machine::findings(&place, &config, supervisor, &mut told);
    checkup.sections.push(DoctorSection {
        title: MACHINE,
        findings,
    });
    say(&|text| text.title(PROJECT));
    let mut findings = vec![configuration(&loaded, &config::paths(&sources))];
    findings.extend(left_out.map(untrusted));
    findings.iter().for_each(&mut told);
    findings.extend(project::findings(&place, &config, supervisor, &mut told));
    checkup.sections.push(DoctorSection {
        title: PROJECT,
        findings,
    });
    say(&|text| text.verdict(&checkup));
    if format == DoctorFormatArg::Json {
        print_json(&pretty_json(&model::json(&checkup)));
    }
    Ok(checkup.fatal().map_or(0, |fatal| {
        match fatal {
            Fatal::Configuration => FailureKind::Configuration,
            Fatal::Agent => FailureKind::AgentUnavailable,
            Fatal::Machine => FailureKind::Failed,
        }
        .exit_code()
    }))
}

/// The finding that the project's own files are not trusted and therefore ignored.
fn untrusted(left_out: String) -> DoctorFinding {
    DoctorFinding::new("trust", FindingState::Weak, left_out)
        .todo("`ralph trust --show` shows their contents, `ralph trust` trusts them")
}

fn configuration(loaded: &Result<Loaded, Failure>, paths: &str) -> DoctorFinding {
    match loaded {
        Ok(loaded) => {
            let read: Vec<_> = paths
                .lines()
                .filter(|line| !["(not there)", "(not trusted)"].iter().any(|end| line.ends_with(end)))
                .collect();
            let text = match read.len() {
                0 => "none (using defaults)".to_owned(),
                _ => read
                    .iter()
                    .filter_map(|line| line.split_once(' '))
                    .map(|(_, path)| path.trim())
                    .collect::<Vec<_>>()
                    .join(", "),
            };
            let state = if loaded.notices.is_empty() {
                FindingState::Good
            } else {
                FindingState::Weak
            };
            DoctorFinding::new("settings", state, text).todos(loaded.notices.iter().cloned())
        }
        Err(failure) => DoctorFinding::fatal("settings", Fatal::Configuration, failure),
    }
}
