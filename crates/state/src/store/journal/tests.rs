use std::{fs::OpenOptions, io::Write};

use ralph_core::{event::Notice, run::RunView, testing::through_snapshots};

use super::*;
use ralph_core::event::AskEvent;

fn notice(text: &str) -> Event {
    Event::Noticed {
        notice: Notice::info("test", text),
    }
}

/// An event whose text has no bound.
fn forgotten(rule: &str) -> Event {
    Event::Ask(AskEvent::RuleForgotten { rule: rule.to_owned() })
}

fn written(dir: &Path) -> PathBuf {
    let path = dir.join("events.jsonl");
    let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
    journal.append(2, notice("one")).unwrap();
    journal.append(3, notice("two")).unwrap();
    path
}

#[test]
fn a_journal_cut_at_any_byte_reads_as_the_records_before_the_cut() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let bytes = std::fs::read(&path).unwrap();
    let (all, _) = read(&path).unwrap();
    for cut in 0..bytes.len() {
        std::fs::write(&path, &bytes[..cut]).unwrap();
        let whole = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
        let (records, note) = read(&path).unwrap();
        assert_eq!(records, all[..whole]);
        assert_eq!(
            note == ReadNote::Whole,
            cut == 0 || bytes[cut - 1] == b'\n',
            "cut at {cut}"
        );
    }
}

#[test]
fn going_on_after_a_torn_line_leaves_a_whole_journal() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 4]).unwrap();
    let mut records = Vec::new();
    let (mut journal, note) = Journal::reopen(&path, |record| records.push(record)).unwrap();
    assert_eq!(records.len(), 2);
    assert!(matches!(note, ReadNote::Torn { .. }));
    journal.append(9, notice("three")).unwrap();
    let (records, note) = read(&path).unwrap();
    assert_eq!(note, ReadNote::Whole);
    assert_eq!(records.last().unwrap().event, notice("three"));
    assert_eq!(records.last().unwrap().seq, 2);
}

#[test]
fn a_journal_of_another_version_is_refused_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    for version in [u64::from(VERSION) - 1, u64::from(VERSION) + 1] {
        let line = format!(
            r#"{{"seq":0,"atMs":1,"event":{{"type":"journal-opened","format":"ralph-journal","version":{version},"ralph":"7.0.0","run":"r","more":1}}}}"#
        );
        std::fs::write(&path, line + "\n").unwrap();
        let error = read(&path).unwrap_err();
        assert!(
            matches!(error, JournalError::Version { found, .. } if found == version),
            "{error}"
        );
        assert!(error.to_string().contains("7.0.0"), "{error}");
    }
}

#[test]
fn a_file_of_another_program_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    for text in ["hello\n", "{\"seq\":0}\n", "[1,2]\n", "\0\0\0\n"] {
        std::fs::write(&path, text).unwrap();
        assert!(
            matches!(read(&path).unwrap_err(), JournalError::Foreign { .. }),
            "{text:?}"
        );
    }
}

#[test]
fn a_record_that_no_reader_would_take_is_refused_by_its_name_and_leaves_the_journal_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
    let envelope = serde_json::to_vec(&Record {
        seq: 1,
        at_ms: 2,
        event: forgotten(""),
    })
    .unwrap()
    .len();
    let longest = LINE_CAP_BYTES - envelope - 1;
    let refused = journal.append(2, forgotten(&"x".repeat(longest + 1))).unwrap_err();
    assert!(refused.to_string().contains("record `rule-forgotten` has"), "{refused}");
    journal.append(2, forgotten(&"x".repeat(longest))).unwrap();
    journal.append(3, notice("after it")).unwrap();
    let (records, note) = read(&path).unwrap();
    assert_eq!((records.len(), note), (3, ReadNote::Whole));
}

#[test]
fn a_line_beyond_the_cap_is_an_error_with_its_number_and_never_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let before = std::fs::read(&path).unwrap();
    let long = format!(
        r#"{{"seq":3,"atMs":4,"event":{{"type":"noticed","notice":{{"type":"text","text":"{}"#,
        "x".repeat(LINE_CAP_BYTES)
    );
    for end in ["\"}}}\n{\"seq\":4", "\"}}}\n", ""] {
        let whole = [&before, long.as_bytes(), end.as_bytes()].concat();
        std::fs::write(&path, &whole).unwrap();
        let error = Journal::reopen(&path, drop).unwrap_err();
        assert!(matches!(error, JournalError::TooLong { line: 4, .. }), "{error}");
        assert!(std::fs::read(&path).unwrap() == whole, "nothing is cut off");
    }
}

#[test]
fn an_event_of_a_newer_ralph_is_kept_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(
        file,
        r#"{{"seq":3,"atMs":4,"event":{{"type":"goal-skipped","goal":"tests"}},"more":1}}"#
    )
    .unwrap();
    writeln!(
        file,
        r#"{{"seq":4,"atMs":4,"event":{{"type":"noticed","notice":{{"code":"test","level":"info","text":"two"}},"more":[]}}}}"#
    )
    .unwrap();
    let (records, _) = read(&path).unwrap();
    let name = "goal-skipped".to_owned();
    assert_eq!(records[3].event, Event::Unknown { name });
    assert_eq!(records[4].event, notice("two"));
}

#[test]
fn a_damaged_line_in_the_middle_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = written(dir.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"one\"", "\"one", 1)).unwrap();
    assert!(matches!(read(&path).unwrap_err(), JournalError::Broken { line: 2, .. }));
    let mut lines: Vec<&str> = text.lines().collect();
    lines.remove(1);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    assert!(matches!(
        read(&path).unwrap_err(),
        JournalError::Gap {
            expected: 1,
            found: 2,
            ..
        }
    ));
}

#[test]
fn what_somebody_else_did_to_an_open_journal_is_noticed_and_nothing_of_it_is_taken_for_a_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
    journal.append(2, notice("one")).unwrap();
    let forged = serde_json::json!({"seq": 2, "atMs": 2, "event": {"type": "held"}});
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    writeln!(file, "{forged}").unwrap();
    assert!(matches!(
        journal.append(3, notice("two")),
        Err(JournalError::ChangedExternally { .. })
    ));
    assert_eq!(read(&path).unwrap().0.len(), 2);
    file.set_len(5).unwrap();
    assert!(matches!(
        journal.append(3, notice("two")),
        Err(JournalError::ChangedExternally { .. })
    ));
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(
        journal.append(3, notice("two")),
        Err(JournalError::ChangedExternally { .. })
    ));
}

#[test]
fn a_reader_follows_a_journal_that_grows() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("events.jsonl");
    let (mut journal, _) = Journal::create(&path, 1, &RunId("r".to_owned())).unwrap();
    let mut reader = JournalReader::open(&path).unwrap();
    assert!(reader.next_record().unwrap().is_some());
    assert!(reader.next_record().unwrap().is_none());
    journal.append(2, notice("one")).unwrap();
    assert_eq!(reader.next_record().unwrap().unwrap().event, notice("one"));
}

#[test]
fn a_snapshot_and_its_tail_are_the_whole_fold_of_every_recorded_journal() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/journals");
    let mut journals = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let (records, _) = read(&entry.unwrap().path()).unwrap();
        let whole = RunView::of(&records);
        assert_eq!(through_snapshots(&records), whole);
        assert_eq!(whole.records, records.len() as u64);
        assert!(whole.run.is_some() && whole.iterations.number > 0);
        journals += 1;
    }
    assert!(journals > 3);
}
