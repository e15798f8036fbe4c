use std::{path::PathBuf, pin::pin, sync::mpsc, thread};

use futures_util::StreamExt;
use ralph_core::event::{Event, Notice, RunId};
use ralph_state::{
    control::{
        Address, ClientRole, ControlClient,
        frames::{Frame, Show, UiEvent},
        stream::{FrameReader, StreamPurpose},
    },
    http_client::events,
    store::journal::Journal,
};
use ralph_system::{paths::ProjectPaths, proc::Supervisor};
use ralph_text::with_causes;
use reqwest::{Method, StatusCode};

use super::*;

/// Longer than any step here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

/// A server of a run without a loop, of which only the records exist.
struct Run {
    dir: tempfile::TempDir,
    journal: Journal,
    hub: Hub,
    server: RunServer,
}

impl Run {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("events.jsonl");
        let (journal, first) = Journal::create(&path, 0, &RunId("r".to_owned())).unwrap();
        let hub = Hub::new(&path, 0);
        hub.publish(first);
        let socket = dir.path().join("control.sock");
        let role_of = Box::new(|_: &tokio::net::UnixStream| ClientRole::User);
        let shown = ScreenFacts {
            run: RunId("r".to_owned()),
            show: Show::default(),
            here: false,
        };
        let paths = ProjectPaths::new(dir.path(), Some(dir.path())).unwrap();
        let stored = Archive::new(paths, SharedReaders::new(&Supervisor::default())).stored_run(RunId("r".to_owned()));
        let server = RunServer::start(
            &socket,
            stored,
            LoopHandle::disconnected(),
            hub.clone(),
            shown,
            role_of,
            None,
        )
        .unwrap();
        Self {
            dir,
            journal,
            hub,
            server,
        }
    }

    fn socket(&self) -> PathBuf {
        self.dir.path().join("control.sock")
    }

    fn record(&mut self) {
        let event = Event::Noticed {
            notice: Notice::info("nothing-to-do", "nothing to do"),
        };
        self.hub.publish(self.journal.append(0, event).unwrap());
    }
}

/// A pseudo-random number below `below`, the same sequence in each run of the test.
fn varied(state: &mut u64, below: u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state % below
}

#[tokio::test]
async fn every_record_of_a_flood_comes_once_though_the_connection_is_cut_a_hundred_times() {
    const RECORDS: u64 = 100_000;
    const CUTS: u64 = 100;
    let mut run = Run::new();
    let client = ControlClient::for_socket(&run.socket()).unwrap();
    let (cut_off, all_cut) = mpsc::channel();
    let flooding = thread::spawn(move || {
        (1..RECORDS).for_each(|_| run.record());
        // After the end of the run, a disconnected client could not reconnect.
        all_cut.recv().unwrap();
        run.server.stop_listening(Some(0));
        run.hub.close(Duration::ZERO);
        run
    });
    let (mut next, mut cuts, mut state) = (0, 0, 7);
    let over = loop {
        let mut request = client.request(Method::GET, "/events?from=0");
        if next > 0 {
            request = request.header("last-event-id", next - 1);
        }
        let response = client.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        if cuts == CUTS {
            cut_off.send(()).unwrap();
        }
        let mut events = pin!(events(response.bytes_stream()));
        let mut left = varied(&mut state, RECORDS / CUTS);
        let ended = loop {
            let event = tokio::time::timeout(SOON, events.next()).await.expect("events come");
            let event = event.expect("the run is not over").unwrap();
            if event.event == "over" {
                break Some(event.data);
            }
            assert_eq!(event.id, next.to_string());
            next += 1;
            if left == 0 && cuts < CUTS {
                break None;
            }
            left = left.saturating_sub(1);
        };
        match ended {
            Some(over) => break over,
            None => cuts += 1,
        }
    };
    assert_eq!(over, r#"{"exitCode":0}"#);
    assert_eq!((next, cuts), (RECORDS, CUTS));
    flooding.join().unwrap().server.close().await;
}

#[tokio::test]
async fn a_stream_begins_with_its_hello_ends_with_the_exit_code_and_has_each_record_between_them_once() {
    let mut run = Run::new();
    run.record();
    let address = Address::Socket(run.socket());
    let beyond = address.clone();
    let refused = thread::spawn(move || FrameReader::open(&beyond, StreamPurpose::Screen, Some(99)).unwrap_err());
    let refused = refused.join().unwrap();
    assert!(
        with_causes(&refused).contains("no record precedes number 99"),
        "{refused:?}"
    );
    let (opened, open) = mpsc::channel();
    let follow = |looks, from| {
        let (address, opened) = (address.clone(), opened.clone());
        thread::spawn(move || {
            let mut frames = FrameReader::open(&address, looks, from).unwrap();
            opened.send(()).unwrap();
            let mut next = || frames.next_frame().unwrap().expect("frames to the end");
            let Frame::Hello(hello) = next() else {
                panic!("no hello")
            };
            let mut seqs = Vec::new();
            loop {
                match next() {
                    Frame::Event(UiEvent::Record(record)) => seqs.push(record.seq),
                    Frame::End { exit_code } => return (hello.first, seqs, exit_code),
                    other => panic!("{other:?}"),
                }
            }
        })
    };
    let from_the_beginning = follow(StreamPurpose::Records, Some(0));
    let in_the_middle = follow(StreamPurpose::Text, Some(1));
    // After the end, a client could not connect.
    (0..2).for_each(|_| open.recv_timeout(SOON).unwrap());
    run.record();
    run.server.stop_listening(Some(7));
    run.hub.close(SOON);
    run.server.close().await;
    assert_eq!(from_the_beginning.join().unwrap(), (0, vec![0, 1, 2], Some(7)));
    assert_eq!(in_the_middle.join().unwrap(), (1, vec![1, 2], Some(7)));
}

#[tokio::test]
async fn a_run_whose_loop_has_just_ended_still_says_how_it_ended() {
    let run = Run::new();
    let client = ControlClient::for_socket(&run.socket()).unwrap();
    for (route, records) in [("/run", "/view/records"), ("/status", "/view/records")] {
        let answer = client.send(client.request(Method::GET, route)).await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK, "{route}");
        let status: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(
            status.pointer(records),
            Some(&serde_json::json!(1)),
            "{route}: {status}"
        );
    }
    let answer = client.send(
        client
            .request(Method::POST, "/commands")
            .json(&serde_json::json!({ "type": "pause" })),
    );
    assert_eq!(answer.await.unwrap().status(), StatusCode::CONFLICT);
    run.server.close().await;
}
