//! `ralph adapters test`: which obligations of an agent a program meets.

use std::fmt::Write as _;

use ralph_agent::conformance::{Fulfilment, OBLIGATIONS, ObligationResult, RequirementLevel};
use ralph_system::proc::Supervisor;
use ralph_text::console::{complain, print, print_coloured};
use ralph_words::counted;

use crate::{
    app::{self, NamedAdapter, ProjectPlace, TestedAdapter},
    config::Config,
    error::{Failure, FailureKind},
    ui::{Presentation, headless::OutputFormat},
};

use super::table::{TableCell, table};

/// Tests an adapter, prints the table, and returns the exit code: 4 if the program is missing, 1 if an obligation is not
/// met.
pub(super) fn run(
    place: &ProjectPlace,
    config: &Config,
    adapter: &str,
    supervisor: &Supervisor,
) -> Result<u8, Failure> {
    let tested = app::test_adapter(place, config, &NamedAdapter::read(adapter), supervisor, |task| {
        complain(&format!("turn: {}", task.name()));
    })?;
    print(&format!("{}: {}\n\n", tested.id, tested.title));
    print_coloured(&rows(&tested));
    print(&conclusion(&tested));
    let is_missing =
        |result: &&ObligationResult| result.obligation == OBLIGATIONS[0] && result.fulfilment == Fulfilment::Unmet;
    let results = &tested.report.results;
    Ok(match results.iter().any(is_unmet) {
        _ if results.iter().find(is_missing).is_some() => FailureKind::AgentUnavailable.exit_code(),
        true => FailureKind::Failed.exit_code(),
        false => 0,
    })
}

fn rows(tested: &TestedAdapter) -> String {
    let rows: Vec<_> = tested
        .report
        .results
        .iter()
        .map(|result| {
            [
                TableCell::new(result.obligation.number.to_string()),
                TableCell::new(result.obligation.title),
                fulfilment(result),
                TableCell::new(&result.seen),
            ]
        })
        .collect();
    let style = Presentation::for_stdout(OutputFormat::Text).style;
    table([" no", "obligation", "result", "seen"], &rows, style)
}

fn fulfilment(result: &ObligationResult) -> TableCell {
    match (result.fulfilment, result.level) {
        (Fulfilment::Met, _) => TableCell::coloured("met", "32"),
        (Fulfilment::Unmet, RequirementLevel::Must) => TableCell::coloured("not met", "31"),
        (Fulfilment::Unmet, RequirementLevel::Should) => TableCell::coloured("not met, should be", "33"),
        (Fulfilment::NotShown, _) => TableCell::coloured("not shown", "2"),
    }
}

/// Whether the program breaks something that runs depend on.
fn is_unmet(result: &ObligationResult) -> bool {
    result.fulfilment == Fulfilment::Unmet && result.level == RequirementLevel::Must
}

/// Advice about each obligation that is not met, and the counts.
fn conclusion(tested: &TestedAdapter) -> String {
    let results = &tested.report.results;
    let mut text = String::new();
    let unmet = results.iter().filter(|result| result.fulfilment == Fulfilment::Unmet);
    for (at, result) in unmet.enumerate() {
        if at == 0 {
            text += "\nwhat to do:\n";
        }
        writeln!(text, "{:>4}  {}", result.obligation.number, result.obligation.remedy)
            .expect("a string takes every write");
    }
    let count = |of: fn(&ObligationResult) -> bool| results.iter().filter(|result| of(result)).count() as u64;
    let met = count(|result| result.fulfilment == Fulfilment::Met);
    let not_shown = count(|result| result.fulfilment == Fulfilment::NotShown);
    let verdict = match count(is_unmet) {
        0 => "the program conforms".to_owned(),
        unmet => format!("{} not met", counted(unmet, "obligation")),
    };
    writeln!(text, "\n{verdict}: {met} met, {not_shown} not shown").expect("a string takes every write");
    text
}
