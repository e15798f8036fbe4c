use std::{path::PathBuf, sync::mpsc, thread};

use ralph_core::event::{Event, IterationEvent, Notice, RunId};
use ralph_state::{
    control::frames::{PollResult, UiEvent},
    store::journal::Journal,
};

use super::{
    backlog::{ENTRY_CAP, OUTPUT_CAP_BYTES},
    *,
};

const DEADLINE: Duration = Duration::from_secs(20);
const CAP: usize = OUTPUT_CAP_BYTES as usize;

fn hub() -> Hub {
    Hub::new(Path::new("/nowhere/events.jsonl"), 0)
}

fn owner(hub: &Hub) -> Subscription {
    hub.subscribe(0, LagPolicy::HoldAgentBack)
}

fn watcher(hub: &Hub) -> Subscription {
    hub.subscribe(0, LagPolicy::Skip)
}

fn record(seq: u64) -> Record {
    Record {
        seq,
        at_ms: 0,
        event: Event::Noticed {
            notice: Notice::info("nothing-to-do", "nothing to do"),
        },
    }
}

fn said(n: usize) -> AgentSignal {
    AgentSignal::Said { text: n.to_string() }
}

/// A journal on disk, whose records are published.
struct Written {
    journal: Journal,
    hub: Hub,
    _dir: tempfile::TempDir,
}

impl Written {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path: PathBuf = dir.path().join("events.jsonl");
        let (journal, first) = Journal::create(&path, 0, &RunId("r".to_owned())).unwrap();
        let hub = Hub::new(&path, 0);
        hub.publish(first);
        Self {
            journal,
            hub,
            _dir: dir,
        }
    }

    fn publish(&mut self, count: usize) {
        for _ in 0..count {
            self.hub.publish(self.journal.append(0, record(0).event).unwrap());
        }
    }
}

fn seqs(events: impl IntoIterator<Item = UiEvent>) -> Vec<u64> {
    let seq = |event| match event {
        UiEvent::Record(record) => Some(record.seq),
        UiEvent::Output(_) | UiEvent::Resized(_) | UiEvent::Detail(_) | UiEvent::Skipped { .. } => None,
    };
    events.into_iter().filter_map(seq).collect()
}

fn details(events: impl IntoIterator<Item = UiEvent>) -> Vec<SignalDetail> {
    let detail = |event| match event {
        UiEvent::Detail(detail) => Some(*detail),
        UiEvent::Output(_) | UiEvent::Resized(_) | UiEvent::Record(_) | UiEvent::Skipped { .. } => None,
    };
    events.into_iter().filter_map(detail).collect()
}

/// Counts the bytes that were shown, and those that were skipped.
fn bytes(events: impl IntoIterator<Item = UiEvent>) -> (u64, u64) {
    let (mut shown, mut skipped) = (0, 0);
    for event in events {
        match event {
            UiEvent::Output(bytes) => shown += bytes.len() as u64,
            UiEvent::Skipped { bytes } => skipped += bytes,
            UiEvent::Record(_) | UiEvent::Resized(_) | UiEvent::Detail(_) => {}
        }
    }
    (shown, skipped)
}

#[test]
fn events_come_in_the_order_they_were_published() {
    let hub = hub();
    let followers = [owner(&hub), watcher(&hub)];
    hub.output(b"a");
    hub.output(b"b");
    hub.publish(record(0));
    hub.output(b"c");
    hub.publish_detail(7, 1, &said(1));
    hub.close(Duration::ZERO);
    for follower in followers {
        let got: Vec<UiEvent> = follower.collect();
        let expected = [
            UiEvent::Output(b"ab".to_vec()),
            UiEvent::Record(Arc::new(record(0))),
            UiEvent::Output(b"c".to_vec()),
            UiEvent::Detail(Box::new(SignalDetail {
                at_ms: 7,
                iteration: 1,
                signal: said(1),
                missed: 0,
            })),
        ];
        assert_eq!(got, expected);
    }
}

#[test]
fn output_waits_for_a_slow_owner_who_loses_nothing() {
    let hub = hub();
    let owner = owner(&hub);
    let writer = thread::spawn(move || {
        for _ in 0..64 {
            hub.output(&[7; 64 * 1024]);
        }
        hub.close(Duration::ZERO);
    });
    let mut bytes = 0;
    for event in owner {
        let UiEvent::Output(chunk) = event else {
            panic!("{event:?}")
        };
        assert!(chunk.len() <= CAP + 64 * 1024, "the backlog is bounded");
        bytes += chunk.len();
    }
    writer.join().unwrap();
    assert_eq!(bytes, 64 * 64 * 1024);
}

#[test]
fn a_writer_that_waits_is_let_go_when_nobody_may_hold_it_back() {
    let hub = hub();
    let owner = owner(&hub);
    let (sender, done) = mpsc::channel();
    let writer = thread::spawn({
        let hub = hub.clone();
        move || {
            hub.output(&[1; CAP]);
            hub.output(&[2; 10]);
            sender.send(()).unwrap();
        }
    });
    hub.set_lossy(true);
    done.recv_timeout(DEADLINE).unwrap();
    writer.join().unwrap();
    hub.close(Duration::ZERO);
    let got: Vec<UiEvent> = owner.collect();
    let mut newest = vec![1; CAP - 10];
    newest.extend([2; 10]);
    assert_eq!(got, [UiEvent::Skipped { bytes: 10 }, UiEvent::Output(newest)]);
}

#[test]
fn a_subscriber_that_skips_never_holds_the_agent_back_and_is_told_what_it_missed() {
    let hub = hub();
    let watcher = watcher(&hub);
    let all = 64 * 64 * 1024;
    // On this thread: if the agent waited for a subscriber that takes nothing, the test would hang here.
    for _ in 0..64 {
        hub.output(&[7; 64 * 1024]);
    }
    hub.publish(record(0));
    hub.output(b"end");
    hub.close(Duration::ZERO);
    let got: Vec<UiEvent> = watcher.collect();
    assert_eq!(bytes(got.clone()), (OUTPUT_CAP_BYTES, all + 3 - OUTPUT_CAP_BYTES));
    assert!(
        matches!(got[0], UiEvent::Skipped { .. }),
        "the loss is told where it was"
    );
    assert_eq!(got.last(), Some(&UiEvent::Output(b"end".to_vec())));
    assert_eq!(seqs(got), [0]);
}

#[test]
fn an_owner_is_shown_everything_beside_nineteen_others_of_whom_one_is_stuck() {
    let hub = hub();
    let owner = owner(&hub);
    let stuck = watcher(&hub);
    let watching: Vec<_> = (0..18)
        .map(|_| {
            let watcher = watcher(&hub);
            thread::spawn(move || bytes(watcher))
        })
        .collect();
    let all = 256 * 64 * 1024;
    let writer = thread::spawn(move || {
        for _ in 0..256 {
            hub.output(&[7; 64 * 1024]);
        }
        hub.close(DEADLINE);
    });
    assert_eq!(bytes(owner), (all, 0));
    writer.join().unwrap();
    for watcher in watching {
        let (shown, skipped) = watcher.join().unwrap();
        assert_eq!(shown + skipped, all, "each byte is shown or counted");
    }
    let (shown, skipped) = bytes(stuck);
    assert!(shown <= OUTPUT_CAP_BYTES + 64 * 1024, "only the tail is kept for it");
    assert_eq!(shown + skipped, all);
}

#[test]
fn records_never_wait_and_forgotten_ones_come_from_the_journal() {
    let mut written = Written::new();
    let mut followers = [owner(&written.hub), watcher(&written.hub)];
    written.publish(ENTRY_CAP + 10);
    let mut got: Vec<Vec<u64>> = followers.iter_mut().map(|follower| seqs(follower.take(100))).collect();
    written.publish(3 * ENTRY_CAP);
    written.hub.close(Duration::ZERO);
    let all: Vec<u64> = (0..4 * ENTRY_CAP as u64 + 11).collect();
    for (follower, got) in followers.into_iter().zip(&mut got) {
        got.extend(seqs(follower));
        assert_eq!(*got, all);
    }
}

#[test]
fn a_late_subscriber_gets_all_records_and_the_tail_of_the_terminal() {
    let mut written = Written::new();
    written.publish(2 * ENTRY_CAP);
    written.hub.output(&[1; 2 * CAP]);
    written.publish(1);
    written.hub.output(b"tail");
    let late = watcher(&written.hub);
    let from_a_snapshot = written.hub.subscribe(2 * ENTRY_CAP as u64, LagPolicy::Skip);
    written.publish(1);
    written.hub.close(Duration::ZERO);

    let got: Vec<UiEvent> = late.collect();
    assert_eq!(
        bytes(got.clone()),
        (OUTPUT_CAP_BYTES, 0),
        "it missed nothing: it was not there"
    );
    let newest: Vec<UiEvent> = got[got.len() - 3..].to_vec();
    assert!(matches!(&newest[0], UiEvent::Record(_)));
    assert_eq!(newest[1], UiEvent::Output(b"tail".to_vec()));
    let all: Vec<u64> = (0..=2 * ENTRY_CAP as u64 + 2).collect();
    assert_eq!(seqs(got), all);

    assert_eq!(seqs(from_a_snapshot), all[2 * ENTRY_CAP..]);
}

#[test]
fn a_subscriber_of_a_run_that_says_nothing_gets_its_past_at_once() {
    let mut written = Written::new();
    written.publish(4);
    let path = written._dir.path().join("events.jsonl");
    let resumed = Hub::new(&path, 5);
    let first: Vec<UiEvent> = owner(&resumed).take(5).collect();
    assert_eq!(seqs(first), [0, 1, 2, 3, 4]);
}

#[test]
fn the_past_is_what_a_subscriber_has_seen_already() {
    let mut written = Written::new();
    written.publish(9);
    let mut follower = written.hub.subscribe(4, LagPolicy::HoldAgentBack);
    let mut past = Vec::new();
    follower.past(&mut |record| past.push(record.seq));
    assert_eq!(past, [0, 1, 2, 3]);
    written.hub.close(Duration::ZERO);
    assert_eq!(seqs(follower), [4, 5, 6, 7, 8, 9]);
}

#[test]
fn without_its_journal_a_run_is_shown_with_gaps() {
    let hub = hub();
    let follower = owner(&hub);
    for seq in 0..=ENTRY_CAP as u64 {
        hub.publish(record(seq));
    }
    hub.close(Duration::ZERO);
    let kept: Vec<u64> = (1..=ENTRY_CAP as u64).collect();
    assert_eq!(seqs(follower), kept);
}

#[test]
fn a_subscriber_that_lags_gets_the_newest_details_and_the_number_of_those_before() {
    let hub = hub();
    let follower = owner(&hub);
    let all = ENTRY_CAP + 100;
    for n in 0..all {
        hub.publish_detail(0, 1, &said(n));
    }
    let late = watcher(&hub);
    hub.close(Duration::ZERO);
    let got = details(follower);
    assert_eq!(got.len(), ENTRY_CAP);
    assert_eq!((&got[0].signal, got[0].missed), (&said(100), 100));
    assert_eq!((&got[1].signal, got[1].missed), (&said(101), 0));
    assert_eq!(got.last().map(|detail| &detail.signal), Some(&said(all - 1)));
    assert_eq!(details(late)[0].missed, 0, "a late one missed nothing");
}

#[test]
fn a_subscriber_that_waits_is_woken_once_for_each_call_and_by_its_deadline() {
    let hub = hub();
    let mut follower = owner(&hub);
    let waker = follower.waker();
    let (sender, polled) = mpsc::channel();
    let polls = thread::spawn(move || {
        sender.send(follower.poll(None)).unwrap();
        sender.send(follower.poll(Some(Instant::now()))).unwrap();
        sender.send(follower.poll(None)).unwrap();
        sender.send(follower.poll(None)).unwrap();
    });
    waker.wake();
    assert_eq!(polled.recv_timeout(DEADLINE), Ok(PollResult::Woken));
    assert_eq!(polled.recv_timeout(DEADLINE), Ok(PollResult::Woken));
    hub.output(b"a");
    assert_eq!(
        polled.recv_timeout(DEADLINE),
        Ok(PollResult::Event(UiEvent::Output(b"a".to_vec())))
    );
    hub.close(Duration::ZERO);
    assert_eq!(polled.recv_timeout(DEADLINE), Ok(PollResult::Over));
    polls.join().unwrap();
    waker.wake(); // its subscriber has gone
}

#[test]
fn a_subscriber_that_skips_gets_what_comes_after_it_has_rested() {
    let hub = hub();
    let mut follower = watcher(&hub);
    for text in ["a", "b", "c"] {
        hub.output(text.as_bytes());
        assert_eq!(
            follower.poll(Some(Instant::now() + DEADLINE)),
            PollResult::Event(UiEvent::Output(text.as_bytes().to_vec()))
        );
    }
    assert_eq!(follower.poll(Some(Instant::now())), PollResult::Woken);
}

#[test]
fn a_subscriber_that_is_gone_holds_nobody_up() {
    let hub = hub();
    drop(owner(&hub));
    hub.output(&[0; CAP]);
    hub.output(&[0; CAP]);
    hub.publish(record(0));
    hub.close(DEADLINE);
}

#[test]
fn an_end_waits_for_the_owner_and_for_nobody_else() {
    let hub = hub();
    let _stuck = watcher(&hub);
    let mut owner = owner(&hub);
    hub.output(b"last");
    let (sender, closed) = mpsc::channel();
    let closing = thread::spawn({
        let hub = hub.clone();
        move || {
            hub.close(DEADLINE);
            sender.send(()).unwrap();
        }
    });
    assert_eq!(owner.next(), Some(UiEvent::Output(b"last".to_vec())));
    assert_eq!(
        closed.try_recv(),
        Err(mpsc::TryRecvError::Empty),
        "the owner was not told yet"
    );
    assert_eq!(owner.next(), None);
    closed.recv_timeout(DEADLINE).unwrap();
    closing.join().unwrap();
}

#[test]
fn one_that_wants_the_latest_output_gets_the_end_of_a_flood_and_all_records() {
    let hub = hub();
    let latest = hub.follow(0, StreamMode::Latest);
    let none = hub.follow(0, StreamMode::NoOutput);
    hub.output(&[7; CAP]);
    hub.publish(record(0));
    hub.output(b"end");
    hub.close(Duration::ZERO);
    let latest: Vec<UiEvent> = latest.collect();
    assert!(latest.ends_with(&[UiEvent::Record(Arc::new(record(0))), UiEvent::Output(b"end".to_vec())]));
    let (shown, skipped) = bytes(latest);
    assert_eq!(shown + skipped, CAP as u64 + 3);
    assert!((1..CAP as u64).contains(&shown), "{shown}");
    assert_eq!(none.collect::<Vec<_>>(), [UiEvent::Record(Arc::new(record(0)))]);
}

#[test]
fn a_screen_that_takes_nothing_holds_the_agent_briefly_and_skips_until_it_has_caught_up() {
    let hub = Hub::with_patience(Path::new("/nowhere/events.jsonl"), 0, Duration::from_millis(20));
    let mut frozen = hub.subscribe(0, LagPolicy::HoldAgentBriefly);
    let chunk = [7; 64 * 1024];
    let total = 64 * chunk.len() as u64;
    for _ in 0..64 {
        hub.output(&chunk); // returns although the subscriber takes nothing
    }
    let mut taken = Vec::new();
    while let PollResult::Event(event) = frozen.poll(Some(Instant::now())) {
        taken.push(event);
    }
    let (shown, skipped) = bytes(taken);
    assert!(skipped > 0 && shown > 0, "{shown} shown, {skipped} skipped");
    assert_eq!(shown + skipped, total);
    assert!(!hub.0.state.lock().is_full());
    for _ in 0..4 {
        hub.output(&chunk);
    }
    assert!(
        hub.0.state.lock().is_full(),
        "it has caught up, and the agent waits for it again"
    );
}

#[test]
fn the_patience_with_a_frozen_screen_is_over_for_it_alone_and_not_before_its_time() {
    let hub = hub();
    let frozen = hub.subscribe(0, LagPolicy::HoldAgentBriefly);
    let owner = owner(&hub);
    let start = Instant::now();
    for _ in 0..4 {
        hub.output(&[7; 64 * 1024]);
    }
    let patience = Duration::from_secs(60);
    let mut state = hub.0.state.lock();
    let ends = state.lapse(start, start, patience);
    assert!(ends.is_some_and(|ends| ends >= start + patience));
    assert_eq!(state.holders().count(), 2);
    assert_eq!(state.lapse(start, start + 2 * patience, patience), None);
    assert!(
        state
            .holders()
            .all(|holder| holder.lag_policy == LagPolicy::HoldAgentBack)
    );
    assert!(state.is_full(), "the owner's screen is waited for as long as it takes");
    drop(state);
    drop((frozen, owner));
}

#[test]
fn who_comes_in_the_middle_of_an_iteration_is_shown_nothing_of_the_one_before() {
    let hub = hub();
    hub.output(b"before");
    let started = Record {
        event: Event::Iteration(IterationEvent::Started {
            iteration: 1,
            adapter: String::new(),
            model: None,
            task: None,
            resume: None,
            live_steering: false,
            checkpoint: None,
            prompt_bytes: 0,
            overhead_bytes: 0,
            messages: Vec::new(),
            role: Default::default(),
        }),
        ..record(0)
    };
    hub.publish(started);
    hub.output(b"since");
    let knows_it = hub.subscribe(1, LagPolicy::Skip);
    let knows_nothing = hub.subscribe(0, LagPolicy::Skip);
    hub.close(Duration::ZERO);
    assert_eq!(bytes(knows_it), (5, 0));
    assert_eq!(bytes(knows_nothing), (11, 0));
}
