//! `ralph goals assay`: attacks the goals with known cheats.

use std::time::Duration;

use ralph_core::event::{GateSettings, Mutant, Proof, TestCounts};
use ralph_gate::cheats::Cheat;
use ralph_policy::settings::closest;
use ralph_system::{
    diagnostics::{Diagnostics, Filter},
    proc::Supervisor,
};
use ralph_text::{
    console::{complain, is_terminal, print, print_json, warn},
    one_line, pretty_json,
};
use ralph_words::{counted, short_duration};
use serde_json::{Value, json};

use crate::{
    app::{self, Assay, AssayProgress, OwnFiles, ProjectPlace},
    assay::{AssayRow, AttemptKind, Break, BrokenWork, GateVerdict, Remedy, cheats},
    config::{self, Loaded, SettingSources},
    driver::RunChoice,
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::{args::Args, run::sources, trust};

/// Lists the known cheats.
pub(super) fn list(as_json: bool) -> Result<u8, Failure> {
    let cheats = known()?;
    if as_json {
        let rows = cheats
            .iter()
            .map(|cheat| json!({ "name": cheat.name, "what": cheat.what }));
        print_json(&pretty_json(&rows.collect::<Vec<Value>>()));
        return Ok(0);
    }
    let width = width(cheats.iter().map(|cheat| &cheat.name[..]));
    for cheat in &cheats {
        print(&format!("{:width$}  {}\n", cheat.name, cheat.what));
    }
    Ok(0)
}

/// Runs the assay. Returns exit code 0 if the gate refuses every cheat, 1 if it accepts one, and 2 if that cannot be
/// determined.
pub(super) fn run(args: &Args, names: &[String], as_json: bool, supervisor: &Supervisor) -> Result<u8, Failure> {
    let cheats = chosen(known()?, names)?;
    let place = trust::place_to_run(args)?;
    let loaded = config::load(&sources(args, &place))?;
    warn_of_absolute_paths(&place, &loaded);
    let width = width(cheats.iter().map(|cheat| &cheat.name[..]).chain(["do-nothing"]));
    let assay = app::assay(&place, &loaded, cheats, supervisor, |told| match told {
        // With `--json`, only the final object is printed.
        AssayProgress::Row { row, settings } if !as_json => print(&row_in_words(row, width, settings)),
        AssayProgress::Row { .. } => {}
        AssayProgress::Begun { assay, rows, estimate } if !as_json => print(&beginning(assay, rows, estimate)),
        AssayProgress::Begun { .. } => {}
        AssayProgress::Copying { .. } | AssayProgress::Checking | AssayProgress::Breaking
            if as_json && !is_terminal() => {}
        AssayProgress::Copying { above } => complain(&format!("copying the project to {} …", above.display())),
        AssayProgress::Checking => complain("running the goals on the copy …"),
        AssayProgress::Breaking => complain("looking for a change of the work that the tests notice …"),
    })?;
    match as_json {
        true => print_json(&pretty_json(&in_json(&loaded, &assay))),
        false => print(&ending(&assay)),
    }
    Ok(exit_code(&assay))
}

/// Runs one cheat in the copy, with the settings of the file given by `--config` only.
pub(super) fn run_one(args: &Args, supervisor: &Supervisor) -> Result<u8, Failure> {
    let place = ProjectPlace::current(args.state_dir.as_deref())?;
    // The project's own files were trusted before the project was copied.
    let place = ProjectPlace {
        own: OwnFiles::read(&place.project),
        ..place
    };
    let loaded = config::load(&SettingSources {
        extra: args.config.clone(),
        ..SettingSources::default()
    })?;
    let presentation = Presentation::for_stdout(OutputFormat::Text).without_hints();
    let diagnostics = Diagnostics::new(&Filter::default(), false);
    app::run(
        &place,
        &loaded,
        presentation,
        &diagnostics,
        supervisor,
        None,
        RunChoice::AsFound,
    )
}

fn known() -> Result<Vec<Cheat>, Failure> {
    cheats().map_err(|error| Failure::of(FailureKind::Configuration, &error))
}

/// Returns the cheats with these names, or all if `names` is empty.
fn chosen(mut cheats: Vec<Cheat>, names: &[String]) -> Result<Vec<Cheat>, Failure> {
    for name in names {
        if cheats.iter().all(|cheat| cheat.name != *name) {
            let near = closest(name, cheats.iter().map(|cheat| &cheat.name[..]));
            let failure = Failure::new(FailureKind::Usage, format!("there is no cheat `{name}`"));
            return Err(match near {
                Some(near) => failure.hint(format!("did you mean `{near}`? `ralph goals assay --list` shows all")),
                None => failure.hint("`ralph goals assay --list` shows all"),
            });
        }
    }
    cheats.retain(|cheat| names.is_empty() || names.contains(&cheat.name));
    Ok(cheats)
}

/// Warns of goals that name the project by its absolute path: run in the copy, they would check the original.
pub(super) fn warn_of_absolute_paths(place: &ProjectPlace, loaded: &Loaded) {
    let project = place.project.to_string_lossy();
    for goal in &loaded.config.goals.enabled {
        if goal.command.contains(&*project) {
            warn(&format!(
                "goal `{}` names the project by its absolute path: it looks at the project and not at the copy, so its results are wrong",
                one_line(&goal.name)
            ));
        }
    }
}

fn width<'n>(names: impl Iterator<Item = &'n str>) -> usize {
    names.map(|name| name.chars().count()).max().unwrap_or(0)
}

/// The text before the rows: why the work in the copy is not done, and how many runs follow.
fn beginning(assay: &Assay, rows: usize, estimate: Duration) -> String {
    let why = match &assay.broken {
        BrokenWork::Already { why } => format!("the goals fail as it is: {}", one_line(why)),
        BrokenWork::By(by) => format!("the work is broken in {}", break_in_words(by)),
        BrokenWork::Unnoticed { .. } => return String::new(),
    };
    let about = short_duration(u64::try_from(estimate.as_millis()).unwrap_or(u64::MAX));
    format!("{why}\n{}, about {about}\n", counted(rows as u64, "run"))
}

/// Formats a break, such as `calc.py:2: `return a + b` → `return a - b``.
fn break_in_words(by: &Break) -> String {
    let Mutant {
        path,
        line,
        before,
        after,
        ..
    } = &by.mutant;
    format!("{path}:{line}: `{}` → `{}`", one_line(before), one_line(after))
}

fn row_in_words(row: &AssayRow, width: usize, settings: &GateSettings) -> String {
    let set = row.remedies(settings);
    let set: Vec<String> = set.iter().map(remedy_in_words).collect();
    let set = set.join("; ");
    let (sign, said) = match (&row.verdict, row.kind) {
        (GateVerdict::Refused { why, .. }, kind) => {
            let sign = if kind == AttemptKind::Repair { '✖' } else { '✔' };
            (sign, format!("refused   {}", one_line(&first_of(why))))
        }
        (GateVerdict::Accepted(_), AttemptKind::Repair) => ('✔', "accepted, as it should be".to_owned()),
        (GateVerdict::Accepted(Proof::Tests), AttemptKind::Nothing | AttemptKind::Cheat) => {
            ('✖', format!("ACCEPTED  {set}"))
        }
        (
            GateVerdict::Accepted(Proof::Unconfirmed | Proof::Nothing | Proof::ExitCodes),
            AttemptKind::Nothing | AttemptKind::Cheat,
        ) => ('✖', format!("ACCEPTED by exit code only: {set}")),
        (GateVerdict::Undecided { why }, _) => ('?', format!("undecided {}", one_line(why))),
    };
    format!("{sign} {:width$}  {said}\n", row.name)
}

/// The first reason, and the number of further ones.
fn first_of(why: &[String]) -> String {
    match why {
        [] => String::new(),
        [only] => only.clone(),
        [first, more @ ..] => format!("{first} (and {})", counted(more.len() as u64, "more reason")),
    }
}

/// The advice for a cheat that was accepted.
fn remedy_in_words(remedy: &Remedy) -> String {
    match remedy {
        Remedy::CountedTests => {
            "no tests were counted: let a goal run a test runner that ralph knows, or give it a `report`".to_owned()
        }
        Remedy::Trial => "set \"gate\": { \"trial\": true }".to_owned(),
        Remedy::Bite => "set \"gate\": { \"bite\": \"refuse\" }".to_owned(),
        Remedy::Baseline => "set \"gate\": { \"baseline\": \"on\" }".to_owned(),
        Remedy::Guard { path } => {
            format!("guard {path}: add it to `gate.guard`, or take it out of `gate.guardNot`")
        }
        Remedy::None => "no setting refuses it: have such work reviewed".to_owned(),
    }
}

/// The text below the rows of a finished assay.
fn ending(assay: &Assay) -> String {
    let mut text = String::new();
    if !assay.inapplicable.is_empty() {
        let count = counted(assay.inapplicable.len() as u64, "more cheat");
        text += &format!("not for this project: {count} (`--json` names them)\n");
    }
    if let BrokenWork::Unnoticed { tried, first } = &assay.broken {
        text += &unnoticed(*tried, first.as_ref(), &assay.tests);
        return text;
    }
    match control_that_failed(assay) {
        Some(AssayRow {
            kind: AttemptKind::Nothing,
            verdict: GateVerdict::Accepted(_),
            ..
        }) => {
            text += "a claim without any work is accepted, and so is every cheat\n";
        }
        Some(AssayRow {
            kind: AttemptKind::Nothing,
            ..
        }) => text += "the fate of a claim is unknown, so the assay found nothing out\n",
        Some(AssayRow { .. }) => text += "repaired work is not accepted, so refused cheats prove nothing\n",
        None => {
            let tried = rows_of_kind(assay, AttemptKind::Cheat).count();
            let accepted = rows_of_kind(assay, AttemptKind::Cheat)
                .filter(|row| row.is_accepted())
                .count();
            let undecided = rows_of_kind(assay, AttemptKind::Cheat)
                .filter(|row| is_undecided(row))
                .count();
            let deceives_nobody = |row: &&AssayRow| matches!(row.verdict, GateVerdict::Refused { deceives: false, .. });
            let idle = rows_of_kind(assay, AttemptKind::Cheat).filter(deceives_nobody).count();
            text += &format!("{accepted} of {} accepted", counted(tried as u64, "cheat"));
            if idle > 0 {
                text += &format!("; the goals fail with {idle} of them, which have no effect here");
            }
            if undecided > 0 {
                text += &format!(", {undecided} undecided");
            }
            text += "\n";
        }
    }
    text
}

/// The text for an assay in which the goals noticed no change.
fn unnoticed(tried: usize, first: Option<&Break>, tests: &[TestCounts]) -> String {
    let passed = match tried {
        0 => "there is no line of work to change, so nothing shows that the goals notice changes".to_owned(),
        1 => "the goals notice nothing: they pass with the one change of the work that was tried".to_owned(),
        tried => format!("the goals notice nothing: they pass with each of {tried} changes of the work"),
    };
    let first = first.map(|first| format!(", such as {}", break_in_words(first)));
    let first = first.unwrap_or_default();
    let what = match tests.iter().any(|tests| tests.ran() > 0) {
        true => "let the tests that they run cover the work",
        false => "only exit codes back them: let a goal run a test runner that ralph knows, or give it a `report`",
    };
    format!("{passed}{first}\n{what}\n")
}

fn rows_of_kind(assay: &Assay, kind: AttemptKind) -> impl Iterator<Item = &AssayRow> {
    assay.rows.iter().filter(move |row| row.kind == kind)
}

fn is_undecided(row: &AssayRow) -> bool {
    matches!(row.verdict, GateVerdict::Undecided { .. })
}

/// The first control row with an unexpected verdict.
fn control_that_failed(assay: &Assay) -> Option<&AssayRow> {
    assay.rows.iter().find(|row| !row.is_as_it_should_be())
}

fn exit_code(assay: &Assay) -> u8 {
    let is_accepted = |row: &AssayRow| row.kind != AttemptKind::Repair && row.is_accepted();
    let is_unnoticed = matches!(assay.broken, BrokenWork::Unnoticed { .. });
    if is_unnoticed || assay.rows.iter().any(is_accepted) {
        FailureKind::Failed.exit_code()
    } else if control_that_failed(assay).is_some() || assay.rows.iter().any(is_undecided) {
        FailureKind::Unanswered.exit_code()
    } else {
        0
    }
}

fn in_json(loaded: &Loaded, assay: &Assay) -> Value {
    let goals = loaded.config.goals.enabled.iter();
    let rows = assay.rows.iter().map(|row| row_in_json(row, &assay.settings));
    let broken = match &assay.broken {
        BrokenWork::Already { why } => json!({ "type": "already", "why": why }),
        BrokenWork::By(Break { mutant, .. }) => json!({
            "type": "changed",
            "path": mutant.path,
            "line": mutant.line,
            "before": mutant.before,
            "after": mutant.after,
        }),
        BrokenWork::Unnoticed { tried, .. } => json!({ "type": "unnoticed", "tried": tried }),
    };
    json!({
        "goals": goals.map(|goal| json!({ "name": goal.name, "command": goal.command })).collect::<Vec<Value>>(),
        "tests": assay.tests,
        "broken": broken,
        "rows": rows.collect::<Vec<Value>>(),
        "inapplicable": assay.inapplicable,
        "accepted": rows_of_kind(assay, AttemptKind::Cheat).filter(|row| row.is_accepted()).count(),
        "exitCode": exit_code(assay),
    })
}

fn row_in_json(row: &AssayRow, settings: &GateSettings) -> Value {
    let kind = match row.kind {
        AttemptKind::Nothing | AttemptKind::Repair => "control",
        AttemptKind::Cheat => "cheat",
    };
    let (verdict, why) = match &row.verdict {
        GateVerdict::Refused { why, .. } => ("refused", why.clone()),
        GateVerdict::Accepted(Proof::Tests) => ("accepted", Vec::new()),
        GateVerdict::Accepted(Proof::Unconfirmed | Proof::Nothing | Proof::ExitCodes) => {
            ("accepted-by-exit-code", Vec::new())
        }
        GateVerdict::Undecided { why } => ("undecided", vec![why.clone()]),
    };
    let set = match row.kind {
        AttemptKind::Nothing | AttemptKind::Cheat => row.remedies(settings).iter().map(remedy_in_words).collect(),
        AttemptKind::Repair => Vec::new(),
    };
    json!({
        "name": row.name,
        "what": row.what,
        "kind": kind,
        "verdict": verdict,
        "deceives": matches!(&row.verdict, GateVerdict::Refused { deceives: true, .. } | GateVerdict::Accepted(_)),
        "why": why,
        "set": set,
        "durationMs": row.duration_ms,
    })
}
