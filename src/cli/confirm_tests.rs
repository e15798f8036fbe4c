//! `ralph confirm`: the user accepts tests that an agent changed, and files outside of the scope of a task.

use ralph_core::event::TestsChange;
use ralph_driver::TestsQuestion;
use ralph_text::{
    console::{self, print},
    one_line,
};
use ralph_words::{changed_tests_are_cut, counted, guarded_change_in_words};

use crate::error::{Failure, FailureKind};

use super::{args::Args, confirm::is_confirmed, control, run::place};

pub(super) fn run(args: &Args, yes: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let (tests, scope) = (
        ralph_driver::tests_question(&paths)?,
        ralph_driver::scope_question(&paths)?,
    );
    if tests.is_none() && scope.is_none() {
        let why = "no changed tests to confirm: no agent of the last run said that it changed tests on purpose";
        return Err(Failure::new(FailureKind::Failed, why).hint("`ralph report` summarizes the run"));
    }
    if let Some(TestsQuestion { ask, change }) = tests {
        show(&change);
        if !yes {
            print(&change.diff);
            if change.cut {
                print(&format!("\n{}\n", changed_tests_are_cut()));
            }
        }
        let code = decided(args, ask, yes)?;
        if code != 0 {
            return Ok(code);
        }
    }
    let Some(scope) = scope else { return Ok(0) };
    print(&format!("{}\n", one_line(&scope.request.title)));
    for file in &scope.request.paths {
        print(&format!("  {}\n", one_line(file)));
    }
    print(&format!(
        "`ralph diff {}` shows the changes of the iteration.\n",
        scope.iteration
    ));
    decided(args, scope.number, yes)
}

/// Asks for the user's decision, unless it is `yes`, and passes it on.
fn decided(args: &Args, ask: u32, yes: bool) -> Result<u8, Failure> {
    if !yes {
        if !console::is_terminal() {
            return Err(Failure::new(
                FailureKind::Failed,
                "not a terminal, so the changes cannot be confirmed",
            )
            .hint("`ralph confirm --yes` confirms them")
            .hint(format!("`ralph answer {ask} no \"why\"` sends the agent back")));
        }
        if !is_confirmed("Confirm these changes?")? {
            print(&format!(
                "not confirmed: `ralph answer {ask} no \"why\"` sends the agent back\n"
            ));
            return Ok(1);
        }
    }
    control::answer(args, ask, &["yes".to_owned()], &[])
}

fn show(change: &TestsChange) {
    let why = match &change.why[..] {
        "" => "The agent does not mention them.".to_owned(),
        why => format!("The agent says: {why}"),
    };
    let count = counted(change.changes.len() as u64, "change");
    print(&format!("{count} to tests or their configuration. {why}\n"));
    for change in &change.changes {
        print(&format!("  {}\n", guarded_change_in_words(change)));
    }
}
