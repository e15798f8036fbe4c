//! `ralph confirm`: the user's word on tests that an agent changed.

use crate::{
    console::{self, complain, print},
    driver,
    error::{Failure, FailureKind},
    words::{counted, guarded_change_in_words},
};

use super::{args::Args, confirm::is_confirmed, run::place};

pub(super) fn run(args: &Args, yes: bool) -> Result<u8, Failure> {
    let paths = place(args)?.paths;
    let Some(found) = driver::unconfirmed(&paths)? else {
        let why = "no changed tests wait to be confirmed: the last run did not end for want of that";
        return Err(Failure::new(FailureKind::Failed, why).hint("`ralph report` shows how it ended"));
    };
    print(&format!(
        "{} of tests, or of what decides them. The agent says: {}\n",
        counted(found.changes.len() as u64, "change"),
        found.why
    ));
    for change in &found.changes {
        print(&format!("  {}\n", guarded_change_in_words(change)));
    }
    if !yes {
        print(&found.diff);
        if !console::is_terminal() {
            return Err(Failure::new(FailureKind::Failed, "nobody is there to confirm them")
                .hint("`ralph confirm --yes` confirms them")
                .hint("`ralph steer \"…\"` sends the agent back: the run goes on with your message"));
        }
        complain("confirm these changes? [y/N]");
        if !is_confirmed()? {
            print("not confirmed: `ralph steer \"…\"` sends the agent back\n");
            return Ok(1);
        }
    }
    match driver::confirm_tests(&paths, found)? {
        true => {
            print("confirmed: the run is verified\n");
            Ok(0)
        }
        false => Err(Failure::new(FailureKind::Failed, "meanwhile another run has begun")),
    }
}
