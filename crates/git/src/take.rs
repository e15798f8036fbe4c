//! Applies the differences that were found to ralph's index.

use std::{collections::VecDeque, mem, time::Instant};

use super::{
    GitError, Repository,
    process::listed,
    survey::{IndexChanges, OmissionReason},
};

/// After so many refusals without any success, the fault is not with the files.
const MOST_REFUSED: usize = 16;

impl Repository {
    /// Applies additions and removals to the index. A file that git refuses is left out; the others are still applied.
    pub(super) fn update_index(&self, work: &mut IndexChanges) -> Result<(), GitError> {
        if !work.remove.is_empty() {
            self.own_index_git().removing(&work.remove).run()?;
        }
        let end = Instant::now() + self.deadline;
        let (mut taken, mut refused) = (0, 0);
        // git adds all paths or none. If it refuses, both halves are tried, down to single paths. The groups are tried
        // in breadth-first order, so that most files are added before many are refused.
        let mut groups = VecDeque::from([mem::take(&mut work.add)]);
        while let Some(mut group) = groups.pop_front() {
            if group.is_empty() {
                continue;
            }
            let args = ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];
            match self.own_index_git().args(args).input(listed(&group)).run() {
                Ok(output) => {
                    taken += group.len();
                    let passed_over = output
                        .stderr
                        .lines()
                        .filter_map(|line| line.strip_prefix("Ignoring path "));
                    for path in passed_over {
                        let said = "git does not accept this file name".to_owned();
                        work.leave_out(OmissionReason::Refused { said }, path.into());
                    }
                }
                Err(error @ GitError::Refused { .. }) if group.len() == 1 => {
                    refused += 1;
                    if taken == 0 && refused > MOST_REFUSED {
                        return Err(error);
                    }
                    work.leave_out(
                        OmissionReason::Refused {
                            said: error.to_string(),
                        },
                        group.remove(0),
                    );
                }
                Err(error @ GitError::Refused { .. }) if Instant::now() >= end => {
                    let said = error.to_string();
                    let left_out = group
                        .into_iter()
                        .map(|path| (OmissionReason::Refused { said: said.clone() }, path));
                    left_out.for_each(|(why, path)| work.leave_out(why, path));
                }
                Err(GitError::Refused { .. }) => {
                    let other = group.split_off(group.len() / 2);
                    groups.extend([group, other]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
