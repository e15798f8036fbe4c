//! The web page in a real browser: a run on a phone and on a desktop, a lost connection, hostile text.

mod accessibility;
pub mod browser;
mod change;
mod comments;
mod gallery;
mod messages;
mod pictures;
mod plan;
mod relay;
mod start;
mod subagents;

use std::{collections::BTreeSet, env, fs, path::Path, sync::Arc};

use ralph_core::event::{
    AnswerPlace, AskEvent, Decider, Event, IterationEvent, SteeringEvent, SteeringKind, TimeEvent,
};
use serde_json::{Value, json};

use crate::{
    api::http::{address, token},
    bad_input::asking::{asking, decided},
    harness::{SOON, Sandbox, Script, events, http::Http, wait_until},
    web::start::web,
};
use browser::{Browser, Page};
use relay::Relay;

const PHONE: [u32; 2] = [390, 844];
const SMALL_PHONE: [u32; 2] = [320, 640];
const DESK: [u32; 2] = [1280, 800];

/// If set, the tests write the pictures of the README anew.
const WRITE: &str = "RALPH_TEST_WRITE";

const PLAN: &str = "# Configuration

- [x] Read the file, or say why not
- [ ] Parse tables and lists, with tests
- [ ] Report errors with line and column
- [ ] Describe each option in the manual
";

/// An agent that asks for a tool and then asks a question, with text that looks like markup.
const WORK: &str = r#"
says() { printf '{"type":"assistant","message":{"id":"m%s","role":"assistant","content":[{"type":"text","text":"%s"}],"usage":{"input_tokens":18342,"output_tokens":812}}}\n' "$1" "$2"; }
uses() {
    asks "$2" "$1"
    printf '{"type":"assistant","message":{"id":"u%s","role":"assistant","content":[{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"%s"}}]}}\n' "$1" "$1" "$2"
    printf '{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"%s","content":"%s"}]}}\n' "$1" "$3"
}
ticks() { sed -i '0,/- \[ \]/s//- [x]/' PLAN.md; git add --all; git commit --quiet --message "$1"; }
over() { echo '{"type":"result","subtype":"success","is_error":false,"result":"","total_cost_usd":0.0412}'; }
if [ "$RALPH_ITERATION" = 1 ]; then
    says 1 "The tests come first: they say what the parser has to do."
    uses 1 "cargo test parser::" "running 14 tests\n..............\ntest result: ok. 14 passed"
    printf 'fn table(text: &str) -> Result<Table, Error> {\n    lines(text).map(entry).collect()\n}\n' > parser.rs
    says 2 "Tables and lists are parsed, and 14 tests say so."
    ticks "Parse tables and lists"; over
elif [ "$RALPH_ITERATION" = 2 ]; then
    says 3 "An error needs a place. Errors of nested tables have two: I will tell the inner one."
    uses 2 "cargo test errors::" "running 6 tests\n......\ntest result: ok. 6 passed"
    uses 3 "git push origin parser && rm -rf target/old" "Everything up-to-date"
    says 5 "Pushed: <img src=x onerror=pwned=1> \u202egnp"
    printf '{"type":"control_request","request_id":"q","request":{"subtype":"hook_callback","callback_id":"before","tool_use_id":"q","input":{"hook_event_name":"PreToolUse","tool_name":"AskUserQuestion","tool_input":{"questions":[{"question":"How are columns counted?","header":"Columns","multiSelect":false,"options":[{"label":"in bytes","description":"as compilers do"},{"label":"in characters","description":"as editors show them"}]}]}}}}\n'
    read -r answer; printf '%s\n' "$answer" >> "$HOME/answers"
    "$FAKE_AGENT" "wait-file $HOME/go"
    ticks "Report errors"; over
else
    says 4 "The rest is a page of the manual."
    ticks "Describe the options"; over
fi
"#;

/// Shows two asks and lets the first be answered while it has the focus. Returns the shown asks, the count, the asks
/// shown then, and the focused element.
const TWO_ASKS: &str = r#"
import(document.querySelector("script").src.replace("main.js", "asks.js")).then(({ asksArea }) => {
    const ask = (number) => ({ number, request: { title: `command ${number}`, tool: "Bash" }, offer: { rules: [] } });
    const run = {
        connection: "live", view: { permissions: { pending: [ask(1), ask(2)] }, blocks: [], settings: {} },
        takesCommands: () => true, takesAnswers: () => true, isSettled: () => true, act: () => document.createElement("button"),
    };
    const area = asksArea(run);
    document.body.append(area.element);
    area.update();
    const cards = [...area.element.querySelectorAll(".ask")];
    cards.forEach((card) => { card.inert = false; });
    const shown = () => cards.find((card) => card.isConnected && !card.hidden).id;
    const before = [shown(), area.element.querySelector("p").textContent];
    cards[0].focus();
    run.view.permissions.pending.shift();
    area.update();
    const after = [shown(), document.activeElement.id];
    area.element.remove();
    return [...before, ...after];
})
"#;

/// A project whose agent is [`WORK`], with this plan and rules by which it asks.
fn asking_project(plan: &str) -> Sandbox {
    let rules = r#"{ "ask": ["Bash(git push *)", "Bash(rm *)"], "timeout": "9m" }"#;
    let (sandbox, _) = asking(rules, WORK);
    sandbox.write("PLAN.md", plan);
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox
}

/// A run that a browser watches through a relay.
struct WatchedPage {
    relay: Relay,
    browser: Arc<Browser>,
}

fn watched(sandbox: &Sandbox, browser: Arc<Browser>) -> WatchedPage {
    let relay = Relay::start(sandbox.paths().socket());
    WatchedPage { relay, browser }
}

impl WatchedPage {
    fn page(&self, size: [u32; 2], scheme: &str, fragment: &str) -> Page {
        let page = self.browser.page(size, scheme);
        page.opens(&self.relay.url(fragment));
        page
    }
}

/// Writes a picture for the README if `WRITE` is set.
fn picture(page: &Page, name: &str) {
    if env::var_os(WRITE).is_some() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        page.writes_picture(&docs.join(name));
    }
}

/// Logs in with a token.
fn enters(page: &Page, token: &str) {
    page.clicks("Code or token");
    page.types(token);
    page.clicks("Open");
}

/// The sequence numbers of the records in the log, in its order.
fn logged(page: &Page) -> Vec<u64> {
    let numbers = page.value("[...document.querySelectorAll('.log li')].map((line) => Number(line.dataset.seq))");
    let Value::Array(numbers) = numbers else {
        panic!("{numbers}")
    };
    numbers.iter().filter_map(Value::as_u64).collect()
}

#[track_caller]
fn assert_content(page: &Page) {
    assert_eq!(page.complaints(), Vec::<String>::new());
    assert_eq!(page.value("typeof pwned"), "undefined");
    // No element is wider than the screen.
    assert_eq!(page.value("document.documentElement.scrollWidth <= innerWidth"), true);
}

/// Checks that a page opened with a read-only token offers no button, and says so.
#[track_caller]
fn assert_presses_nothing(watched: &WatchedPage, address: &str, token: &str) {
    let reader = watched.browser.page(PHONE, "light");
    reader.opens(address);
    enters(&reader, token);
    reader.sees("git push origin parser && rm -rf target/old");
    reader.sees("2 of 4 tasks");
    reader.sees("Read-only: this browser cannot send commands.");
    assert_eq!(reader.value("document.querySelector('.composer').hidden"), true);
    let pressable = "[...document.querySelectorAll('[data-acts]')].map((button) => !button.disabled)";
    let pressable = reader.value(pressable);
    let Value::Array(pressable) = pressable else {
        panic!("{pressable}")
    };
    assert!(
        !pressable.is_empty() && pressable.iter().all(|can| *can == false),
        "{pressable:?}"
    );
    assert_content(&reader);
}

#[test]
fn a_phone_answers_what_an_agent_asks_pauses_steers_and_sees_the_end() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = asking_project(PLAN);
    let limits = ["--max-cost-usd", "2", "--max-iterations", "12"];
    let running = sandbox.looping(limits).args(["--listen", "127.0.0.1:0"]).start();
    let at = address(&running);
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    let watched = watched(&sandbox, browser);

    // Without a token nothing is shown.
    let phone = watched.browser.page(PHONE, "dark");
    phone.opens(&format!("http://{at}/"));
    phone.sees("paste its code or a token");
    enters(&phone, &token(&sandbox, &[]));
    // The only live run is opened at once.
    phone.sees("Needs you");
    assert_eq!(phone.value("location.href.includes('token') || document.cookie"), "");
    phone.sees("git push origin parser && rm -rf target/old");
    phone.sees("2 of 4 tasks");
    phone.sees("I will tell the inner one.");
    picture(&phone, "page-phone.png");
    let desk = watched.page(DESK, "light", "");
    desk.sees("Report errors with line and column");
    desk.sees("6 passed");
    picture(&desk, "page-desk.png");
    assert_presses_nothing(&watched, &format!("http://{at}/"), &token(&sandbox, &["--read-only"]));

    phone.clicks("Always allow…");
    phone.sees("Bash(rm -rf target/old)");
    phone.clicks("Allow once");
    phone.sees("How are columns counted?");
    phone.sees("left, then the agent decides alone");
    // Text is never rendered as markup.
    phone.sees("Pushed: <img src=x onerror=pwned=1> <U+202E>gnp");
    desk.sees("How are columns counted?");
    phone.clicks("Wait for me");
    phone.sees_no_longer("then the agent decides alone");
    desk.sees_no_longer("then the agent decides alone");
    phone.clicks("in characters");
    phone.clicks("Answer");
    phone.sees_no_longer("How are columns counted?");
    wait_until(SOON, "the answer", || {
        let answers = sandbox.read_home("answers")?;
        answers.contains("in characters").then_some(())
    });
    desk.sees_no_longer("How are columns counted?");

    phone.clicks("Pause");
    phone.sees("will pause after it");
    phone.clicks("Resume");
    phone.sees_no_longer("will pause after it");
    phone.clicks("Message to the agent");
    phone.types("Give an example for each option");
    phone.clicks("Send");
    phone.clicks("Plan");
    phone.sees("Give an example for each option");
    phone.clicks("Log");
    phone.sees("queued for the next prompt (message 1): Give an example for each option");

    phone.clicks("Changes");
    phone.sees("parser.rs");
    phone.sees("+fn table(text: &str)");
    desk.clicks("Changes");
    desk.sees("fn table(text: &str)");
    let sides = "[...document.querySelectorAll('.sides .added code')].map((line) => line.textContent)";
    let added = desk.value(sides);
    let is_added = |line: &str| added.as_array().is_some_and(|lines| lines.contains(&json!(line)));
    assert!(is_added("- [x] Parse tables and lists, with tests"), "{added}");
    let removed = "document.querySelector('.sides .removed code').textContent";
    assert_eq!(desk.value(removed), "- [ ] Parse tables and lists, with tests");
    assert_eq!(
        phone.value("document.querySelectorAll('.diff pre .added').length > 0"),
        true
    );
    let files =
        "[...document.querySelectorAll('a[download]')].filter((file) => !file.hidden && file.offsetParent).length";
    assert_eq!(desk.value(files), 1);

    sandbox.release("go");
    phone.sees("Done (not verified)");
    phone.sees("4 of 4 tasks");
    // The run's server has ended by now, and has said earlier why nothing was verified.
    phone.sees("no goal was checked");
    phone.clicks("History");
    phone.sees("#3");
    desk.sees("no goal was checked");
    assert_content(&phone);
    assert_content(&desk);
    drop((phone, desk));
    assert_eq!(running.wait(SOON).code(), Some(0));

    let records = sandbox.journal();
    let at = AnswerPlace::Api;
    assert!(
        decided(&records).contains(&(true, Decider::User { at })),
        "{:?}",
        decided(&records)
    );
    let steered = |event: &Event| matches!(event, Event::Steering(SteeringEvent::Queued { kind: SteeringKind::Next, text, .. }) if text == "Give an example for each option");
    assert!(events(&records).any(steered));
    assert!(sandbox.prompt(3).contains("Give an example for each option"));
}

#[test]
fn a_page_that_was_cut_off_says_so_and_goes_on_with_every_record_once() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.plan(3);
    sandbox.install(&Script::terminal(
        r#"seq -f "line %g" 300; echo "working on $n"; await "go$n"; work; echo "finished $n""#,
    ));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let watched = watched(&sandbox, browser);
    let page = watched.page(SMALL_PHONE, "light", "");
    page.sees("working on 1");
    page.sees_no_longer("line 280");
    page.swipes_down(".screen", 200);
    page.swipes_down(".screen", 200);
    page.sees("line 280");
    page.clicks("Log");
    page.sees("iteration 1: Task 1");

    watched.relay.cut();
    page.sees("Connection lost");
    page.waits_for("[...document.querySelectorAll('[data-acts]')].every((button) => button.disabled)");
    for number in 1..=2 {
        sandbox.release(&format!("go{number}"));
        running.wait_for_record(
            SOON,
            |event| matches!(event, Event::Iteration(IterationEvent::Started { iteration, .. }) if *iteration == number + 1),
        );
    }
    watched.relay.mend();
    page.sees_no_longer("Connection lost");
    page.sees("iteration 3: Task 3");
    page.sees("2 of 3 tasks");
    page.clicks("Agent");
    page.sees("working on 3");
    page.clicks("Pause");
    page.sees("will pause after it");
    page.clicks("Resume");
    page.sees_no_longer("will pause after it");
    // ralph itself is killed and the run resumed.
    running.kill();
    running.wait(SOON);
    page.sees("Connection lost");
    let running = sandbox.looping([] as [&str; 0]).start();
    page.sees_no_longer("Connection lost");
    page.clicks("Log");
    page.sees("resuming the run where it left off");
    (3..=4).for_each(|number| sandbox.release(&format!("go{number}")));
    page.sees("Done (not verified)");

    assert_content(&page);
    let logged = logged(&page);
    let once: BTreeSet<u64> = logged.iter().copied().collect();
    assert!(logged.is_sorted() && once.len() == logged.len(), "{logged:?}");
    let worded = |event: &Event| {
        matches!(
            event,
            Event::Iteration(IterationEvent::Started { .. })
                | Event::Iteration(IterationEvent::Ended { .. })
                | Event::Time(TimeEvent::Unpaused { .. })
        )
    };
    let records = sandbox.journal();
    let expected = records.iter().filter(|record| worded(&record.event));
    for record in expected {
        assert!(once.contains(&record.seq), "{record:?} is not among {logged:?}");
    }
    drop(page);
    assert_eq!(running.wait(SOON).code(), Some(0));
}

#[test]
fn a_desk_is_used_by_keys_alone_and_hostile_output_stays_on_its_terminal() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    let task = "<b>bold</b> \u{202e}txt.exe <img src=x onerror=pwned=2>";
    fs::write(sandbox.project().join("PLAN.md"), format!("- [ ] {task}\n")).expect("a plan");
    let hostile = r#"printf '\033]0;title\007\033]8;;javascript:pwned=3\007link\033]8;;\007 <img src=x onerror=pwned=4>\n'
        printf '\033[38;2;250;20;20mred\033[0m \033[5;9;4mloud\033[0m\n\033[?1049h\033[2J\033[3;5Hplaced\033[1;1Hhome'; await go"#;
    sandbox.install(&Script::terminal(hostile));
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let watched = watched(&sandbox, browser);
    let page = watched.page(DESK, "dark", "");
    page.sees("placed");
    // ralph itself removes invisible characters from a plan.
    page.sees("<b>bold</b> txt.exe <img src=x onerror=pwned=2>");
    assert_eq!(page.value("document.querySelectorAll('b, main img').length"), 0);

    page.tabs_to("Pause");
    page.presses(&["Enter"]);
    page.sees("will pause after it");
    page.tabs_to("Agent");
    page.presses(&["ArrowRight"]);
    page.waits_for("focused() === 'Log'");
    page.sees("pausing: requested by the user");
    page.presses(&["ArrowLeft"]);
    page.sees("placed");
    // Neither the terminal nor any other element traps the focus.
    page.tabs_to("Stop…");
    page.presses(&["Enter"]);
    page.sees("Stop the run?");
    page.presses(&["Escape"]);
    page.sees_no_longer("Stop the run?");
    page.presses(&["Enter"]);
    page.waits_for("document.querySelector('dialog[open]')");
    page.tabs_to("Now");
    page.presses(&["Enter"]);
    page.sees("Stopped by user");
    assert_content(&page);
    drop(page);
    assert_eq!(running.wait(SOON).code(), Some(130));
}

#[test]
fn a_run_that_ended_blocked_is_answered_and_continued_on_the_page() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    sandbox.plan(1);
    sandbox.install(&Script::jsonl(crate::web::BLOCKED));
    assert_eq!(sandbox.looping([] as [&str; 0]).run(SOON).code(), Some(8));
    let web = web(&sandbox);
    let url = web.wait_for_line(SOON, |line| line.contains("/#code="));
    let run = sandbox.paths().run_ids().remove(0).0;
    let phone = browser.page(PHONE, "light");
    phone.opens(&url);
    phone.sees("Needs you");
    phone.value(&format!("location.hash = '#/runs/{run}'"));
    phone.sees("Which key do I use?");
    phone.sees("ralph continue in its project delivers your answer");
    assert!(!phone.text().contains("on the screen"), "{}", phone.text());
    phone.clicks("Your answer");
    phone.types("the blue one");
    phone.clicks("Answer");
    phone.sees("message 1 is queued");
    phone.sees("Blocked: needs your answer");
    assert_content(&phone);
    assert_eq!(phone.value(TWO_ASKS), json!(["ask-1", "1 of 2", "ask-2", "ask-2"]));
    phone.clicks("Continue the run");
    phone.sees("Done (not verified)");
    assert_content(&phone);
    drop(phone);
    assert!(sandbox.prompt(2).contains("the blue one"));
}

/// The current task, whether it is in view, the sections that are open, and whether each text is beside its box.
const PLAN_IN_VIEW: &str = r#"(() => {
    const rect = (element) => element.getBoundingClientRect();
    const [pane, current] = ['#pane-plan', '.task.current'].map((selector) => document.querySelector(selector));
    const [around, at] = [rect(pane), rect(current)];
    const isBeside = (task) => {
        const [box, text] = [".box", ".text"].map((part) => rect(task.querySelector(part)));
        return text.left >= box.right && text.top <= box.bottom;
    };
    const open = [...document.querySelectorAll(".section[open]")];
    return [
        current.querySelector(".text").firstChild.textContent.slice(0, 20),
        at.top >= around.top && at.bottom <= around.bottom,
        open.map((section) => section.querySelector("strong").textContent).join(),
        open.every((section) => [...section.querySelectorAll(".task")].every(isBeside)),
    ];
})()"#;

/// Has the page wait for `answer()` before it reads what the server said about the run.
const HOLD_ANSWERS: &str = "(() => {
    const { json } = Response.prototype;
    Response.prototype.json = async function () {
        const said = await json.call(this);
        if (this.url.endsWith('/run')) await new Promise((resolve) => { globalThis.answer = () => resolve(); });
        return said;
    };
})()";

#[test]
fn a_long_plan_shows_the_running_task_and_a_verdict_has_the_colour_of_its_evidence() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let sandbox = Sandbox::new();
    let section = |section: u32| {
        let tasks = (1..=12).map(|task| {
            let done = if section < 5 || task < 12 { "x" } else { " " };
            format!("- [{done}] Task {task} of section {section}, in words that take more than one line on a phone\n")
        });
        format!("## Section {section}\n\n{}\n", tasks.collect::<String>())
    };
    sandbox.write("PLAN.md", &(1..=5).map(section).collect::<String>());
    sandbox.git(["commit", "--quiet", "--all", "--message", "Plan"]);
    sandbox.install(&Script::jsonl(
        r#"await "go$n"; [ "$n" = 1 ] && work; [ "$n" = 2 ] && touch fixed; over Done."#,
    ));
    let running = sandbox.looping(["--goal", "green=test -e fixed"]).start();
    running.wait_for_record(SOON, |event| {
        matches!(event, Event::Iteration(IterationEvent::Started { .. }))
    });
    let watched = watched(&sandbox, browser);
    let [phone, desk] = [PHONE, DESK].map(|size| watched.page(size, "light", ""));
    phone.clicks("Plan");
    for page in [&phone, &desk] {
        page.sees("59 of 60 tasks");
        page.waits_for("document.querySelector('.task.current')");
        let expected = json!(["Task 12 of section 5", true, "Section 5", true]);
        assert_eq!(page.value(PLAN_IN_VIEW), expected);
        page.clicks("Section 2");
        page.sees("Task 3 of section 2");
    }
    sandbox.release("go1");
    for page in [&phone, &desk] {
        page.sees("Goal green failed");
    }
    desk.clicks("Log");
    desk.sees("iteration 2");
    let lines = "[...document.querySelectorAll('.log li')].filter((line) => !line.hidden).length";
    desk.clicks("Find in the log");
    desk.types("iteration 2");
    desk.waits_for(&format!("{lines} > 0 && {lines} < 5"));
    // The answer to the page's next question comes after the end.
    desk.value(HOLD_ANSWERS);
    let http = Http::for_socket(&sandbox.paths().socket());
    for command in ["pause", "resume"] {
        assert_eq!(http.post("/commands", &json!({"type": command})).status, 200);
    }
    desk.waits_for("globalThis.answer");
    sandbox.release("go2");
    desk.sees("Done (passed)");
    desk.value("answer()");
    for page in [&phone, &desk] {
        page.sees("Done (passed)");
        let chip = "document.querySelector('.chip').className + document.querySelector('.chip').textContent";
        assert_eq!(page.value(chip), "chip waitPassed");
        page.sees("Evidence");
        page.sees_no_longer("Goal green failed");
        assert_content(page);
    }
    // A link to a line of the log opens it.
    desk.value("location.hash = document.querySelector('.log .at').hash");
    desk.waits_for("document.querySelector('.log .sought')");
    drop((phone, desk));
    assert_eq!(running.wait(SOON).code(), Some(0));
}

/// Waits for the service worker, and returns the number of files that it keeps of the page.
const KEPT: &str = "navigator.serviceWorker.ready.then(() => caches.open('ralph')).then((cache) => cache.keys()).then((kept) => kept.length)";

/// Counts the notifications that have been shown. Chromium forgets one whose list is asked for while it is being shown.
const COUNT_SHOWN: &str = "(() => {
    globalThis.shown = 0;
    const { prototype } = ServiceWorkerRegistration, show = prototype.showNotification;
    prototype.showNotification = async function (...all) { await show.apply(this, all); shown += 1; };
})()";

#[test]
fn an_installed_page_tells_what_a_run_asks_and_opens_without_its_server() {
    let Some(browser) = Browser::shared() else {
        return;
    };
    let (sandbox, _) = asking(r#"{ "ask": ["Bash"] }"#, "asks date 1\nworks\n");
    let web = sandbox.ralph(["web", "--listen", "127.0.0.1:0", "--qr"]).start();
    let url = web.wait_for_line(SOON, |line| line.contains("/#code="));
    web.wait_for_line(SOON, |line| line.contains("██"));
    let page = browser.page(PHONE, "dark");
    page.allows_notifications(url.split_once("/#").expect("an address").0);
    page.opens(&url);
    page.sees("No runs yet");
    let keeps = |page: &Page| wait_until(SOON, "files", || (page.value(KEPT).as_u64() > Some(20)).then_some(()));
    keeps(&page);
    let files = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/assets/'))";
    let versions = format!("new Set({files}.map(({{ name }}) => /assets.([0-9a-f]{{16}})./.exec(name)?.[1])).size");
    assert_eq!(page.value(&versions), 1);

    page.value(COUNT_SHOWN);
    let running = sandbox.looping([] as [&str; 0]).start();
    running.wait_for_record(SOON, |event| matches!(event, Event::Ask(AskEvent::Asked { .. })));
    page.sees("Needs you");
    page.waits_for("shown > 0");
    let shown = "navigator.serviceWorker.ready.then((worker) => worker.getNotifications())";
    let described = "({ title, body, actions }) => [title, body, actions.map(({ action }) => action).join()]";
    let told = format!("{shown}.then((shown) => shown.map({described}))");
    let expected = json!([["project: Bash?", "date", "allow,deny"]]);
    assert_eq!(page.value(&told), expected);
    assert_content(&page);
    page.opens("about:blank");
    drop(page);
    let page = browser.page(PHONE, "dark");
    page.opens(&format!("{}/", url.split_once("/#").expect("an address").0));
    keeps(&page);
    web.signal(nix::sys::signal::Signal::SIGINT);
    assert_eq!(web.wait(SOON).code(), Some(0));
    page.opens("about:blank");
    page.opens(&format!("{}/", url.split_once("/#").expect("an address").0));
    page.sees("Connection lost");
    drop(page);
    let yes = sandbox.ralph(["answer", "1", "yes"]).run(SOON);
    assert_eq!(yes.code(), Some(0), "{yes:?}");
    assert_eq!(running.wait(SOON).code(), Some(0));
}
