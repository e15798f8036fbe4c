//! Replays a finished run: records and recordings in the order of their times.

use std::{
    fs::File,
    io::{BufRead, BufReader, Lines},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::{Condvar, Mutex};
use ralph_core::event::{Event, IterationEvent, Record};
use ralph_state::control::frames::{PollResult, UiEvent};

use super::{
    Recordings,
    cast::{CastEvent, CastHeader},
    model::{ReplayState, Timeline},
    order::{Replay, Seek},
    source::{EventSource, PastRecords, WakeCallback},
};

/// Limit of pauses, in the time of the run: an agent may think for long.
const LONGEST_GAP_MS: u64 = 2_000;
/// Time into an iteration from which going back leads to its start, and not to the iteration before.
const JUST_BEGUN_MS: u64 = 3_000;
/// Step of the seek keys, in the time of the run.
const SEEK_MS: u64 = 10_000;
const SPEEDS: std::ops::RangeInclusive<f64> = 0.125..=64.0;

/// A player for a finished run.
pub struct Player {
    records: Arc<[Record]>,
    /// Index of the next record.
    next: usize,
    /// Events up to this time are delivered at once, after a seek.
    sought_ms: u64,
    recordings: Recordings,
    cast: Option<OpenCast>,
    /// The position in the time of the run.
    position_ms: u64,
    /// The moment at which the position was reached.
    since: Instant,
    speed: f64,
    paused: bool,
    woken: Arc<(Mutex<bool>, Condvar)>,
}

/// The recording of the iteration being played.
struct OpenCast {
    lines: Lines<BufReader<File>>,
    /// Start of the iteration.
    base_ms: u64,
    next: Option<CastEvent>,
    /// Whether the recorded text was made from signals; `None` in recordings that do not say so.
    transcript: Option<bool>,
}

impl OpenCast {
    fn open(path: &Path, base_ms: u64) -> Option<Self> {
        let mut lines = BufReader::new(File::open(path).ok()?).lines();
        let header = CastHeader::parse(&lines.next()?.ok()?)?;
        let size = header.size();
        Some(Self {
            lines,
            base_ms,
            next: Some(CastEvent::Resized { at_ms: 0, size }),
            transcript: header.transcript(),
        })
    }

    fn advance(&mut self) -> Option<CastEvent> {
        let parsed = self
            .lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| CastEvent::parse(&line));
        std::mem::replace(&mut self.next, parsed)
    }

    fn next_ms(&self) -> Option<u64> {
        self.next.as_ref().map(|moment| self.base_ms + moment.at_ms())
    }
}

impl Player {
    /// Plays `records` from the start at `speed` times their original speed.
    pub fn new(records: Vec<Record>, recordings: Recordings, speed: f64) -> Self {
        Self {
            position_ms: records.first().map_or(0, |record| record.at_ms),
            records: records.into(),
            next: 0,
            sought_ms: 0,
            recordings,
            cast: None,
            since: Instant::now(),
            speed: speed.clamp(*SPEEDS.start(), *SPEEDS.end()),
            paused: false,
            woken: Arc::default(),
        }
    }

    /// The time of the next event, not before the current position; `None` at the end.
    fn next_ms(&self) -> Option<u64> {
        Some(self.comes_ms()?.max(self.position_ms))
    }

    /// The original time of the next event.
    fn comes_ms(&self) -> Option<u64> {
        let record = self.records.get(self.next);
        let output = self.cast.as_ref().and_then(OpenCast::next_ms);
        match (record, output) {
            (None, output) => output,
            (Some(record), None) => Some(record.at_ms),
            (Some(record), Some(output)) => Some(record.at_ms.min(output)),
        }
    }

    /// Takes the next event.
    fn take(&mut self) -> Option<UiEvent> {
        let record = self.records.get(self.next);
        if let Some(cast) = &mut self.cast
            && let Some(output_ms) = cast.next_ms()
        {
            // Output precedes the end of its iteration, even if the clocks disagree.
            let first = record.is_none_or(|record| {
                output_ms <= record.at_ms || matches!(record.event, Event::Iteration(IterationEvent::Ended { .. }))
            });
            if first {
                return match cast.advance()? {
                    CastEvent::Output { text, .. } => Some(UiEvent::Output(text.into_bytes())),
                    CastEvent::Resized { size, .. } => Some(UiEvent::Resized(size)),
                };
            }
        }
        let record = self.records.get(self.next)?.clone();
        self.next += 1;
        self.open_cast(&record);
        Some(UiEvent::Record(Arc::new(record)))
    }

    fn open_cast(&mut self, record: &Record) {
        if let Event::Iteration(IterationEvent::Started { iteration, .. }) = record.event {
            self.cast = OpenCast::open(&(self.recordings)(iteration), record.at_ms);
        }
    }

    /// The real time to wait before `next_ms`.
    fn wait(&self, next_ms: u64) -> Duration {
        let gap_ms = next_ms.saturating_sub(self.position_ms).min(LONGEST_GAP_MS);
        Duration::from_millis(gap_ms).div_f64(self.speed)
    }

    /// Restarts the wait for the next event.
    fn hold_here(&mut self) {
        self.since = Instant::now();
    }

    fn starts(&self) -> impl DoubleEndedIterator<Item = usize> {
        let starts = |record: &Record| matches!(record.event, Event::Iteration(IterationEvent::Started { .. }));
        (0..self.records.len()).filter(move |at| starts(&self.records[*at]))
    }

    /// Jumps to just after the record at `at` and returns the records up to there.
    fn jump(&mut self, at: usize) -> Option<PastRecords> {
        let at_ms = self.records.get(at)?.at_ms;
        Some(self.go_to(at, at_ms))
    }

    /// Seeks forward or backward. Returns the records up to the target after a seek backward.
    fn seek(&mut self, way: Seek) -> Option<PastRecords> {
        let now_ms = self.now_ms();
        self.hold_here();
        match way {
            // Events up to the target are delivered in order, but at once.
            Seek::Forward => {
                let last_ms = self.records.last()?.at_ms;
                self.position_ms = now_ms.saturating_add(SEEK_MS).min(last_ms).max(now_ms);
                self.sought_ms = self.position_ms;
                None
            }
            Seek::Backward => {
                let first_ms = self.records.first()?.at_ms;
                let target_ms = now_ms.saturating_sub(SEEK_MS).max(first_ms);
                // The clock may have been set back: the order of records decides.
                let before = self.records[..self.next]
                    .iter()
                    .rposition(|record| record.at_ms <= target_ms);
                Some(self.go_to(before.unwrap_or(0), target_ms))
            }
        }
    }

    /// Goes to a time after the record at `at`. The terminal is redrawn from the beginning of its iteration.
    fn go_to(&mut self, at: usize, position_ms: u64) -> PastRecords {
        self.cast = None;
        let started = self.starts().rfind(|start| *start <= at);
        if let Some(record) = started.map(|start| self.records[start].clone()) {
            self.open_cast(&record);
        }
        self.next = at + 1;
        self.position_ms = position_ms;
        self.sought_ms = position_ms;
        self.hold_here();
        PastRecords {
            records: Arc::clone(&self.records),
            until: at + 1,
        }
    }
}

impl EventSource for Player {
    fn poll(&mut self, deadline: Option<Instant>) -> PollResult {
        loop {
            let Some(next_ms) = self.next_ms() else {
                return PollResult::Over;
            };
            let now = Instant::now();
            let due = match self.comes_ms() {
                Some(comes_ms) if comes_ms <= self.sought_ms => Some(now),
                _ => (!self.paused).then(|| self.since + self.wait(next_ms)),
            };
            if due.is_some_and(|due| due <= now) {
                self.position_ms = next_ms;
                self.hold_here();
                if let Some(event) = self.take() {
                    return PollResult::Event(event);
                }
                continue;
            }
            let until = due.into_iter().chain(deadline).min();
            if deadline.is_some_and(|deadline| deadline <= now) || wait_for(&self.woken, until) {
                return PollResult::Woken;
            }
        }
    }

    fn waker(&self) -> WakeCallback {
        let woken = Arc::clone(&self.woken);
        Box::new(move || {
            *woken.0.lock() = true;
            woken.1.notify_one();
        })
    }

    fn now_ms(&self) -> u64 {
        let passed = if self.paused {
            Duration::ZERO
        } else {
            self.since.elapsed().mul_f64(self.speed)
        };
        let passed_ms = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        let until = self.next_ms().unwrap_or(self.position_ms);
        self.position_ms.saturating_add(passed_ms).min(until)
    }

    fn replay(&self) -> Option<ReplayState> {
        Some(ReplayState {
            speed: self.speed,
            paused: self.paused,
            over: self.next_ms().is_none(),
        })
    }

    fn timeline(&self) -> Option<Timeline> {
        let (first, last) = (self.records.first()?, self.records.last()?);
        let start = |at: usize| match self.records[at].event {
            Event::Iteration(IterationEvent::Started { iteration, .. }) => Some((iteration, self.records[at].at_ms)),
            _ => None,
        };
        let settled = self.records.iter().filter_map(|record| match &record.event {
            Event::Iteration(IterationEvent::Settled {
                iteration,
                checkpoint: Some(after),
                ..
            }) => Some((*iteration, after.clone())),
            _ => None,
        });
        Some(Timeline {
            from_ms: first.at_ms,
            until_ms: last.at_ms.max(first.at_ms),
            iterations: self.starts().filter_map(start).collect(),
            settled: settled.collect(),
        })
    }

    fn is_transcript(&self) -> Option<bool> {
        self.cast.as_ref()?.transcript
    }

    fn steer(&mut self, order: Replay) -> Option<PastRecords> {
        match order {
            Replay::PauseOrResume => {
                self.position_ms = self.now_ms();
                self.paused = !self.paused;
            }
            Replay::Faster => self.speed = (self.speed * 2.0).min(*SPEEDS.end()),
            Replay::Slower => self.speed = (self.speed / 2.0).max(*SPEEDS.start()),
            Replay::Seek(way) => return self.seek(way),
            Replay::NextIteration => {
                let at = self.starts().find(|at| *at >= self.next)?;
                return self.jump(at);
            }
            Replay::PreviousIteration => {
                let current = self.starts().rfind(|at| *at < self.next);
                let begun = |at: &usize| self.position_ms > self.records[*at].at_ms + JUST_BEGUN_MS;
                let at = match current {
                    Some(at) if begun(&at) => at,
                    Some(current) => self.starts().rfind(|at| *at < current).unwrap_or(current),
                    None => 0,
                };
                return self.jump(at);
            }
        }
        self.hold_here();
        None
    }
}

/// Waits for a wake-up until `until`. Returns whether it came.
fn wait_for(woken: &(Mutex<bool>, Condvar), until: Option<Instant>) -> bool {
    let mut flag = woken.0.lock();
    loop {
        if std::mem::take(&mut *flag) {
            return true;
        }
        match until {
            None => woken.1.wait(&mut flag),
            Some(until) if until <= Instant::now() => return false,
            Some(until) => _ = woken.1.wait_until(&mut flag, until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ralph_core::{
        event::{Notice, Outcome},
        testing::iteration_started,
    };

    const BASE_MS: u64 = 1_000_000;

    fn noticed() -> Event {
        Event::Noticed {
            notice: Notice::info("nothing-to-do", "nothing to do"),
        }
    }

    fn started(iteration: u32) -> Event {
        iteration_started(iteration, None, None)
    }

    fn ended(iteration: u32) -> Event {
        Event::Iteration(IterationEvent::Ended {
            iteration,
            outcome: Outcome::Completed,
            exit: None,
            duration_ms: 0,
            output_bytes: 0,
        })
    }

    /// A run of two iterations. The recording of the first one extends beyond its end by the records' clock.
    fn player(dir: &Path) -> Player {
        let cast = "{\"version\":2,\"width\":9,\"height\":3}\n[0.1,\"o\",\"one\"]\n[0.2,\"r\",\"30x5\"]\n[5.5,\"o\",\"two\"]\n";
        std::fs::write(dir.join("1"), cast).unwrap();
        let events = [
            (0, noticed()),
            (10, started(1)),
            (5_000, ended(1)),
            (9_000, started(2)),
            (9_100, ended(2)),
        ];
        let records = events
            .into_iter()
            .enumerate()
            .map(|(seq, (at_ms, event))| Record {
                seq: seq as u64,
                at_ms: BASE_MS + at_ms,
                event,
            })
            .collect();
        let dir = dir.to_owned();
        Player::new(records, Arc::new(move |n| dir.join(n.to_string())), 64.0)
    }

    fn all(player: &mut Player) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            match player.poll(None) {
                PollResult::Event(UiEvent::Record(record)) => seen.push(record.seq.to_string()),
                PollResult::Event(UiEvent::Output(bytes)) => seen.push(String::from_utf8(bytes).unwrap()),
                PollResult::Event(UiEvent::Resized(size)) => seen.push(format!("{}x{}", size.cols, size.rows)),
                PollResult::Event(UiEvent::Detail(_) | UiEvent::Skipped { .. }) | PollResult::Woken => {}
                PollResult::Over => return seen,
            }
        }
    }

    #[test]
    fn output_and_sizes_come_between_the_records_of_their_iteration() {
        let dir = tempfile::tempdir().unwrap();
        let mut player = player(dir.path());
        assert_eq!(all(&mut player), ["0", "1", "9x3", "one", "30x5", "two", "2", "3", "4"]);
        assert_eq!(player.replay().map(|replay| replay.over), Some(true));
    }

    #[test]
    fn going_to_an_iteration_tells_all_that_was_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut player = player(dir.path());
        let seqs = |past: Option<PastRecords>| past.map(|past| past.records().last().map(|record| record.seq));
        assert_eq!(seqs(player.steer(Replay::NextIteration)), Some(Some(1)));
        assert_eq!(seqs(player.steer(Replay::NextIteration)), Some(Some(3)));
        assert_eq!(seqs(player.steer(Replay::NextIteration)), None);
        assert_eq!(seqs(player.steer(Replay::PreviousIteration)), Some(Some(1)));
        assert_eq!(all(&mut player), ["9x3", "one", "30x5", "two", "2", "3", "4"]);
    }

    #[test]
    fn while_it_is_held_no_time_passes_and_a_key_still_ends_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        let mut player = player(dir.path());
        player.steer(Replay::PauseOrResume);
        let wake = player.waker();
        let now_ms = player.now_ms();
        wake();
        assert_eq!(player.poll(None), PollResult::Woken);
        assert_eq!(player.now_ms(), now_ms);
    }

    #[test]
    fn seeking_goes_on_and_back_by_time_and_draws_the_terminal_again_also_while_it_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let mut player = player(dir.path());
        player.steer(Replay::PauseOrResume);
        assert!(player.steer(Replay::Seek(Seek::Forward)).is_none());
        let wake = player.waker();
        let mut seen = Vec::new();
        wake();
        loop {
            match player.poll(None) {
                PollResult::Event(UiEvent::Record(record)) => seen.push(record.seq.to_string()),
                PollResult::Event(UiEvent::Output(bytes)) => seen.push(String::from_utf8(bytes).unwrap()),
                PollResult::Event(UiEvent::Resized(size)) => seen.push(format!("{}x{}", size.cols, size.rows)),
                PollResult::Over => break,
                PollResult::Event(UiEvent::Detail(_) | UiEvent::Skipped { .. }) | PollResult::Woken => wake(),
            }
        }
        assert_eq!(seen, ["0", "1", "9x3", "one", "30x5", "two", "2", "3", "4"]);

        // The end is 9.1 s after the beginning.
        let past = player.steer(Replay::Seek(Seek::Backward)).unwrap();
        assert_eq!((past.records().len(), player.now_ms()), (1, BASE_MS));
        let timeline = player.timeline().unwrap();
        assert_eq!((timeline.from_ms, timeline.until_ms), (BASE_MS, BASE_MS + 9_100));
        assert_eq!(timeline.iterations, [(1, BASE_MS + 10), (2, BASE_MS + 9_000)]);
    }
}
