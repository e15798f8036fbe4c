//! A stand-in for GitHub: the part of its REST and GraphQL API that ralph uses, by GitHub's documentation, over a real bare
//! repository. The real `gh` reaches it by a Unix socket (`http_unix_socket`), without TLS.

use std::{
    collections::{BTreeMap, VecDeque},
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use parking_lot::Mutex;
use serde_json::{Value, json};

/// The token that the stand-in accepts.
pub const TOKEN: &str = "ghs-stand-in-token";
const REPOSITORY: &str = "/repos/team/shop";

/// A pull request.
#[derive(Debug, Clone, Default)]
pub struct Pull {
    pub number: u64,
    pub title: String,
    pub body: String,
    pub head: String,
    base: String,
    /// As GraphQL has it: `OPEN`, `MERGED` or `CLOSED`.
    pub state: &'static str,
    merged_as: Option<String>,
    /// Check runs by commit.
    checks: BTreeMap<String, Vec<Value>>,
    pub threads: Vec<Thread>,
    reviews: Vec<Value>,
}

/// A review thread.
#[derive(Debug, Clone)]
pub struct Thread {
    pub id: String,
    pub resolved: bool,
    pub place: (String, u64),
    /// Author, association and text of each comment.
    pub comments: Vec<(String, &'static str, String)>,
}

/// How a request is answered instead of being done.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The connection is closed.
    Silence,
    /// An answer with this status, header lines and body.
    Answer(u16, &'static str, &'static str),
    /// The request is done, and only half of the answer is sent.
    DoneByHalf,
    /// It is done, and the connection is closed before the answer.
    DoneInSilence,
}

#[derive(Default)]
struct ForgeState {
    issues: BTreeMap<u64, Value>,
    pulls: Vec<Pull>,
    logs: BTreeMap<u64, String>,
    /// Faults of the next requests whose line contains the text.
    faults: VecDeque<(String, Fault)>,
    requests: Vec<String>,
    next: u64,
}

/// A running forge. Dropping it ends it.
pub struct ForgeStandIn {
    state: Arc<Mutex<ForgeState>>,
    closing: Arc<AtomicBool>,
    socket: PathBuf,
    pub bare: PathBuf,
    acceptor: Option<JoinHandle<()>>,
}

impl ForgeStandIn {
    /// Starts a forge with one repository, `team/shop`, which is empty.
    pub fn start(directory: &Path) -> ForgeStandIn {
        let bare = directory.join("shop.git");
        let socket = directory.join("forge.sock");
        std::fs::create_dir_all(directory).expect("a directory");
        let made = Command::new("git")
            .args(["init", "--quiet", "--bare", "--initial-branch=main"])
            .arg(&bare)
            .status();
        assert!(made.expect("git").success());
        let listener = UnixListener::bind(&socket).expect("a socket");
        let state = Arc::new(Mutex::new(ForgeState {
            next: 100,
            ..ForgeState::default()
        }));
        let closing = Arc::new(AtomicBool::new(false));
        let acceptor = thread::spawn({
            let (state, closing, bare) = (Arc::clone(&state), Arc::clone(&closing), bare.clone());
            move || {
                for stream in listener.incoming().flatten() {
                    if closing.load(Ordering::Relaxed) {
                        return;
                    }
                    let (state, bare) = (Arc::clone(&state), bare.clone());
                    thread::spawn(move || {
                        // A client that is killed leaves its connection.
                        _ = answer(stream, &state, &bare);
                    });
                }
            }
        });
        ForgeStandIn {
            state,
            closing,
            socket,
            bare,
            acceptor: Some(acceptor),
        }
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    pub fn add_issue(&self, number: u64, title: &str, body: &str, labels: &[&str]) {
        let labels: Vec<Value> = labels.iter().map(|label| json!({"name": label})).collect();
        let issue = json!({
            "number": number, "title": title, "body": body, "state": "open", "labels": labels, "user": {"login": "stranger"},
            "html_url": format!("https://github.com/team/shop/issues/{number}"),
        });
        self.state.lock().issues.insert(number, issue);
    }

    pub fn is_closed(&self, issue: u64) -> bool {
        self.state.lock().issues[&issue]["state"] == "closed"
    }

    pub fn pulls(&self) -> Vec<Pull> {
        self.state.lock().pulls.clone()
    }

    /// The pull request whose branch ends with the plan's name.
    pub fn pull_of(&self, plan: &str) -> Option<Pull> {
        let end = format!("/{plan}");
        self.pulls().into_iter().find(|pull| pull.head.ends_with(&end))
    }

    /// The commit of the branch of a pull request.
    pub fn head(&self, pull: &Pull) -> String {
        commit_of(&self.bare, &pull.head).expect("a branch")
    }

    /// Sets the conclusion of the only check of a pull request's head.
    pub fn set_check(&self, pull: &Pull, conclusion: &str, log: &str) {
        let head = self.head(pull);
        let mut state = self.state.lock();
        state.next += 1;
        let id = state.next;
        state.logs.insert(id, log.to_owned());
        let check = json!({"__typename": "CheckRun", "databaseId": id, "name": "build", "status": "COMPLETED", "conclusion": conclusion,
                           "detailsUrl": "https://github.com/team/shop/runs/1", "title": null, "summary": null});
        change(&mut state, pull.number, |pull| {
            pull.checks.insert(head, vec![check]);
        });
    }

    /// Adds a review thread. Returns its id.
    pub fn comment(&self, pull: &Pull, association: &'static str, text: &str) -> String {
        let mut state = self.state.lock();
        state.next += 1;
        let id = format!("PRRT_{}", state.next);
        let thread = Thread {
            id: id.clone(),
            resolved: false,
            place: ("shared.txt".to_owned(), 1),
            comments: vec![("bea".to_owned(), association, text.to_owned())],
        };
        change(&mut state, pull.number, |pull| pull.threads.push(thread));
        id
    }

    /// Adds a review of the present head that asks for changes, without a thread.
    pub fn review(&self, pull: &Pull, association: &str, text: &str) {
        let commit = self.head(pull);
        let mut state = self.state.lock();
        state.next += 1;
        let review = json!({
            "id": format!("PRR_{}", state.next), "state": "CHANGES_REQUESTED", "body": text,
            "author": {"login": "bea"}, "authorAssociation": association, "commit": {"oid": commit},
        });
        change(&mut state, pull.number, |pull| pull.reviews.push(review));
    }

    /// Merges a pull request, as its button does.
    pub fn merge(&self, pull: &Pull) {
        self.merge_with(pull, |base, head| ["-p", base, "-p", head].map(str::to_owned).to_vec());
    }

    fn merge_with(&self, pull: &Pull, parents: impl Fn(&str, &str) -> Vec<String>) {
        let base = commit_of(&self.bare, &pull.base).expect("the base");
        let head = self.head(pull);
        let tree = merged_tree(&self.bare, &base, &head).expect("no conflict");
        let message = format!("Merge pull request #{}", pull.number);
        let parents = parents(&base, &head);
        let parents = parents.iter().map(String::as_str);
        let args: Vec<&str> = ["commit-tree", "-m", &message]
            .into_iter()
            .chain(parents)
            .chain([tree.as_str()])
            .collect();
        let made = git(&self.bare, &args);
        git(&self.bare, &["update-ref", &format!("refs/heads/{}", pull.base), &made]);
        let mut state = self.state.lock();
        change(&mut state, pull.number, |pull| {
            pull.state = "MERGED";
            pull.merged_as = Some(made);
        });
        let body = state
            .pulls
            .iter()
            .find(|other| other.number == pull.number)
            .map(|pull| pull.body.clone());
        let closed = body.unwrap_or_default();
        let closed = closed
            .split("Closes #")
            .nth(1)
            .and_then(|rest| rest.split('.').next()?.parse().ok());
        if let Some(issue) = closed.and_then(|number: u64| state.issues.get_mut(&number)) {
            issue["state"] = "closed".into();
        }
    }

    /// Merges a pull request as one commit, which has not its commits as parents.
    pub fn squash(&self, pull: &Pull) {
        self.merge_with(pull, |base, _| vec!["-p".to_owned(), base.to_owned()]);
    }

    /// Closes a pull request without a merge.
    pub fn close(&self, pull: &Pull) {
        change(&mut self.state.lock(), pull.number, |pull| pull.state = "CLOSED");
    }

    /// Has the next request whose line contains `text` fail.
    pub fn fail_next(&self, text: &str, fault: Fault) {
        self.state.lock().faults.push_back((text.to_owned(), fault));
    }

    /// Whether every fault has happened.
    pub fn has_failed(&self) -> bool {
        self.state.lock().faults.is_empty()
    }

    /// Lines such as `POST /repos/team/shop/pulls`, and of GraphQL the name of the operation.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().requests.clone()
    }

    pub fn count(&self, text: &str) -> usize {
        self.requests().iter().filter(|line| line.contains(text)).count()
    }
}

impl Drop for ForgeStandIn {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Relaxed);
        // Wakes the acceptor.
        _ = UnixStream::connect(&self.socket);
        _ = self.acceptor.take().map(JoinHandle::join);
    }
}

fn change(state: &mut ForgeState, number: u64, change: impl FnOnce(&mut Pull)) {
    let pull = state.pulls.iter_mut().find(|pull| pull.number == number);
    change(pull.expect("a pull request"));
}

fn git(bare: &Path, args: &[&str]) -> String {
    let output = run_git(bare, args);
    assert!(output.status.success(), "git {args:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn run_git(bare: &Path, args: &[&str]) -> std::process::Output {
    Command::new("git")
        .arg("--git-dir")
        .arg(bare)
        .args(["-c", "user.name=forge", "-c", "user.email=forge@example.invalid"])
        .args(args)
        .output()
        .expect("git")
}

fn commit_of(bare: &Path, branch: &str) -> Option<String> {
    let output = run_git(
        bare,
        &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")],
    );
    let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(commit)
}

/// The tree of a merge; `None` if there is a conflict.
fn merged_tree(bare: &Path, base: &str, head: &str) -> Option<String> {
    let output = run_git(bare, &["merge-tree", "--write-tree", base, head]);
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// One request: its line, its headers, its body.
struct ForgeRequest {
    method: String,
    path: String,
    token: String,
    body: Value,
}

fn read_request(stream: &UnixStream) -> Option<ForgeRequest> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut is_chunked, mut token) = (0, false, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_lowercase().as_str() {
            "content-length" => length = value.parse().ok()?,
            "transfer-encoding" => is_chunked = value == "chunked",
            "authorization" => value.clone_into(&mut token),
            _ => {}
        }
    }
    let mut body = Vec::new();
    if is_chunked {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = usize::from_str_radix(size.trim(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            reader.read_exact(&mut chunk).ok()?;
            if size == 0 {
                break;
            }
            body.extend_from_slice(&chunk[..size]);
        }
    } else {
        body.resize(length, 0);
        reader.read_exact(&mut body).ok()?;
    }
    Some(ForgeRequest {
        method,
        path,
        token,
        body: serde_json::from_slice(&body).unwrap_or(Value::Null),
    })
}

/// What is answered.
type ForgeAnswer = (u16, String, String);

fn answer(mut stream: UnixStream, state: &Mutex<ForgeState>, bare: &Path) -> Option<()> {
    let request = read_request(&stream)?;
    let operation = request.body["query"].as_str().and_then(|query| query.split('(').next());
    let line = format!("{} {} {}", request.method, request.path, operation.unwrap_or_default());
    let mut state = state.lock();
    state.requests.push(line.trim_end().to_owned());
    let at = state.faults.iter().position(|(text, _)| line.contains(text.as_str()));
    let fault = at.and_then(|at| state.faults.remove(at)).map(|(_, fault)| fault);
    let sends_half = matches!(fault, Some(Fault::DoneByHalf));
    let (status, headers, body) = match fault {
        Some(Fault::Silence) => return None,
        Some(Fault::Answer(status, headers, body)) => (status, headers.to_owned(), body.to_owned()),
        Some(Fault::DoneInSilence) => {
            respond(&mut state, bare, &request);
            return None;
        }
        None if request.token != format!("token {TOKEN}") => {
            (401, String::new(), json!({"message": "Bad credentials"}).to_string())
        }
        Some(Fault::DoneByHalf) | None => respond(&mut state, bare, &request),
    };
    drop(state);
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: {}\r\n{headers}connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let sent = if sends_half { body.len() / 2 } else { body.len() };
    stream.write_all(&body.as_bytes()[..sent]).ok()
}

fn respond(state: &mut ForgeState, bare: &Path, request: &ForgeRequest) -> ForgeAnswer {
    let ok = |value: Value| (200, String::new(), value.to_string());
    let missing = || (404, String::new(), json!({"message": "Not Found"}).to_string());
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let parameter = |name: &str| {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let mut values = pairs.filter(|(key, _)| *key == name).map(|(_, value)| decoded(value));
        values.next()
    };
    if path == "/graphql" {
        return ok(graphql(state, bare, &request.body));
    }
    if path.starts_with("/search/issues") {
        let words = parameter("q").unwrap_or_default();
        let wanted: Vec<&str> = words.split(' ').filter(|word| !word.contains(':')).collect();
        let found = state.issues.values().filter(|issue| {
            let title = issue["title"].as_str().unwrap_or_default();
            issue["state"] == "open" && wanted.iter().all(|word| title.contains(word))
        });
        let items: Vec<Value> = found.cloned().collect();
        return ok(json!({"total_count": items.len(), "items": items}));
    }
    // A page of a list.
    let paged = |all: Vec<Value>| {
        let number = |name: &str, default: usize| parameter(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        let (size, page) = (number("per_page", 30), number("page", 1));
        ok(all.into_iter().skip(size * (page - 1)).take(size).collect())
    };
    let Some(below) = path.strip_prefix(REPOSITORY) else {
        return missing();
    };
    let parts: Vec<&str> = below.split('/').skip(1).collect();
    match (request.method.as_str(), &parts[..]) {
        ("GET", []) => ok(json!({"default_branch": "main", "full_name": "team/shop"})),
        ("GET", ["issues"]) => {
            let labels = parameter("labels").unwrap_or_default();
            let wanted: Vec<&str> = labels.split(',').filter(|label| !label.is_empty()).collect();
            let has = |issue: &Value, label: &str| {
                let mut labels = issue["labels"].as_array().into_iter().flatten();
                labels.any(|known| known["name"] == label)
            };
            let found = state.issues.values().rev();
            let found = found.filter(|issue| issue["state"] == "open");
            let found = found.filter(|issue| wanted.iter().all(|label| has(issue, label)));
            paged(found.cloned().collect())
        }
        ("GET", ["issues", number]) => {
            let found = number.parse().ok().and_then(|number: u64| state.issues.get(&number));
            found.map_or_else(missing, |issue| ok(issue.clone()))
        }
        ("GET", ["pulls"]) => {
            let head = parameter("head");
            let is_open = parameter("state").as_deref() == Some("open");
            let is_of = |pull: &Pull| head.as_ref().is_none_or(|head| *head == format!("team:{}", pull.head));
            let found = state
                .pulls
                .iter()
                .filter(|pull| is_of(pull) && (!is_open || pull.state == "OPEN"));
            ok(found.map(rest_of).collect())
        }
        ("POST", ["pulls"]) => open(state, bare, &request.body),
        ("PATCH", ["pulls", number]) => {
            let found = state.pulls.iter_mut().find(|pull| pull.number.to_string() == *number);
            let Some(pull) = found else { return missing() };
            for (key, place) in [("body", &mut pull.body), ("title", &mut pull.title)] {
                if let Some(text) = request.body[key].as_str() {
                    text.clone_into(place);
                }
            }
            ok(rest_of(pull))
        }
        ("GET", ["actions", "jobs", id, "logs"]) => {
            let location = format!("location: https://logs.github.com/repos/team/shop/stored/{id}\r\n");
            (302, location, String::new())
        }
        ("GET", ["stored", id]) => {
            let log = id.parse().ok().and_then(|id: u64| state.logs.get(&id));
            log.map_or_else(missing, |log| (200, String::new(), log.clone()))
        }
        _ => missing(),
    }
}

fn open(state: &mut ForgeState, bare: &Path, body: &Value) -> ForgeAnswer {
    let text = |key: &str| body[key].as_str().unwrap_or_default().to_owned();
    let refused = |why: &str| {
        let body = json!({"message": "Validation Failed", "errors": [{"message": why}]});
        (422, String::new(), body.to_string())
    };
    let (head, base) = (text("head"), text("base"));
    if commit_of(bare, &head).is_none() || commit_of(bare, &base).is_none() {
        return refused("head or base is invalid");
    }
    if state.pulls.iter().any(|pull| pull.head == head && pull.state == "OPEN") {
        return refused("A pull request already exists for this branch");
    }
    state.next += 1;
    let pull = Pull {
        number: state.next,
        title: text("title"),
        body: text("body"),
        head,
        base,
        state: "OPEN",
        ..Pull::default()
    };
    let made = rest_of(&pull);
    state.pulls.push(pull);
    (201, String::new(), made.to_string())
}

/// A pull request as the REST API has it.
fn rest_of(pull: &Pull) -> Value {
    json!({
        "number": pull.number, "title": pull.title, "body": pull.body, "state": if pull.state == "OPEN" { "open" } else { "closed" },
        "html_url": format!("https://github.com/team/shop/pull/{}", pull.number), "head": {"ref": pull.head}, "base": {"ref": pull.base},
    })
}

fn graphql(state: &mut ForgeState, bare: &Path, body: &Value) -> Value {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    let operation = query.split('(').next().unwrap_or_default();
    let id = variables["id"].as_str().unwrap_or_default();
    let mut threads = state.pulls.iter_mut().flat_map(|pull| pull.threads.iter_mut());
    match operation {
        "query Request" => {
            let number = variables["number"].as_u64().unwrap_or_default();
            match state.pulls.iter().find(|pull| pull.number == number) {
                Some(pull) => json!({"data": {"repository": {"pullRequest": graph_of(pull, bare)}}}),
                None => json!({"errors": [{"type": "NOT_FOUND", "message": "no such pull request"}]}),
            }
        }
        "query Thread" => match threads.find(|thread| thread.id == id) {
            Some(thread) => json!({"data": {"node": graph_of_thread(thread)}}),
            None => json!({"data": {"node": null}}),
        },
        "mutation Answer" => {
            let text = variables["text"].as_str().unwrap_or_default().to_owned();
            if let Some(thread) = threads.find(|thread| thread.id == id) {
                thread.comments.push(("me".to_owned(), "OWNER", text));
            }
            json!({"data": {"addPullRequestReviewThreadReply": {"comment": {"id": "C"}}}})
        }
        "mutation Resolve" => {
            if let Some(thread) = threads.find(|thread| thread.id == id) {
                thread.resolved = true;
            }
            json!({"data": {"resolveReviewThread": {"thread": {"id": id}}}})
        }
        _ => json!({"errors": [{"message": "unknown operation"}]}),
    }
}

fn graph_of(pull: &Pull, bare: &Path) -> Value {
    let head = commit_of(bare, &pull.head).unwrap_or_default();
    let base = commit_of(bare, &pull.base).unwrap_or_default();
    let is_mergeable = pull.state != "OPEN" || merged_tree(bare, &base, &head).is_some();
    let checks = pull.checks.get(&head);
    let rollup = checks.map_or(Value::Null, |checks| json!({"contexts": {"nodes": checks}}));
    let threads: Vec<Value> = pull.threads.iter().map(graph_of_thread).collect();
    json!({
        "state": pull.state, "mergeable": if is_mergeable { "MERGEABLE" } else { "CONFLICTING" }, "headRefOid": head,
        "mergeCommit": pull.merged_as.as_ref().map(|oid| json!({"oid": oid})),
        "commits": {"nodes": [{"commit": {"oid": head, "statusCheckRollup": rollup}}]},
        "reviewThreads": {"nodes": threads},
        "latestReviews": {"nodes": pull.reviews},
    })
}

fn graph_of_thread(thread: &Thread) -> Value {
    let comments = thread.comments.iter();
    let comments: Vec<Value> = comments
        .map(|(author, association, body)| json!({"author": {"login": author}, "authorAssociation": association, "body": body}))
        .collect();
    json!({
        "id": thread.id, "isResolved": thread.resolved, "path": thread.place.0, "line": thread.place.1,
        "comments": {"nodes": comments},
    })
}

/// Decodes a value of a query.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text
            .get(at + 1..at + 3)
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
