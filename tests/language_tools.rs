//! Language tools: the results of a server that behaves, and the handling of one that does not. The fake agent plays
//! the servers; the real ones are in `real_servers`.

mod real_servers;

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

use ralph_system::proc::Supervisor;
use ralph_tools::language::{
    Home, LanguageAnswer, LanguageQuery, LanguageServer, Languages, QueryError, ServerNotice, SymbolPosition,
};
use serde_json::Value;
use tokio::sync::mpsc;

/// A project with a server for `*.fake`.
struct Bench {
    directory: tempfile::TempDir,
    languages: Languages,
    news: mpsc::Receiver<ServerNotice>,
}

impl Bench {
    fn new(troubles: &[&str]) -> Self {
        Self::limited(troubles, None)
    }

    fn limited(troubles: &[&str], memory_bytes: Option<u64>) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let root = directory.path().canonicalize().expect("a path");
        for name in ["project", "scratch"] {
            fs::create_dir(root.join(name)).expect("a directory");
        }
        let troubles = troubles
            .iter()
            .map(|word| word.replace("{here}", &root.to_string_lossy()));
        let row = LanguageServer {
            name: "fake".to_owned(),
            command: env!("CARGO_BIN_EXE_fake-agent").to_owned(),
            args: ["language-server".to_owned()].into_iter().chain(troubles).collect(),
            extensions: vec!["fake".to_owned()],
            roots: vec!["root".to_owned()],
            language: None,
            options: Value::Null,
        };
        let home = Home {
            project: root.join("project"),
            run_id: format!("language-{}", root.display()),
            scratch: root.join("scratch"),
            supervisor: Supervisor::default().limiting_memory(memory_bytes),
            withheld: Vec::new(),
            guard: Some(PathBuf::from(env!("CARGO_BIN_EXE_ralph"))),
        };
        let (told, news) = mpsc::channel(64);
        let bench = Self {
            directory,
            languages: Languages::new(vec![row], home, told),
            news,
        };
        bench.write("a.fake", "def apple\napple pear\n");
        bench.write("b.fake", "pear apple\ndef pear\n");
        bench
    }

    fn project(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    fn here(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.project().join(name);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.project().join(name)).expect("a file")
    }

    async fn ask(&self, question: LanguageQuery) -> Result<LanguageAnswer, QueryError> {
        self.languages.answer(question, |_| true).await
    }

    async fn rename(&self, to: &str, apply: bool) -> Result<LanguageAnswer, QueryError> {
        let (at, name) = (on("a.fake", 1, "apple"), to.to_owned());
        self.ask(LanguageQuery::Rename { at, name, apply }).await
    }

    /// Ends the servers, and checks that nothing is left of them.
    async fn close(self) {
        self.languages.close().await;
        let left = crate::harness::processes::in_sandbox("no-such-mark", self.directory.path());
        assert!(left.is_empty(), "{left:?}");
    }
}

fn on(file: &str, line: u32, symbol: &str) -> SymbolPosition {
    SymbolPosition {
        file: file.to_owned(),
        line,
        column: None,
        symbol: Some(symbol.to_owned()),
    }
}

/// Polls until a condition holds that another task brings about.
async fn until(mut is_so: impl FnMut() -> bool) {
    let looking = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::harness::SOON, looking)
        .await
        .expect("it comes about");
}

/// The places of an answer as `path:line:column`.
fn places(found: &LanguageAnswer) -> Vec<String> {
    match found {
        LanguageAnswer::Definitions(told) | LanguageAnswer::References(told) => {
            let places = told.items.iter();
            places
                .map(|place| format!("{}:{}:{}", place.path, place.line, place.column))
                .collect()
        }
        other => panic!("no places: {other:?}"),
    }
}

#[tokio::test]
async fn every_question_has_its_answer_and_columns_count_characters_whatever_the_server_counts() {
    for encoding in [&[][..], &["utf-8"]] {
        let bench = Bench::new(encoding);
        bench.write("a.fake", "def äpfel\n😀ü äpfel birne\n");
        bench.write("b.fake", "birne 😀 äpfel\r\ndef birne\r\n");
        let defined = bench
            .ask(LanguageQuery::Definition(on("a.fake", 2, "birne")))
            .await
            .expect("a definition");
        assert_eq!(places(&defined), ["b.fake:2:5"], "{encoding:?}");
        let LanguageAnswer::Definitions(told) = &defined else {
            unreachable!()
        };
        assert_eq!(told.items[0].source.as_deref(), Some("def birne"));
        let used = bench
            .ask(LanguageQuery::References(on("a.fake", 2, "äpfel")))
            .await
            .expect("references");
        assert_eq!(
            places(&used),
            ["a.fake:1:5", "a.fake:2:4", "b.fake:1:9"],
            "{encoding:?}"
        );
        let at = SymbolPosition {
            column: Some(6),
            symbol: None,
            ..on("a.fake", 2, "")
        };
        let hover = bench.ask(LanguageQuery::Hover(at)).await.expect("a hover");
        assert!(
            matches!(&hover, LanguageAnswer::Hover { text, .. } if text == "the word äpfel"),
            "{hover:?}"
        );
        let (at, name) = (on("a.fake", 2, "äpfel"), "obst".to_owned());
        let renamed = bench
            .ask(LanguageQuery::Rename { at, name, apply: true })
            .await
            .expect("edits");
        assert!(
            matches!(&renamed, LanguageAnswer::Edits { files, applied: true } if files.len() == 2),
            "{renamed:?}"
        );
        assert_eq!(bench.read("a.fake"), "def obst\n😀ü obst birne\n");
        assert_eq!(bench.read("b.fake"), "birne 😀 obst\r\ndef birne\r\n");
        let outline = bench
            .ask(LanguageQuery::Outline {
                file: "b.fake".to_owned(),
            })
            .await
            .expect("an outline");
        assert!(
            matches!(&outline, LanguageAnswer::Outline(told) if told.items[0].name == "birne" && told.items[0].kind == "function"),
            "{outline:?}"
        );
        bench.close().await;
    }
}

#[tokio::test]
async fn an_edit_between_two_questions_is_seen_whichever_file_it_is_in() {
    let mut bench = Bench::new(&["log", "{here}/log"]);
    bench.write("root", "");
    let of_pear = || LanguageQuery::Definition(on("a.fake", 2, "pear"));
    assert_eq!(
        places(&bench.ask(of_pear()).await.expect("a definition")),
        ["b.fake:2:5"]
    );
    bench.write("b.fake", "\n\n\ndef pear\n");
    assert_eq!(
        places(&bench.ask(of_pear()).await.expect("a definition")),
        ["b.fake:4:5"]
    );
    bench.write("c.fake", "wrong");
    fs::remove_file(bench.project().join("b.fake")).expect("a file that is gone");
    assert_eq!(
        places(&bench.ask(of_pear()).await.expect("no definition")),
        Vec::<String>::new()
    );
    let wrong = bench
        .ask(LanguageQuery::Diagnostics { file: None })
        .await
        .expect("diagnostics");
    assert!(
        matches!(&wrong, LanguageAnswer::Diagnostics(told) if told.items.len() == 1 && told.items[0].place.path == "c.fake"),
        "{wrong:?}"
    );
    bench.write("c.fake", "right");
    let right = bench
        .ask(LanguageQuery::Diagnostics {
            file: Some("c.fake".to_owned()),
        })
        .await
        .expect("diagnostics");
    assert!(
        matches!(&right, LanguageAnswer::Diagnostics(told) if told.items.is_empty()),
        "{right:?}"
    );
    let symbols = bench
        .ask(LanguageQuery::Symbols { name: "app".to_owned() })
        .await
        .expect("symbols");
    assert!(
        matches!(&symbols, LanguageAnswer::Symbols(told) if told.items[0].place.path == "a.fake"),
        "{symbols:?}"
    );
    let log = fs::read_to_string(bench.here("log")).expect("a log");
    assert_eq!(log.matches("initialize\n").count(), 1, "one server for all of them");
    assert!(matches!(bench.news.try_recv(), Ok(ServerNotice::Started { .. })));
    bench.close().await;
}

#[tokio::test]
async fn bad_places_are_told_with_what_is_there() {
    let bench = Bench::new(&[]);
    fs::write(bench.here("outside.fake"), "def secret").expect("a file");
    std::os::unix::fs::symlink(bench.here("outside.fake"), bench.project().join("link.fake")).expect("a link");
    fs::write(bench.project().join("binary.fake"), b"\xff\xfe\0").expect("a file");
    let huge = fs::File::create(bench.project().join("huge.fake")).expect("a file");
    huge.set_len(1 << 30).expect("a large file");
    let outside = bench.here("outside.fake").to_string_lossy().into_owned();
    for (file, line, symbol, wanted) in [
        ("../outside.fake", 1, "secret", "Outside"),
        (&*outside, 1, "secret", "Outside"),
        ("link.fake", 1, "secret", "Outside"),
        ("no.fake", 1, "x", "Unreadable"),
        (".", 1, "x", "NoServer"),
        ("binary.fake", 1, "x", "Unreadable"),
        ("huge.fake", 1, "x", "Unreadable"),
        ("a.fake", 0, "apple", "NoLine"),
        ("a.fake", 99, "apple", "NoLine { file: \"a.fake\", lines: 3 }"),
        ("a.fake", 1, "pear", "near: [2]"),
        ("a.fake", 1, "appl", "near: []"),
        ("a.fake", 1, "", "NoPlace"),
    ] {
        let told = bench
            .ask(LanguageQuery::Hover(on(file, line, symbol)))
            .await
            .expect_err(file);
        assert!(format!("{told:?}").contains(wanted), "{file}:{line} {symbol}: {told:?}");
    }
    let far = SymbolPosition {
        column: Some(99),
        ..on("a.fake", 1, "")
    };
    assert!(matches!(
        bench.ask(LanguageQuery::Hover(far)).await,
        Err(QueryError::NoColumn { columns: 9, .. })
    ));
    bench.write("c.other", "x");
    let other = bench.ask(LanguageQuery::Hover(on("c.other", 1, "x"))).await;
    assert!(
        matches!(&other, Err(QueryError::NoServer { known, .. }) if known[..] == ["fake"]),
        "{other:?}"
    );
    bench.close().await;
}

#[tokio::test]
async fn a_rename_is_shown_first_and_made_only_as_a_whole_and_where_nothing_changed() {
    let bench = Bench::new(&[]);
    let shown = bench.rename("plum", false).await.expect("edits");
    let LanguageAnswer::Edits { files, applied: false } = &shown else {
        panic!("{shown:?}")
    };
    assert_eq!(
        (files.len(), files[0].places, &*files[0].lines[0].after),
        (2, 2, "def plum")
    );
    assert_eq!(bench.read("a.fake"), "def apple\napple pear\n");
    let at = on("a.fake", 1, "apple");
    let question = LanguageQuery::Rename {
        at,
        name: "plum".to_owned(),
        apply: true,
    };
    let forbidden = bench.languages.answer(question, |path| !path.ends_with("b.fake")).await;
    assert_eq!(
        forbidden,
        Err(QueryError::EditsDenied {
            path: "b.fake".to_owned()
        })
    );
    assert_eq!(bench.read("a.fake"), "def apple\napple pear\n");
    assert_eq!(bench.rename("apple", true).await, Err(QueryError::NoEdits));
    assert!(bench.rename("plum", true).await.is_ok());
    assert_eq!(
        (&*bench.read("a.fake"), &*bench.read("b.fake")),
        ("def plum\nplum pear\n", "pear plum\ndef pear\n")
    );
    let left = fs::read_dir(bench.project()).expect("a directory").count();
    assert_eq!(left, 2, "nothing is left beside the files");
    bench.close().await;
}

#[tokio::test]
async fn edits_that_contradict_each_other_or_lead_out_of_the_project_are_not_made() {
    let bench = Bench::new(&["twice"]);
    let overlap = bench.rename("plum", true).await;
    assert!(matches!(overlap, Err(QueryError::EditsOverlap { .. })), "{overlap:?}");
    assert_eq!(bench.read("b.fake"), "pear apple\ndef pear\n");
    bench.close().await;
    let bench = Bench::new(&["edit", "{here}/outside"]);
    fs::write(bench.here("outside"), "mine").expect("a file");
    let outside = bench.rename("plum", true).await;
    assert!(matches!(outside, Err(QueryError::EditsOutside { .. })), "{outside:?}");
    assert_eq!(fs::read_to_string(bench.here("outside")).expect("a file"), "mine");
    assert_eq!(bench.read("a.fake"), "def apple\napple pear\n");
    bench.close().await;
}

#[tokio::test]
async fn a_server_that_ends_is_started_once_more_and_then_given_up() {
    let mut bench = Bench::new(&["die-once", "textDocument/hover", "{here}/died"]);
    let hover = || LanguageQuery::Hover(on("a.fake", 1, "apple"));
    assert!(bench.ask(hover()).await.is_ok());
    let mut told = Vec::new();
    while let Ok(news) = bench.news.try_recv() {
        told.push(news);
    }
    assert!(
        matches!(
            told[..],
            [
                ServerNotice::Started { .. },
                ServerNotice::Ended { .. },
                ServerNotice::Started { .. }
            ]
        ),
        "{told:?}"
    );
    bench.close().await;
    let mut bench = Bench::new(&["die", "textDocument/hover"]);
    assert!(matches!(bench.ask(hover()).await, Err(QueryError::Ended { .. })));
    let given_up = bench.ask(hover()).await;
    assert!(
        matches!(&given_up, Err(QueryError::GaveUp { why, .. }) if why.contains("panicked: textDocument/hover")),
        "{given_up:?}"
    );
    assert_eq!(bench.ask(hover()).await, given_up);
    let mut given_up = 0;
    while let Ok(news) = bench.news.try_recv() {
        given_up += usize::from(matches!(news, ServerNotice::GaveUp { .. }));
    }
    assert_eq!(given_up, 1, "its user is told once");
    bench.close().await;
    let bench = Bench::new(&["die", "initialize"]);
    let never = bench.ask(hover()).await;
    assert!(
        matches!(&never, Err(QueryError::NotStarted { why, .. }) if why.contains("exit code 3")),
        "{never:?}"
    );
    bench.close().await;
}

#[tokio::test]
async fn rubbish_and_a_flood_are_left_out_and_questions_side_by_side_are_answered() {
    let bench = Bench::new(&["rubbish"]);
    let hover = || LanguageQuery::Hover(on("a.fake", 1, "apple"));
    let all = futures_util::future::join_all((0..40).map(|_| bench.ask(hover()))).await;
    let busy = all
        .iter()
        .filter(|answer| matches!(answer, Err(QueryError::Busy { .. })))
        .count();
    let good = all.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!((good, busy), (16, 24), "{all:?}");
    bench.close().await;
    let bench = Bench::new(&["flood"]);
    assert!(bench.ask(hover()).await.is_ok());
    bench.close().await;
}

#[tokio::test]
async fn what_is_not_known_yet_is_waited_for_and_said_to_be_so() {
    let bench = Bench::new(&["index", "{here}/indexed", "log", "{here}/log"]);
    let asked = bench.ask(LanguageQuery::References(on("a.fake", 1, "apple")));
    let indexes = async {
        let log = bench.here("log");
        until(|| fs::read_to_string(&log).is_ok_and(|log| log.contains("initialized"))).await;
        fs::write(bench.here("indexed"), "").expect("a file");
    };
    let (found, ()) = tokio::join!(asked, indexes);
    assert_eq!(
        places(&found.expect("references")),
        ["a.fake:1:5", "a.fake:2:1", "b.fake:1:6"]
    );
    bench.close().await;
}

#[tokio::test]
async fn a_server_that_hangs_ends_with_the_run() {
    let bench = Bench::new(&["hang", "initialize"]);
    let asked = bench.ask(LanguageQuery::Hover(on("a.fake", 1, "apple")));
    let ending = async {
        // The server runs once its guard has written to its directory.
        until(|| {
            let mut entries = fs::read_dir(bench.here("scratch")).expect("a directory");
            entries.next().is_some()
        })
        .await;
        bench.languages.close().await;
    };
    let begun = Instant::now();
    let (found, ()) = tokio::join!(asked, ending);
    assert!(found.is_err() && begun.elapsed() < crate::harness::SOON, "{found:?}");
    bench.close().await;
}

#[tokio::test]
async fn a_workspace_in_a_directory_has_a_server_of_its_own() {
    let bench = Bench::new(&["log", "{here}/log"]);
    bench.write("deep/er/root", "");
    bench.write("deep/er/in/x.fake", "def kiwi");
    let hover = |file: &str, symbol| LanguageQuery::Hover(on(file, 1, symbol));
    assert!(bench.ask(hover("deep/er/in/x.fake", "kiwi")).await.is_ok());
    assert!(bench.ask(hover("a.fake", "apple")).await.is_ok());
    assert!(bench.ask(hover("deep/er/in/x.fake", "kiwi")).await.is_ok());
    let log = fs::read_to_string(bench.here("log")).expect("a log");
    assert_eq!(log.matches("initialize\n").count(), 2);
    bench.close().await;
}
