//! Submits jobs that become ready at about the same time as one array: a queue takes an array at once, and shows and limits
//! it as one thing.
//!
//! An index of an array is a job as any other: its script is the plan's own, whose directory it has to make first. Which
//! index belongs to which plan is written before the array is submitted, so a batch that was killed finds it.

use std::{
    mem,
    path::Path,
    sync::mpsc::{self, Sender},
    thread,
    time::Duration,
};

use parking_lot::Mutex;
use ralph_system::paths::{create_private_dir, replace_file};

use super::{
    commands::{ArrayPlace, CommandFailure, EngineCommands, JobReference},
    files::{JobFiles, quoted},
};

/// How long further jobs are waited for after each that came.
const GATHERING: Duration = Duration::from_secs(1);
/// Exit code of a script whose index belongs to no plan.
const NO_INDEX: u8 = 96;

/// A job that waits to be submitted, and the receiver of its id.
struct WaitingJob {
    subject: JobReference,
    result: Sender<Result<String, CommandFailure>>,
}

/// Gathers the jobs of one batch.
#[derive(Default)]
pub struct ArraySubmitter {
    waiting: Mutex<Vec<WaitingJob>>,
}

impl std::fmt::Debug for ArraySubmitter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArraySubmitter").finish_non_exhaustive()
    }
}

impl ArraySubmitter {
    /// Submits a job, with those that are submitted within a moment from other threads. Returns the engine's id of it.
    ///
    /// # Errors
    /// As [`EngineCommands::submit`].
    pub(super) fn submit(
        &self,
        commands: &EngineCommands,
        dir: &Path,
        subject: &JobReference,
    ) -> Result<String, CommandFailure> {
        if commands.manifest.array.is_none() {
            return commands.submit(subject);
        }
        let (result, received) = mpsc::channel();
        let job = WaitingJob {
            subject: subject.clone(),
            result,
        };
        let is_first = {
            let mut waiting = self.waiting.lock();
            waiting.push(job);
            waiting.len() == 1
        };
        if is_first {
            // As long as more of them come: a busy machine prepares plans slowly.
            let mut gathered = 0;
            while gathered != self.waiting.lock().len() {
                gathered = self.waiting.lock().len();
                thread::sleep(GATHERING);
            }
            let jobs = mem::take(&mut *self.waiting.lock());
            submit_all(commands, dir, jobs);
        }
        received
            .recv()
            .unwrap_or_else(|_| Err("was not asked: the thread that submits has ended".to_owned()))
    }
}

fn submit_all(commands: &EngineCommands, dir: &Path, jobs: Vec<WaitingJob>) {
    // A receiver is gone if its batch has ended.
    if let [job] = &jobs[..] {
        _ = job.result.send(commands.submit(&job.subject));
        return;
    }
    let subjects: Vec<&JobReference> = jobs.iter().map(|job| &job.subject).collect();
    let submitted = written(commands, dir, &subjects).and_then(|array| commands.submit(&array));
    for (index, job) in jobs.iter().enumerate() {
        let id = submitted.clone().map(|id| commands.array_job(&id, index));
        _ = job.result.send(id);
    }
}

/// Writes the script of an array and the place of each job in it.
fn written(commands: &EngineCommands, dir: &Path, jobs: &[&JobReference]) -> Result<JobReference, CommandFailure> {
    // The name of the first job is never used again.
    let first = jobs.first().map(|job| job.name.as_str()).unwrap_or_default();
    let array = format!("{first}-array");
    let unwritten = |error: &dyn std::fmt::Display| format!("cannot be given an array of jobs: {error}");
    create_private_dir(dir).map_err(|error| unwritten(&error))?;
    for (index, job) in jobs.iter().enumerate() {
        let place = ArrayPlace {
            array: array.clone(),
            index,
        };
        let files = JobFiles::new(dir, job.name.clone());
        files.write_array(&place).map_err(|error| unwritten(&error))?;
    }
    let variable = commands.manifest.array.as_ref().map_or("", |array| &array.index);
    let scripts: Vec<&Path> = jobs.iter().map(|job| job.script.as_path()).collect();
    let script = dir.join(format!("{array}.sh"));
    replace_file(&script, &text(variable, &scripts)).map_err(|error| unwritten(&error))?;
    Ok(JobReference {
        id: None,
        script,
        log: dir.join(format!("{array}.log")),
        tree: dir.to_owned(),
        array: None,
        last_index: Some(jobs.len() - 1),
        name: array,
    })
}

fn text(variable: &str, scripts: &[&Path]) -> Vec<u8> {
    let head = format!("#!/bin/sh\n# The runs of several plans: each index is one of them.\ncase \"${variable}\" in\n");
    let mut text = head.into_bytes();
    for (index, script) in scripts.iter().enumerate() {
        text.extend(format!("{index}) exec sh ").bytes());
        text.extend(quoted(script.as_os_str()));
        text.extend(b";;\n");
    }
    let rest = format!("esac\necho \"error: no plan has index ${variable}\" >&2\nexit {NO_INDEX}\n");
    text.extend(rest.bytes());
    text
}

#[cfg(test)]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    #[test]
    fn an_index_runs_the_script_of_its_plan_alone() {
        let directory = tempfile::tempdir().unwrap();
        let scripts = ["a", "it's b"].map(|name| directory.path().join(name));
        for script in &scripts {
            fs::write(script, "echo \"$0\"\n").unwrap();
        }
        let array = directory.path().join("array");
        fs::write(&array, text("INDEX", &[&scripts[0], &scripts[1]])).unwrap();
        let run = |index: &str| {
            let output = Command::new("sh").arg(&array).env("INDEX", index).output().unwrap();
            (output.status.code(), String::from_utf8(output.stdout).unwrap())
        };
        assert_eq!(run("1"), (Some(0), format!("{}\n", scripts[1].display())));
        assert_eq!(run("2").0, Some(i32::from(NO_INDEX)));
        assert_eq!(run("").0, Some(i32::from(NO_INDEX)));
    }
}
