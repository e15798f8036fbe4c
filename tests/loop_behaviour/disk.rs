//! Disks that fill up: what fills them is ended, and the run waits for space.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ralph_core::event::{Event, LimitKind, LowDisk, Outcome, ProblemKind, StopReason, TimeEvent, Wait, WaitCause};
use ralph_state::store::journal;
use ralph_system::paths::ProjectPaths;

use super::{outcomes, reason, started};
use crate::harness::{
    SOON, Sandbox, Script, events,
    file_system::on_a_file_system,
    running::{Finished, Running},
};

/// Leaves two of the 64 MiB, less than half of the tenth that stays free, in a process that goes on.
const FILL: &str = "{ head -c 65000000 /dev/zero; sleep 1000; } | cat > \"$filler\"";

fn waits(event: &Event) -> bool {
    matches!(event, Event::Time(TimeEvent::WaitStarted { wait: Wait::Disk, .. }))
}

/// A run whose first iteration fills the disk at a place.
struct FullDisk {
    sandbox: Sandbox,
    running: Running,
    place: PathBuf,
}

impl FullDisk {
    /// `None` if this user may not mount a small disk.
    fn at(place: impl FnOnce(&Sandbox) -> PathBuf) -> Option<Self> {
        Self::filled_by(FILL, place)
    }

    fn filled_by(fill: &str, place: impl FnOnce(&Sandbox) -> PathBuf) -> Option<Self> {
        let sandbox = Sandbox::new();
        let place = place(&sandbox);
        let filler = place.join("filler");
        let agent = format!(
            "filler={}; if [ \"$n\" = 1 ]; then {fill}; fi; work; over done",
            filler.display()
        );
        sandbox.install(&Script::jsonl(&agent));
        sandbox.plan(1);
        let program = sandbox.looping(["--sandbox", "off"]);
        let running = on_a_file_system(program, &sandbox, place.to_str().expect("a name"), "size=64m")?.start();
        Some(Self {
            sandbox,
            running,
            place,
        })
    }

    /// A path as the run sees it.
    fn seen(&self, path: &Path) -> PathBuf {
        let root = format!("/proc/{}/root", self.running.pid());
        Path::new(&root).join(path.strip_prefix("/").expect("an absolute path"))
    }

    /// Waits until the run waits, frees the disk, and waits for the end of the run.
    fn freed(self) -> (Sandbox, Finished) {
        self.running.wait_for_record(SOON, waits);
        fs::remove_file(self.seen(&self.place.join("filler"))).expect("the file that fills the disk");
        (self.sandbox, self.running.wait(SOON))
    }
}

#[track_caller]
fn assert_ended_and_resumed(finished: &Finished, place: &Path, wrote: &str) {
    assert_eq!(finished.code(), Some(0), "{finished:?}");
    let records = finished.records();
    let seqs = records.iter().map(|record| record.seq);
    assert!(seqs.eq(0..records.len() as u64), "a record is missing: {finished:?}");
    let Outcome::Failed { problem } = outcomes(&records)[0] else {
        panic!("{:?}", outcomes(&records));
    };
    assert_eq!(problem.kind, ProblemKind::TooLarge, "{problem:?}");
    let named = format!("the free space below {}", place.display());
    assert!(problem.text.starts_with(&named), "{problem:?}");
    let limited = ", less than 3 MiB (`limits.diskFree`): ";
    assert!(problem.text.contains(limited), "{problem:?}");
    assert!(problem.text.contains(wrote), "{problem:?}");
    assert_eq!(outcomes(&records)[1..], [&Outcome::Completed]);
    let mut causes = events(&records).filter_map(|event| match event {
        Event::Time(TimeEvent::WaitStarted {
            wait: Wait::Disk, why, ..
        }) => Some(why),
        _ => None,
    });
    let Some(WaitCause::DiskLow {
        low: LowDisk { path, least_bytes, .. },
    }) = causes.next()
    else {
        panic!("no wait for space: {finished:?}");
    };
    assert!(Path::new(&**path).starts_with(place), "{path}");
    assert_eq!(*least_bytes, (64 << 20) / 10);
    assert_eq!(causes.next(), None, "one record for the whole wait");
}

#[test]
fn an_agent_that_fills_the_disk_for_temporary_files_is_ended_and_the_run_waits_for_space() {
    let Some(disk) = FullDisk::at(Sandbox::temporary) else {
        return;
    };
    disk.running.wait_for_record(SOON, waits);
    let status = disk.sandbox.ralph(["status"]).run(SOON);
    assert!(status.stdout.contains("waiting for space on a disk"), "{status:?}");
    assert!(status.stdout.contains("(`limits.diskFree`)"), "{status:?}");
    let place = disk.place.clone();
    let (sandbox, finished) = disk.freed();
    assert_ended_and_resumed(&finished, &place, "cat wrote 61 MiB");
    let prompt = sandbox.prompt(2);
    let told = prompt
        .lines()
        .find(|line| line.contains("All processes of the last session were killed"));
    assert!(told.is_some_and(|line| line.contains("cat wrote")), "{prompt}");
    assert_eq!(sandbox.journal(), finished.records());
}

#[test]
fn an_agent_that_fills_the_disk_of_the_state_directory_loses_no_record() {
    let Some(disk) = FullDisk::at(Sandbox::state) else {
        return;
    };
    let wait = disk.running.wait_for_record(SOON, waits);
    let state = disk.seen(&disk.sandbox.state().join("ralph"));
    let paths = ProjectPaths::new(&disk.sandbox.project(), Some(&state)).expect("a state directory");
    let run = paths.run(&paths.latest_run().expect("a run"));
    let (kept, _) = journal::read(&run.journal()).expect("a journal");
    assert_eq!(kept.last(), Some(&wait), "what was shown was written before");
    let place = disk.place.clone();
    assert_ended_and_resumed(&disk.freed().1, &place, "cat wrote 61 MiB");
}

#[test]
fn an_agent_that_fills_a_disk_faster_than_it_is_looked_at_and_fails_is_told_of_the_disk() {
    for place in [Sandbox::temporary, Sandbox::state] {
        let fill = "cat /dev/zero > \"$filler\"; exit 1";
        let Some(disk) = FullDisk::filled_by(fill, place) else {
            return;
        };
        let place = disk.place.clone();
        let finished = disk.freed().1;
        assert_ended_and_resumed(&finished, &place, "sh wrote 6");
        assert!(!finished.stderr.contains("ralph guard"), "{finished:?}");
    }
}

#[test]
fn a_run_on_a_full_disk_starts_nothing_and_ends_at_its_time_limit() {
    let sandbox = Sandbox::new();
    sandbox.install(&Script::worker());
    let finished = sandbox
        .looping(["--max-time", "1s"])
        .env("RALPH_LIMITS_DISK_FREE", "100%")
        .run(SOON);
    let records = finished.records();
    let limit = LimitKind::MaxTime;
    assert_eq!(*reason(&records), StopReason::LimitReached { limit }, "{finished:?}");
    assert!(
        events(&records).any(waits) && !events(&records).any(started(1)),
        "{finished:?}"
    );
}
