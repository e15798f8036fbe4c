//! `ralph sandbox allow`: writes to the user's own settings that a path may be written, or read although it is hidden.

use std::path::Path;

use ralph_system::{
    paths::create_private_dir,
    sandbox::{FilePolicy, ListedPath, ListingReason, PathAccess},
};
use ralph_text::console::{self, print};
use serde_json::json;

use crate::error::{Failure, FailureKind};

use super::{confirm::is_agreed, own_settings};

/// Carries the command out for `real`, an absolute path without links. `file` is the user's own file of settings.
pub(super) fn run(policy: &FilePolicy, real: &Path, file: Option<&Path>, yes: bool) -> Result<u8, Failure> {
    let name = real.display();
    let refused = |why: &str| Failure::new(FailureKind::Usage, format!("{name}: {why}"));
    let home = dirs::home_dir().and_then(|home| home.canonicalize().ok());
    if home.as_ref().is_some_and(|home| home.starts_with(real)) {
        return Err(refused("your home directory is in it, with your keys")
            .hint("name a directory or a file in it")
            .hint("a goal that makes new names in it takes one of its own: HOME=\"$(mktemp -d)\" COMMAND"));
    }
    let is_there = |place: &ListedPath| place.is_made || place.path.exists();
    let (key, may) = match policy.access(real) {
        PathAccess::Write(place) if is_there(place) => {
            print(&format!("{name} may be written already: {}\n", place.why.in_words()));
            return Ok(0);
        }
        // The place is listed already, and only has to exist.
        PathAccess::Write(place) => return made(&place.path).map(|()| 0),
        PathAccess::Hidden(place) if matches!(place.why, ListingReason::Sealed | ListingReason::RalphState) => {
            return Err(refused(&format!(
                "is hidden from every agent: {}",
                place.why.in_words()
            )));
        }
        PathAccess::Hidden(_) => ("show", "read"),
        PathAccess::Read => ("write", "write"),
    };
    let file = file.ok_or_else(|| refused("there is no directory for your own settings"))?;
    let shown = match home.as_ref().and_then(|home| real.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => name.to_string(),
    };
    if !yes {
        if !console::is_answered() {
            return Err(refused("not a terminal, so nobody can confirm it").hint("`--yes` does not ask"));
        }
        if !is_agreed(&format!("Let the agents and goals of all your projects {may} {shown}?"))? {
            print("nothing was written\n");
            return Ok(0);
        }
    }
    if key == "write" && !real.exists() {
        made(real)?;
    }
    own_settings::add(file, (&["sandbox"], key), &json!(shown), |_| Ok(()))?;
    print(&format!(
        "added to sandbox.{key} in {}: {shown}; programs that start from now on may {may} it\n",
        file.display()
    ));
    Ok(0)
}

/// Makes a directory that is missing: only what is there can be allowed.
fn made(directory: &Path) -> Result<(), Failure> {
    create_private_dir(directory)
        .map_err(|error| Failure::new(FailureKind::Failed, format!("{}: {error}", directory.display())))?;
    print(&format!(
        "made {}, which was missing; programs that start from now on may write it\n",
        directory.display()
    ));
    Ok(())
}
