//! The plan as it lies on disk, where an agent can put anything in its place.

use std::{
    fs::OpenOptions,
    io::{self, Read},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use crate::{
    event::{Goal, PlanSnapshot},
    plan::{self, PlanError, PlanKind},
    text::with_causes,
};

/// Far more than any plan, and little enough to be read and journalled again and again.
const CAP_BYTES: u64 = 4 << 20;

/// What a plan without any task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taskless {
    /// A description; goals tell when it is carried out, or the agent, twice.
    Allowed,
    Refused,
}

impl Taskless {
    /// Goals are evidence enough to do without tasks. Where the user chose the words of the promise, the agent's own word was
    /// asked for; else a plan without tasks is rather a mistake, and a run over it could only end unverified.
    pub fn with(goals: &[Goal], promise: Option<&str>) -> Self {
        if goals.is_empty() && promise.is_none() {
            Taskless::Refused
        } else {
            Taskless::Allowed
        }
    }
}

/// Reads and parses the plan at `path`.
///
/// # Errors
/// What is wrong with it, with its path and the place in it, and what the user can do.
pub fn read_plan(path: &Path, taskless: Taskless) -> Result<PlanSnapshot, (String, String)> {
    let bytes = read_bytes(path).map_err(|error| {
        let hint = match error.kind() {
            io::ErrorKind::NotFound => "write one with tasks as `- [ ] …`, or name another with `--plan FILE`",
            io::ErrorKind::IsADirectory => "name the file in it with `--plan FILE`",
            io::ErrorKind::FileTooLarge => "name a shorter one with `--plan FILE`",
            _ => "make it readable, or name another with `--plan FILE`",
        };
        let why = match error.kind() {
            io::ErrorKind::NotFound => "there is no such plan".to_owned(),
            io::ErrorKind::IsADirectory => "the plan is a directory".to_owned(),
            io::ErrorKind::InvalidInput => "the plan is neither a file nor a link to one".to_owned(),
            io::ErrorKind::FileTooLarge => format!("the plan is larger than {} MiB", CAP_BYTES >> 20),
            _ => format!("the plan cannot be read: {error}"),
        };
        (format!("{}: {why}", path.display()), hint.to_owned())
    })?;
    plan::parse_bytes(PlanKind::of(path), &bytes).or_else(|error| {
        let hint = match (&error, taskless) {
            (PlanError::NoTasks { .. }, Taskless::Allowed) => return Ok(PlanSnapshot::default()),
            (PlanError::NoTasks { .. }, Taskless::Refused) => format!(
                "{}; or name what tells that the work is done: `--goal tests=\"cargo test\"`, or `--promise DONE` to take the \
                 agent's word for it",
                error.hint()
            ),
            _ => error.hint().to_owned(),
        };
        Err((format!("{}: {}", path.display(), with_causes(&error)), hint))
    })
}

/// Reads a file of ordinary size.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    // Opening a pipe would wait for a writer, for ever.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits())
        .open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    file.take(CAP_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CAP_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    fn why(path: &Path) -> String {
        read_plan(path, Taskless::Refused).unwrap_err().0
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(
            why(&pipe).ends_with("neither a file nor a link to one"),
            "{}",
            why(&pipe)
        );
        let endless = dir.path().join("endless");
        symlink("/dev/zero", &endless).unwrap();
        assert!(why(&endless).ends_with("neither a file nor a link to one"));
        assert!(why(dir.path()).ends_with("the plan is a directory"));
        assert!(why(&dir.path().join("none")).ends_with("there is no such plan"));
    }

    #[test]
    fn a_plan_is_read_through_a_link_and_up_to_its_cap() {
        let dir = tempfile::tempdir().unwrap();
        let plan = dir.path().join("plan.md");
        fs::write(&plan, "- [ ] one\n").unwrap();
        let link = dir.path().join("link.md");
        symlink(&plan, &link).unwrap();
        assert_eq!(read_plan(&link, Taskless::Refused).unwrap().open(), 1);
        fs::write(&plan, vec![b'x'; 5 << 20]).unwrap();
        assert!(why(&link).ends_with("the plan is larger than 4 MiB"), "{}", why(&link));
    }
}
