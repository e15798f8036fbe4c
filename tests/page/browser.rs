//! A headless Chromium, controlled in its own protocol through two pipes, without a library.
//!
//! All tests share one, each in a context with its own cookies. It ends with the last test that uses it.

use std::{
    collections::HashMap,
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{
        Arc, Weak,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    thread,
};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::harness::{SOON, skipped};

/// Set to `required`, it turns a missing browser into a failure.
const POLICY: &str = "RALPH_TEST_BROWSER";
const NAMES: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
];

/// Starts the browser, which reads commands from descriptor 3 and answers on 4. It has a directory of its own and
/// contacts no server.
const START: &str = r#"exec "$0" --remote-debugging-pipe --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
    --no-first-run --no-proxy-server --disable-quic --disable-background-networking --disable-component-update --disable-sync \
    --disable-extensions --hide-scrollbars --force-color-profile=srgb --user-data-dir="$HOME" about:blank \
    3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// JavaScript helpers that tests use to query a page.
const HELPERS: &str = r#"
// Without what is said about it in small letters.
globalThis.label = (element) => {
  const copy = element.cloneNode(true);
  copy.querySelectorAll("small").forEach((small) => small.remove());
  return copy.textContent.trim();
};
globalThis.named = (name) => [...document.querySelectorAll("button, a, summary, label, option, input, textarea")].find((element) =>
  [label(element), element.getAttribute("aria-label")].includes(name)
  && element.checkVisibility() && !element.disabled && !element.closest("[inert]"));
// A click that meets something else, since the page has moved, reaches nothing.
for (const kind of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
  addEventListener(kind, (event) => {
    if (globalThis.aimed === undefined || named(aimed)?.contains(event.target)) {
      if (kind === "click") delete globalThis.aimed;
    } else {
      event.stopImmediatePropagation();
      event.preventDefault();
    }
  }, true);
}
globalThis.focused = () => document.activeElement.getAttribute("aria-label") ?? label(document.activeElement.labels?.[0] ?? document.activeElement);
globalThis.seen = (text) => document.body.innerText.replaceAll("\u00a0", " ").includes(text);
globalThis.holds = (condition) => new Promise((resolve) => {
  const check = () => {
    let is = false;
    try { is = condition(); } catch {}
    if (is) end(is);
  };
  const end = (is) => { observer.disconnect(); clearInterval(timer); clearTimeout(deadline); resolve(is === false ? false : true); };
  const observer = new MutationObserver(check);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  const timer = setInterval(check, 50);
  const deadline = setTimeout(() => end(false), 50_000);
  check();
});
"#;

type Replies = Arc<Mutex<HashMap<u64, mpsc::Sender<Value>>>>;
type Complaints = Arc<Mutex<Vec<(String, String)>>>;

pub struct Browser {
    child: Mutex<Child>,
    commands: Mutex<ChildStdin>,
    replies: Replies,
    complaints: Complaints,
    next: AtomicU64,
    /// Removed after the browser has ended.
    _home: TempDir,
}

impl Browser {
    /// The shared browser; `None`, with a printed notice, if no browser is installed.
    ///
    /// # Panics
    /// If none is installed and `RALPH_TEST_BROWSER=required` is set.
    pub fn shared() -> Option<Arc<Browser>> {
        static SHARED: Mutex<Weak<Browser>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock();
        if let Some(browser) = shared.upgrade() {
            return Some(browser);
        }
        let Some(program) = NAMES.iter().find_map(|name| which::which(name).ok()) else {
            let what = format!("a test of the page: none of {} is installed", NAMES.join(", "));
            let is_required = env::var(POLICY).is_ok_and(|policy| policy == "required");
            assert!(!is_required, "{what}");
            skipped(&what);
            return None;
        };
        let browser = Arc::new(Browser::start(&program));
        *shared = Arc::downgrade(&browser);
        Some(browser)
    }

    fn start(program: &Path) -> Browser {
        let home = tempfile::Builder::new()
            .prefix("ralph-browser-")
            .tempdir()
            .expect("a directory");
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(program)
            .env_clear()
            .env("PATH", env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .env("TMPDIR", home.path())
            .env("TZ", "UTC")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let commands = child.stdin.take().expect("a pipe");
        let answers = child.stdout.take().expect("a pipe");
        let (replies, complaints) = (Replies::default(), Complaints::default());
        thread::spawn({
            let (replies, complaints) = (Arc::clone(&replies), Arc::clone(&complaints));
            move || read_answers(answers, &replies, &complaints)
        });
        Browser {
            child: Mutex::new(child),
            commands: Mutex::new(commands),
            replies,
            complaints,
            next: AtomicU64::new(1),
            _home: home,
        }
    }

    /// Opens a page of this size, dark or light.
    pub fn page(self: &Arc<Browser>, [width, height]: [u32; 2], scheme: &str) -> Page {
        let context = self.call(None, "Target.createBrowserContext", json!({}));
        let context = context["browserContextId"].as_str().expect("a context").to_owned();
        let target = json!({ "url": "about:blank", "browserContextId": context });
        let target = self.call(None, "Target.createTarget", target)["targetId"].clone();
        let session = json!({ "targetId": target, "flatten": true });
        let session = self.call(None, "Target.attachToTarget", session)["sessionId"].clone();
        let page = Page {
            browser: Arc::clone(self),
            context,
            session: session.as_str().expect("a session").to_owned(),
        };
        for domain in ["Runtime", "Log", "Page"] {
            page.call(&format!("{domain}.enable"), json!({}));
        }
        page.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": HELPERS }));
        page.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": width < 600 }));
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        page.call("Emulation.setDeviceMetricsOverride", size);
        page.prefers(scheme);
        page
    }

    fn call(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, reply) = mpsc::channel();
        self.replies.lock().insert(id, sender);
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = session.into();
        }
        let text = format!("{message}\0");
        self.commands
            .lock()
            .write_all(text.as_bytes())
            .expect("the browser reads");
        let mut reply = reply
            .recv_timeout(SOON)
            .unwrap_or_else(|_| panic!("{method}: no reply within {SOON:?}"));
        assert!(reply.get("error").is_none(), "{method}: {reply}");
        reply["result"].take()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let child = self.child.get_mut();
        _ = child.kill(); // it may have ended
        _ = child.wait();
    }
}

fn read_answers(answers: impl Read, replies: &Replies, complaints: &Complaints) {
    for message in BufReader::new(answers).split(b'\0') {
        let Ok(message) = message else { break };
        let mut message: Value = serde_json::from_slice(&message).expect("the browser speaks JSON");
        if let Some(reply) = message["id"].as_u64().and_then(|id| replies.lock().remove(&id)) {
            _ = reply.send(message); // the caller has given up
        } else if let Some(complaint) = complaint(&message) {
            let session = message["sessionId"].take();
            complaints
                .lock()
                .push((session.as_str().unwrap_or_default().to_owned(), complaint));
        }
    }
    // Dropping the senders tells waiting callers that no reply will come.
    replies.lock().clear();
}

/// Begins what the page's terminal writes to the console on a busy machine.
const LATE: &str = "task queue exceeded allotted deadline";

/// A complaint of the page: an exception, an error on the console or a policy violation. Failed loads do not count: a
/// page may still ask after its run's server has gone.
fn complaint(message: &Value) -> Option<String> {
    let parameters = &message["params"];
    let is_bad = |level: &Value| ["error", "warning", "assert"].iter().any(|bad| level == bad);
    match message["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Runtime.consoleAPICalled" if is_bad(&parameters["type"]) => {
            let is_late = parameters["args"][0]["value"]
                .as_str()
                .is_some_and(|text| text.starts_with(LATE));
            (!is_late).then(|| parameters["args"].to_string())
        }
        "Log.entryAdded" if is_bad(&parameters["entry"]["level"]) && parameters["entry"]["source"] != "network" => {
            let entry = &parameters["entry"];
            Some(format!("{}: {} {}", entry["source"], entry["text"], entry["url"]))
        }
        _ => None,
    }
}

/// A page in a context of its own.
pub struct Page {
    browser: Arc<Browser>,
    context: String,
    session: String,
}

impl Page {
    fn call(&self, method: &str, parameters: Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }

    pub fn opens(&self, url: &str) {
        let opened = self.call("Page.navigate", json!({ "url": url }));
        assert!(opened.get("errorText").is_none(), "{opened}");
        self.waits_for("document.readyState === 'complete'");
    }

    /// Sets the `dark` or `light` scheme and disables animations, for pictures.
    fn prefers(&self, scheme: &str) {
        let features = json!([
            { "name": "prefers-color-scheme", "value": scheme },
            { "name": "prefers-reduced-motion", "value": "reduce" },
        ]);
        self.call("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Lets the pages of `origin` show notifications.
    pub fn allows_notifications(&self, origin: &str) {
        let granted = json!({ "permissions": ["notifications"], "origin": origin, "browserContextId": self.context });
        self.browser.call(None, "Browser.grantPermissions", granted);
    }

    /// The value of a JavaScript expression.
    #[track_caller]
    pub fn value(&self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let mut evaluated = self.call("Runtime.evaluate", asked);
        assert!(evaluated.get("exceptionDetails").is_none(), "{expression}: {evaluated}");
        evaluated["result"]["value"].take()
    }

    /// Waits until a JavaScript condition holds.
    #[track_caller]
    pub fn waits_for(&self, condition: &str) {
        let holds = self.value(&format!("globalThis.holds ? holds(() => {condition}) : {condition}"));
        assert!(holds == true, "not so: {condition}\n{}", self.text());
    }

    #[track_caller]
    pub fn sees(&self, text: &str) {
        self.waits_for(&format!("seen({})", json!(text)));
    }

    #[track_caller]
    pub fn sees_no_longer(&self, text: &str) {
        self.waits_for(&format!("!seen({})", json!(text)));
    }

    /// All text on the page.
    pub fn text(&self) -> String {
        self.value("document.body.innerText")
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Clicks on the element with this name, as a user would: it has to be visible and not covered.
    #[track_caller]
    pub fn clicks(&self, name: &str) {
        // An element that moves between the look and the click is tried again.
        for _ in 0..20 {
            if self.has_clicked(name) {
                return;
            }
        }
        panic!("{name} moves away\n{}", self.text());
    }

    #[track_caller]
    fn has_clicked(&self, name: &str) -> bool {
        let name = json!(name);
        self.waits_for(&format!("named({name})"));
        // An element that is about to move would be missed, as when a line about the connection goes.
        let place = self.value(&format!(
            "(async () => {{ const frame = () => new Promise(requestAnimationFrame);
                let x, y, still = 0;
                for (let frames = 0; still < 3 && frames < 600; frames += 1) {{
                    await frame();
                    const element = named({name});
                    if (!element) {{ still = 0; continue; }}
                    element.scrollIntoView({{ block: 'nearest' }});
                    const box = element.getBoundingClientRect();
                    const now = [box.x + box.width / 2, box.y + box.height / 2];
                    const hit = document.elementFromPoint(...now);
                    const isHit = element.contains(hit) || hit?.contains(element);
                    still = isHit && now[0] === x && now[1] === y ? still + 1 : 0;
                    [x, y] = now;
                }}
                return {{ x, y, isHit: still === 3 }}; }})()"
        ));
        assert!(place["isHit"] == true, "{name} is covered\n{}", self.text());
        self.value(&format!("globalThis.aimed = {name}"));
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
        self.value("globalThis.aimed === undefined || (delete globalThis.aimed, false)") == true
    }

    /// Swipes down by `pixels` over the middle of the element at `selector`.
    #[track_caller]
    pub fn swipes_down(&self, selector: &str, pixels: u32) {
        let place = self.value(&format!(
            "(() => {{ const box = document.querySelector({}).getBoundingClientRect();
                return {{ x: box.x + box.width / 2, y: box.y + 20 }}; }})()",
            json!(selector)
        ));
        let touch = |kind: &str, points: Value| {
            self.call(
                "Input.dispatchTouchEvent",
                json!({ "type": kind, "touchPoints": points }),
            );
        };
        let point = |down: u32| json!([{ "x": place["x"], "y": place["y"].as_f64().map(|y| y + f64::from(down)) }]);
        touch("touchStart", point(0));
        for step in 1..=10 {
            touch("touchMove", point(pixels * step / 10));
        }
        touch("touchEnd", json!([]));
    }

    /// Presses keys by their names, one after the other.
    pub fn presses(&self, keys: &[&str]) {
        for key in keys {
            let (code, text) = match *key {
                "Tab" => (9, ""),
                "Enter" => (13, "\r"),
                "Escape" => (27, ""),
                "Space" => (32, " "),
                "ArrowLeft" => (37, ""),
                "ArrowRight" => (39, ""),
                other => panic!("{other}: no such key here"),
            };
            let name = if *key == "Space" { " " } else { *key };
            for kind in ["keyDown", "keyUp"] {
                let text = if kind == "keyDown" { text } else { "" };
                let event =
                    json!({ "type": kind, "key": name, "code": key, "windowsVirtualKeyCode": code, "text": text });
                self.call("Input.dispatchKeyEvent", event);
            }
        }
    }

    /// Presses Tab until the element with this name has the focus, and shows it.
    #[track_caller]
    pub fn tabs_to(&self, name: &str) {
        for _ in 0..40 {
            self.presses(&["Tab"]);
            if self.value("focused()") == name {
                assert_eq!(self.value("document.activeElement.matches(':focus-visible')"), true);
                return;
            }
        }
        panic!("no way to {name} by Tab\n{}", self.text());
    }

    /// Types into the focused element.
    pub fn types(&self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Saves a screenshot of the page.
    pub fn writes_picture(&self, path: &Path) {
        use base64::{Engine, engine::general_purpose::STANDARD};
        let picture = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let picture = STANDARD
            .decode(picture["data"].as_str().expect("a picture"))
            .expect("base64");
        fs::write(path, picture).expect("a file");
    }

    /// The complaints of the page so far.
    pub fn complaints(&self) -> Vec<String> {
        let complaints = self.browser.complaints.lock();
        let own = complaints.iter().filter(|(session, _)| *session == self.session);
        own.map(|(_, complaint)| complaint.clone()).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if !thread::panicking() {
            let context = json!({ "browserContextId": self.context });
            self.browser.call(None, "Target.disposeBrowserContext", context);
        }
    }
}
